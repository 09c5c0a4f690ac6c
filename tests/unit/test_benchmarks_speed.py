"""What the benchmarks of speed are measured against: the bound, and the fewest requests."""

import pytest

from benchmarks.protocol import Step, bound_s, fewest


def chain(length):
    return [Step(None, before, length - 1 - before) for before in range(length)]


@pytest.mark.parametrize(
    ("steps", "cap", "latencies"),
    [
        (chain(7), 16, 7),  # nothing is faster than the longest chain
        ([Step(None, 0) for _ in range(33)], 16, 3),  # nor than the cap allows
        ([*chain(2), *(Step(None, 2) for _ in range(32))], 16, 4),  # what lies behind a chain waits for it
        ([*(step for _ in range(4) for step in chain(5))], 2, 10),
    ],
)
def test_the_bound_is_what_chains_and_caps_leave(steps, cap, latencies):
    assert bound_s(steps, cap, 0.5) == latencies * 0.5


def test_the_fewest_requests():
    parents = {f"t{n}": None for n in range(41)} | {f"r{n}": "t0" for n in range(61)} | {"r": "t1"}
    assert fewest({"parents": parents}) == 1 + 3 + (1 + 2) + 1
