"""Danmaku: each once, from whichever source told it first; a source that tells more adds to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from research_scrapers.models import Danmaku

DANMAKU_COLUMNS = tuple(field.name for field in fields(Danmaku))
_INSERT = f"INSERT INTO danmaku (id, {', '.join(DANMAKU_COLUMNS)}) VALUES (?{', ?' * len(DANMAKU_COLUMNS)})"  # noqa: S608
_CHUNK = 500


def store_danmaku(conn: sqlite3.Connection, sub_job: int, records: Sequence[Danmaku]) -> list[Danmaku]:
    """Store what is new, and note that this sub-job has seen each. Returns those that this sub-job had not seen before.
    Must run inside the page's transaction.
    """
    fresh: list[Danmaku] = []
    for start in range(0, len(records), _CHUNK):
        fresh += _store(conn, sub_job, records[start : start + _CHUNK])
    return fresh


def _store(conn: sqlite3.Connection, sub_job: int, records: Sequence[Danmaku]) -> list[Danmaku]:
    marks = ", ".join("?" * len(records))
    known = {
        (row["cid"], row["danmaku_id"]): row
        for row in conn.execute(
            "SELECT id, cid, danmaku_id, weight, extras,"  # noqa: S608
            " EXISTS (SELECT 1 FROM danmaku_sightings g WHERE g.sub_job_id = ? AND g.danmaku = danmaku.id) AS seen"
            f" FROM danmaku WHERE provider = ? AND video_id = ? AND danmaku_id IN ({marks})",
            (sub_job, records[0].provider, records[0].video_id, *(record.danmaku_id for record in records)),
        )
    }
    next_row = conn.execute("SELECT coalesce(max(id), 0) + 1 FROM danmaku").fetchone()[0]
    inserts: list[tuple[Any, ...]] = []
    sightings: list[tuple[int, int]] = []
    fresh: dict[tuple[str, str], Danmaku] = {}
    for record in records:
        key = (record.cid, record.danmaku_id)
        if key in fresh:
            continue
        old = known.get(key)
        if old is None:
            inserts.append((next_row, *_values(record)))
            sightings.append((sub_job, next_row))
            next_row += 1
            fresh[key] = record
            continue
        _enrich(conn, old, record)
        if not old["seen"]:
            sightings.append((sub_job, old["id"]))
            fresh[key] = record
    conn.executemany(_INSERT, inserts)
    conn.executemany("INSERT OR IGNORE INTO danmaku_sightings (sub_job_id, danmaku) VALUES (?, ?)", sightings)
    return list(fresh.values())


def _enrich(conn: sqlite3.Connection, old: sqlite3.Row, record: Danmaku) -> None:
    told = json.loads(old["extras"])
    more = {name: value for name, value in record.extras.items() if name not in told}
    if more or (old["weight"] is None and record.weight is not None):
        conn.execute(
            "UPDATE danmaku SET weight = coalesce(weight, ?), extras = ? WHERE id = ?",
            (record.weight, json.dumps({**told, **more}, ensure_ascii=False), old["id"]),
        )


def _values(record: Danmaku) -> tuple[Any, ...]:
    *plain, extras = (getattr(record, name) for name in DANMAKU_COLUMNS)
    return (*plain, json.dumps(extras, ensure_ascii=False))


def danmaku_of(row: sqlite3.Row) -> Danmaku:
    """A stored row as a record again."""
    values = {name: row[name] for name in DANMAKU_COLUMNS}
    values["extras"] = json.loads(values["extras"])
    return Danmaku(**values)


def danmaku_of_run(conn: sqlite3.Connection, run_id: str) -> Iterator[Danmaku]:
    """Every danmaku that a run saw, as a stream."""
    rows = conn.execute(
        "SELECT d.* FROM sub_jobs s JOIN danmaku_sightings g ON g.sub_job_id = s.id"
        " JOIN danmaku d ON d.id = g.danmaku WHERE s.run_id = ? ORDER BY s.id, d.id",
        (run_id,),
    )
    return (danmaku_of(row) for row in rows)
