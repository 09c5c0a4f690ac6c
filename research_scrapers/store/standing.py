"""Where a run stands, for whoever looks from outside while it goes on or later."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ENDS = ("complete", "empty", "partial", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Standing:
    """One run."""

    run: str
    spider: str
    status: str
    reason: str | None
    created_at: str
    finished_at: str | None
    cancel_asked: bool
    live: Mapping[str, Any]
    """What its process last told of itself."""
    owners: tuple[str, ...]
    """Who holds its sub-jobs, and who told last."""
    counts: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    """Provider and kind → how many sub-jobs stand where: an outcome, or a status."""
    parked_until: float | None = None
    """When the first of the sub-jobs that wait for their quota may go on."""

    @property
    def open(self) -> bool:
        """Whether nobody has written down its end."""
        return self.status == "in_progress"

    @property
    def left(self) -> int:
        return sum(count.get("pending", 0) + count.get("in_progress", 0) for count in self.counts.values())


def standing(conn: sqlite3.Connection, run_id: str) -> Standing:
    """How the run stands now."""
    run = conn.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchone()
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for provider, kind, ending, number in conn.execute(
        "SELECT provider, kind, coalesce(outcome, status), count(*) FROM sub_jobs WHERE run_id = ? GROUP BY 1, 2, 3",
        (run_id,),
    ):
        counts.setdefault((provider, kind), {})[ending] = number
    owners = {
        row[0]
        for row in conn.execute(
            "SELECT DISTINCT owner FROM sub_jobs WHERE run_id = ? AND status = 'in_progress'", (run_id,)
        )
    }
    live = json.loads(run["live"] or "{}")
    parked = conn.execute(
        "SELECT min(not_before) FROM sub_jobs WHERE run_id = ? AND status = 'pending' AND not_before > 0", (run_id,)
    ).fetchone()[0]
    return Standing(
        run=run_id, spider=run["spider"], status=run["status"], reason=run["reason"], created_at=run["created_at"],
        finished_at=run["finished_at"], cancel_asked=bool(run["cancel"]), live=live,
        owners=tuple(sorted(owners | ({live["owner"]} if live.get("owner") else set()))), counts=counts,
        parked_until=parked,
    )  # fmt: skip


def backlog(conn: sqlite3.Connection, run_id: str, now: float) -> dict[tuple[str, str], tuple[int, int]]:
    """Provider and kind → how many sub-jobs wait: those that can be claimed, and all. Those that simply wait are
    counted in an index; only the few that are parked or held by someone are looked at.
    """
    free, shut = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for provider, kind, status, waits, number in conn.execute(
        "SELECT provider, kind, status, waits, count(*) FROM sub_jobs WHERE run_id = ?"
        " GROUP BY provider, kind, status, waits",  # in the index's own order: to ask for one status would sort all
        (run_id,),
    ):
        if status == "pending":
            (shut if waits else free)[provider, kind] += number
    for provider, kind in conn.execute(
        "SELECT provider, kind FROM sub_jobs WHERE run_id = ? AND status = 'in_progress' AND lease_until < ?",
        (run_id, now),
    ):
        free[provider, kind] += 1
    for provider, kind in conn.execute(
        "SELECT provider, kind FROM sub_jobs WHERE run_id = ? AND status = 'pending' AND waits = 0 AND not_before > ?",
        (run_id, now),
    ):
        free[provider, kind] -= 1
        shut[provider, kind] += 1
    return {line: (free[line], free[line] + shut[line]) for line in (*free.keys(), *shut.keys())}


def last_failures(conn: sqlite3.Connection, run_id: str, most: int) -> list[dict[str, Any]]:
    """The sub-jobs that failed last, newest first."""
    rows = conn.execute(
        "SELECT provider, video_id, kind, reason, detail, retriable, finished_at FROM sub_jobs"
        " WHERE run_id = ? AND status = 'failed' ORDER BY finished_at DESC LIMIT ?",
        (run_id, most),
    )
    return [dict(row) for row in rows]
