"""``research datasette``: looking at the data in a browser."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from research_scrapers.cli.common import DB, existing
from research_scrapers.errors import ExtraMissing
from research_scrapers.exports.files import opened
from research_scrapers.store.columns import TABLES, TRANSCRIPTS


def metadata() -> dict[str, Any]:
    """What Datasette shows beside the tables: the data dictionary."""
    tables: dict[str, Any] = {}
    for name, table in TABLES.items():
        if table is TRANSCRIPTS:
            columns = {column.name: column.meaning for column in table.columns if column.sql.startswith("t.")}
            told = {"description": "One version of one transcript.", "columns": columns}
        else:
            own = [column for column in table.columns if not column.sql.startswith("k.")]
            told = {"description": table.about, "columns": {column.name: column.meaning for column in own}}
        tables[name] = told
    tables["comments"] |= {"fts_table": "comments_fts", "fts_pk": "id", "sort_desc": "id"}
    for hidden in ("checkpoints", "sightings", "transcript_sightings", "danmaku_sightings", "_sqlite_migrations"):
        tables[hidden] = {"hidden": True}
    return {"title": "Research Scrapers", "databases": {"*": {"tables": tables}}}


@click.command("datasette", context_settings={"ignore_unknown_options": True})
@click.option("--metadata", "only", is_flag=True, help="Only write the metadata file, and say where it is.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@DB
def datasette_command(only: bool, options: tuple[str, ...], db: Path) -> None:
    """Open the database in Datasette, on this machine only. OPTIONS go to `datasette serve`, such as --open."""
    with existing(db):
        pass  # brings it up to date
    told = metadata()
    told["databases"] = {db.stem: told["databases"].pop("*")}
    path = db.with_suffix(".datasette.json")
    with opened(path) as file:
        file.write(json.dumps(told, ensure_ascii=False, indent=1).encode())
    if only:
        click.echo(str(path))
        return
    if importlib.util.find_spec("datasette") is None:
        raise ExtraMissing(f"`pip install 'research-scrapers[datasette]'` brings Datasette. Its metadata is in {path}")
    command = [sys.executable, "-m", "datasette", "serve", str(db), "--metadata", str(path), *options]
    sys.exit(subprocess.run(command, check=False).returncode)  # noqa: S603
