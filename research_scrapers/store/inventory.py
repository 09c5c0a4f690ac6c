"""What a manifest lists: every job of a run with its pieces of work, and a digest of the records that each saw."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

_RECORDS = {
    "comments": "SELECT c.comment_id, c.content_hash || char(31) || c.text FROM sightings g"
    " JOIN comments c ON c.id = g.comment WHERE g.sub_job_id = ?",
    "transcript": "SELECT t.part || '/' || t.language || '/' || t.kind || '/' || t.name || '/' || t.version,"
    " t.content_hash || char(31) || coalesce((SELECT group_concat(n.text, char(31)) FROM transcript_segments n"
    " WHERE n.transcript = t.id), '') FROM transcript_sightings g"
    " JOIN transcripts t ON t.id = g.transcript WHERE g.sub_job_id = ?",
    "danmaku": "SELECT d.cid || '/' || d.danmaku_id, d.content_hash || char(31) || d.text FROM danmaku_sightings g"
    " JOIN danmaku d ON d.id = g.danmaku WHERE g.sub_job_id = ?",
}


def items(conn: sqlite3.Connection, run: str | None) -> Iterator[dict[str, Any]]:
    """Every job, as a stream, with what is held of it."""
    jobs = conn.execute(
        "SELECT id, run_id, line, link, provider, video_id, status, reason FROM jobs WHERE ? IS NULL OR run_id = ?"
        " ORDER BY run_id, id",
        (run, run),
    )
    for job in jobs:
        work = conn.execute(
            "SELECT id, kind, status, outcome, reason, claimed, top_level + replies AS collected FROM sub_jobs"
            " WHERE job_id = ? ORDER BY kind",
            (job["id"],),
        ).fetchall()
        yield {
            **{name: job[name] for name in job.keys()},  # noqa: SIM118
            "work": [
                {**{name: one[name] for name in one.keys() if name != "id"}, **_digest(conn, one)}  # noqa: SIM118
                for one in work
            ],
        }


def _digest(conn: sqlite3.Connection, work: sqlite3.Row) -> dict[str, Any]:
    query = _RECORDS.get(work["kind"])
    if query is None:
        return {}
    # The sum of the records' digests does not depend on their order, so that nothing has to be sorted.
    total, number = 0, 0
    for key, content in conn.execute(query, (work["id"],)):
        total += int.from_bytes(hashlib.sha256(f"{key}\x1f{content}".encode()).digest(), "big")
        number += 1
    return {"records": number, "digest": f"{total % 2**256:064x}"}


def totals(conn: sqlite3.Connection, run: str | None) -> dict[str, Any]:
    """The run itself and how its work ended."""
    ends = conn.execute(
        "SELECT kind || ' ' || coalesce(outcome, status), count(*) FROM sub_jobs WHERE ? IS NULL OR run_id = ?"
        " GROUP BY 1 ORDER BY 1",
        (run, run),
    ).fetchall()
    jobs = conn.execute(
        "SELECT status, count(*) FROM jobs WHERE ? IS NULL OR run_id = ? GROUP BY 1 ORDER BY 1", (run, run)
    ).fetchall()
    runs = conn.execute(
        "SELECT id, spider, status, reason, config, created_at, finished_at FROM runs WHERE ? IS NULL OR id = ?"
        " ORDER BY created_at",
        (run, run),
    ).fetchall()
    return {
        "runs": [
            {**{name: one[name] for name in one.keys()}, "config": json.loads(one["config"])}  # noqa: SIM118
            for one in runs
        ],
        "jobs": {row[0]: row[1] for row in jobs},
        "work": {row[0]: row[1] for row in ends},
    }
