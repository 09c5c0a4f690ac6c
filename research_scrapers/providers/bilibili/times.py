"""Bilibili's times are whole seconds since 1970: exact, and the same everywhere."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """UTC, to the second, with a Z. A moment without a zone is taken to be UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec="seconds").replace("+00:00", "Z")


def exact(seconds: int | None) -> str | None:
    """The moment, or ``None`` where the site tells none that could be one."""
    if not seconds or not 0 < seconds < 10**11:
        return None
    return iso(datetime.fromtimestamp(seconds, UTC))
