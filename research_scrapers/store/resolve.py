"""Jobs as links make them: a sub-job for each kind of work, and other jobs for a link that turns out to be others."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from research_scrapers.models import Kind

_NAMED = 5
ANEW = ""
"""The route of a sub-job that must begin anew: no route has this name, so whoever claims it takes it for another's."""


def add_sub_jobs(
    conn: sqlite3.Connection, job: str, values: tuple[object, ...], kinds: Sequence[Kind], *, shuffled: bool = False
) -> None:
    """A sub-job of each kind for the jobs that the condition names. Where there is metadata, the others wait for it."""
    waits = Kind.METADATA in kinds
    by_chance = "random() & 0xFFFFFF" if shuffled else "0"
    for kind in kinds:
        conn.execute(
            "INSERT INTO sub_jobs"  # noqa: S608
            " (job_id, run_id, provider, video_id, kind, priority, status, waits, deadline, shuffle)"
            f" SELECT id, run_id, provider, video_id, ?, priority, status, ?, deadline, {by_chance} FROM jobs"
            f" WHERE {job}",
            (kind, int(waits and kind is not Kind.METADATA), *values),
        )


def resolve(conn: sqlite3.Connection, job_id: int, videos: Sequence[str], part: str | None = None) -> str:
    """Make jobs of the videos that a short link, an episode or a season is, unless the run has them already; of these,
    only the part that the link leads to, if it names one. The job itself keeps only what told it. Returns what to note
    of it.
    """
    rows = conn.execute("SELECT kind, shuffle FROM sub_jobs WHERE job_id = ?", (job_id,)).fetchall()
    kinds, shuffled = [Kind(row[0]) for row in rows], any(row[1] for row in rows)
    run_id, provider, own = conn.execute("SELECT run_id, provider, parts FROM jobs WHERE id = ?", (job_id,)).fetchone()
    wanted = own or part or ""
    for video_id in videos:
        added = conn.execute(
            "INSERT OR IGNORE INTO jobs (run_id, provider, video_id, link, line, priority, status, parts, deadline)"
            " SELECT run_id, provider, ?, link, line, priority, 'pending', ?, deadline FROM jobs WHERE id = ?",
            (video_id, wanted, job_id),
        )
        if added.rowcount:
            add_sub_jobs(conn, "id = ?", (added.lastrowid,), kinds, shuffled=shuffled)
            continue
        for number in wanted.split(",") if wanted else [None]:
            widen_parts(conn, run_id, provider, video_id, number)
    conn.execute("DELETE FROM sub_jobs WHERE job_id = ? AND kind <> ?", (job_id, Kind.METADATA))
    more = f" and {len(videos) - _NAMED} more" if len(videos) > _NAMED else ""
    return f"is {', '.join(videos[:_NAMED])}{more}"


def widen_parts(conn: sqlite3.Connection, run_id: str, provider: str, video_id: str, part: str | None) -> None:
    """Two links to parts of one video are one job for both parts; a link without a part means all of them. What was
    begun for fewer parts begins anew: its records are kept, and are not stored twice.
    """
    job = conn.execute(
        "UPDATE jobs SET parts = CASE WHEN ?1 IS NULL THEN '' ELSE parts || ',' || ?1 END"
        " WHERE run_id = ?2 AND provider = ?3 AND video_id = ?4 AND parts <> ''"
        " AND (?1 IS NULL OR instr(',' || parts || ',', ',' || ?1 || ',') = 0) RETURNING id",
        (part, run_id, provider, video_id),
    ).fetchone()
    if job is None:
        return
    by_part = (Kind.DANMAKU, Kind.TRANSCRIPT)
    conn.execute(
        "UPDATE sub_jobs SET route = ? WHERE job_id = ? AND kind IN (?, ?) AND route IS NOT NULL",
        (ANEW, job[0], *by_part),
    )
    reopened = conn.execute(
        "UPDATE sub_jobs SET status = 'pending', outcome = NULL, reason = NULL, detail = NULL, retriable = 0,"
        " finished_at = NULL WHERE job_id = ? AND route = ? AND status IN ('success', 'failed')",
        (job[0], ANEW),
    ).rowcount
    if reopened:
        conn.execute("UPDATE jobs SET status = 'pending', reason = NULL, detail = NULL WHERE id = ?", job)


def end_dependants(conn: sqlite3.Connection, job_id: int, failure: tuple[str, str, bool] | None, moment: str) -> None:
    """The metadata of a job has ended: well, and the others may begin; or badly, and they end with it."""
    if failure is None:
        conn.execute("UPDATE sub_jobs SET waits = 0 WHERE job_id = ?", (job_id,))
        return
    conn.execute(
        "UPDATE sub_jobs SET status = 'failed', reason = ?, detail = ?, retriable = ?, finished_at = ?"
        " WHERE job_id = ? AND waits = 1 AND status = 'pending'",
        (*failure, moment, job_id),
    )


def make_invalid(conn: sqlite3.Connection, job_id: int, reason: str) -> None:
    """A link that led to something other than a video is no job at all."""
    conn.execute("DELETE FROM checkpoints WHERE sub_job_id IN (SELECT id FROM sub_jobs WHERE job_id = ?)", (job_id,))
    conn.execute("DELETE FROM artifacts WHERE sub_job_id IN (SELECT id FROM sub_jobs WHERE job_id = ?)", (job_id,))
    conn.execute("DELETE FROM sub_jobs WHERE job_id = ?", (job_id,))
    conn.execute("UPDATE jobs SET status = 'invalid', reason = ? WHERE id = ?", (reason, job_id))


def fail_waiting(
    conn: sqlite3.Connection, work: tuple[str, str], kinds: Sequence[Kind], why: tuple[str, str], moment: str
) -> int:
    """Fail what waits of a run and provider: these kinds, and with metadata also what waits for it."""
    marks = ", ".join("?" * len(kinds))
    dependants = " OR waits = 1" if Kind.METADATA in kinds else ""
    failed = conn.execute(
        "UPDATE sub_jobs SET status = 'failed', reason = ?, detail = ?, retriable = 1, finished_at = ?"  # noqa: S608
        f" WHERE run_id = ? AND provider = ? AND status = 'pending' AND (kind IN ({marks}){dependants})",
        (*why, moment, *work, *kinds),
    ).rowcount
    conn.execute(
        "UPDATE jobs SET status = 'failed', reason = ?, detail = ? WHERE run_id = ? AND provider = ?"
        " AND status IN ('pending', 'in_progress') AND NOT EXISTS (SELECT 1 FROM sub_jobs s WHERE s.job_id = jobs.id"
        " AND s.status IN ('pending', 'in_progress'))",
        (*why, *work),
    )
    return failed
