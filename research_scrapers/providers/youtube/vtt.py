"""Captions as WebVTT. Automatic ones roll: every line comes again below the next one, and once more for 10 ms.

Automatic tracks are known by the times inside their lines. There, a line that was on the screen a moment ago only
stays longer; a line with times of its own is new, even if it says the same.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from research_scrapers.errors import LayoutChanged, WrongContent
from research_scrapers.models import Segment
from research_scrapers.providers.youtube.lines import MARKUP, in_order, segment

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOCK = r"(?:(\d{1,5}):)?([0-5]?\d):([0-5]?\d)[.,](\d{3})"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?", re.ASCII)
_WORD_TIME = re.compile(rf"<{_CLOCK}>", re.ASCII)
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,100})?\s+([^<>]{1,200})>")
_VOICE_END = re.compile(r"</v>")
_HEADER = "WEBVTT"
_GAP_MS = 20
"""Rolling cues follow each other at once; during a longer gap the screen was empty."""


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue as it is written."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Shown:
    """A line on the screen of a rolling track."""

    text: str
    start: int
    end: int
    words: list[tuple[int, str]] | None


def read_vtt(body: bytes) -> list[Segment]:
    """The lines of a WebVTT file, rolling repeats undone."""
    text = body.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith(_HEADER):
        raise WrongContent("the text is not WebVTT")
    cues = list(read_cues(text))
    if not cues and "-->" in text:
        raise LayoutChanged("WebVTT with times that we cannot read")
    if any(_WORD_TIME.search(cue.text) for cue in cues):
        return in_order(segment(line.start, line.end - line.start, line.text, line.words) for line in _unroll(cues))
    return in_order(segment(cue.start, cue.end - cue.start, html.unescape(_bare(cue.text))) for cue in cues)


def read_cues(text: str) -> Iterator[Cue]:
    """Every cue. Whatever stands outside one (header, STYLE, NOTE, identifiers) is not spoken."""
    timing: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        begins = _TIMING.fullmatch(line) if "-->" in line else None
        if timing is not None and (begins or not line):
            yield Cue(_clock(timing.groups()[:4]), _clock(timing.groups()[4:]), "\n".join(lines))
            timing = None
        if begins:
            timing, lines = begins, []
        elif timing is not None:
            lines.append(line)


def _unroll(cues: list[Cue]) -> Iterator[_Shown]:
    screen: list[_Shown] = []
    ended = 0
    for cue in cues:
        lines = [line for raw in _bare(cue.text).split("\n") if (line := _line(raw, cue)) is not None]
        ended, cleared = cue.end, cue.start - ended > _GAP_MS
        kept = _overlap(screen, lines) if len(lines) > 1 or not cleared else 0
        if cleared:
            # A cue brings one line at a time: two of them after a pause are the old one and a new one all the same.
            yield from screen
            screen = lines[kept:]
            continue
        yield from screen[: len(screen) - kept]
        staying = screen[len(screen) - kept :]
        for line in staying:
            line.end = max(line.end, cue.end)
        screen = staying + lines[kept:]
    yield from screen


def _overlap(screen: list[_Shown], lines: list[_Shown]) -> int:
    """How many lines at the top of a cue are the lines that stood at the bottom of the screen."""
    stale = 0
    while stale < len(lines) and lines[stale].words is None:
        stale += 1
    for count in range(min(len(screen), stale), 0, -1):
        if [line.text for line in screen[-count:]] == [line.text for line in lines[:count]]:
            return count
    return 0


def _line(raw: str, cue: Cue) -> _Shown | None:
    pieces = _WORD_TIME.split(raw)
    text = html.unescape("".join(pieces[::5])).strip()
    if not text:
        return None
    words = None
    if len(pieces) > 1:
        times = [cue.start, *(_clock(pieces[place : place + 4]) for place in range(1, len(pieces), 5))]
        words = [(at, html.unescape(word)) for at, word in zip(times, pieces[::5], strict=True)]
    return _Shown(text, cue.start, cue.end, words)


def _bare(text: str) -> str:
    """Without styles. A voice tag names the speaker: that is part of what a reader sees."""
    return MARKUP.sub("", _VOICE_END.sub("", _VOICE.sub(r"\1: ", text)))


def _clock(parts: list[str] | tuple[str | None, ...]) -> int:
    hours, minutes, seconds, thousandths = (int(part or 0) for part in parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths
