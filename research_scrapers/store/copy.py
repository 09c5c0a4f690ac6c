"""A small database of an export: plain tables and a dictionary of their columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from research_scrapers.store.columns import Column, Table

_KINDS = {"integer": "INTEGER", "real": "REAL", "boolean": "INTEGER"}


class Copy:
    """A new database file that is written once, from beginning to end."""

    def __init__(self, path: Path) -> None:
        self._conn = sqlite3.connect(path, isolation_level=None)
        # A file that is not whole is thrown away: it needs no journal.
        self._conn.execute("PRAGMA journal_mode = OFF")
        self._conn.execute("PRAGMA synchronous = OFF")
        self._conn.execute("CREATE TABLE data_dictionary (table_name TEXT, column_name TEXT, kind TEXT, meaning TEXT)")

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        told = ", ".join(f'"{column.name}" {_KINDS.get(column.kind, "TEXT")}' for column in columns)
        self._conn.execute(f'CREATE TABLE "{table.name}" ({told})')
        self._conn.executemany(
            "INSERT INTO data_dictionary VALUES (?, ?, ?, ?)",
            [(table.name, column.name, column.kind, column.meaning) for column in columns],
        )
        self._insert = f'INSERT INTO "{table.name}" VALUES ({", ".join("?" * len(columns))})'  # noqa: S608
        self._conn.execute("BEGIN")

    def write(self, batch: Sequence[Sequence[Any]]) -> None:
        self._conn.executemany(self._insert, batch)

    def commit(self) -> None:
        self._conn.execute("COMMIT")

    def close(self) -> None:
        self._conn.close()
