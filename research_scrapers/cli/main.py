"""The ``research`` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from research_scrapers import __version__
from research_scrapers.cli.demo import run_demo
from research_scrapers.cli.export import export_command, verify_command
from research_scrapers.cli.files import write_transcripts
from research_scrapers.cli.forget import forget_command
from research_scrapers.cli.look import diff_command, search_command, show_command
from research_scrapers.cli.pictures import datasette_command, report_command
from research_scrapers.cli.scrape import scrape_command
from research_scrapers.errors import InputError, ResearchError
from research_scrapers.formats import WRITERS
from research_scrapers.links import recognise
from research_scrapers.models import Transcript, counted
from research_scrapers.store.database import Store
from research_scrapers.store.report import coverage_table, invalid_lines, runs_table, summary
from research_scrapers.store.runs import Run, Runs
from research_scrapers.store.transcripts import transcripts_of_run, transcripts_of_video

_DB = click.option(
    "--db", type=click.Path(path_type=Path), default=lambda: os.environ.get("RESEARCH_DB", "research.db"),
    help="The database (default: RESEARCH_DB, or research.db here).",
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="research-scrapers %(version)s")
def cli() -> None:
    """Collect every comment and reply of a list of videos, exactly once, and say what is missing."""


@cli.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("jobs/demo"), help="Where the demo writes.")
@click.option("--latency-ms", type=click.IntRange(0, 10_000), default=80, help="How slow the replica answers.")
def demo(folder: Path, latency_ms: int) -> None:
    """Collect YouTube comments from a replica on this machine; needs no internet."""
    sys.exit(run_demo(folder, latency_ms))


cli.add_command(scrape_command)


@cli.command()
@_DB
def runs(db: Path) -> None:
    """List the runs, newest first."""
    store = _existing(db)
    click.echo(runs_table(store.conn))
    store.close()


@cli.command()
@click.argument("run", required=False)
@_DB
def coverage(run: str | None, db: Path) -> None:
    """Say for each video of RUN (default: the newest) what the site claims, what is held, and why they differ."""
    store = _existing(db)
    found = _find(Runs(store), run)
    click.echo(summary(store.conn, found.id) + "\n")
    click.echo(coverage_table(store.conn, found.id))
    lines = list(invalid_lines(store.conn, found.id))
    if lines:
        click.echo("\nLines that were not worked on:")
        for line in lines:
            click.echo(f"  {line}")
    store.close()


@cli.command()
@click.argument("videos", nargs=-1)
@click.option("--format", "form", type=click.Choice(sorted(WRITERS)), default="srt", show_default=True)
@click.option("--run", help="All transcripts of this run («last»: the newest), instead of named videos.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files into this folder.")
@_DB
def transcripts(videos: tuple[str, ...], form: str, run: str | None, out: Path | None, db: Path) -> None:
    """Write the transcripts of VIDEOS (links or ids) or of a run as files that a player or a notebook opens."""
    if bool(videos) == bool(run):
        raise InputError("name videos, or a run with --run, but not both")
    store = _existing(db)
    try:
        if run:
            found: Iterable[Transcript] = transcripts_of_run(
                store.conn, _find(Runs(store), None if run == "last" else run).id
            )
        else:
            found = (one for video in videos for one in transcripts_of_video(store.conn, recognise(video)[1]))
        written = write_transcripts(found, form, out)
    finally:
        store.close()
    if not written:
        raise InputError("there is no transcript of what you named in this database; `research coverage` says why")
    if out:
        click.echo(f"{counted(written, 'file')} in {out}")


for command in (
    export_command, verify_command, show_command, search_command, diff_command, forget_command, report_command,
    datasette_command,
):  # fmt: skip
    cli.add_command(command)


def _existing(db: Path) -> Store:
    if not db.is_file():
        raise InputError(f"there is no database {db}. Collect something first, or name one with --db")
    return Store(db)


def _find(known: Runs, run: str | None) -> Run:
    found = known.find(run) if run else known.latest()
    if found is None:
        raise InputError(f"no run is called {run}; `research runs` lists them" if run else "there are no runs yet")
    return found


def main() -> None:
    """Entry point: one clear sentence and an exit code for every error that we know."""
    try:
        cli()
    except ResearchError as error:
        click.echo(f"research: {error}.", err=True)
        sys.exit(error.exit_code)
