"""Docs that can fail: every setting, argument, command, error, exit code, table and column is in the reference."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.scenarios import SCENARIOS
from research_scrapers import errors, knobs, settings
from research_scrapers.cli.main import cli
from research_scrapers.config import ARGUMENTS
from research_scrapers.store.database import Store

ROOT = Path(__file__).parents[1]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
OURS = re.findall(
    r"^([A-Z_]+) =", inspect.getsource(settings).split("# -- ours")[1].split("# -- politeness")[0], flags=re.MULTILINE
)
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
LEAVES = [kind for kind in ERRORS if not kind.__subclasses__()]


@pytest.mark.parametrize("name", OURS)
def test_every_setting_is_documented_with_its_default(name):
    row = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{name}`"))
    value = getattr(settings, name)
    assert f"| {value} |" in row or f"| `{value}` |" in row or (value == "" and "| none |" in row)


@pytest.mark.parametrize("name", ["links", *sorted({name for allowed in ARGUMENTS.values() for name in allowed})])
def test_every_argument_is_documented(name):
    assert f"| `{name}` |" in REFERENCE


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_is_documented(name):
    assert f"`research {name}" in REFERENCE
    assert cli.commands[name].help


OPTIONS = sorted({(name, max(parameter.opts, key=len)) for name, command in cli.commands.items()
                  for parameter in command.params if parameter.param_type_name == "option"})  # fmt: skip


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_documented(command, option):
    pages = [REFERENCE, *((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("exports.md", "privacy.md"))]
    sections = [part for page in pages for part in re.split(r"^#+ ", page, flags=re.MULTILINE)]
    assert any(f"research {command}" in section and option in section for section in sections)


@pytest.mark.parametrize("knob", knobs.KNOBS.values(), ids=lambda knob: knob.name)
def test_every_knob_is_documented_with_its_setting(knob):
    row = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{knob.name}` |"))
    assert f"`{knob.setting}`" in row
    if knob.own_variable:
        assert f"`{knob.own_variable}`" in row


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_is_documented(kind):
    assert f"`{errors.reason_of(kind)}`" in REFERENCE
    assert kind.__name__ in REFERENCE
    assert kind.__doc__


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_every_error_is_in_the_map_at_the_top_of_its_file(kind):
    assert kind.__name__ in errors.__doc__


def test_exit_codes_are_documented_where_they_belong():
    for kind in LEAVES:
        if kind.exit_code != 1:
            row = next(line for line in REFERENCE.splitlines() if kind.__name__ in line and line.endswith(" |"))
            assert row.endswith(f"| {kind.exit_code} |")
    for code in {kind.exit_code for kind in ERRORS} | {0, 130}:
        assert f"\n| {code} | " in REFERENCE


def test_every_table_and_every_column_of_comments_is_documented(tmp_path):
    store = Store(tmp_path / "research.db")
    names = [row[0] for row in store.conn.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    for name in names:
        if not name.startswith(("sqlite_", "_sqlite", "comments_fts_")):
            assert f"| `{name}` |" in REFERENCE, name
    for row in store.conn.execute("PRAGMA table_info(comments)"):
        if row["name"] != "id":
            assert f"`{row['name']}`" in REFERENCE, row["name"]
    store.close()


def test_reasons_of_a_conclusion_are_documented():
    source = (ROOT / "research_scrapers" / "coverage.py").read_text(encoding="utf-8")
    for reason in re.findall(r"Outcome\.[A-Z]+, (?:facts\.note or )?\"(\w+)\"", source):
        assert f"`{reason}`" in REFERENCE


def test_links_in_the_docs_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_proof_of_a_guarantee_exists():
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"`make (\w+)", text)) <= targets
    assert {"chaos", "fuzz", "soak", "bench"} <= set(re.findall(r"`make (\w+)", text))
    for path in re.findall(r"tests/[\w./]+", text):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"python -m benchmarks\.(\w+)", text):
        assert (ROOT / "benchmarks" / f"{module}.py").is_file(), module
    for names in re.findall(r'--only ([^"]+)"', text):
        assert set(names.split()) <= SCENARIOS.keys(), names


def test_the_readme_begins_with_what_it_is_a_picture_and_two_commands():
    screen = README[: README.index("## ")]
    assert screen.index("# Research Scrapers") < screen.index("](docs/live.svg)") < screen.index("make demo    #")
    assert "make test" in screen


def test_the_readmes_commands_exist():
    for command in re.findall(r"`(research \w+)", README):
        assert command.split()[1] in cli.commands
    spiders = subprocess.run(
        [sys.executable, "-m", "scrapy", "list"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(re.findall(r"scrapy crawl (\w+)", README)) <= set(spiders)


def test_nothing_names_a_package_index_or_this_machine():
    for path in (ROOT / "constraints.txt", ROOT / "pyproject.toml", ROOT / "Makefile"):
        assert not re.search(
            r"index.url|https?://(?!json|keepachangelog)\S*(pypi|simple)", path.read_text(encoding="utf-8")
        )
