"""Numbers and times as people read them, and text from elsewhere without what a terminal would obey."""

from __future__ import annotations

import re
import time

from research_scrapers.seeing.view import LineView

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def harmless(text: str) -> str:
    """One line without control signs."""
    return _CONTROL.sub(" ", text).strip()


def lasting(seconds: float | None) -> str:
    """``42 s``, ``3 min 05 s``, ``2 h 10 min``; ``?`` when nobody knows."""
    if seconds is None:
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 48 * 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86400} days"


def state_of(line: LineView) -> str:
    """``ok``, or what holds the line up, and until when."""
    if line.state == "stopped":
        return f"stopped: {line.reason}"
    if line.state == "closed":
        return "ok"
    if line.wait_s <= 0:
        return line.state
    return f"{line.state} until {time.strftime('%H:%M:%S', time.localtime(time.time() + line.wait_s))}"
