"""Comments by the site's own list, newest or hottest first; the answers below each root by chains of their own.

Steps of the main chain: ``main`` (signed) by the offset that each page hands out, ``main_next`` where a page moves only
its older counter. Where the site will not take the signature, or its answer cannot be read, `CommentsRoute.fallback`
leads to ``plain`` and ``plain_next`` (the same list, unsigned) and at last to ``legacy`` (numbered pages). ``replies``
is a chain per root.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import (
    CommentsDisabled,
    CursorExpired,
    EmptyPage,
    LayoutChanged,
    NoCommentSection,
    SignatureRefused,
    SourceError,
)
from research_scrapers.models import MAIN, Answer, Ask, Comment, Cursor, Options, Page
from research_scrapers.providers import NO_SESSION, Route, Session
from research_scrapers.providers.bilibili import endpoints
from research_scrapers.providers.bilibili.parts import aid_of
from research_scrapers.providers.bilibili.records import Frame, id_at, read_reply, replies_in
from research_scrapers.providers.bilibili.refusals import payload
from research_scrapers.providers.bilibili.replies import LOGIN_NEEDED, page_number, read_replies
from research_scrapers.providers.tree import dict_at, dig, int_at, str_at

if TYPE_CHECKING:
    from datetime import datetime

CLOSED: dict[int, type[SourceError]] = {
    12002: CommentsDisabled,
    12052: CommentsDisabled,
    12061: CommentsDisabled,
    -404: NoCommentSection,
}
DEPTH_LIMIT = "depth_limit"
"""Note: the numbered list was not served down to its end."""
_MODES = {"newest": 2, "top": 3}
_SORTS = {"newest": 0, "top": 1}
_SAMPLE = 3
"""So many comments are shown to those who are not logged in."""
_SLACK_COUNT, _SLACK_SHARE = 5, 0.1
"""The site counts hidden comments too: so many missing are no sign of a refusal."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the main chain stands. The page's number is part of it because an offset may come back unchanged."""

    page: int = 1
    roots: int = 0
    """Root comments so far."""
    had: int = 0
    """Those, and the answers that they are said to have: what the site's own count is made of."""
    offset: str = ""

    @property
    def token(self) -> str:
        """``3|40|52|…``; the beginning is the empty text."""
        return "" if self == Place() else f"{self.page}|{self.roots}|{self.had}|{self.offset}"

    @classmethod
    def of(cls, token: str) -> Place:
        """The inverse of `token`."""
        if not token:
            return cls()
        try:
            page, roots, had, offset = token.split("|", 3)
            return cls(int(page), int(roots), int(had), offset)
        except ValueError:
            raise CursorExpired("the cursor of the list cannot be read") from None


@dataclass(slots=True)
class Harvest:
    """What one page holds: every comment once, and the threads that go on elsewhere."""

    frame: Frame
    owner: str | None
    records: dict[str, Comment] = field(default_factory=dict)
    threads: dict[str, Cursor] = field(default_factory=dict)

    def take(self, node: Any, *, pinned: bool = False) -> None:
        """A root comment with the few answers that are shown below it."""
        root = read_reply(node, self.frame, self.owner)
        if root.comment_id in self.records:
            self.records[root.comment_id].is_pinned |= pinned
            return
        root.is_pinned = root.is_pinned or pinned
        self.records[root.comment_id] = root
        shown = set()
        for inner in replies_in(node, "replies"):
            reply = read_reply(inner, self.frame, self.owner)
            shown.add(reply.comment_id)
            self.records.setdefault(reply.comment_id, reply)
        if root.parent_id is None and (root.reply_count or 0) > len(shown):
            self.threads[root.comment_id] = Cursor(root.comment_id, "replies", "1", root.reply_count)


