"""Times as the site tells them. "2 years ago" is an interval, never a second.

The site rounds down: "2 years ago" stands for an age of at least two and less than three years. A month or a year is
taken at its shortest for the later bound and at its longest for the earlier one, because the site does not say which it
means; and the earlier bound gives the answer a minute for its way from the site's clock to ours.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

TRANSIT = timedelta(minutes=1)
"""How much older than the fetch time the site's own "now" may be."""

_DAYS = {"day": 1, "week": 7}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_MONTHS = {"month": 1, "year": 12}
_WORDS = {
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), "second"),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), "minute"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), "hour"),
    **dict.fromkeys(("day", "days", "d"), "day"),
    **dict.fromkeys(("week", "weeks", "wk", "wks", "w"), "week"),
    **dict.fromkeys(("month", "months", "mo", "mos", "mth", "mths"), "month"),
    **dict.fromkeys(("year", "years", "yr", "yrs", "y"), "year"),
}
_GERMAN = {
    **dict.fromkeys(("sekunde", "sekunden"), "second"),
    **dict.fromkeys(("minute", "minuten"), "minute"),
    **dict.fromkeys(("stunde", "stunden"), "hour"),
    **dict.fromkeys(("tag", "tagen"), "day"),
    **dict.fromkeys(("woche", "wochen"), "week"),
    **dict.fromkeys(("monat", "monaten"), "month"),
    **dict.fromkeys(("jahr", "jahren"), "year"),
}
_ENGLISH_FORM = re.compile(r"(\d{1,4})\s*([a-z]+)\.?\s+ago", re.ASCII)
_GERMAN_FORM = re.compile(r"vor\s+(\d{1,4})\s+([a-z]+)", re.ASCII)
_EDITED = re.compile("\\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\\s*$")
_NOW = ("just now", "now", "moments ago", "gerade eben")


def iso(moment: datetime) -> str:
    """UTC, to the second, with a Z. A moment without a zone is taken to be UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec="seconds").replace("+00:00", "Z")


def exact(text: object) -> str | None:
    """RFC 3339 as the Data API writes it (with or without fractions) → our form; a bare date stays one."""
    if not isinstance(text, str):
        return None
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return text
    try:
        return iso(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def edited(text: str | None) -> bool:
    """An edit is marked by a bracket at the end, whatever the language: ``(edited)``, ``(bearbeitet)``."""
    return bool(text and _EDITED.search(text))


@lru_cache(maxsize=4096)
def interval(text: str | None, now: datetime) -> tuple[str | None, str | None]:
    """(published after, published before), or two ``None`` where the text cannot be read without guessing."""
    if not text:
        return None, None
    plain = " ".join(_EDITED.sub("", text[:80]).lower().split())
    age = (0, "minute") if plain in _NOW else _age(plain)
    if age is None:
        return None, None
    amount, unit = age
    try:
        floor = now.replace(microsecond=0)
        ceiling = floor if floor == now else floor + timedelta(seconds=1)
        earliest = min(_back(floor, amount + 1, unit)) - TRANSIT
        latest = max(_back(ceiling, amount, unit))
        return iso(earliest), iso(latest)
    except (ValueError, OverflowError):
        return None, None


def _age(plain: str) -> tuple[int, str] | None:
    for form, words in ((_ENGLISH_FORM, _WORDS), (_GERMAN_FORM, _GERMAN)):
        match = form.fullmatch(plain)
        if match and (unit := words.get(match[2])):
            return int(match[1]), unit
    return None


def _back(now: datetime, amount: int, unit: str) -> tuple[datetime, ...]:
    """So many units before now, in every sense that the unit has."""
    if unit in _SECONDS:
        return (now - timedelta(seconds=amount * _SECONDS[unit]),)
    if unit in _DAYS:
        return (now - timedelta(days=amount * _DAYS[unit]),)
    months = amount * _MONTHS[unit]
    days = timedelta(days=365 * amount if unit == "year" else 30 * amount)
    return _months_back(now, months), now - days


def _months_back(now: datetime, months: int) -> datetime:
    total = now.year * 12 + now.month - 1 - months
    year, month = divmod(total, 12)
    for day in (now.day, 30, 29, 28):
        if day <= now.day:
            try:
                return now.replace(year=year, month=month + 1, day=day)
            except ValueError:
                continue
    raise ValueError("before the calendar begins")
