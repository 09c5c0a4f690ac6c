"""How a run went over time: a row per line every few seconds, and where each line stands."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

from research_scrapers.models import Kind
from research_scrapers.store.database import Store

Buckets = Mapping[str, Mapping[int, int]]
"""Endpoint → bucket of a histogram → how many answers."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one line did in one interval, and how it stood at its end."""

    run_id: str
    line: str
    at: float
    seconds: float
    requests: int = 0
    retries: int = 0
    pages: int = 0
    records: int = 0
    ended: int = 0
    cached: int = 0
    in_flight: int = 0
    waiting: int = 0
    queue: int = 0
    busy: int = 0
    breaker: str = "closed"
    errors: Mapping[str, int] = field(default_factory=dict)
    latency: Buckets = field(default_factory=dict)


_COLUMNS = tuple(Sample.__dataclass_fields__)


def write_samples(store: Store, samples: Iterable[Sample]) -> None:
    """Keep them, in one short transaction."""
    rows = []
    for sample in samples:
        row = asdict(sample)
        row["errors"], row["latency"] = json.dumps(row["errors"]), json.dumps(row["latency"])
        rows.append(tuple(row[name] for name in _COLUMNS))
    with store.writing() as conn:
        conn.executemany(
            f"INSERT INTO samples ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",  # noqa: S608
            rows,
        )


def read_samples(conn: sqlite3.Connection, run_id: str) -> Iterator[Sample]:
    """Those of a run, in order."""
    query = f"SELECT {', '.join(_COLUMNS)} FROM samples WHERE run_id = ? ORDER BY at, id"  # noqa: S608
    for row in conn.execute(query, (run_id,)):
        values = dict(zip(_COLUMNS, row, strict=True))
        values["errors"] = json.loads(values["errors"])
        values["latency"] = {
            endpoint: {int(bucket): n for bucket, n in buckets.items()}
            for endpoint, buckets in json.loads(values["latency"]).items()
        }
        yield Sample(**values)


def standing_by_kind(store: Store, run_id: str) -> dict[tuple[str, Kind], tuple[int, int]]:
    """Provider and kind → how many sub-jobs have ended, and how many there are. Read from an index alone."""
    with store.explained():
        rows = store.conn.execute(
            "SELECT provider, kind, sum(status IN ('success', 'failed', 'cancelled')), count(*) FROM sub_jobs"
            " WHERE run_id = ? GROUP BY provider, kind",
            (run_id,),
        ).fetchall()
    return {(row[0], Kind(row[1])): (row[2], row[3]) for row in rows}


@dataclass(frozen=True, slots=True)
class Ending:
    """How many sub-jobs of one provider and kind ended in one way, and what they hold."""

    provider: str
    kind: str
    ending: str
    """``complete``, ``empty``, ``partial``, ``failed``, ``pending`` or ``in_progress``."""
    reason: str | None
    count: int
    claimed: int
    """What the site says there is, where it says so."""
    held: int
    pages: int


def endings(conn: sqlite3.Connection, run_id: str) -> list[Ending]:
    """How the sub-jobs of a run stand."""
    rows = conn.execute(
        "SELECT provider, kind, coalesce(outcome, status), reason, count(*), coalesce(sum(claimed), 0),"
        " coalesce(sum(top_level + replies), 0), coalesce(sum(pages), 0) FROM sub_jobs WHERE run_id = ?"
        " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 5 DESC",
        (run_id,),
    )
    return [Ending(*row) for row in rows]


def run_facts(conn: sqlite3.Connection, run_id: str) -> dict[str, str | int | None]:
    """What is worth telling of a run itself."""
    row = conn.execute(
        "SELECT id, spider, status, reason, links, created_at, finished_at, quota_used FROM runs WHERE id = ?",
        (run_id,),
    ).fetchone()
    return dict(row) if row is not None else {}
