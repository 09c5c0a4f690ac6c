"""Every benchmark in one table: what `make bench` runs.

    python -m benchmarks                             all of them, about a quarter of an hour
    python -m benchmarks --only startup,peers        some
    python -m benchmarks --full                      with the long forms: a million comments, ten thousand links
    python -m benchmarks --json bench.json --docs    also as JSON, and into docs/benchmarks.md

Each row is a ratio of two things that were measured in the same run, on the same machine; below the table stands the
command that measures it alone. One benchmark that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
from pathlib import Path
from typing import Any

from benchmarks.table import HEADER, Row, write

MODULES = ("pages", "bound", "fewest", "stealing", "memory", "startup", "storing", "peers", "transcripts", "exports")
"""In the order of the table."""
FULL: dict[str, dict[str, Any]] = {
    "memory": {"comments": 1_000_000}, "transcripts": {"many": 10_000}, "exports": {"comments": 10_000_000},
}  # fmt: skip
"""What the long forms ask of a benchmark."""
DOCS = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def measure(names: list[str], *, quick: bool, full: bool) -> tuple[list[Row], list[str], list[str]]:
    """The rows, the table as it is printed while it grows, and the names of those that failed."""
    rows: list[Row] = []
    table: list[str] = []
    failed: list[str] = []

    def say(text: str) -> None:
        table.append(text)
        print(text, flush=True)

    say(HEADER)
    for name in names:
        began = time.monotonic()
        try:
            more = FULL.get(name, {}) if full else {}
            made: list[Row] = importlib.import_module(f"benchmarks.{name}").rows(quick=quick, **more)
        except Exception as error:
            failed.append(name)
            say(f"  -  {name} could not be measured: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        rows += made
        for row in made:
            say(row.line())
        print(f"     ({name}: {time.monotonic() - began:.0f} s)", flush=True)
    return rows, table, failed


def commands(rows: list[Row]) -> str:
    """How to measure each row again."""
    by_command: dict[str, list[str]] = {}
    for row in rows:
        by_command.setdefault(row.command, []).append(row.number)
    return "\n".join(f"{', '.join(numbers):24} {command}" for command, numbers in by_command.items())


def machine() -> str:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{os.cpu_count()} cores, {platform.platform(terse=True)}, Python {platform.python_version()},"
        f" {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, load {load}"
    )


def with_figures(text: str, figures: str) -> str:
    """The page with these figures in place of the last ones."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n```\n{figures}\n```\n{END}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(MODULES), metavar="NAMES", help="separated by commas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where everything that was measured is written")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument(
        "--quick", action="store_true", help="only see whether all of it runs: the figures mean nothing"
    )
    parser.add_argument("--full", action="store_true", help="the long forms too: an hour or two")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := {*names} - {*MODULES}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}. There are: {', '.join(MODULES)}")
    if options.docs and options.quick:
        parser.error("--quick is no measurement: its figures do not go into the docs")
    rows, table, failed = measure(names, quick=options.quick, full=options.full)
    print(f"\n{commands(rows)}\n\n{machine()}")
    if options.json:
        write(rows, options.json)
    if options.docs:
        figures = "\n".join([machine(), "", *table, "", commands(rows)])
        DOCS.write_text(with_figures(DOCS.read_text(encoding="utf-8"), figures), encoding="utf-8")
    missed = [row.number for row in rows if row.met is False]
    if missed:
        print(f"not met: {', '.join(missed)}")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
