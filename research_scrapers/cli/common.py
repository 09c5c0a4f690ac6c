"""What several commands share: the database that they open and the run that they mean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from research_scrapers.errors import InputError
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Run, Runs

DB = click.option(
    "--db", type=click.Path(path_type=Path), default=lambda: os.environ.get("RESEARCH_DB", "research.db"),
    help="The database (default: RESEARCH_DB, or research.db here).",
)  # fmt: skip


@contextmanager
def existing(db: Path) -> Iterator[Store]:
    """The database of that name, which must be there."""
    if not db.is_file():
        raise InputError(f"there is no database {db}. Collect something first, or name one with --db")
    store = Store(db)
    try:
        yield store
    finally:
        store.close()


def find_run(store: Store, run: str | None) -> Run:
    """The run of that name; the newest where none (or «last») is named."""
    known = Runs(store)
    found = known.find(run) if run and run != "last" else known.latest()
    if found is None:
        raise InputError(f"no run is called {run}; `research runs` lists them" if run else "there are no runs yet")
    return found
