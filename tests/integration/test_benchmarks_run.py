"""Every benchmark in its quick form: that it runs, and that what it compares found the same. No figure is judged."""

import importlib

import pytest

from benchmarks.__main__ import MODULES


@pytest.mark.long
@pytest.mark.parametrize("name", MODULES)
def test_it_runs(name):
    rows = importlib.import_module(f"benchmarks.{name}").rows(quick=True)
    assert rows
    for row in rows:
        assert row.ratio > 0
        assert row.command.startswith("python -m benchmarks.")
        if row.number.startswith("4"):
            assert row.ratio == 1  # a count, which no busy machine changes
