"""The short form of `make chaos`: every kill point and every kind of blow once, and what makes its word good."""

from __future__ import annotations

import pytest

from chaos.__main__ import Series, plan, unreached
from chaos.blows import POINTS, functions
from chaos.scenarios import FAULTS, SCENARIOS
from research_scrapers.replica import faults

pytestmark = pytest.mark.long

SEED = 7


def test_every_kind_of_blow_once():
    quick = [name for name, scenario in SCENARIOS.items() if scenario.quick]
    broken = {}
    with Series() as series:
        for scenario, target in plan(quick, len(quick)):
            played = series.play(scenario, target, SEED)
            if played.broken:
                broken[f"{scenario.name}@{target}"] = played.broken
    assert not broken
    assert {name for name, row in series.rows.items() if row.rounds or row.skipped} == set(quick)
    assert not [name for name, row in series.rows.items() if unreached(name, row)]


@pytest.mark.parametrize("point", POINTS)
def test_every_point_has_its_functions(point):
    assert list(functions(point))


def test_every_fault_of_the_replica_is_played():
    assert set(FAULTS) == {*faults.ACTIONS, *faults.SPECIAL, *faults.BILIBILI}
    assert {f"fault-{name}" for name in FAULTS} <= set(SCENARIOS)


def test_rounds_go_through_all_commands():
    assert {target for _, target in plan(["zombie"], 5)} == set(SCENARIOS["zombie"].targets)
    assert [target for _, target in plan(["zombie@scrape"], 2)] == ["scrape", "scrape"]
