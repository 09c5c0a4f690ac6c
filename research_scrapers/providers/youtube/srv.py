"""Captions in the site's XML: srv1 (seconds, escaped twice), srv2 and srv3 (milliseconds, words).

The parser builds no tree, so depth costs nothing; and it refuses a document type before any entity can be declared.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from xml.parsers import expat

from research_scrapers.errors import LayoutChanged, PartialResponse, WrongContent
from research_scrapers.models import Segment
from research_scrapers.providers.youtube.lines import MARKUP, in_order, segment

ROOTS = ("transcript", "timedtext")

_NUMBER = re.compile(r"-?\d{1,10}(?:\.\d{1,9})?", re.ASCII)


@dataclass(slots=True)
class _Line:
    attributes: dict[str, str]
    pieces: list[tuple[int | None, list[str]]] = field(default_factory=list)
    """Offset in milliseconds (``None``: not told) and text of each word; a line without words is one piece."""

    @property
    def text(self) -> str:
        return "".join("".join(texts) for _, texts in self.pieces)


class _Reader:
    """Gathers lines while the parser runs."""

    def __init__(self) -> None:
        self.root = ""
        self.lines: list[_Line] = []
        self.stray = False
        self._line: _Line | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.root:
            self.root = name
            if name not in ROOTS:
                raise WrongContent(f"a document <{name[:40]}> where captions were due")
        if name in ("text", "p"):
            self._line = _Line(attributes, [(None, [])])
            self.lines.append(self._line)
        elif name == "s" and self._line is not None:
            self._line.pieces.append((_milliseconds(attributes.get("t", "0")), []))
        elif name == "br":
            self.data("\n")

    def end(self, name: str) -> None:
        if name in ("text", "p"):
            self._line = None
        elif name == "s" and self._line is not None:
            self._line.pieces.append((None, []))

    def data(self, text: str) -> None:
        if self._line is not None:
            self._line.pieces[-1][1].append(text)
        elif text.strip():
            self.stray = True


def read_srv(body: bytes) -> list[Segment]:
    """The lines of an srv document. One without any text is an empty transcript, not a failure."""
    reader = _parse(body)
    if reader.stray and not reader.lines:
        raise LayoutChanged("captions with text outside of lines")
    if reader.root == "transcript":
        return in_order([_read_srv1(line) for line in reader.lines])
    found: list[Segment | None] = []
    broken = True
    for line in reader.lines:
        appended = line.attributes.get("append") == "1"
        if appended and not line.text.strip():
            broken = True
        elif appended and not broken and found and found[-1] is not None:
            _append(found[-1], line)
        else:
            found.append(_read_timed(line))
            broken = False
    return in_order(found)


def _parse(body: bytes) -> _Reader:
    reader = _Reader()
    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.StartDoctypeDeclHandler = _refuse
    text = body.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        told = expat.ErrorString(error.code) or "damaged"
        if not text.rstrip().endswith(tuple(f"</{root}>" for root in ROOTS)):
            raise PartialResponse(f"the XML breaks off: {told}") from None
        raise LayoutChanged(f"the XML is damaged: {told}") from None
    return reader


def _refuse(*_: object) -> None:
    raise WrongContent("an XML document with a document type: captions have none")


def _read_srv1(line: _Line) -> Segment | None:
    """Text is escaped twice, markup once: a tag after one unescaping is a tag, one after two is text."""
    text = html.unescape(MARKUP.sub("", line.text))
    duration = line.attributes.get("dur")
    return segment(
        round(_number(line.attributes.get("start")) * 1000),
        None if duration is None else round(_number(duration) * 1000),
        text,
    )


def _read_timed(line: _Line) -> Segment | None:
    """A line of srv2 or srv3. Lines that only break the line before them have no text and vanish."""
    if not line.text.strip():
        return None
    start, duration = _milliseconds(line.attributes.get("t")), line.attributes.get("d")
    timed = any(offset is not None for offset, _ in line.pieces)
    words = [(start + (offset or 0), "".join(texts)) for offset, texts in line.pieces]
    return segment(start, None if duration is None else _milliseconds(duration), line.text, words if timed else None)


def _append(last: Segment, line: _Line) -> None:
    """srv2 tells an automatic line word by word."""
    start = _milliseconds(line.attributes.get("t")) / 1000
    last.words = [*(last.words or [(last.start, last.text)]), (start, line.text.strip())]
    last.text += line.text.rstrip()
    duration = line.attributes.get("d")
    if duration is not None:
        last.duration = round(max(last.duration or 0.0, start + _milliseconds(duration) / 1000 - last.start), 3)


def _number(text: str | None) -> float:
    if text is None or not _NUMBER.fullmatch(text.strip()):
        raise LayoutChanged(f"a caption line with the time {str(text)[:40]!r}")
    return float(text)


def _milliseconds(text: str | None) -> int:
    return round(_number(text))
