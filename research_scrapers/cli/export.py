"""``research export`` and ``research verify``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from research_scrapers.cli.common import DB, existing, find_run
from research_scrapers.errors import SettingInvalid
from research_scrapers.exports.export import FORMATS, SHAPE_FORMATS, Wish, export, told
from research_scrapers.exports.files import COMPRESSIONS
from research_scrapers.exports.loose import LOOSE
from research_scrapers.exports.manifest import verify_database, verify_files
from research_scrapers.models import counted
from research_scrapers.privacy import POLICIES
from research_scrapers.store.project import held_policy, veil_of

_SUFFIXES = {"db": "sqlite", "sqlite": "sqlite", "sqlite3": "sqlite", "jsonlines": "jsonl", "jl": "jsonl"}


@click.command("export")
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Every run of the database, instead of one.")
@click.option("--format", "form", help=f"{', '.join((*FORMATS, *LOOSE))}; csv.gz, jsonl.zst … are compressed.")
@click.option("--what", help="comments,transcripts,danmaku,videos,coverage (default: whatever there is).")
@click.option("--where", multiple=True, help="Only such rows: like_count>=10. Repeat it for more conditions.")
@click.option("--columns", help="Only these columns, in this order: comment_id,text,videos.title.")
@click.option("--shape", type=click.Choice(tuple(SHAPE_FORMATS)), help="The columns that another tool expects.")
@click.option("--out", help="A folder, a file, or - for standard output.  [default: export]")
@click.option("--excel", is_flag=True, help="CSV that Excel opens rightly: with a BOM, long numbers kept as text.")
@click.option("--cells", type=click.Choice(("safe", "plain")), default="safe", show_default=True,
              help="CSV: safe marks cells that a spreadsheet would run as formulas.")  # fmt: skip
@click.option("--privacy", type=click.Choice(POLICIES), default="keep", show_default=True,
              help="Hide who wrote what in this export.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@DB
def export_command(
    run: str | None, everything: bool, form: str | None, what: str | None, where: tuple[str, ...], columns: str | None,
    shape: str | None, out: str | None, excel: bool, cells: str, privacy: str, quiet: bool, db: Path,
) -> None:  # fmt: skip
    """Write RUN (default: the newest) as files that people and tools open, with its coverage."""
    if run and everything:
        raise SettingInvalid("name a run, or --all, but not both")
    form, packed, path, is_file = _destination(form, out, shape)
    with existing(db) as store:
        found = None if everything else find_run(store, run).id
        if privacy == held_policy(store):
            privacy = "keep"  # what is hidden in the database already stays as it is
        wish = Wish(
            run=found, out=path, form=form, packed=packed, is_file=is_file, where=where, columns=columns,
            what=tuple(part.strip() for part in (what or "").split(",") if part.strip()), shape=shape or "",
            excel=excel, plain=cells == "plain", veil=veil_of(store, privacy),
        )  # fmt: skip
        bar = None if quiet else _Bar()
        result = export(store, wish, bar)
        if bar:
            bar.done()
    click.echo(told(result, path), err=True)


def _destination(form: str | None, out: str | None, shape: str | None) -> tuple[str, str, Path | None, bool]:
    """Format, compression, place, and whether the place is one file. What is not said is read from the name."""
    out = "export" if out is None else out
    path = None if out == "-" else Path(out)
    named, packed = _split(path.name) if path is not None and not path.is_dir() else ("", "")
    if form:
        form, asked = _split(f".{form}", known_only=False)
        packed = asked or packed
    form = form or (SHAPE_FORMATS[shape] if shape else "") or named or ("jsonl" if path is None else "csv")
    if form not in (*FORMATS, *LOOSE):
        raise SettingInvalid(f"--format {form}: there are {', '.join((*FORMATS, *LOOSE))}")
    if shape and form != SHAPE_FORMATS[shape]:
        raise SettingInvalid(f"--shape {shape} is written as {SHAPE_FORMATS[shape]}, not as {form}")
    if shape is None and form == "info.json":
        raise SettingInvalid("info.json is written by --shape ytdlp")
    return form, packed, path, bool(named) and form not in LOOSE


def _split(name: str, *, known_only: bool = True) -> tuple[str, str]:
    """``comments.csv.gz`` → ``csv``, ``gz``."""
    stem, _, last = name.rpartition(".")
    packed = ""
    if last in COMPRESSIONS and stem:
        packed, name = last, stem
        stem, _, last = name.rpartition(".")
    form = name.removeprefix(".") if not known_only else _SUFFIXES.get(last, last) if stem else ""
    form = _SUFFIXES.get(form, form)
    return (form if not known_only or form in FORMATS else ""), packed


class _Bar:
    """How far it is, on standard error: a line that moves on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._at = 0.0

    def __call__(self, name: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if self._shown and (now - self._at > 0.1 or done == total):
            self._at = now
            bar = f"[{'#' * (30 * done // max(total, 1)):30}] {done:,}/{total:,}" if total else f"{done:,}"
            click.echo(f"\r{name:12} {bar}", nl=False, err=True)

    def done(self) -> None:
        if self._shown:
            click.echo("\r" + " " * 79 + "\r", nl=False, err=True)


@click.command("verify")
@click.argument("export", type=click.Path(path_type=Path), default=Path("export"))
@click.option("--db", type=click.Path(path_type=Path), help="Also check that this database holds what was exported.")
def verify_command(export: Path, db: Path | None) -> None:
    """Check the files of EXPORT (a folder, a file, or its job_metadata.json) against their checksums."""
    manifest, files = verify_files(export)
    click.echo(f"{counted(files, 'file')} as they were written")
    if db is not None:
        with existing(db) as store:
            jobs = verify_database(store.conn, manifest)
        click.echo(f"{counted(jobs, 'job')} of {db} as they were exported")
