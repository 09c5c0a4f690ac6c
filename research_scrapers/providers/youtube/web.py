"""Comments by the web pages: the watch page for the way in, then the inner API, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page
from research_scrapers.providers import NO_SESSION, Route, Session
from research_scrapers.providers.youtube.comments import read_page
from research_scrapers.providers.youtube.endpoints import NEXT, next_by_token, next_by_video, watch_page
from research_scrapers.providers.youtube.initial import read_initial
from research_scrapers.providers.youtube.lean import decode_page
from research_scrapers.providers.youtube.records import Frame
from research_scrapers.providers.youtube.refusals import error_in
from research_scrapers.providers.youtube.tree import decode_object
from research_scrapers.providers.youtube.watch import read_watch

if TYPE_CHECKING:
    from datetime import datetime


class WebRoute(Route):
    """Steps: ``watch`` → (``next``) → ``first`` or ``page`` → ``page`` …, and ``replies`` for every thread found."""

    name = "web"

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The watch page brings the facts, the session and mostly the way in, at one request."""
        return Cursor(MAIN, "watch")

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor."""
        match cursor.step:
            case "watch":
                return watch_page(video_id, options.language)
            case "next":
                return next_by_video(video_id, session, options.language)
            case _:
                return next_by_token(cursor.token, video_id, session, options.language)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        frame = Frame.of(video_id, cursor, fetched_at)
        if cursor.step == "watch":
            watch = read_watch(answer.body)
            return read_initial(watch.initial, watch.player, frame, options.sort, watch.facts)
        data = decode_object(answer.body) if cursor.step == "next" else decode_page(answer.body)
        refused = error_in(data, answer, frame.now)
        if refused is not None:
            raise refused
        if cursor.step == "next":
            return read_initial(data, None, frame, options.sort, {})
        return read_page(data, frame, newest=cursor.step == "first" and options.sort == "newest")

    def probes(self) -> tuple[str, ...]:
        """A watch page and the inner API: all that this route asks for."""
        return (watch_page("aaaaaaaaaaA").url, NEXT)
