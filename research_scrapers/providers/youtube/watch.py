"""The watch page: three blobs of JSON in a megabyte of HTML, or one of the pages that come in its place."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from research_scrapers.errors import ConsentNeeded, IpBlocked, PartialResponse, VideoUnavailable, WrongContent
from research_scrapers.providers.youtube.tree import decode, dict_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONSENT_FORM = re.compile(rb"<form\b[^>]{0,500}\baction=[\"']https://consent\.(?:youtube|google)\.com/", re.I)
_CAPTCHA = (b'class="g-recaptcha"', b'id="captcha-form"', b"/das_captcha", b"www.google.com/recaptcha/")
_BLOBS = (b"ytInitialData", b"ytInitialPlayerResponse", b"yt-initial-data", b"INNERTUBE_API_KEY")
_ELEMENT = re.compile(rb"<script\b[^>]{0,300}?\sid=[\"']?yt-initial-data[\"']?[^>]{0,300}>", re.I)
_ASSIGNMENT = re.compile(rb"[\"']?\]?\s*=\s*(?=[{'\"J])")
_TRIES = 20
"""Genuine pages name a blob up to six times; nonsense may name it a million times."""
_OLD_UNAVAILABLE = re.compile(rb"<div\b[^>]{0,300}?\bid=\"player-unavailable\"[^>]{0,300}>", re.I)
_FACTS = {
    "client_version": re.compile(rb"INNERTUBE_(?:CONTEXT_)?CLIENT_VERSION[\"']?\s*:\s*\"(2\.[\w.]+)\""),
    "visitor_data": re.compile(rb"(?:VISITOR_DATA|\"visitorData)[\"']?\s*:\s*\"([^\"\\]*(?:\\u003d[^\"\\]*)*)\""),
    "api_version": re.compile(rb"INNERTUBE_API_VERSION[\"']?\s*:\s*\"(\w+)\""),
}
# Possessive, and every sign in one branch only: a string that never ends must fail at once, not after all of time.
_QUOTED = re.compile(
    r"""(?:JSON\.parse\(\s*+)?+(?:'([^'\\]*+(?:\\.[^'\\]*+)*+)'|"([^"\\]*+(?:\\.[^"\\]*+)*+)")""", re.S
)
_JS_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.S)
_JS_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


@dataclass(frozen=True, slots=True)
class Watch:
    """What a watch page holds. A blob that is not there is ``None``."""

    initial: dict[str, Any] | None
    player: dict[str, Any] | None
    facts: dict[str, str] = field(default_factory=dict)


def stand_in(body: bytes) -> ConsentNeeded | IpBlocked | None:
    """The page that came in place of the one asked for. Genuine pages talk of consent too: they have the blobs."""
    if any(blob in body for blob in _BLOBS):
        return None
    if _CONSENT_FORM.search(body):
        return ConsentNeeded()
    if any(sign in body for sign in _CAPTCHA):
        return IpBlocked("the page is a captcha")
    return None


def read_watch(body: bytes) -> Watch:
    """The blobs of a watch page, or of the JSON that ``pbj=1`` used to give for it."""
    text = body.strip()
    if not text:
        raise PartialResponse("the body is empty")
    if text[:1] in (b"[", b"{"):
        return _read_pbj(decode(text))
    refused = stand_in(text)
    if refused is not None:
        raise refused
    watch = Watch(_element(text) or _assigned(text, b"ytInitialData"), _assigned(text, b"ytInitialPlayerResponse"))
    watch.facts.update(_page_facts(text))
    if watch.initial is None and watch.player is None:
        _explain_bare(text)
    return watch


def _read_pbj(value: Any) -> Watch:
    initial = player = None
    for part in value if isinstance(value, list) else [value]:
        initial = dict_at(part, "response") or initial
        player = dict_at(part, "playerResponse") or player
    if initial is None and player is None:
        raise WrongContent("JSON without a page")
    visitor = str_at(initial, "responseContext", "webResponseContextExtensionData", "ytConfigData", "visitorData")
    return Watch(initial, player, {"visitor_data": visitor} if visitor else {})


def _page_facts(text: bytes) -> Iterator[tuple[str, str]]:
    for name, form in _FACTS.items():
        match = form.search(text)
        if match and match[1]:
            yield name, match[1].decode("ascii", "replace").replace("\\u003d", "=")


def _explain_bare(text: bytes) -> None:
    """A page without blobs: the old page of a removed video, a page cut short, or something else altogether."""
    old = _OLD_UNAVAILABLE.search(text)
    if old and b" hid" not in old[0]:
        raise VideoUnavailable
    if b"</html>" not in text[-2000:].lower():
        raise PartialResponse("the page breaks off")
    if b"ytcfg" not in text and b"INNERTUBE" not in text:
        raise WrongContent("the page is not a watch page")


def _element(text: bytes) -> dict[str, Any] | None:
    """Since autumn 2026 the initial data may have an element of its own, without any script around it."""
    match = _ELEMENT.search(text)
    return _cut_out(text, match.end()) if match else None


def _assigned(text: bytes, name: bytes) -> dict[str, Any] | None:
    """What a script assigns to the name: ``var x =``, ``window["x"] =``, as JSON or as a quoted, escaped string."""
    start = text.find(name)
    for _ in range(_TRIES):
        if start < 0:
            break
        match = _ASSIGNMENT.match(text, start + len(name))
        if match and (found := _cut_out(text, match.end())) is not None:
            return found
        start = text.find(name, start + len(name))
    return None


def _cut_out(text: bytes, start: int) -> dict[str, Any] | None:
    """The object that begins here. A decoder finds its end; the end of the script is only the fast guess."""
    end = text.find(b"</script", start)
    piece = text[start : end if end >= 0 else None].strip().rstrip(b"; \r\n\t")
    value: Any = None
    try:
        value = msgspec.json.decode(piece)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = _decode_start(piece.decode("utf-8", "replace"))
    if isinstance(value, dict):
        return value
    if end < 0:
        raise PartialResponse("the page breaks off inside its data")
    return None


def _decode_start(piece: str) -> Any:
    quoted = _QUOTED.match(piece)
    if quoted:
        # Scripts write an emoji as two halves: they belong together again, and a half alone is no text.
        halves = _JS_ESCAPE.sub(_unescape, quoted[1] or quoted[2] or "")
        piece = halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        value = json.JSONDecoder().raw_decode(piece)[0]
        return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16))
    return _JS_SIGNS.get(match[3], match[3])
