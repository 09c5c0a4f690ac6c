"""The XML pool of danmaku: plain, or deflated without the header that tools expect."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from dataclasses import dataclass

from research_scrapers.errors import LayoutChanged, PartialResponse, SilentRefusal, WrongContent

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_REFERENCE = re.compile(rb"&#(?:x0*([0-9a-fA-F]{1,6})|0*([0-9]{1,7}));")
_LARGEST = 32 * 2**20
_MOST = 1_000_000
"""So many tags are believed. The site gives a few thousand danmaku, in one or two million bytes."""


class _NoDoctype(ET.TreeBuilder):
    """Refuses a document type before any entity can be declared."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise WrongContent("XML with a document type of its own")


@dataclass(frozen=True, slots=True)
class Element:
    """One danmaku as the pool tells it."""

    fields: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Pool:
    """The whole file."""

    cid: str | None
    closed: bool
    limit: int | None
    elements: tuple[Element, ...]


def inflated(body: bytes) -> bytes:
    """The text, whatever it came packed in."""
    if body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<":
        return body
    for bits in (-15, 15, 31):
        packer = zlib.decompressobj(bits)
        try:
            text = packer.decompress(body, _LARGEST)
        except zlib.error:
            continue
        if text.lstrip()[:1] == b"<":
            if packer.unconsumed_tail:
                raise LayoutChanged(f"the packed XML holds more than {_LARGEST} bytes")
            if not packer.eof:
                raise PartialResponse("the packed XML breaks off")
            return text
    raise WrongContent("the body is not XML")


def _legal(match: re.Match[bytes]) -> bytes:
    """A character by its number, if XML allows it; else nothing."""
    number = int(match[1], 16) if match[1] else int(match[2])
    plain = 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE or 0x10000 <= number < 0x110000
    return match[0] if plain or number in (9, 10, 13) else b""


def read_pool(body: bytes) -> Pool:
    """Every danmaku of the file. Control characters and others that no XML may hold are dropped."""
    if not body.strip():
        raise SilentRefusal("an empty body for the danmaku file")
    text = _REFERENCE.sub(_legal, _CONTROL.sub(b"", inflated(body)))
    if len(text) > _LARGEST or text.count(b"<") > _MOST:
        raise LayoutChanged(f"a danmaku file of {len(text)} bytes")
    try:
        parser = ET.XMLParser(target=_NoDoctype(), encoding="utf-8")  # noqa: S314 - no document type, so no entities
        parser.feed(_NO_CHARACTER.sub("", text.decode("utf-8", "replace")).encode())
        root = parser.close()
    except (ET.ParseError, ValueError, LookupError):
        raise PartialResponse("the XML breaks off or is damaged") from None
    if root.tag != "i":
        raise LayoutChanged(f"danmaku under <{root.tag[:20]}>")
    limit = root.findtext("maxlimit") or ""
    return Pool(
        (root.findtext("chatid") or "").strip() or None,
        (root.findtext("state") or "").strip() == "1",
        int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 10 else None,
        tuple(Element(tuple((node.get("p") or "").split(",")), "".join(node.itertext())) for node in root.iter("d")),
    )
