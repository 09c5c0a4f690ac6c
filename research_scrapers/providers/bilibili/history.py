"""Danmaku of earlier days: which days a person wants, month by month. Only a login may ask for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from research_scrapers.errors import SettingInvalid

_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_RANGE = re.compile(rf"({_DAY})(?:\.\.({_DAY}))?", re.ASCII)
FIRST_DAY = "2009-06-26"
"""The site has no day before this one."""


@dataclass(frozen=True, slots=True)
class Days:
    """From this day to that, both included. No end: until now."""

    first: str = FIRST_DAY
    last: str | None = None

    def within(self, published: str, today: str) -> Days:
        """Cut down to the days on which there can be danmaku."""
        return Days(max(self.first, published or FIRST_DAY), min(self.last or today, today))

    def __contains__(self, day: object) -> bool:
        return isinstance(day, str) and self.first <= day <= (self.last or "9999-12-31")


def days_of(text: str | None) -> Days | None:
    """``2024-01-01..2024-01-31``, one day, or ``all``; nothing given is nothing wanted."""
    plain = (text or "").strip().lower()
    if plain in ("", "0", "no", "none"):
        return None
    if plain == "all":
        return Days()
    match = _RANGE.fullmatch(plain)
    if match is None or match[1] > (match[2] or match[1]):
        raise SettingInvalid(f"-a history={text}: no range of days. Write 2024-01-01..2024-01-31, or all")
    return Days(match[1], match[2] or match[1])


def next_month(month: str) -> str:
    """``2024-12`` → ``2025-01``."""
    year, number = int(month[:4]), int(month[5:7])
    return f"{year + number // 12:04}-{number % 12 + 1:02}"
