"""Transcripts by the site's own caption tracks: the watch page lists them, other clients help where it gives nothing.

Steps: ``watch`` → (``player_visionos`` → ``player_android``) on the main chain, which finds one chain per chosen track;
there ``track`` asks for the text. A track that one format or one client will not give is asked for by the next, inside
its own chain, through the same steps. What every client gives only for a proof token is asked of the transcript panel
(``panel``), which the site refuses to most; it knows no translations.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import (
    BotCheck,
    CursorExpired,
    LayoutChanged,
    PartialResponse,
    SourceError,
    TokenNeeded,
    TranscriptsDisabled,
    Unplayable,
    WrongContent,
)
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page, Video
from research_scrapers.providers import NO_SESSION, Route, Session
from research_scrapers.providers.tracks import TRANSLATED, Choice, Wanted, choose, why_not
from research_scrapers.providers.youtube.captions import TrackList, needs_token, read_tracks
from research_scrapers.providers.youtube.endpoints import (
    GET_TRANSCRIPT,
    PLAYER,
    TIMEDTEXT,
    parameter,
    player,
    timedtext,
    transcript_panel,
    watch_page,
)
from research_scrapers.providers.youtube.library import failure_of_library, library_cannot
from research_scrapers.providers.youtube.panel import panel_params, panel_shows, read_panel
from research_scrapers.providers.youtube.records import Frame, build_transcript
from research_scrapers.providers.youtube.refusals import error_in, expired
from research_scrapers.providers.youtube.timedtext import format_of, judge_timedtext, read_timedtext
from research_scrapers.providers.youtube.track_ask import FORMATS, TrackAsk
from research_scrapers.providers.youtube.tree import decode_object
from research_scrapers.providers.youtube.video import read_video
from research_scrapers.providers.youtube.watch import read_watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_CLIENTS = {"watch": "WEB", "player_visionos": "VISIONOS", "player_android": "ANDROID"}
_STEPS = tuple(_CLIENTS)
LIBRARY, LIBRARY_TRACK = "library", "library_track"
"""Steps that youtube-transcript-api takes; its requests are carried by whoever runs it."""
_PANEL = "panel"
_LISTED = "listed"
"""Token of the main chain once a client has listed tracks: from then on «no captions» is only that client's view."""
_WHOLE_LIST = 100
"""Fewer languages to translate into than this are a client's selection, not all that there are."""


