"""The ``research`` command."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from research_scrapers import __version__
from research_scrapers.cli.common import DB, existing, find_run
from research_scrapers.cli.demo import run_demo
from research_scrapers.cli.doctor import doctor_command
from research_scrapers.cli.export import export_command, verify_command
from research_scrapers.cli.files import write_transcripts
from research_scrapers.cli.forget import forget_command
from research_scrapers.cli.look import diff_command, search_command, show_command
from research_scrapers.cli.manage import cancel_command, retry_command, status_command
from research_scrapers.cli.pictures import datasette_command
from research_scrapers.cli.reparse import reparse_command
from research_scrapers.cli.report import report_command
from research_scrapers.cli.scrape import scrape_command
from research_scrapers.errors import InputError, ResearchError, RunCancelled
from research_scrapers.formats import WRITERS
from research_scrapers.links import recognise
from research_scrapers.models import Transcript, counted
from research_scrapers.store.report import coverage_table, invalid_lines, runs_table, summary
from research_scrapers.store.transcripts import transcripts_of_run, transcripts_of_video


class _Stoppable(click.Group):
    """Ctrl-C before a run listens for it itself, and in commands that do not."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\nresearch: stopped. Nothing is lost: the same command can be given again.", err=True)
            ctx.exit(RunCancelled.exit_code)


@click.group(cls=_Stoppable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="research-scrapers %(version)s")
def cli() -> None:
    """Collect every comment, reply, danmaku and transcript of a list of videos, each once, and say what is missing."""


@cli.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("jobs/demo"), help="Where the demo writes.")
@click.option("--latency-ms", type=click.IntRange(0, 10_000), default=40, help="How slow the replica answers.")
def demo(folder: Path, latency_ms: int) -> None:
    """Collect from a replica of YouTube and Bilibili on this machine; needs no internet."""
    sys.exit(run_demo(folder, latency_ms))


for command in (
    scrape_command, status_command, retry_command, cancel_command, doctor_command, report_command, reparse_command,
):  # fmt: skip
    cli.add_command(command)


@cli.command()
@DB
def runs(db: Path) -> None:
    """List the runs, newest first."""
    with existing(db) as store:
        click.echo(runs_table(store.conn))


@cli.command()
@click.argument("run", required=False)
@DB
def coverage(run: str | None, db: Path) -> None:
    """Say for each video of RUN (default: the newest) what the site claims, what is held, and why they differ."""
    with existing(db) as store:
        found = find_run(store, run)
        click.echo(summary(store.conn, found.id) + "\n")
        click.echo(coverage_table(store.conn, found.id))
        lines = list(invalid_lines(store.conn, found.id))
        if lines:
            click.echo("\nLines that were not worked on:")
            for line in lines:
                click.echo(f"  {line}")


@cli.command()
@click.argument("videos", nargs=-1)
@click.option("--format", "form", type=click.Choice(sorted(WRITERS)), default="srt", show_default=True)
@click.option("--run", help="All transcripts of this run («last»: the newest), instead of named videos.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files into this folder.")
@DB
def transcripts(videos: tuple[str, ...], form: str, run: str | None, out: Path | None, db: Path) -> None:
    """Write the transcripts of VIDEOS (links or ids) or of a run as files that a player or a notebook opens."""
    if bool(videos) == bool(run):
        raise InputError("name videos, or a run with --run, but not both")
    with existing(db) as store:
        if run:
            found: Iterable[Transcript] = transcripts_of_run(store.conn, find_run(store, run).id)
        else:
            found = (one for video in videos for one in transcripts_of_video(store.conn, recognise(video)[1]))
        written = write_transcripts(found, form, out)
    if not written:
        raise InputError("there is no transcript of what you named in this database; `research coverage` says why")
    if out:
        click.echo(f"{counted(written, 'file')} in {out}")


for command in (
    export_command, verify_command, show_command, search_command, diff_command, forget_command, datasette_command,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Entry point: one clear sentence and an exit code for every error that we know."""
    try:
        cli()
    except ResearchError as error:
        told = str(error)
        click.echo(f"research: {told}" + ("" if told.endswith(("?", ".")) else "."), err=True)
        sys.exit(error.exit_code)
