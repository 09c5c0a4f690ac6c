"""Transcripts by the player's subtitle tracks, part by part.

The main chain walks the parts by ``player:N`` (its token is a `PartsWalk`), or unsigned by ``player_old:N``.
Each chosen track is a chain of its own: ``track`` asks for its lines, ``again`` for the list it stood in, where its
address was missing, has run out or belonged to another video.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from research_scrapers.errors import (
    CursorExpired,
    LayoutChanged,
    LoginRequired,
    NoTranscriptInLanguage,
    PartialResponse,
    SignatureRefused,
    SourceError,
    TranscriptsDisabled,
    VideoUnavailable,
    WrongVideo,
)
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page, Transcript, content_hash
from research_scrapers.providers import NO_SESSION, Session
from research_scrapers.providers.bilibili import endpoints
from research_scrapers.providers.bilibili.captions import Listed, TrackAsk, read_body, read_list
from research_scrapers.providers.bilibili.parts import (
    PAGELIST,
    Part,
    PartsRoute,
    after,
    aid_of,
    first_cursor,
    missing_chains,
    name_of,
    numbered,
    part_at,
    present,
    read_pagelist,
)
from research_scrapers.providers.bilibili.refusals import payload
from research_scrapers.providers.bilibili.times import iso
from research_scrapers.providers.languages import fit
from research_scrapers.providers.tracks import TRANSLATED, Choice, Wanted, choose, wanted_of, why_not
from research_scrapers.providers.tree import dig, int_at

if TYPE_CHECKING:
    from datetime import datetime

_CODES: dict[int, type[SourceError]] = {-400: VideoUnavailable, -404: VideoUnavailable}
_RENEWALS = 2
_LONGEST_NOTE = 500
_NEEDED = "a login is needed"
_ENOUGH = 3
"""So many parts without a track, logged out, speak for all: the site is not asked for the rest in vain."""
_NOT_SHOWN = "without a login the site lists no subtitles, whether there are any or not"
_WHY: dict[str, type[SourceError]] = {"u": LoginRequired, "l": NoTranscriptInLanguage, "t": TranscriptsDisabled}
"""Why a part had no track, the most hopeful first: what a walk that found none at all ends with."""


@dataclass(frozen=True, slots=True)
class PartsWalk:
    """What the walk over the parts has seen so far, as its cursor carries it."""

    part: str
    listed: int = 0
    chains: int = 0
    why: str = ""
    """A letter of `_WHY` for every reason why a part had no track."""
    note: str = ""

    def token(self, part: int) -> str:
        """``2|3|1|t|part 1: …``, on its way to this part."""
        return f"{part}|{self.listed}|{self.chains}|{self.why}|{self.note}"

    @classmethod
    def of(cls, token: str) -> PartsWalk:
        """The inverse of `token`; a number alone is the beginning."""
        try:
            part, listed, chains, why, note = (token if "|" in token else f"{token}|0|0||").split("|", 4)
            return cls(part, int(listed), int(chains), why, note)
        except ValueError:
            raise CursorExpired("the cursor of the list cannot be read") from None

    def with_part(self, listed: int, taken: int, failure: SourceError | None, note: str) -> PartsWalk:
        """One part further."""
        letters = [letter for letter, leaf in _WHY.items() if letter in self.why or isinstance(failure, leaf)]
        notes = "; ".join(filter(None, (self.note, note)))[:_LONGEST_NOTE]
        return PartsWalk(self.part, self.listed + listed, self.chains + taken, "".join(letters), notes)

    @property
    def hopeless(self) -> bool:
        """Whether a visitor without a login will see nothing in the other parts either."""
        return not self.chains and self.note.count(_NEEDED) >= _ENOUGH

    def nothing(self) -> SourceError:
        """Why no part at all had a track, the most hopeful reason first."""
        return _WHY[self.why[0]](_NOT_SHOWN if self.why[0] == "u" else "in none of its parts")


class SubtitlesRoute(PartsRoute):
    """The route for transcripts, given what is wanted."""

    name = "player"

    def __init__(self, wanted: Wanted | None = None) -> None:
        self.wanted = wanted or Wanted()

    @classmethod
    def of(cls, options: Options) -> SubtitlesRoute:
        """The route for what a person asked for."""
        return cls(wanted_of(options.languages, options.kinds, options.translate, options.tracks))

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The first wanted part."""
        return first_cursor(session, options, "player")

    def request(self, video_id: str, cursor: Cursor, session: Session) -> Ask:
        if cursor.step == PAGELIST:
            return endpoints.pagelist(video_id)
        if cursor.step == "track":
            return Ask(TrackAsk.of(cursor.token).url)
        if cursor.step == "again":
            track = TrackAsk.of(cursor.token)
            number, signed = str(track.part), track.route == "player"
        else:
            number, signed = PartsWalk.of(cursor.token).part, name_of(cursor.step) == "player"
        cid = part_at(session, number).cid
        return endpoints.player(aid_of(video_id), cid, video_id, session.get("ep_id", ""), signed=signed)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        match cursor.step:
            case "pagelist":
                return read_pagelist(cursor, answer, "player")
            case "track":
                track = TrackAsk.of(cursor.token)
                part = part_at(session, str(track.part))
                return _read_track(video_id, cursor, track, part, answer, iso(fetched_at))
            case "again":
                return _read_again(video_id, cursor, answer, session)
            case _:
                return self._read_list(video_id, cursor, answer, options, session)

    def fallback(self, cursor: Cursor, failure: Exception) -> Cursor | None:
        """The unsigned player where the signature is refused for good. A block is not talked around."""
        if name_of(cursor.step) == "player" and isinstance(failure, SignatureRefused | LayoutChanged):
            return replace(cursor, step=cursor.step.replace("player", "player_old"))
        return None

    def probes(self) -> tuple[str, ...]:
        """The player in both forms, and the hosts that hold subtitles."""
        return (
            endpoints.player("1", "1", "BV17x411w7KC").url,
            endpoints.player("1", "1", "BV17x411w7KC", signed=False).url,
            "https://aisubtitle.hdslb.com/bfs/ai_subtitle/prod/1",
            "https://i0.hdslb.com/bfs/subtitle/1.json",
        )

    def _read_list(self, video_id: str, cursor: Cursor, answer: Answer, options: Options, session: Session) -> Page:
        walk = PartsWalk.of(cursor.token)
        part = part_at(session, walk.part)
        step, on_main = name_of(cursor.step), cursor.chain == MAIN
        data = payload(answer, _CODES)
        listed = read_list(data, aid_of(video_id), part.cid)
        taken: list[Listed] = []
        failure: SourceError | None = None
        if listed:
            try:
                taken, note = self._chosen(listed)
            except NoTranscriptInLanguage as error:
                failure, note = error, "none in a language that was asked for"
        elif session.get("logged_in") == "1" and int_at(data, "login_mid") != 0:
            if type(dig(data, "subtitle", "subtitles")) is not list:
                raise PartialResponse("the player says nothing of subtitles")
            failure, note = TranscriptsDisabled(), "no subtitles"
        else:
            failure, note = LoginRequired(_NOT_SHOWN), _NEEDED
        many = len(present(session, options)) > 1
        walk = walk.with_part(len(listed), len(taken), failure, f"part {part.part}: {note}" if many and note else note)
        onward = after(part.part, session, options) if on_main and not walk.hopeless else None
        if onward is None and not walk.chains and failure is not None:
            raise walk.nothing() if many else failure
        others = missing_chains(session, options) if on_main and walk.listed == len(listed) else ()
        return Page(
            cursor,
            next=None if onward is None else Cursor(MAIN, numbered(step, onward), walk.token(onward)),
            found=(*others, *(self._chain(one, part, step) for one in taken)),
            claimed=walk.listed,
            note=walk.note or None,
        )

    def _chosen(self, listed: tuple[Listed, ...]) -> tuple[list[Listed], str]:
        """What is wanted, and the site's own translations into the languages that were asked for; why not the others.

        A translation is a track like any other here: the site makes it, or there is none.
        """
        tracks = tuple(one.track for one in listed)
        by_id = {one.track.track_id: one for one in listed}
        choice, refused = Choice(()), None
        try:
            choice = choose(tracks, replace(self.wanted, translate=()))
        except NoTranscriptInLanguage as error:
            refused = error
        taken = list(choice.taken)
        for code in self.wanted.translate:
            fitting = [track for track in tracks if track.kind == TRANSLATED and fit(code, track.language) is not None]
            taken += sorted(fitting, key=lambda track: fit(code, track.language) or 0)[:1]
        if not taken and refused is not None:
            raise refused
        names = dict.fromkeys(track.track_id for track in taken)
        left = tuple(pair for pair in choice.left_out if pair[0].track_id not in names)
        return [by_id[name] for name in names], why_not(replace(choice, left_out=left))

    def _chain(self, one: Listed, part: Part, step: str) -> Cursor:
        track = one.track
        ask = TrackAsk(
            part.part, track.track_id, one.lan, track.language, track.kind, track.name, url=one.url, route=step
        )
        return Cursor(f"{part.part}:{one.lan}:{track.track_id}", "track" if one.url else "again", ask.token, 1)


def _read_again(video_id: str, cursor: Cursor, answer: Answer, session: Session) -> Page:
    """The same track from a fresh list: by its id, else the only one of its language and kind."""
    old = TrackAsk.of(cursor.token)
    part = part_at(session, str(old.part))
    listed = read_list(payload(answer, _CODES), aid_of(video_id), part.cid)
    found = [one for one in listed if one.track.track_id == old.track_id]
    found = found or [one for one in listed if (one.lan, one.track.kind) == (old.lan, old.kind)]
    if not found:
        raise PartialResponse(f"the site lists {old.lan} no more")
    if not found[0].url:
        raise WrongVideo(f"the site gives {old.lan} without an address, or with another video's")
    track = replace(old, url=found[0].url, renewed=old.renewed + 1)
    return Page(cursor, next=replace(cursor, step="track", token=track.token))


def _read_track(video_id: str, cursor: Cursor, track: TrackAsk, part: Part, answer: Answer, fetched_at: str) -> Page:
    again = replace(cursor, step="again", token=replace(track, url="", renewed=track.renewed).token)
    try:
        if answer.status in (403, 404):
            raise PartialResponse(f"status {answer.status}: the address has run out")
        segments, version = read_body(answer.body, part.duration)
    except (WrongVideo, PartialResponse) as failure:
        if track.renewed < _RENEWALS and (isinstance(failure, WrongVideo) or answer.status != 200):
            return Page(cursor, next=again)
        raise
    extras = {
        "route": track.route,
        "track_id": track.track_id,
        "lan": track.lan,
        "cid": part.cid,
        "version": version,
        "part_title": part.title,
    }
    record = Transcript(
        provider="bilibili",
        video_id=video_id,
        part=part.part,
        language=track.language,
        kind=track.kind,
        name=track.name,
        segments=segments,
        content_hash=content_hash(*(text for one in segments for text in _content(one.start, one.duration, one.text))),
        fetched_at=fetched_at,
        extras={name: value for name, value in extras.items() if value},
    )
    return Page(cursor, records=(record,))


def _content(start: float, duration: float | None, text: str) -> tuple[str, str, str]:
    return str(round(start * 1000)), "" if duration is None else str(round(duration * 1000)), text
