"""Reading what an export wants: one snapshot of the database, row by row, in a fixed order.

A filter never becomes SQL text: its column is one that the table has, its operator one of a few, its value is bound.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from research_scrapers.store.columns import Column, Table
from research_scrapers.store.database import Store

BATCH = 1000
OPERATORS = {
    "=": "{0} = {1}", "!=": "{0} IS NOT {1}", ">=": "{0} >= {1}", "<=": "{0} <= {1}", ">": "{0} > {1}",
    "<": "{0} < {1}", "~": "instr(lower({0}), lower({1}))",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """One filter. ``table`` is empty where it means every table that has the column; a value of None is «empty»."""

    column: str
    operator: str
    value: str | int | float | None
    table: str = ""


@contextmanager
def snapshot(store: Store, run: str | None) -> Iterator[sqlite3.Connection]:
    """Everything read inside belongs to one moment, even while a crawl writes. Without a run: the whole database."""
    conn = store.conn
    with store.explained():
        conn.execute("BEGIN")
        try:
            if run is None:
                conn.execute(
                    "CREATE TEMP TABLE IF NOT EXISTS newest (provider TEXT, video_id TEXT, kind TEXT, coverage TEXT,"
                    " coverage_reason TEXT, PRIMARY KEY (provider, video_id, kind)) WITHOUT ROWID"
                )
                conn.execute(
                    "INSERT OR REPLACE INTO temp.newest SELECT provider, video_id, kind, coalesce(outcome, status),"
                    " reason FROM sub_jobs WHERE status <> 'pending' OR pages ORDER BY id"
                )
            yield conn
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")  # nothing was written; the temporary table goes with it


def rows(
    conn: sqlite3.Connection, table: Table, run: str | None, columns: Sequence[Column], conditions: Sequence[Condition]
) -> Iterator[list[tuple[Any, ...]]]:
    """The chosen columns of the chosen rows, a thousand at a time, exactly as they are stored."""
    body, values = _body(table, run, conditions)
    wanted = ", ".join(f"{column.sql} AS {column.name}" for column in columns)
    cursor = conn.cursor()
    cursor.row_factory = None
    cursor.execute(f"SELECT {wanted} FROM {body}", values)  # noqa: S608
    while batch := cursor.fetchmany(BATCH):
        yield batch


def count(conn: sqlite3.Connection, table: Table, run: str | None, conditions: Sequence[Condition]) -> int | None:
    """How many rows that will be, where it can be told without reading them all; 0 if there is none; else None."""
    body, values = _body(table, run, conditions)
    if table.sightings and not conditions:
        source = table.name if run is None else f"sub_jobs s JOIN {table.sightings} g ON g.sub_job_id = s.id"
        where = "" if run is None else " WHERE s.run_id = :run"
        found: int = conn.execute(f"SELECT count(*) FROM {source}{where}", values).fetchone()[0]  # noqa: S608
        return found
    return None if conn.execute(f"SELECT 1 FROM {body} LIMIT 1", values).fetchone() else 0  # noqa: S608


def _body(table: Table, run: str | None, conditions: Sequence[Condition]) -> tuple[str, dict[str, Any]]:
    values: dict[str, Any] = {} if run is None else {"run": run}
    where = ""
    known = {column.name: column for column in table.columns}
    for number, condition in enumerate(conditions):
        if condition.column not in known:
            continue
        column = known[condition.column].sql
        if condition.value is None:
            empty = f"coalesce({column}, '') = ''"
            where += f" AND {empty}" if condition.operator == "=" else f" AND NOT ({empty})"
            continue
        where += " AND " + OPERATORS[condition.operator].format(column, f":value_{number}")
        values[f"value_{number}"] = condition.value
    return (table.of_all if run is None else table.of_run).format(where=where), values
