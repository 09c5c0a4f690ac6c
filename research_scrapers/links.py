"""From a links file to videos: a line of text becomes a `Link`, or a `BadLine` that says why not."""

from __future__ import annotations

import codecs
import hashlib
import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from research_scrapers.errors import LinkNotRecognised, LinksEmpty, LinksMissing
from research_scrapers.models import BadLine, Link
from research_scrapers.providers import providers

_COMMENT = re.compile(r"(?:^|\s)#(?!!).*$")  # «#!v=» belongs to an old form of link
_PRIORITY = re.compile(r"(?:priority=)?([+-]?\d{1,9})$")
_SHOWN = 200
_LONGEST_PATH, _LONGEST_NAME = 4000, 255
"""What a file system takes."""
_MORE = (
    "more than one thing on the line: one link, then a priority (priority=5), a deadline (deadline=2026-12-01T12:00) "
    "or a # comment"
)


@dataclass(frozen=True)
class Links:
    """Where links come from. Iterating reads them anew each time, except from standard input."""

    label: str
    path: Path | None = None
    texts: tuple[str, ...] = ()
    stdin: BinaryIO | None = None
    priority: int = 0
    """Added to every link's own."""

    def __iter__(self) -> Iterator[Link | BadLine]:
        for line in self._lines():
            yield replace(line, priority=line.priority + self.priority) if isinstance(line, Link) else line

    def _lines(self) -> Iterator[Link | BadLine]:
        if self.path is not None:
            with self.path.open("rb") as file:
                yield from read_lines(_decoded(file))
        elif self.stdin is not None:
            yield from read_lines(_decoded(self.stdin))
        else:
            yield from read_lines(self.texts)

    def digest(self) -> str | None:
        """Tells whether the same links were read before; ``None`` for standard input, which comes only once."""
        if self.stdin is not None:
            return None
        if self.path is None:
            return hashlib.blake2b("\n".join(self.texts).encode("utf-8", "surrogateescape")).hexdigest()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()


def open_links(value: str | None, *, stdin: BinaryIO | None = None) -> Links:
    """What ``-a links=…`` names: a file, ``-`` for standard input, or links separated by commas."""
    if value is None or not value.strip():
        raise LinksMissing("give a file with one link per line: -a links=links.txt (or links, or - for standard input)")
    if value == "-":
        return Links("standard input", stdin=stdin or sys.stdin.buffer)
    try:
        path = _path(value)
        if path is not None and path.is_file():
            links = Links(value, path=path)
            with path.open("rb"):
                pass
        elif path is not None and path.exists():
            raise LinksMissing(f"{value} is not a file. Give a file with one link per line")
        else:
            texts = tuple(text.strip() for text in value.split(",") if text.strip())
            if not any(isinstance(line, Link) for line in read_lines(texts)):
                raise LinksMissing(f"there is no file {value}, and it is not a link either. Check the name")
            return Links("the command line", texts=texts)
    except OSError as error:
        raise LinksMissing(f"{value}: {error.strerror}") from error
    if next(iter(links), None) is None:
        raise LinksEmpty(f"{value} has no links: every line is blank or a comment")
    return links


def _path(value: str) -> Path | None:
    """The file that this may be the name of; a long list of links is none."""
    if (
        len(value) > _LONGEST_PATH
        or max(map(len, value.encode("utf-8", "surrogateescape").split(b"/"))) > _LONGEST_NAME
    ):
        return None
    try:
        return Path(value).expanduser()
    except RuntimeError:  # of a person whom this machine does not know
        return Path(value)


def _decoded(file: BinaryIO) -> Iterator[str]:
    head = file.peek(4)[:4] if hasattr(file, "peek") else b""
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = io.TextIOWrapper(file, encoding="utf-16" if wide else "utf-8-sig", errors="replace")
    try:
        yield from text
    finally:
        if not file.closed:
            text.detach()  # whoever opened the file closes it


def read_lines(lines: Iterable[str]) -> Iterator[Link | BadLine]:
    """Every line that says something, in order, with its number."""
    for number, raw in enumerate(lines, start=1):
        line = read_line(number, raw)
        if line is not None:
            yield line


def read_line(number: int, raw: str) -> Link | BadLine | None:
    """One line: a link or a bare id, then perhaps a priority, then perhaps a comment. ``None`` for a blank line."""
    text = _COMMENT.sub("", raw.replace("\x00", "\ufffd")).strip().strip("\ufeff").strip()
    if not text:
        return None
    if "\ufffd" in text:
        return BadLine(number, text[:_SHOWN], "the line is not UTF-8 text")
    name, *rest = text.split()
    priority, deadline = 0, None
    for word in rest:
        if match := _PRIORITY.match(word):
            priority = int(match[1])
        elif (moment := _moment(word)) is not None:
            deadline = moment
        else:
            return BadLine(number, text[:_SHOWN], _MORE)
    try:
        found = recognise(name)
    except LinkNotRecognised as error:
        return BadLine(number, text[:_SHOWN], error.detail)
    part = providers()[found[0]].part
    return Link(found[0], found[1], number, name, priority, part(name) if part else None, deadline)


def _moment(word: str) -> float | None:
    """``deadline=2026-12-01`` or ``deadline=2026-12-01T12:00``, in UTC unless it says otherwise."""
    if not word.startswith("deadline="):
        return None
    try:
        moment = datetime.fromisoformat(word.removeprefix("deadline="))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def recognise(text: str) -> tuple[str, str]:
    """Provider and video id that a link or a bare id names."""
    for name, provider in sorted(providers().items()):
        video_id = provider.recognise(text)
        if video_id is not None:
            return name, video_id
    sites = " or ".join(sorted(name.capitalize() for name in providers()))
    raise LinkNotRecognised(f"not a {sites} link or video id")
