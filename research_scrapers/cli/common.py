"""What several commands share: the settings, the database that they open and the run that they mean."""

from __future__ import annotations

import os
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from scrapy.settings import Settings

import research_scrapers
from research_scrapers import knobs
from research_scrapers.errors import InputError, SettingInvalid
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Run, Runs


def default_db() -> str:
    """The database that the environment or the file of knobs names."""
    found = knobs.load(os.environ, Path.cwd())
    if wrong := found[knobs.WRONG]:
        raise SettingInvalid(wrong)
    return str(found.get("RESEARCH_DB", "research.db"))


DB = click.option(
    "--db", type=click.Path(path_type=Path), default=default_db,
    help="The database (default: RESEARCH_DB, or research.db here).",
)  # fmt: skip


def project_settings(config: Path | None = None) -> Settings:
    """The project's settings as they are read now, with the file of knobs that is named."""
    if config is not None:
        os.environ[knobs.WHERE_FILE] = str(config.absolute())
    settings = Settings()
    module = runpy.run_path(str(Path(research_scrapers.__file__).with_name("settings.py")))
    settings.setdict({name: value for name, value in module.items() if name.isupper()}, priority="project")
    return settings


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
        named = run and run != "last"
        raise InputError(f"no run is called {run}; `research runs` lists them" if named else "there are no runs yet")
    return found
