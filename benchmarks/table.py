"""What a benchmark says: rows of one table, each with its goal and the command that prints it again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One ratio, both sides of which were measured in the same run."""

    number: str
    """Its place in the table: 1, or 1a where a benchmark has several."""
    what: str
    ratio: float
    goal: float | None
    """None: shown, without a goal."""
    at_least: bool
    """Whether the goal is a floor (True) or a ceiling."""
    command: str
    detail: str = ""
    """Both sides, in their own units."""
    figures: dict[str, Any] = field(default_factory=dict)
    """What the JSON tells beyond the table."""

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        shown = round(self.ratio, 2)
        return shown >= self.goal if self.at_least else shown <= self.goal

    def line(self) -> str:
        """The row as the table prints it."""
        goal = "" if self.goal is None else f"{'≥' if self.at_least else '≤'} {self.goal:g}"
        verdict = {True: "met", False: "NOT MET", None: "shown"}[self.met]
        return f"{self.number:>3}  {self.what:58} {self.ratio:8.2f}  {goal:>7}  {verdict:8} {self.detail}"


HEADER = f"{'':>3}  {'ratio':58} {'measured':>8}  {'goal':>7}  {'':8} both sides"


def show(rows: Iterable[Row]) -> None:
    """Print a benchmark's own rows."""
    print(HEADER)
    for row in rows:
        print(row.line())


def as_json(rows: Iterable[Row]) -> str:
    """Everything that was measured, and on what."""
    return json.dumps({
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "load": os.getloadavg(),
        "rows": [{**asdict(row), "met": row.met} for row in rows],
    }, indent=1, ensure_ascii=False)  # fmt: skip


def write(rows: Iterable[Row], path: Path) -> None:
    path.write_text(as_json(rows) + "\n", encoding="utf-8")
