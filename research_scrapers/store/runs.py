"""Runs and their jobs: what was asked for, and what became of each line."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from research_scrapers.models import BadLine, Kind, Link, Status
from research_scrapers.store.database import Store
from research_scrapers.store.resolve import add_sub_jobs, widen_parts

logger = logging.getLogger(__name__)

_BATCH = 1000
_NEVER = 9e15
_INSERT_JOB = (
    "INSERT OR IGNORE INTO jobs (run_id, provider, video_id, link, line, priority, status, reason, parts, deadline)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution with its config snapshot; the same id is resumed until it is finished."""

    id: str
    spider: str
    status: str
    jobdir: str | None
    links_digest: str | None
    config: Mapping[str, Any]
    created_at: str


@dataclass(frozen=True, slots=True)
class Intake:
    """What came of reading the links."""

    added: int = 0
    repeated: int = 0
    invalid: int = 0
    elsewhere: int = 0


def new_run_id(now: datetime) -> str:
    """For example ``run_20261116_123456_ab12``."""
    return f"run_{now:%Y%m%d_%H%M%S}_{secrets.token_hex(2)}"


class Runs:
    """The runs and jobs of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, run_id: str, spider: str, *, config: Mapping[str, Any], jobdir: str | None, links: str) -> Run:
        with self._store.writing() as conn:
            conn.execute(
                "INSERT INTO runs (id, spider, status, jobdir, links, config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (run_id, spider, Status.IN_PROGRESS, jobdir, links, json.dumps(config, sort_keys=True), _now()),
            )
        run = self.find(run_id)
        assert run is not None
        return run

    def find(self, run_id: str) -> Run | None:
        return self._one("SELECT * FROM runs WHERE id = ?", run_id)

    def of_jobdir(self, jobdir: str, spider: str) -> Run | None:
        """The run that a JOBDIR names, for when the note in the folder is gone."""
        return self._one("SELECT * FROM runs WHERE jobdir = ? AND spider = ? ORDER BY created_at DESC", jobdir, spider)

    def latest(self) -> Run | None:
        return self._one("SELECT * FROM runs ORDER BY created_at DESC, rowid DESC LIMIT 1")

    def _one(self, query: str, *values: object) -> Run | None:
        with self._store.explained():
            row = self._store.conn.execute(query, values).fetchone()
        if row is None:
            return None
        return Run(
            id=row["id"],
            spider=row["spider"],
            status=row["status"],
            jobdir=row["jobdir"],
            links_digest=row["links_digest"],
            config=json.loads(row["config"]),
            created_at=row["created_at"],
        )

    def update_config(self, run_id: str, config: Mapping[str, Any]) -> None:
        """Record what a later session of the run decided otherwise (robots.txt, limits, route)."""
        with self._store.writing() as conn:
            conn.execute("UPDATE runs SET config = ? WHERE id = ?", (json.dumps(config, sort_keys=True), run_id))

    def take_in(
        self, run_id: str, lines: Iterable[Link | BadLine], work: Mapping[str, Sequence[Kind]], who: str, *,
        shuffled: bool = False,
    ) -> Intake:  # fmt: skip
        """Make jobs of the lines, a thousand at a time: for each provider, the kinds of work that are wanted of it. A
        line that is known already changes nothing, so that it can be done again after a crash or with a longer file.
        """
        added = repeated = invalid = elsewhere = taken = 0
        lines = iter(lines)
        while batch := list(islice(lines, _BATCH)):
            links = [line for line in batch if isinstance(line, Link)]
            mine = [line for line in links if line.provider in work]
            others = [line for line in links if line.provider not in work]
            with self._store.writing() as conn:
                bad = [
                    (run_id, line.text, line.line, Status.INVALID, line.reason)
                    for line in batch
                    if isinstance(line, BadLine)
                ]
                conn.executemany(
                    "INSERT OR IGNORE INTO jobs (run_id, link, line, status, reason) VALUES (?, ?, ?, ?, ?)", bad
                )
                last = conn.execute("SELECT coalesce(max(id), 0) FROM jobs").fetchone()[0]
                new = conn.executemany(
                    _INSERT_JOB, [_job(run_id, line, Status.PENDING, None) for line in mine]
                ).rowcount
                for provider, kinds in work.items():
                    these = (last, run_id, provider)
                    add_sub_jobs(conn, "id > ? AND run_id = ? AND provider = ?", these, kinds, shuffled=shuffled)
                if len(mine) > new:
                    for line in mine:
                        part = None if line.part is None else str(line.part)
                        widen_parts(conn, run_id, line.provider, line.video_id, part)
                why = f"not a {' or '.join(work)} link: {who} does not work on it"
                foreign = conn.executemany(
                    _INSERT_JOB, [_job(run_id, line, Status.CANCELLED, why) for line in others]
                ).rowcount
            invalid += len(bad)
            added += max(new, 0)
            elsewhere += max(foreign, 0)
            repeated += len(links) - max(new, 0) - max(foreign, 0)
            taken += len(batch)
            if taken % (_BATCH * 100) == 0:
                logger.info("%d lines read", taken)
        return Intake(added, repeated, invalid, elsewhere)

    def links_taken_in(self, run_id: str, digest: str) -> None:
        """Remember that every line of these links has its job."""
        with self._store.writing() as conn:
            conn.execute("UPDATE runs SET links_digest = ? WHERE id = ?", (digest, run_id))

    def cancel_asked(self, run_id: str) -> bool:
        """Whether somebody asked this run to stop."""
        with self._store.explained():
            row = self._store.conn.execute("SELECT cancel FROM runs WHERE id = ?", (run_id,)).fetchone()
        return bool(row and row[0])

    def ask_cancel(self, run_id: str) -> None:
        """Ask whoever works on this run to stop."""
        with self._store.writing() as conn:
            conn.execute("UPDATE runs SET cancel = 1 WHERE id = ?", (run_id,))

    def tell(self, run_id: str, live: Mapping[str, Any]) -> None:
        """Leave word of how a running process stands, for whoever looks from outside. Of a run that others have ended
        there is nothing to say.
        """
        with self._store.writing() as conn:
            conn.execute(
                "UPDATE runs SET live = ? WHERE id = ? AND status = ?", (json.dumps(live), run_id, Status.IN_PROGRESS)
            )

    def reopen(self, run_id: str) -> int:
        """Make ready what an earlier session of this run could not finish for a passing reason: failed sub-jobs,
        and the failed threads of partial ones. Returns how many sub-jobs that is.
        """
        # Each statement begins at what is to be changed, which is little, and not at all that waits, which may be much.
        unfinished = (
            "EXISTS (SELECT 1 FROM sub_jobs s WHERE s.id = sub_job_id AND s.run_id = ? AND (s.retriable = 1 OR"
            " s.status = 'pending'))"
        )
        with self._store.writing() as conn:
            # A thread whose token is dead needs a fresh one, which only the main chain can bring.
            dead = f"state = 'failed' AND reason = 'cursor_expired' AND chain <> '' AND {unfinished}"
            conn.execute(
                "UPDATE checkpoints SET step = first_step, token = first_token, state = 'open', records = 0, stale = 0,"  # noqa: S608
                f" walk = walk + 1, reason = NULL WHERE chain = '' AND sub_job_id IN"
                f" (SELECT sub_job_id FROM checkpoints WHERE {dead})",
                (run_id,),
            )
            conn.execute(f"DELETE FROM checkpoints WHERE {dead}", (run_id,))  # noqa: S608
            conn.execute(
                "UPDATE checkpoints SET state = 'open', reason = NULL, detail = NULL, stale = 0"  # noqa: S608
                f" WHERE state = 'failed' AND {unfinished}",
                (run_id,),
            )
            conn.execute(f"UPDATE checkpoints SET restarts = 0 WHERE restarts > 0 AND {unfinished}", (run_id,))  # noqa: S608
            conn.execute(
                "UPDATE sub_jobs SET threads_failed = 0 WHERE run_id = ? AND status = 'pending' AND threads_failed > 0",
                (run_id,),
            )
            reopened = conn.execute(
                "UPDATE sub_jobs SET status = 'pending', outcome = NULL, reason = NULL, detail = NULL, retriable = 0,"
                " threads_failed = 0, owner = NULL, lease_until = NULL, finished_at = NULL"
                " WHERE run_id = ? AND retriable = 1 AND status IN ('success', 'failed')",
                (run_id,),
            ).rowcount
            conn.execute(
                "UPDATE sub_jobs SET waits = 1 WHERE run_id = ?1 AND status = 'pending' AND waits = 0"
                " AND kind IN ('transcript', 'comments', 'danmaku')"
                " AND provider IN (SELECT provider FROM sub_jobs WHERE run_id = ?1 AND kind = 'metadata')"
                " AND EXISTS (SELECT 1 FROM sub_jobs m WHERE m.job_id = sub_jobs.job_id AND m.kind = 'metadata'"
                " AND m.status <> 'success')",
                (run_id,),
            )
            if reopened:
                conn.execute(
                    "UPDATE jobs SET status = 'pending', reason = NULL, detail = NULL WHERE run_id = ? AND id IN"
                    " (SELECT job_id FROM sub_jobs WHERE run_id = ? AND status = 'pending')",
                    (run_id, run_id),
                )
            conn.execute(
                "UPDATE runs SET status = ?, reason = NULL, cancel = 0 WHERE id = ?", (Status.IN_PROGRESS, run_id)
            )
        return reopened

    def ask_again(self, run_id: str, *, failed: bool, partial: bool) -> int:
        """Let the next session try again what ended badly, whether or not that was a passing reason: it goes on where
        it stood, and what is merely partial is read from its beginning. What a person's own limit cut off stays so.
        """
        wanted = " OR ".join(
            one for one, asked in (("status = 'failed'", failed), ("outcome = 'partial' AND limited = 0", partial))
            if asked
        ) or "0"  # fmt: skip
        anew = (
            "(SELECT id FROM sub_jobs s WHERE run_id = ? AND outcome = 'partial' AND limited = 0 AND NOT EXISTS"
            " (SELECT 1 FROM checkpoints c WHERE c.sub_job_id = s.id AND c.state = 'failed'))"
        )
        with self._store.writing() as conn:
            asked = conn.execute(
                f"UPDATE sub_jobs SET retriable = 1 WHERE run_id = ? AND ({wanted})",  # noqa: S608
                (run_id,),
            ).rowcount
            if partial:
                for table in ("sightings", "transcript_sightings", "danmaku_sightings", "checkpoints"):
                    conn.execute(f"DELETE FROM {table} WHERE sub_job_id IN {anew}", (run_id,))  # noqa: S608
                conn.execute(
                    f"UPDATE jobs SET status = 'pending' WHERE id IN (SELECT job_id FROM sub_jobs WHERE id IN {anew})",  # noqa: S608
                    (run_id,),
                )
                conn.execute(
                    "UPDATE sub_jobs SET status = 'pending', outcome = NULL, reason = NULL, detail = NULL,"  # noqa: S608
                    " retriable = 0, finished_at = NULL, session = '{}', pages = 0, top_level = 0, replies = 0,"
                    " threads_found = 0, threads_done = 0, threads_failed = 0, claimed = NULL, note = NULL"
                    f" WHERE id IN {anew}",
                    (run_id,),
                )
        return asked

    def close(self, run_id: str, reason: str | None) -> int:
        """Write down how this session of the run ended: finished, or stopped for a reason. Returns what is left.
        As long as another process has a part of it, the run goes on; and whoever comes late to a run that others have
        ended in the same way changes nothing.
        """
        with self._store.writing() as conn:
            left: int = conn.execute(
                "SELECT count(*) FROM sub_jobs WHERE run_id = ? AND status IN ('pending', 'in_progress')", (run_id,)
            ).fetchone()[0]
            status = Status.SUCCESS if not left else Status.CANCELLED
            conn.execute(
                "UPDATE runs SET status = ?1, reason = ?2, finished_at = ?3 WHERE id = ?4 AND status <> ?1"
                " AND NOT EXISTS (SELECT 1 FROM sub_jobs WHERE run_id = runs.id AND status = 'in_progress')",
                (status, reason if left else None, _now(), run_id),
            )
        return left

    def standing(self, run_id: str) -> tuple[int, int]:
        """How many sub-jobs have ended, and how many there are. Read from an index alone: quick at a million."""
        with self._store.explained():
            rows = self._store.conn.execute(
                "SELECT status, count(*) FROM sub_jobs WHERE run_id = ? GROUP BY provider, kind, status", (run_id,)
            ).fetchall()
        return sum(n for status, n in rows if status in ("success", "failed", "cancelled")), sum(n for _, n in rows)

    def reached(self, run_id: str) -> bool:
        """Whether any video of the run ended otherwise than by a passing failure."""
        with self._store.explained():
            return self._store.conn.execute(
                "SELECT 1 FROM sub_jobs WHERE run_id = ? AND NOT (status = 'failed' AND retriable = 1) LIMIT 1",
                (run_id,),
            ).fetchone() is not None  # fmt: skip

    def counts(self, run_id: str) -> dict[str, int]:
        """How many sub-jobs stand where: ``pending``, ``in_progress``, and ``complete``, ``empty``, ``partial``,
        ``failed``; and how many lines are ``invalid`` or ``cancelled``.
        """
        with self._store.explained():
            rows = self._store.conn.execute(
                "SELECT coalesce(outcome, status), count(*) FROM sub_jobs WHERE run_id = ? GROUP BY 1", (run_id,)
            ).fetchall()
            lines = self._store.conn.execute(
                "SELECT status, count(*) FROM jobs WHERE run_id = ? AND status IN ('invalid', 'cancelled') GROUP BY 1",
                (run_id,),
            ).fetchall()
        return {**dict(map(tuple, rows)), **dict(map(tuple, lines))}


def _job(run_id: str, line: Link, status: Status, reason: str | None) -> tuple[Any, ...]:
    parts = "" if line.part is None else str(line.part)
    deadline = _NEVER if line.deadline is None else line.deadline
    return run_id, line.provider, line.video_id, line.text, line.line, line.priority, status, reason, parts, deadline


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