class TranscriptRoute(Route):
    """The route for transcripts, given what is wanted."""

    name = "timedtext"

    def __init__(self, wanted: Wanted | None = None) -> None:
        self.wanted = wanted or Wanted()

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The library is asked first (`listed_by_library`); the watch page when it cannot."""
        return Cursor(MAIN, LIBRARY)

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor."""
        if cursor.step == "watch":
            return watch_page(video_id, options.language)
        if cursor.step in _CLIENTS:
            return player(video_id, _CLIENTS[cursor.step], session, options.language)
        if cursor.step == _PANEL:
            track = _panel_tracks(cursor)[0][1]
            named = parameter(track.url, "name") or ""
            params = panel_params(video_id, track.language, track.kind, named)
            return transcript_panel(params, video_id, session, options.language)
        track = TrackAsk.of(cursor.token)
        ask = timedtext(track.url, track.fmt, track.into, options.language)
        return replace(ask, budget="translations") if track.into else ask

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        frame = Frame.of(video_id, cursor, fetched_at)
        if cursor.step == "track":
            return _read_track(answer, frame)
        if cursor.step == _PANEL:
            return _read_panel(answer, frame)
        learnt: dict[str, str] = {}
        if cursor.step == "watch":
            watch = read_watch(answer.body)
            learnt, data = watch.facts, watch.player
        else:
            data = decode_object(answer.body)
            refused = error_in(data, answer, frame.now)
            if refused is not None:
                raise refused
        if data is None:
            return Page(cursor, next=_onward(cursor), session=learnt)
        if cursor.chain != MAIN:
            return _renew(data, frame)
        return replace(self._read_list(data, frame), session=learnt)

    def probes(self) -> tuple[str, ...]:
        """A watch page, the player, a track and the panel: all that this route asks for."""
        track = f"{TIMEDTEXT}?v=aaaaaaaaaaA&lang=en&fmt=json3"
        return (watch_page("aaaaaaaaaaA").url, PLAYER, track, GET_TRANSCRIPT)

    def listed_by_library(self, video_id: str, cursor: Cursor, player: dict[str, Any], fetched_at: datetime) -> Page:
        """The tracks in the player answer that the library was given. Read by us, because the library keeps one of two
        tracks of a language.
        """
        page = self._read_list(player, Frame.of(video_id, Cursor(MAIN, "player_android"), fetched_at))
        if page.next is not None:  # its client gives none of them: ours are asked before the panel is
            raise _refused_by_all()
        # Translations are throttled hardest, so they have a budget that only our own requests know.
        found = tuple(one if ">" in one.chain else replace(one, step=LIBRARY_TRACK) for one in page.found)
        return replace(page, cursor=cursor, found=found)

    def _read_list(self, data: dict[str, Any], frame: Frame) -> Page:
        cursor, onward = frame.cursor, _onward(frame.cursor)
        try:
            listed = read_tracks(data, frame.video_id)
        except SourceError as failure:
            if isinstance(failure, TranscriptsDisabled) and not cursor.token:
                raise
            if _only_this_client(failure) and onward is not None:
                return Page(cursor, next=onward)
            if cursor.token:
                raise _refused_by_all() from failure
            raise
        offered = tuple(code for code, _ in listed.translations) if len(listed.translations) >= _WHOLE_LIST else ()
        choice = choose(listed.tracks, self.wanted, offered)
        chosen = [(track, "") for track in choice.taken] + list(choice.translated)
        open_to_us = [track for track, _ in chosen if not needs_token(track.url)]
        video = None if cursor.token else _video(listed, choice, frame)
        told: dict[str, Any] = {"claimed": len(listed.tracks), "video": video, "note": why_not(choice) or None}
        if len(open_to_us) < len(chosen) and onward is not None:
            return Page(cursor, next=replace(onward, token=_LISTED), **told)
        found = tuple(
            Cursor(
                f"{track.track_id}>{into}" if into else track.track_id,
                "track",
                TrackAsk(track.url, track.language, track.kind, track.name, cursor.step, into=into).token,
                1,
            )
            for track, into in chosen
        )
        if not open_to_us:
            asked = [(one.chain, one.token) for one in found[: len(choice.taken)]]
            if choice.translated:
                missing = "the panel has no translations: " + ", ".join(into for _, into in choice.translated)
                told["note"] = "; ".join(filter(None, (told["note"], missing)))
            return Page(cursor, next=Cursor(MAIN, _PANEL, json.dumps(asked)), **told)
        return Page(cursor, found=found, **told)


def read_library_track(video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime) -> Page:
    """The track in the answer that the library was given. Read by us, because the library drops what stands in angle
    brackets.
    """
    page = _read_track(answer, Frame.of(video_id, cursor, fetched_at))
    for record in page.records:
        record.extras["route"] = "library"
    return page


def without_library(cursor: Cursor) -> Page:
    """Where to go on when the library cannot: our own way in, or our own question for the same track."""
    if cursor.step == LIBRARY_TRACK:
        return Page(cursor, next=replace(cursor, step="track"))
    return Page(cursor, next=Cursor(MAIN, "watch"))


def _read_track(answer: Answer, frame: Frame) -> Page:
    cursor, track = frame.cursor, TrackAsk.of(frame.cursor.token)
    failure = judge_timedtext(answer)
    if failure is None:
        try:
            segments = read_timedtext(answer.body)
        except SourceError as error:
            failure = error
    if failure is not None:
        other = next(_other_ways(track, failure, answer, frame), None)
        if other is None:
            raise failure
        return Page(cursor, next=other)
    written = format_of(answer.body) or track.fmt
    record = build_transcript(
        frame.video_id,
        frame.fetched_at,
        segments,
        language=track.into or track.language,
        kind=TRANSLATED if track.into else track.kind,
        name=track.name,
        extras={
            "route": "timedtext",
            "client": _CLIENTS.get(track.step),
            "format": track.fmt if track.fmt.startswith(written) else written,
            "track_id": cursor.chain.partition(">")[0],
            "source_language": track.language if track.into else None,
            "source_kind": track.kind if track.into else None,
        },
    )
    return Page(cursor, records=(record,))


def _panel_tracks(cursor: Cursor) -> list[tuple[str, TrackAsk]]:
    """The tracks that a panel is asked for: a track's own chain has one, the main chain all that no client gave."""
    if cursor.chain != MAIN:
        return [(cursor.chain, TrackAsk.of(cursor.token))]
    try:
        return [(str(chain), TrackAsk.of(token)) for chain, token in json.loads(cursor.token)]
    except (ValueError, TypeError):
        raise CursorExpired("the cursor of a panel cannot be read") from None


