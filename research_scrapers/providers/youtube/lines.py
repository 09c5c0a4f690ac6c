"""What all caption formats have in common: a line with times in milliseconds becomes a segment, or nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from research_scrapers.errors import LayoutChanged
from research_scrapers.models import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKUP = re.compile(
    r"</?(?:i|b|u|s|em|strong|font|span|c|ruby|rt|rp|lang(?:\s+[\w-]{1,40})?)"
    r"(?:\.[\w.-]{1,100}|\s+[\w-]{1,40}\s*=[^<>]{0,300})?\s?/?>",
    re.I,
)
"""Tags that style a caption. Anything else in angle brackets is what somebody says or does: ``<laughs>``."""

_EDGES = " \t\r\n\f\v\xa0\u200b\ufeff"
_LONGEST = 10**11
"""Three years in milliseconds. No video is longer; nonsense is."""


def segment(
    start: int, duration: int | None, text: str, words: Iterable[tuple[int, str]] | None = None
) -> Segment | None:
    """One line, its edges trimmed; ``None`` if it shows nothing."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip(_EDGES)
    if not text:
        return None
    for time in (start, duration or 0):
        if not -_LONGEST < time < _LONGEST:
            raise LayoutChanged(f"a caption line at {str(time)[:30]} milliseconds")
    timed = None
    if words is not None:
        timed = [(max(0, at) / 1000, spoken) for at, word in words if (spoken := word.strip(_EDGES))]
    return Segment(max(0, start) / 1000, None if duration is None else max(0, duration) / 1000, text, timed)


def in_order(found: Iterable[Segment | None]) -> list[Segment]:
    """The segments by start; those that begin together keep the site's order."""
    return sorted((one for one in found if one is not None), key=lambda one: one.start)
