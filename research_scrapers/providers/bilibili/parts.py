"""The parts of a video, as the metadata hands them on, and which of them are wanted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import CursorExpired, LayoutChanged, PartMissing, VideoUnavailable
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page
from research_scrapers.providers import Route, Session
from research_scrapers.providers.bilibili import endpoints, links
from research_scrapers.providers.bilibili.refusals import failure_of_code, told
from research_scrapers.providers.tree import decode_object, int_at, list_at, str_at

if TYPE_CHECKING:
    from research_scrapers.errors import SourceError

PAGELIST = "pagelist"
"""The step that asks for the parts once more, where a wanted one is not among those that are known."""


class PartsRoute(Route):
    """A route whose main chain walks the parts of a video."""

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor; for one that cannot be read, a harmless one, and `read` says why."""
        try:
            return self.request(video_id, cursor, session)
        except CursorExpired:
            return endpoints.pagelist(video_id)

    def request(self, video_id: str, cursor: Cursor, session: Session) -> Ask:
        """The request that a cursor stands for."""
        raise NotImplementedError


def numbered(name: str, number: int | str) -> str:
    """A step for each part, ``dmview:2``: parts without anything to collect are no site that repeats itself."""
    return f"{name}:{number}"


def name_of(step: str) -> str:
    """A step without its number."""
    return step.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a video: its number from 1, and the id under which the site keeps its subtitles and danmaku."""

    part: int
    cid: str
    duration: int
    title: str = ""


def read_parts(pages: list[Any]) -> tuple[Part, ...]:
    """The parts as the site lists them. A part without an id cannot be asked for: that must be known."""
    found: dict[int, Part] = {}
    for place, page in enumerate(pages, 1):
        cid = int_at(page, "cid")
        if not cid:
            raise LayoutChanged("a part without a cid")
        number = int_at(page, "page") or place
        found.setdefault(
            number, Part(number, str(cid), max(int_at(page, "duration") or 0, 0), str_at(page, "part") or "")
        )
    return tuple(found[number] for number in sorted(found))


def packed(parts: tuple[Part, ...]) -> str:
    """As the session carries them."""
    return json.dumps([asdict(part) for part in parts], ensure_ascii=False, separators=(",", ":"))


def known_parts(session: Session) -> dict[int, Part]:
    """What the session carries, by number."""
    try:
        return {entry["part"]: Part(**entry) for entry in json.loads(session.get("parts") or "[]")}
    except (ValueError, TypeError, KeyError):
        return {}


def aid_of(video_id: str) -> str:
    """The number that the site's older endpoints want."""
    return str(links.aid(video_id))


def number_in(text: str) -> int:
    """A number of ours in a cursor."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise CursorExpired(f"the cursor says {text[:20]!r} where a number was due")
    return int(text)


def part_at(session: Session, number: str) -> Part:
    """The part that a cursor names."""
    found = known_parts(session).get(number_in(number))
    if found is None:
        raise CursorExpired(f"the cursor names part {number[:20]}, which is not known")
    return found


def wanted_numbers(session: Session, options: Options) -> list[int]:
    """The numbers that a link or the person named, or else all of them."""
    listed = session.get("only_parts", "").split(",")
    named = [int(text) for text in listed if text.isascii() and text.isdigit() and len(text) < 16]
    if named:
        return sorted(set(named))
    numbers = sorted(known_parts(session)) or [1]
    return numbers[:1] if options.parts == "first" else numbers


def present(session: Session, options: Options) -> list[int]:
    """Those of the wanted that are there."""
    known = known_parts(session)
    return [number for number in wanted_numbers(session, options) if number in known]


def first_cursor(session: Session, options: Options, step: str) -> Cursor:
    """Where a walk over the parts begins. If none of the wanted is known, the site is asked for its parts once more."""
    there = present(session, options)
    if there:
        return Cursor(MAIN, numbered(step, there[0]), str(there[0]))
    return Cursor(MAIN, PAGELIST, str(wanted_numbers(session, options)[0]))


def missing_chains(session: Session, options: Options) -> tuple[Cursor, ...]:
    """A chain for each wanted part that is not there, so that each is told by its number."""
    known = known_parts(session)
    gone = [number for number in wanted_numbers(session, options) if number not in known]
    return tuple(Cursor(f"{number}:missing", PAGELIST, str(number)) for number in gone)


def after(number: int, session: Session, options: Options) -> int | None:
    """The next part of the walk."""
    return next((other for other in present(session, options) if other > number), None)


def read_pagelist(cursor: Cursor, answer: Answer, step: str) -> Page:
    """The parts, asked for once more: go on if the wanted one is there by now."""
    envelope = decode_object(answer.body)
    code = int_at(envelope, "code")
    if code in (-400, -404):
        raise VideoUnavailable(told(envelope))
    if code:
        raise failure_of_code(envelope, answer)
    parts = read_parts(list_at(envelope, "data"))
    if not parts:
        raise LayoutChanged("a video without parts")
    if cursor.token not in {str(part.part) for part in parts}:
        raise _missing(cursor.token, parts)
    return Page(
        cursor, next=Cursor(cursor.chain, numbered(step, cursor.token), cursor.token), session={"parts": packed(parts)}
    )


def _missing(number: str, parts: tuple[Part, ...]) -> SourceError:
    return PartMissing(f"part {number}; there {'is 1' if len(parts) == 1 else f'are {len(parts)}'}")
