"""``research report``: how a run went, as text or as one page."""

from __future__ import annotations

from pathlib import Path

import click

from research_scrapers.cli.common import DB
from research_scrapers.errors import FeedUnwritable, InputError
from research_scrapers.reporting.run_page import run_page
from research_scrapers.reporting.run_report import run_report
from research_scrapers.reporting.run_text import run_text
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Runs


@click.command("report")
@click.argument("run", default="last")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="One page with plots.")
@DB
def report_command(run: str, html: Path | None, db: Path) -> None:
    """Say how RUN (default: the newest) went: coverage, rates, latencies, errors."""
    if not db.is_file():
        raise InputError(f"there is no database {db}. Collect something first, or name one with --db")
    store = Store(db)
    try:
        known = Runs(store)
        found = known.latest() if run == "last" else known.find(run)
        if found is None:
            raise InputError("there are no runs yet" if run == "last" else f"no run is called {run}")
        report = run_report(store.conn, found.id)
    finally:
        store.close()
    if html is None:
        click.echo(run_text(report))
        return
    try:
        html.write_text(run_page(report), encoding="utf-8")
    except OSError as error:
        raise FeedUnwritable(f"{html}: {error.strerror}") from error
    click.echo(f"{html} tells how {found.id} went")