def _read_panel(answer: Answer, frame: Frame) -> Page:
    """A track from the panel, and the chains of those that are asked for next. Its lines end where the next begins."""
    (chain, track), *others = _panel_tracks(frame.cursor)
    data = decode_object(answer.body)
    refused = error_in(data, answer, frame.now)
    if answer.status == 400:
        raise _refused_by_all("; the transcript panel is refused too") from refused
    if refused is not None:
        raise refused
    if (shown := panel_shows(data)) not in (None, track.name):
        raise _refused_by_all(f"; the transcript panel shows {shown!r} instead of {track.name!r}")
    record = build_transcript(
        frame.video_id,
        frame.fetched_at,
        read_panel(data),
        language=track.language,
        kind=track.kind,
        name=track.name,
        extras={"route": _PANEL, "client": "WEB", "format": _PANEL, "track_id": chain},
    )
    found = tuple(Cursor(chain, _PANEL, told.token, 1) for chain, told in others)
    return Page(frame.cursor, records=(record,), found=found)


def _other_ways(track: TrackAsk, failure: SourceError, answer: Answer, frame: Frame) -> Iterator[Cursor]:
    """Where to turn, best first. A refusal of our address is not talked around: that waits.

    Nothing at all is the client's fault, so another client is asked; what cannot be read is the format's. What broke
    off on its way is asked for again as it is, by whoever retries.
    """
    cursor = frame.cursor
    if not isinstance(failure, TokenNeeded | PartialResponse | WrongContent | LayoutChanged | CursorExpired):
        return
    if expired(track.url, frame.now) and not track.renewed:
        step = "player_visionos" if track.step == "watch" else track.step
        yield replace(cursor, step=step, token=replace(track, renewed=True).token)
    if answer.status == 404 or not answer.body.strip():
        if (onward := _onward(replace(cursor, step=track.step))) is not None:
            yield onward
        if track.fmt == FORMATS[0] and not needs_token(track.url):
            yield replace(cursor, token=replace(track, fmt="srv1").token)
        if isinstance(failure, TokenNeeded) and not track.into:
            yield replace(cursor, step=_PANEL)
    elif isinstance(failure, WrongContent | LayoutChanged) and track.fmt in FORMATS[:-1]:
        yield replace(cursor, token=replace(track, fmt=FORMATS[FORMATS.index(track.fmt) + 1]).token)


def _renew(data: dict[str, Any], frame: Frame) -> Page:
    """The same track from another client's list."""
    cursor, old = frame.cursor, TrackAsk.of(frame.cursor.token)
    onward = _onward(cursor)
    found = None
    try:
        listed = read_tracks(data, frame.video_id)
        found = listed.find(cursor.chain.partition(">")[0], old.language, old.kind)
    except SourceError as failure:
        if not _only_this_client(failure):
            raise
    if found is not None and found.url and not needs_token(found.url):
        track = replace(old, url=found.url, step=cursor.step, fmt=FORMATS[0])
        return Page(cursor, next=replace(cursor, step="track", token=track.token))
    if onward is None and old.into:
        raise _refused_by_all()
    return Page(cursor, next=onward or replace(cursor, step=_PANEL))


def _onward(cursor: Cursor) -> Cursor | None:
    """The next client to ask."""
    place = _STEPS.index(cursor.step) + 1 if cursor.step in _STEPS else len(_STEPS)
    return replace(cursor, step=_STEPS[place]) if place < len(_STEPS) else None


def _only_this_client(failure: SourceError) -> bool:
    """Whether another client may see more: unknown reasons, «reload the page», and captions that others have listed."""
    if isinstance(failure, BotCheck):
        return "reloaded" in failure.detail
    return isinstance(failure, Unplayable | TranscriptsDisabled)


def _refused_by_all(more: str = "") -> TokenNeeded:
    return TokenNeeded(f"the site lists tracks, and no client that needs no proof token gives them{more}")


def _video(listed: TrackList, choice: Choice, frame: Frame) -> Video:
    """The video's facts, and of every track whether it is taken and why not."""
    video = read_video([], listed.player, None, frame)
    video.language = listed.own_language
    why = {track.track_id: reason for track, reason in reversed(choice.left_out)}
    taken = {track.track_id for track in choice.taken}
    video.extras["caption_tracks"] = [
        {"track_id": track.track_id, "language": track.language, "kind": track.kind, "name": track.name}
        | ({"taken": True} if track.track_id in taken else {"left_out": why.get(track.track_id, "")})
        for track in listed.tracks
    ]
    return video


__all__ = ["FORMATS", "TrackAsk", "TranscriptRoute", "failure_of_library", "library_cannot"]
