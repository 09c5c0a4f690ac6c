"""Small pictures for a page: lines over time, and bars. Plain SVG, everything escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 14, 34
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#9a6700", "#57606a")
Series = Mapping[str, Sequence[tuple[float, float]]]
"""Name → points (x in seconds, y)."""


def lines_over_time(title: str, unit: str, series: Series) -> str:
    """One line per series, with axes from zero."""
    last = max((x for points in series.values() for x, _ in points), default=0.0) or 1.0
    top = _round_up(max((y for points in series.values() for _, y in points), default=0.0))
    inner_w, inner_h = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = _TOP + inner_h * (1 - share)
        parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(top * share)}</text>')
        x = _LEFT + inner_w * share
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 16}" text-anchor="middle">{_time(last * share)}</text>')
    for number, points in enumerate(series.values()):
        path = " ".join(f"{_LEFT + inner_w * x / last:.1f},{_TOP + inner_h * (1 - y / top):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_colour(number)}" stroke-width="1.6"/>')
    return _figure(title, unit, "".join(parts), HEIGHT, list(series))


def bars(title: str, unit: str, counts: Mapping[str, int]) -> str:
    """One bar per name, the largest first as given."""
    row, most = 22, max(counts.values(), default=0) or 1
    height = row * max(len(counts), 1) + 12
    parts = []
    for number, (name, count) in enumerate(counts.items()):
        y = 6 + number * row
        length = (WIDTH - 300) * count / most
        parts.append(
            f'<text x="190" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="198" y="{y + 3}" width="{length:.1f}" height="{row - 7}" fill="{COLOURS[0]}"/>'
            f'<text x="{204 + length:.1f}" y="{y + 15}">{count:,}</text>'
        )
    return _figure(title, unit, "".join(parts), height, [])


def _figure(title: str, unit: str, body: str, height: int, names: Sequence[str]) -> str:
    legend = "".join(
        f'<span class="key"><i style="background:{_colour(number)}"></i>{escape(name)}</span>'
        for number, name in enumerate(names)
    )
    return (
        f"<figure><figcaption><b>{escape(title)}</b> ({escape(unit)}) {legend}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{body}</svg></figure>'
    )


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _round_up(value: float) -> float:
    """The next number that is pleasant at the top of an axis."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= value * 0.999)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
