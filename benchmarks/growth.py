"""Does a number grow? A robust slope over time, and a verdict against a stated limit. Pure arithmetic.

The slope is Theil and Sen's: the median of the slopes between all pairs of points, which a few wild points cannot move.
Its interval is the one that belongs to it (Sen 1968): it holds for points that are independent of each other, so the
samples are first gathered into a few dozen medians, each over its share of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

HOUR = 3600.0
_POINTS = 60
"""Into so many medians a series is gathered: 1,770 pairs."""
_SURE = 1.96
"""Of the normal distribution: 95 %."""

Point = tuple[float, float]
"""Seconds since the beginning, and what was measured."""


@dataclass(frozen=True)
class Slope:
    """Per second, with its 95 % interval."""

    middle: float
    low: float
    high: float


def gathered(points: Sequence[Point], most: int = _POINTS) -> list[Point]:
    """At most so many points: of each equal share of the time, the medians."""
    if len(points) <= most:
        return list(points)
    begin, end = points[0][0], points[-1][0]
    shares: list[list[Point]] = [[] for _ in range(most)]
    for point in points:
        shares[min(int((point[0] - begin) / (end - begin) * most), most - 1)].append(point)
    return [(median(t for t, _ in share), median(v for _, v in share)) for share in shares if share]


def slope_of(points: Sequence[Point]) -> Slope:
    """Theil and Sen's slope; with fewer than two moments there is none."""
    slopes = sorted(
        (value - earlier) / (at - before)
        for number, (at, value) in enumerate(points)
        for before, earlier in points[:number]
        if at > before
    )
    if not slopes:
        return Slope(0.0, -math.inf, math.inf)
    count = len(points)
    spread = _SURE * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low, high = math.floor((len(slopes) - spread) / 2), math.ceil((len(slopes) + spread) / 2)
    return Slope(
        median(slopes),
        slopes[low] if low >= 0 else -math.inf,
        slopes[high] if high < len(slopes) else math.inf,
    )


@dataclass(frozen=True)
class Limit:
    """How much more a number may be at the end of the measured time: a share of its level, or so much, if that is more.
    Only growth counts: what falls is no leak.
    """

    share: float = 0.0
    least: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """What became of one number."""

    name: str
    unit: str
    begin: float
    end: float
    """By the slope, through the series' middle: at the beginning and at the end of the measured time."""
    most: float
    seconds: float
    slope: Slope
    allowed: float

    @property
    def growth(self) -> float:
        return self.slope.middle * self.seconds

    @property
    def flat(self) -> bool:
        """Not flat: it grew by more than is allowed, and surely grew at all."""
        return self.growth <= self.allowed or self.slope.low <= 0

    def line(self) -> str:
        """The row as the table prints it."""
        low, high = (f"{bound * HOUR:+.3g}" for bound in (self.slope.low, self.slope.high))
        return (
            f"{self.name:34} {self.unit:7} {self.seconds / 60:7.1f} {self.begin:9.2f} {self.end:9.2f} {self.most:9.2f}"
            f" {self.slope.middle * HOUR:+12.3f} {f'{low} … {high}':>21} {self.growth:+9.2f} {self.allowed:8.2f}"
            f"  {'flat' if self.flat else 'NOT FLAT'}"
        )


HEADER = (
    f"{'':34} {'':7} {'minutes':>7} {'begin':>9} {'end':>9} {'most':>9}"
    f" {'per hour':>12} {'95 %':>21} {'growth':>9} {'allowed':>8}"
)


def judge(name: str, unit: str, points: Sequence[Point], limit: Limit) -> Verdict:
    """Does it grow by more than its limit, from the first to the last of these points?"""
    few = gathered(points)
    slope = slope_of(few)
    level = median(value for _, value in few)
    middle = median(at for at, _ in few)
    begin, end = (level + slope.middle * (at - middle) for at in (points[0][0], points[-1][0]))
    return Verdict(
        name, unit, begin, end, max(value for _, value in points), points[-1][0] - points[0][0], slope,
        max(limit.share * level, limit.least),
    )  # fmt: skip
