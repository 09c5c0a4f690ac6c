"""The arithmetic of `make soak`: what is flat, what is a leak, and what is only noise."""

from __future__ import annotations

import math
import random

import pytest

from benchmarks.growth import HOUR, Limit, gathered, judge, slope_of

FIVE = Limit(0.05)


def series(value, seconds=2700, every=1):
    return [(float(at), float(value(at))) for at in range(900, 900 + seconds, every)]


def noise(size, seed=1):
    chance = random.Random(seed)
    return lambda: chance.gauss(0, size)


def test_the_slope_of_a_straight_line_is_exact():
    slope = slope_of([(at, 3 + 0.5 * at) for at in range(20)])
    assert slope.low == slope.middle == slope.high == pytest.approx(0.5)


def test_a_few_wild_points_do_not_move_the_slope():
    points = [(float(at), 100 + 0.1 * at) for at in range(60)]
    for wild in (3, 17, 31, 58):
        points[wild] = (points[wild][0], 10_000.0)
    assert slope_of(points).middle == pytest.approx(0.1, rel=0.05)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    held = 0
    for seed in range(200):
        wobble = noise(5.0, seed)
        slope = slope_of([(float(at), 0.2 * at + wobble()) for at in range(30)])
        held += slope.low <= 0.2 <= slope.high
    assert 180 <= held <= 199


def test_without_two_moments_nothing_is_known():
    for points in ([], [(1.0, 5.0)], [(1.0, 5.0), (1.0, 6.0)]):
        slope = slope_of(points)
        assert (slope.middle, slope.low, slope.high) == (0.0, -math.inf, math.inf)
    two = slope_of([(0.0, 1.0), (1.0, 9.0)])
    assert (two.middle, two.low, two.high) == (8.0, -math.inf, math.inf)


def test_gathering_keeps_the_level_and_the_time():
    points = series(lambda at: 100 + at / 100)
    few = gathered(points)
    assert len(few) == 60
    assert few[0][0] < 950
    assert few[-1][0] > 3550
    assert slope_of(few).middle == pytest.approx(0.01)
    assert gathered(points[:60]) == points[:60]


def test_what_wobbles_or_falls_is_flat():
    wobble = noise(3.0)
    for value in (
        lambda at: 120 + wobble(),
        lambda at: 120 + 5 * math.sin(at / 60),
        lambda at: 120 - at / 100,
        lambda at: 120,
        lambda at: 400 if at == 2000 else 120,
    ):
        verdict = judge("memory", "MB", series(value), FIVE)
        assert verdict.flat, verdict.line()
        assert verdict.line().endswith("  flat")


def test_a_leak_is_caught_also_under_noise():
    wobble = noise(3.0)
    verdict = judge("memory", "MB", series(lambda at: 120 + at / 300 + wobble()), FIVE)  # 9 MB in 45 minutes
    assert not verdict.flat
    assert verdict.growth == pytest.approx(9.0, abs=1.0)
    assert verdict.slope.middle * HOUR == pytest.approx(12.0, abs=1.5)
    assert verdict.end - verdict.begin == pytest.approx(verdict.growth)
    assert "NOT FLAT" in verdict.line()


def test_a_leak_below_the_limit_is_flat_and_its_slope_is_told():
    verdict = judge("memory", "MB", series(lambda at: 120 + at / 900), FIVE)  # 3 of 120 MB
    assert verdict.flat
    assert verdict.growth == pytest.approx(3.0, abs=0.1)


def test_stairs_are_a_leak():
    stairs = series(lambda at: 20 + at // 300)  # a descriptor every five minutes
    assert not judge("descriptors", "", stairs, Limit(least=2.0)).flat
    assert judge("descriptors", "", series(lambda at: 20 + at // 1800), Limit(least=2.0)).flat


def test_growth_that_may_be_chance_is_no_verdict():
    wobble = noise(40.0, seed=4)
    points = [(float(at), 100 + wobble()) for at in range(8)]
    verdict = judge("latency", "ms", points, Limit(0.01))
    assert verdict.slope.low <= 0 <= verdict.slope.high
    assert verdict.flat