class CommentsRoute(Route):
    """The route for comments."""

    name = "wbi"

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The first page of the signed list."""
        return Cursor(MAIN, "main")

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor; for one that cannot be read, the first page, and `read` says why."""
        aid = aid_of(video_id)
        if cursor.step.startswith("replies"):
            return endpoints.replies(aid, cursor.chain, page_number(cursor) or 1)
        mode = _MODES.get(options.sort, 2)
        try:
            place = Place.of(cursor.token)
        except CursorExpired:
            place = Place()
        signed = cursor.step.startswith("main")
        match cursor.step:
            case "legacy":
                return endpoints.legacy(aid, place.page, _SORTS.get(options.sort, 0))
            case "main_next" | "plain_next":
                return endpoints.main_by_number(aid, mode, place.offset, signed=signed)
            case _:
                return endpoints.main_by_offset(aid, mode, place.offset, first=place.page == 1, signed=signed)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        frame = Frame.of(video_id, cursor, fetched_at, session)
        if cursor.step.startswith("replies"):
            return read_replies(answer, frame)
        place = Place.of(cursor.token)
        if cursor.step == "legacy":
            return _read_legacy(answer, frame, place)
        return _read_main(answer, frame, place)

    def fallback(self, cursor: Cursor, failure: Exception) -> Cursor | None:
        """Where the main chain may turn when its endpoint is of no use. A block is not talked around: that waits."""
        if cursor.chain != MAIN or not isinstance(failure, SignatureRefused | LayoutChanged):
            return None
        if cursor.step.startswith("main"):
            return Cursor(MAIN, cursor.step.replace("main", "plain"), cursor.token)
        if cursor.step.startswith("plain"):  # pages of the old list hold no more than those of the new: overlap a page
            place = Place.of(cursor.token)
            page = max(place.roots // endpoints.PAGE_SIZE, 1)
            return Cursor(MAIN, "legacy", Place(page, place.roots, place.had).token)
        return None

    def probes(self) -> tuple[str, ...]:
        """The list in its three forms, and the answers below a root."""
        return (
            endpoints.main_by_offset("1", 2, "", first=True, signed=True).url,
            endpoints.main_by_offset("1", 2, "", first=True, signed=False).url,
            endpoints.legacy("1", 1, 0).url,
            endpoints.replies("1", "1", 1).url,
        )


def _read_main(answer: Answer, frame: Frame, place: Place) -> Page:
    codes = {**CLOSED, -400: CursorExpired if place.page > 1 else LayoutChanged}
    data = payload(answer, codes)
    where = data.get("cursor")
    if type(where) is not dict:
        raise LayoutChanged("a page of comments without a cursor")
    harvest, roots = _gather(data, frame)
    claimed = int_at(where, "all_count")
    if claimed is None:
        claimed = frame.known_count
    after = _counted(place, harvest, roots)
    ended = where.get("is_end") is True
    onward = None if ended else _onward(where, after, frame.cursor)
    if not roots and not ended:
        return _nothing(harvest, frame, after, claimed)
    return _page(harvest, frame, after, claimed, onward)


def _read_legacy(answer: Answer, frame: Frame, place: Place) -> Page:
    try:
        data = payload(answer, {**CLOSED, -400: CursorExpired})
    except CursorExpired:
        if place.page == 1:
            raise LayoutChanged("the first page is refused as a bad request") from None
        return Page(frame.cursor, note=DEPTH_LIMIT)  # deep pages are not served; the numbers tell what is missing
    where = data.get("page")
    if type(where) is not dict:
        raise LayoutChanged("a page of comments without its number")
    harvest, roots = _gather(data, frame)
    count, size = int_at(where, "count") or 0, int_at(where, "size") or 0
    claimed = int_at(where, "acount") or count
    after = _counted(place, harvest, roots)
    last = size > 0 and place.page * size >= count
    if not roots and not last:
        return _nothing(harvest, frame, after, claimed)
    onward = None if last else Cursor(MAIN, "legacy", Place(place.page + 1, after.roots, after.had).token)
    return _page(harvest, frame, after, claimed, onward)


def _gather(data: dict[str, Any], frame: Frame) -> tuple[Harvest, list[str]]:
    """Every comment of a page once, however often the page shows it. Adverts are no comments. Returns the ids of the
    roots in the list itself too.
    """
    harvest = Harvest(frame, id_at(data.get("upper"), "mid"))
    for node in _pinned(data):
        harvest.take(node, pinned=True)
    roots = []
    for node in replies_in(data, "replies"):
        harvest.take(node)
        roots.append(id_at(node, "rpid") or "")
    for node in replies_in(data, "hots"):
        harvest.take(node)
    return harvest, roots


def _pinned(data: dict[str, Any]) -> list[Any]:
    """The pinned comments, wherever this year's answers show them: often in two places at once."""
    top = dict_at(data, "top")
    single = [dig(top, "upper"), dig(top, "admin"), dig(data, "upper", "top")]
    votes = [node for node in (dig(top, "vote"), dig(data, "upper", "vote"), top) if id_at(node, "rpid")]
    return [*(node for node in single if type(node) is dict and node), *votes, *replies_in(data, "top_replies")]


def _counted(place: Place, harvest: Harvest, roots: list[str]) -> Place:
    """The pinned comments stand above the list, often in it too, and on some lists above every page: they and what is
    answered below them count once, on the first page.
    """
    pinned = {name for name, record in harvest.records.items() if record.is_pinned and record.parent_id is None}
    names = {*roots, *pinned} if place.page == 1 else {*roots} - pinned
    had = sum(1 + (harvest.records[name].reply_count or 0) for name in names)
    return Place(place.page, place.roots + len(roots), place.had + had, place.offset)


def _onward(where: dict[str, Any], after: Place, cursor: Cursor) -> Cursor | None:
    """By the offset; by the older counter where only that one moved."""
    kind = cursor.step.removesuffix("_next")
    offset = str_at(where, "pagination_reply", "next_offset")
    if offset:
        return Cursor(MAIN, kind, Place(after.page + 1, after.roots, after.had, offset).token)
    number = int_at(where, "next")
    if number and str(number) != after.offset:
        return Cursor(MAIN, f"{kind}_next", Place(after.page + 1, after.roots, after.had, str(number)).token)
    return None


def _page(harvest: Harvest, frame: Frame, after: Place, claimed: int | None, onward: Cursor | None) -> Page:
    # A visitor's second page may be the first again and again: what that is worth, the numbers tell in the end.
    short = not frame.logged_in and (_short_of(after, claimed) if onward is None else after.page > 1)
    return Page(
        frame.cursor,
        records=tuple(harvest.records.values()),
        next=onward,
        found=tuple(harvest.threads.values()),
        claimed=claimed,
        note=LOGIN_NEEDED if short else None,
    )


def _short_of(after: Place, claimed: int | None) -> bool:
    """Whether a visitor was shown less than there is. Where the site does not count, three or more are a sample."""
    return after.roots >= _SAMPLE if claimed is None else after.had < claimed


def _nothing(harvest: Harvest, frame: Frame, after: Place, claimed: int | None) -> Page:
    """A page without comments that does not call itself the last: the end, a closed door, or a fault.

    Hollow pages count nothing at all, so the video's own count is asked too.
    """
    expected = max(claimed or 0, frame.known_count or 0)
    missing = expected - after.had
    nearly = missing <= max(_SLACK_COUNT, _SLACK_SHARE * expected) and (after.had > 0 or expected == 0)
    if after.page == 1 and expected == 0 and frame.known_count is None:
        nearly = False
    if frame.logged_in and not nearly:
        raise EmptyPage(f"page {after.page} holds nothing; {after.had} of {expected} so far")
    return Page(
        frame.cursor,
        records=tuple(harvest.records.values()),
        found=tuple(harvest.threads.values()),
        claimed=claimed if nearly else claimed or None,
        note=None if nearly else LOGIN_NEEDED,
    )
