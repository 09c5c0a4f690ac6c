"""Bars as inline SVG: no script, no font, no request to anywhere; every word is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from html import escape

_WIDTH, _HEIGHT, _FOOT, _BINS = 720, 120, 18, 60
_GAP = 1


def bars(label: str, values: Sequence[tuple[str, float, float]], first: str = "", last: str = "") -> str:
    """Bars with a certain part (solid) and an uncertain part (pale) above it; a name for each, shown on hover."""
    if not values:
        return ""
    top = max(certain + pale for _, certain, pale in values) or 1.0
    wide = _WIDTH / len(values)
    drawn = []
    for place, (name, certain, pale) in enumerate(values):
        x, y = place * wide, float(_HEIGHT)
        for kind, value in (("sure", certain), ("pale", pale)):
            tall = value / top * (_HEIGHT - 14)
            if tall <= 0:
                continue
            y -= tall
            drawn.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(wide - _GAP, 0.5):.1f}" height="{tall:.1f}">'
                f"<title>{escape(name)}</title></rect>"
            )
    return (
        f'<svg role="img" aria-label="{escape(label, quote=True)}" viewBox="0 0 {_WIDTH} {_HEIGHT + _FOOT}">'
        f"<title>{escape(label)}</title>{''.join(drawn)}"
        f'<text x="0" y="10">{_number(top)}</text><text x="0" y="{_HEIGHT + 14}">{escape(first)}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">{escape(last)}</text></svg>'
    )


def over_time(intervals: Sequence[tuple[str, str, int]]) -> str:
    """Comments over time. One that was published «2 years ago» is spread, pale, over all the days that it can mean."""
    dated = []
    for after, before, number in intervals:
        try:
            begin, end = date.fromisoformat(after), date.fromisoformat(before)
        except ValueError:
            continue
        dated.append((begin, max(begin, end), number))
    if not dated:
        return ""
    first, last = min(one[0] for one in dated), max(one[1] for one in dated)
    days = (last - first).days + 1
    bins = min(_BINS, days)
    sure, pale = [0.0] * bins, [0.0] * bins
    for begin, end, number in dated:
        low, high = ((moment - first).days * bins // days for moment in (begin, end))
        if low == high:
            sure[low] += number
            continue
        for place in range(low, high + 1):
            pale[place] += number / (high - low + 1)
    named = []
    for place in range(bins):
        day = first + timedelta(days=place * days // bins)
        named.append(
            (f"{day}: {_number(sure[place])} certain, {_number(pale[place])} spread", sure[place], pale[place])
        )
    return bars("Comments over time", named, str(first), str(last))


def histogram(label: str, values: Sequence[tuple[str, int]]) -> str:
    """One bar for each name, with its name and number beside it."""
    if not values:
        return ""
    top = max(number for _, number in values) or 1
    lines = []
    for place, (name, number) in enumerate(values):
        y = place * 20
        wide = number / top * 400
        lines.append(
            f'<text x="150" y="{y + 14}" text-anchor="end">{escape(name[:24])}</text>'
            f'<rect class="sure" x="160" y="{y + 3}" width="{max(wide, 1):.1f}" height="14"></rect>'
            f'<text x="{168 + wide:.0f}" y="{y + 14}">{number:,}</text>'
        )
    tall = 20 * len(values) + 4
    return (
        f'<svg role="img" aria-label="{escape(label, quote=True)}" viewBox="0 0 {_WIDTH} {tall}"'
        f' style="max-height:{tall}px"><title>{escape(label)}</title>{"".join(lines)}</svg>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
