"""``research report``: how a run went and what it holds, as text or as one page."""

from __future__ import annotations

import re
from pathlib import Path

import click

from research_scrapers.cli.common import DB, existing, find_run
from research_scrapers.exports.files import opened
from research_scrapers.exports.page import page
from research_scrapers.reporting.run_page import run_page
from research_scrapers.reporting.run_report import run_report
from research_scrapers.reporting.run_text import run_text
from research_scrapers.store.selection import snapshot


@click.command("report")
@click.argument("run", default="last")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="One page with plots.")
@click.option(
    "--videos", type=click.IntRange(0), default=20, show_default=True, help="Videos with pictures of their own."
)
@DB
def report_command(run: str, html: Path | None, videos: int, db: Path) -> None:
    """Say how RUN (default: the newest) went: coverage, rates, latencies, errors; with --html also what it holds."""
    with existing(db) as store:
        found = find_run(store, run).id
        report = run_report(store.conn, found)
        if html is None:
            click.echo(run_text(report))
            return
        with snapshot(store, found) as conn, opened(html) as file:
            corpus = "".join(page(conn, found, most=videos))
            file.write(_joined(run_page(report), corpus).encode("utf-8", "replace"))
    click.echo(f"{html} tells how {found} went: open it in a browser")


def _joined(run: str, corpus: str) -> str:
    """One page of two: the second one's style and body at the end of the first's."""
    style = "".join(re.findall(r"<style>.*?</style>", corpus, re.DOTALL))
    body = corpus.partition("<body>")[2].rpartition("</body>")[0]
    return run.replace("</body>", f"{style}{body}</body>") if body else run
