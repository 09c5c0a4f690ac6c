"""The text of a caption track in any format that the site has: json3, srv3, srv2, srv1 or vtt.

An empty document of the right kind is an empty transcript. No document at all is a refusal: a browser would have had
to prove itself (`TokenNeeded`), or the answer got lost (`PartialResponse`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_scrapers.errors import (
    CursorExpired,
    LayoutChanged,
    NoTranscriptInLanguage,
    PartialResponse,
    SourceError,
    TokenNeeded,
    WrongContent,
)
from research_scrapers.models import Segment
from research_scrapers.providers.youtube.captions import needs_token
from research_scrapers.providers.youtube.endpoints import parameter
from research_scrapers.providers.youtube.lines import in_order, segment
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.srv import read_srv
from research_scrapers.providers.youtube.tree import decode_object, list_at
from research_scrapers.providers.youtube.vtt import read_vtt
from research_scrapers.providers.youtube.watch import stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from research_scrapers.models import Answer

LARGEST = 64 * 2**20
"""Bytes. Ten hours of speech with a time for every word are a few million."""

_HTML = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script")


def judge_timedtext(answer: Answer) -> SourceError | None:
    """Why an answer is no transcript, as far as its status and outer form show it; ``None`` if it may be one."""
    if answer.status == 404:
        into = parameter(answer.url, "tlang")
        if into:
            return NoTranscriptInLanguage(f"the site does not translate this track into {into}")
        return WrongContent("status 404")
    if answer.status < 300 and not answer.body.strip():
        if needs_token(answer.url):
            return TokenNeeded("the address asks for a proof token and answers nothing without one")
        return PartialResponse("the transcript has zero bytes")
    refused = judge(answer)
    if isinstance(refused, SourceError):
        return refused
    if answer.status >= 400:
        return CursorExpired("the address of the track has expired")
    return _page(answer.body)


def format_of(body: bytes) -> str | None:
    """The format that a body is written in, by its first signs."""
    start = body[:300].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"{", b")]}'")):
        return "json3"
    if start.startswith(b"WEBVTT"):
        return "vtt"
    if start.startswith(b"<"):
        return "srv"
    return None


def read_timedtext(body: bytes, fmt: str | None = None) -> list[Segment]:
    """The lines of a track. Without ``fmt`` the body itself tells its format: sites do not always obey."""
    if len(body) > LARGEST:
        raise WrongContent(f"{len(body)} bytes are no transcript")
    if not body.strip():
        raise PartialResponse("the transcript has zero bytes")
    page = _page(body)
    if page is not None:
        raise page
    form = format_of(body) if fmt is None else fmt
    readers: dict[str | None, Callable[[bytes], list[Segment]]] = {
        "json3": _read_json3,
        "vtt": read_vtt,
        **dict.fromkeys(("srv", "srv1", "srv2", "srv3"), read_srv),
    }
    if form not in readers:
        raise WrongContent("the body is in no format of captions that we know")
    return readers[form](body)


def _page(body: bytes) -> SourceError | None:
    """A page for people where a transcript was due."""
    start = body[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start.startswith(_HTML):
        return None
    return stand_in(body) or WrongContent("HTML where a transcript was due")


def _read_json3(body: bytes) -> list[Segment]:
    data = decode_object(body)
    if type(data.get("events", [] if "wireMagic" in data else None)) is not list:
        raise LayoutChanged("JSON without caption events")
    return in_order(_event(event) for event in list_at(data, "events"))


def _event(event: Any) -> Segment | None:
    """A line. Windows have no text, and an append event that only breaks the line has none either."""
    if type(event) is not dict or type(event.get("segs", [])) is not list:
        raise LayoutChanged("a caption event of a form that we do not know")
    pieces = list_at(event, "segs")
    if any(type(piece) is not dict or type(piece.get("utf8", "")) is not str for piece in pieces):
        raise LayoutChanged("a piece of a caption line that is not text")
    text = "".join(piece.get("utf8", "") for piece in pieces)
    if not text.strip():
        return None
    start = _whole(event.get("tStartMs", 0))
    duration = event.get("dDurationMs")
    timed = any("tOffsetMs" in piece for piece in pieces)
    words = [(start + _whole(piece.get("tOffsetMs", 0)), piece.get("utf8", "")) for piece in pieces] if timed else None
    return segment(start, None if duration is None else _whole(duration), text, words)


def _whole(value: Any) -> int:
    if type(value) is int and abs(value) < 10**12:
        return value
    if type(value) is str and len(value) <= 12 and value.isascii() and value.isdigit():
        return int(value)
    raise LayoutChanged(f"a caption line with the time {str(value)[:40]!r}")
