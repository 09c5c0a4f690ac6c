"""Every entry point against changed fixtures and recordings: the short form of `make fuzz`."""

from __future__ import annotations

import os
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing.mutate import mutate
from fuzzing.targets import TARGETS

LONG = bool(os.environ.get("FUZZ_SECONDS"))
CRASHES = sorted((Path(__file__).parent / "crashes").glob("*"))
TEXTS = ("links", "config", "formats", "cursor")


@cache
def _seeds(name: str) -> tuple[bytes, ...]:
    """The smaller ones: each must leave time for the others."""
    return tuple(seed for seed in TARGETS[name].seeds() if LONG or len(seed) < 40_000)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds(name: str) -> None:
    for seed in _seeds(name):
        TARGETS[name].run(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs(name: str) -> None:
    @settings(max_examples=2000 if LONG else 40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(_seeds(name)), st.lists(st.integers(0, 2**32), min_size=1, max_size=3))
    def check(seed: bytes, changes: list[int]) -> None:
        for number in changes:
            seed = mutate(random.Random(number), seed)
        TARGETS[name].run(seed)

    check()


@pytest.mark.parametrize("name", TEXTS)
def test_any_text(name: str) -> None:
    @settings(max_examples=3000 if LONG else 100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(st.text(max_size=300).map(_encoded), st.binary(max_size=300)))
    def check(data: bytes) -> None:
        TARGETS[name].run(data)

    check()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
def test_what_once_broke_something(path: Path) -> None:
    """A file's name is its target, then a dash and what it did."""
    TARGETS[path.name.partition("-")[0]].run(path.read_bytes())
