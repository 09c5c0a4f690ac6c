"""``research reparse``: records from the bodies that a run kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from research_scrapers.control.reparse import Reparsed, reparse
from research_scrapers.errors import InputError
from research_scrapers.models import counted
from research_scrapers.store.database import Store
from research_scrapers.store.restore import ADDED, CHANGED, OLDER, SAME
from research_scrapers.store.runs import Runs

if TYPE_CHECKING:
    from research_scrapers.store.runs import Run

_SHOWN = 20
_TOLD = {
    ADDED: "added", CHANGED: "changed, the earlier reading is kept", SAME: "unchanged",
    OLDER: "left as a later visit read them",
}  # fmt: skip


@click.command(name="reparse")
@click.argument("run")
@click.option(
    "--db", type=click.Path(path_type=Path), default=lambda: os.environ.get("RESEARCH_DB", "research.db"),
    help="The database (default: RESEARCH_DB, or research.db here).",
)  # fmt: skip
@click.option(
    "--into", type=click.Path(path_type=Path, dir_okay=False), help="Build a new database instead of mending this one."
)
def reparse_command(run: str, db: Path, into: Path | None) -> None:
    """Read the bodies that RUN kept («last»: the newest run) once more, without the network, and say what changed."""
    if not db.is_file():
        raise InputError(f"there is no database {db}. Collect something first, or name one with --db")
    if into is not None and into.exists():
        raise InputError(f"{into} exists already: name a file that does not")
    store = Store(db)
    target = None
    try:
        found = _find(Runs(store), run)
        target = Store(into) if into is not None else None
        result = reparse(store, found, target)
    finally:
        store.close()
        if target is not None:
            target.close()
    _tell(found.id, into or db, result)
    sys.exit(1 if result.unread else 0)


def _find(runs: Runs, name: str) -> Run:
    found = runs.latest() if name == "last" else runs.find(name)
    if found is None:
        raise InputError(f"no run is called {name}; `research runs` lists them")
    return found


def _tell(run: str, where: Path, result: Reparsed) -> None:
    click.echo(f"{run}: {counted(result.bodies, 'body').replace('bodys', 'bodies')} read again, into {where}")
    for kind in ("comment", "transcript", "danmaku", "video"):
        fates = [f"{result.tally[kind, fate]:,} {told}" for fate, told in _TOLD.items() if result.tally[kind, fate]]
        if fates:
            click.echo(f"  {kind + ('' if kind == 'danmaku' else 's'):<12}{'; '.join(fates)}")
    if result.unread:
        click.echo(f"  {len(result.unread):,} could not be read:", err=True)
        for line in result.unread[:_SHOWN]:
            click.echo(f"    {line}", err=True)
