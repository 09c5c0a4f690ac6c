"""Whether a database can be used, found out without changing it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from research_scrapers.store.database import to_read
from research_scrapers.store.schema import known_migrations

_LITTLE, _TOO_LITTLE = 1 << 30, 50 << 20
Finding = tuple[str, str, str]
"""``ok``, ``warn`` or ``bad``; what was found; what to do about it."""


def check(path: Path) -> Iterator[Finding]:
    """What is to be said about a database."""
    folder = path.absolute().parent
    if not folder.is_dir():
        yield "bad", f"{path}: there is no folder {folder}", "make it, or name another file with RESEARCH_DB"
        return
    if path.exists():
        yield from _existing(path)
    elif os.access(folder, os.W_OK):
        yield "ok", f"{path} is not there yet; it can be made", ""
    else:
        yield "bad", f"{folder} cannot be written", "name another file with RESEARCH_DB"
    yield _room(folder)


def _existing(path: Path) -> Iterator[Finding]:
    if not os.access(path, os.W_OK) or not os.access(path.absolute().parent, os.W_OK):
        yield (
            "bad",
            f"{path} or its folder cannot be written: it can be read and exported, nothing can be added",
            "change permissions, or name another with RESEARCH_DB",
        )
    try:
        conn = sqlite3.connect(to_read(path), uri=True, timeout=5)
        try:
            applied = {row[0] for row in conn.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ?",
                                                      ("research_scrapers",))}  # fmt: skip
            damage = conn.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            conn.close()
    except sqlite3.Error as error:
        yield "bad", f"{path}: {error}", "it is damaged, or another program's: name another file with RESEARCH_DB"
        return
    if applied - known_migrations():
        yield "bad", f"{path} was written by a newer version", "update research-scrapers"
    elif known_migrations() - applied:
        yield "ok", f"{path} is of an older version; the next run brings it up to date", ""
    if damage != "ok":
        yield "bad", f"{path} is damaged: {damage}", f"restore a copy; `sqlite3 {path} .recover` may save its rows"
    else:
        yield "ok", f"{path}: {path.stat().st_size / 1e6:,.1f} MB, sound", ""


def _room(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    told = f"{free / 1e9:,.1f} GB free in {folder}"
    if free < _TOO_LITTLE:
        return "bad", told, "free some space"
    return ("warn", told, "a million comments take about 1 GB") if free < _LITTLE else ("ok", told, "")
