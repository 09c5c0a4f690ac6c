"""The benchmarks' table, and that each of them still runs; what they measure is not judged here."""

import importlib
import json
import sqlite3
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.__main__ import BEGIN, END, FULL, MODULES, commands, measure, with_figures
from benchmarks.table import Row

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


def row(ratio=1.0, goal=1.0, at_least=True, **changes):
    return Row(**{"number": "1", "what": "this over that", "ratio": ratio, "goal": goal, "at_least": at_least,
                  "command": "python -m benchmarks.this", **changes})  # fmt: skip


@pytest.mark.parametrize(
    ("ratio", "goal", "at_least", "met"),
    [
        (1.2, 1.2, True, True), (1.19, 1.2, True, False), (1.1, 1.1, False, True), (1.11, 1.1, False, False),
        (1.104, 1.1, False, True), (9.0, None, True, None),
    ],
)  # fmt: skip
def test_a_goal_is_a_floor_or_a_ceiling_and_is_judged_as_it_is_printed(ratio, goal, at_least, met):
    made = row(ratio, goal, at_least)
    assert made.met is met
    assert {True: " met ", False: " NOT MET ", None: " shown "}[met] in made.line()
    assert f"{ratio:.2f}" in made.line()


def test_the_json_tells_each_row_and_whether_it_is_met(tmp_path):
    table.write([row(0.5, figures={"seconds": [1, 2]})], tmp_path / "bench.json")
    read = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert read["machine"]["cores"]
    assert read["rows"][0]["met"] is False
    assert read["rows"][0]["figures"] == {"seconds": [1, 2]}


def test_rows_with_one_command_are_told_together():
    told = commands([row(number="8a"), row(number="8b"), row(number="9", command="other")])
    assert [line.split(maxsplit=2)[0] for line in told.splitlines()] == ["8a,", "9"]


def test_new_figures_take_the_place_of_the_last_ones():
    page = with_figures(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new")
    assert page == f"before\n{BEGIN}\n```\nnew\n```\n{END}\nafter\n"
    assert with_figures(page, "newer").count("```") == 2


def test_one_that_fails_is_told_and_does_not_stop_the_others(monkeypatch, capsys):
    class Fine:
        @staticmethod
        def rows(quick):
            return [row(what="it went on")]

    def load(name):
        if name == "benchmarks.broken":
            raise ImportError("no such thing\nat all")
        return Fine

    monkeypatch.setattr(importlib, "import_module", load)
    rows, told, failed = measure(["broken", "fine"], quick=True, full=False)
    assert ([one.what for one in rows], failed) == (["it went on"], ["broken"])
    assert "broken could not be measured: ImportError: no such thing" in told[1]
    assert "it went on" in capsys.readouterr().out


@pytest.mark.parametrize("name", MODULES)
def test_each_has_rows_and_a_place_in_the_docs(name):
    assert f"`benchmarks/{name}.py`" in DOCS
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.rows)
    assert callable(module.main)


def test_the_long_forms_are_of_benchmarks_that_exist():
    assert {*FULL} <= {*MODULES}


def test_the_docs_have_a_place_for_the_figures_and_a_line_for_each_row():
    assert DOCS.count(BEGIN) == DOCS.count(END) == 1
    for number in ("1", "2", "3a", "3b", "4", "5a", "5b", "6a", "6b", "7", "8", "T1", "T2", "E"):
        assert f"\n| {number} |" in DOCS


def test_an_export_is_measured(tmp_path):
    from benchmarks.exports import fill
    from benchmarks.exports import measure as measure_export

    fill(tmp_path / "research.db", 50)
    with sqlite3.connect(tmp_path / "research.db") as conn:
        assert conn.execute("SELECT count(*) FROM comments").fetchone() == (50,)
    conn.close()
    seconds, most, written = measure_export(tmp_path / "research.db", "csv", tmp_path / "out")
    assert min(seconds, most, written) > 0
