"""The ledger of work: who works on what, how far it got. Six verbs, each one transaction, each fenced.

``claim · heartbeat · group · finish · fail · release``. A sub-job belongs to one owner and attempt until its
lease ends; whoever comes late with an old attempt gets `LeaseLost` and has written nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from research_scrapers.coverage import Conclusion, Facts
from research_scrapers.errors import NotAVideo, reason_of
from research_scrapers.models import MAIN, Cursor, Kind, Options, Outcome, Page
from research_scrapers.store.database import Store
from research_scrapers.store.fence import Fence, Group
from research_scrapers.store.pages import Handed, Lease, Receipt
from research_scrapers.store.resolve import ANEW, end_dependants, fail_waiting, make_invalid
from research_scrapers.store.standing import backlog
from research_scrapers.store.transcripts import adopt_transcripts

LEASE_S = 120.0
_FREE = ("status = 'pending' AND coalesce(not_before, 0) <= ?", "status = 'in_progress' AND lease_until < ?")
"""What can be claimed: what waits, and what a dead owner held."""


class Ledger:
    """The work of one run in one store."""

    def __init__(
        self, store: Store, run_id: str, owner: str, *, lease_s: float = LEASE_S, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self.run_id = run_id
        self.owner = owner
        self._lease_s = lease_s
        self._clock = clock

    # -- claim, heartbeat, release -------------------------------------------------------------------------------

    def claim(self, provider: str, routes: Mapping[Kind, str]) -> Lease | None:
        """Take the next sub-job that is free, or whose owner let its lease run out: of the first of these kinds that
        has one, to be walked by the route that is named for it. Of a run that was asked to stop, nothing.
        """
        now = self._clock()
        with self._store.writing(durable=False) as conn:
            if conn.execute("SELECT 1 FROM runs WHERE id = ? AND cancel = 1", (self.run_id,)).fetchone():
                return None
            for kind, route in routes.items():
                for condition in _FREE:
                    while (row := self._take(conn, provider, kind, route, condition, now)) is not None:
                        conn.execute("UPDATE jobs SET status = 'in_progress' WHERE id = ?", (row["job_id"],))
                        lease = self._lease(conn, row if row["route"] == route else _rerouted(conn, row, route))
                        if row["deadline"] >= now:
                            return lease
                        self._fail(conn, lease, "deadline_passed", "its turn came after its deadline", retriable=False)
        return None

    def _take(
        self, conn: sqlite3.Connection, provider: str, kind: Kind, route: str, condition: str, now: float
    ) -> sqlite3.Row | None:
        row: sqlite3.Row | None = conn.execute(
            f"UPDATE sub_jobs SET status = 'in_progress', owner = ?, attempt = attempt + 1,"  # noqa: S608
            f" lease_until = ?, not_before = NULL, started_at = coalesce(started_at, ?),"
            f" route = coalesce(route, ?) WHERE id = (SELECT id FROM sub_jobs WHERE run_id = ?"
            f" AND provider = ? AND kind = ? AND waits = 0 AND {condition}"
            f" ORDER BY priority DESC, deadline, shuffle, id LIMIT 1) RETURNING *",
            (self.owner, now + self._lease_s, _iso(now), route, self.run_id, provider, kind, now),
        ).fetchone()
        return row

    def anything_to_do(self, provider: str, kinds: Iterable[Kind]) -> bool:
        """Whether a sub-job of these kinds waits, or is held by someone."""
        now = self._clock()
        with self._store.explained():
            return any(
                self._store.conn.execute(
                    "SELECT 1 FROM sub_jobs WHERE run_id = ? AND provider = ? AND kind = ? AND (status = 'in_progress'"
                    " OR status = 'pending' AND coalesce(not_before, 0) <= ?) LIMIT 1",
                    (self.run_id, provider, kind, now),
                ).fetchone()
                for kind in kinds
            )

    def backlog(self) -> dict[tuple[str, Kind], tuple[int, int]]:
        """How many sub-jobs of each provider and kind wait: those that can be claimed, and all."""
        with self._store.explained():
            found = backlog(self._store.conn, self.run_id, self._clock())
        return {(provider, Kind(kind)): numbers for (provider, kind), numbers in found.items()}

    def _lease(self, conn: sqlite3.Connection, row: sqlite3.Row) -> Lease:
        chains = conn.execute(
            "SELECT chain, step, token, claimed FROM checkpoints WHERE sub_job_id = ? AND state = 'open'", (row["id"],)
        ).fetchall()
        return Lease(
            id=row["id"], job_id=row["job_id"], run_id=row["run_id"], provider=row["provider"],
            video_id=row["video_id"], kind=Kind(row["kind"]), priority=row["priority"], owner=row["owner"],
            attempt=row["attempt"], route=row["route"], session=json.loads(row["session"]),
            cursors=[Cursor(*chain) for chain in chains], collected=row["top_level"] + row["replies"],
            pages=row["pages"], facts=self._facts_of_job(conn, row) if row["kind"] != Kind.METADATA else {},
        )  # fmt: skip

    def _facts_of_job(self, conn: sqlite3.Connection, row: sqlite3.Row) -> dict[str, str]:
        metadata = conn.execute(
            "SELECT session FROM sub_jobs WHERE job_id = ? AND kind = ?", (row["job_id"], Kind.METADATA)
        ).fetchone()
        parts = conn.execute("SELECT parts FROM jobs WHERE id = ?", (row["job_id"],)).fetchone()[0]
        return (json.loads(metadata[0]) if metadata else {}) | ({"only_parts": parts} if parts else {})

    def begin(self, lease: Lease, cursor: Cursor) -> None:
        """Write the first cursor of a sub-job that has none yet."""
        with self._fenced(lease) as conn:
            conn.execute(
                "INSERT OR REPLACE INTO checkpoints"
                " (sub_job_id, chain, step, token, first_step, first_token, claimed, state)"
                " VALUES (?1, ?2, ?3, ?4, ?3, ?4, ?5, 'open')",
                (lease.id, cursor.chain, cursor.step, cursor.token, cursor.claimed),
            )
        lease.cursors = [cursor]

    def let_go(self, lease: Lease) -> None:
        """Give back one sub-job; where it stands is kept."""
        with self._fenced(lease) as conn:
            _give_back(conn, lease)

    def heartbeat(self) -> int:
        """Renew every lease of this owner; returns how many it holds."""
        with self._store.writing(durable=False) as conn:
            return conn.execute(
                "UPDATE sub_jobs SET lease_until = ? WHERE run_id = ? AND owner = ? AND status = 'in_progress'",
                (self._clock() + self._lease_s, self.run_id, self.owner),
            ).rowcount

    def release(self, *, owners: Iterable[str] | None = None) -> int:
        """Give back what this owner (or dead owners) held, so that it can be claimed at once."""
        released = 0
        with self._store.writing() as conn:
            for owner in [self.owner] if owners is None else owners:
                released += conn.execute(
                    "UPDATE sub_jobs SET status = 'pending', owner = NULL, lease_until = NULL"
                    " WHERE run_id = ? AND owner = ? AND status = 'in_progress'",
                    (self.run_id, owner),
                ).rowcount
        return released

    def owners(self) -> list[str]:
        """Who holds sub-jobs of this run."""
        with self._store.explained():
            rows = self._store.conn.execute(
                "SELECT DISTINCT owner FROM sub_jobs WHERE run_id = ? AND status = 'in_progress'", (self.run_id,)
            ).fetchall()
        return [row[0] for row in rows]

    # -- pages ---------------------------------------------------------------------------------------------------

    def group(self, pages: Sequence[Handed]) -> Group:
        """Pages that came together, to be stored: of each its records, its chain's next cursor, the chains it found,
        counters; all of it or nothing.
        """
        return Group(self._store, pages, self._clock() + self._lease_s)

    def commit_page(self, lease: Lease, page: Page, options: Options, *, quota: int = 0) -> Receipt:
        """Store one page; raises what is wrong with it."""
        alone = self.group([Handed(lease, page, options, quota)])
        alone.write()
        (result,) = alone.settle()
        if isinstance(result, Exception):
            raise result
        return result

    # -- chains that go wrong ------------------------------------------------------------------------------------

    def restart_chain(self, lease: Lease, chain: str) -> Cursor | None:
        """Begin a chain anew because the site forgot its token; ``None`` if this session has done that already."""
        with self._fenced(lease) as conn:
            row = conn.execute(
                "UPDATE checkpoints SET step = first_step, token = first_token, state = 'open', stale = 0,"
                " records = 0, walk = walk + 1, restarts = 1 WHERE sub_job_id = ? AND chain = ? AND restarts = 0"
                " RETURNING chain, step, token, claimed",
                (lease.id, chain),
            ).fetchone()
        return None if row is None else Cursor(*row)

    def turn_chain(self, lease: Lease, cursor: Cursor) -> None:
        """Let a chain go on by another way, from its beginning."""
        with self._fenced(lease) as conn:
            conn.execute(
                "UPDATE checkpoints SET step = ?1, token = ?2, first_step = ?1, first_token = ?2, stale = 0,"
                " walk = walk + 1 WHERE sub_job_id = ?3 AND chain = ?4",
                (cursor.step, cursor.token, lease.id, cursor.chain),
            )

    def fail_chain(self, lease: Lease, chain: str, reason: str, detail: str) -> bool:
        """Give up one reply thread for now; the rest of the sub-job goes on. A thread that has given all it claimed
        has nothing left to fail at: it is done. Returns whether it failed.
        """
        with self._fenced(lease) as conn:
            state = conn.execute(
                "UPDATE checkpoints SET state = iif(records >= claimed, 'done', 'failed'),"
                " reason = iif(records >= claimed, NULL, ?), detail = iif(records >= claimed, NULL, ?)"
                " WHERE sub_job_id = ? AND chain = ? RETURNING state",
                (reason, detail, lease.id, chain),
            ).fetchone()[0]
            column = "threads_done" if state == "done" else "threads_failed"
            conn.execute(f"UPDATE sub_jobs SET {column} = {column} + 1 WHERE id = ?", (lease.id,))  # noqa: S608
        return bool(state == "failed")

    def end_empty(self, lease: Lease, detail: str) -> None:
        """The main chain ended in an empty page, again and again. Whether that was its end, the numbers tell."""
        with self._fenced(lease) as conn:
            conn.execute(
                "UPDATE checkpoints SET state = 'failed', reason = 'empty_page', detail = ?"
                " WHERE sub_job_id = ? AND chain = ?",
                (detail, lease.id, MAIN),
            )

    def spend(self, lease: Lease, quota: int) -> None:
        """Count the quota of a request that brought no page."""
        with self._fenced(lease) as conn:
            conn.execute("UPDATE sub_jobs SET quota_used = quota_used + ? WHERE id = ?", (quota, lease.id))
            conn.execute("UPDATE runs SET quota_used = quota_used + ? WHERE id = ?", (quota, lease.run_id))

    # -- ends ----------------------------------------------------------------------------------------------------

    def facts(self, lease: Lease, options: Options) -> Facts:
        """What is known about a sub-job's walk, for `coverage.conclude`."""
        with self._store.explained():
            row = self._store.conn.execute("SELECT * FROM sub_jobs WHERE id = ?", (lease.id,)).fetchone()
            chains = self._store.conn.execute(
                "SELECT chain, state, reason FROM checkpoints WHERE sub_job_id = ? AND reason IS NOT NULL", (lease.id,)
            ).fetchall()
            held = (
                self._store.conn.execute(
                    "SELECT count(*) FROM comments WHERE provider = ? AND video_id = ?",
                    (lease.provider, lease.video_id),
                ).fetchone()[0]
                if options.refresh == "new"
                else 0
            )
        failures = [chain["reason"] for chain in chains if chain["state"] == "failed" and chain["chain"] != MAIN]
        endings = {(chain["chain"] == MAIN, chain["reason"]) for chain in chains if chain["state"] == "done"}
        reasons = {reason for _, reason in endings}
        return Facts(
            claimed=row["claimed"],
            # What an earlier run holds of a video counts only where this one was asked to rely on it.
            collected=held if options.refresh == "new" else row["top_level"] + row["replies"],
            cut_off=any(chain["chain"] == MAIN and chain["state"] == "failed" for chain in chains),
            threads_failed=len(failures),
            failure=failures[0] if failures else None,
            failed=tuple((one["chain"], one["reason"]) for one in chains if one["state"] == "failed" and one["chain"]),
            limited=bool(row["limited"]),
            looped="loop" in reasons,
            grounded=(True, "known_ground") in endings,
            note=row["note"] or ("top_order" if options.sort == "top" and lease.kind is Kind.COMMENTS else None),
        )

    def finish(self, lease: Lease, conclusion: Conclusion, *, sort: str) -> bool:
        """End a sub-job well. Only a Newest walk can vouch for an unbroken range. A sub-job with an open chain has
        not ended, whatever anyone thinks, nor has one that must begin anew: it is given back instead. Returns whether
        there is something new to claim.
        """
        with self._fenced(lease) as conn:
            if (
                conn.execute(
                    "SELECT 1 FROM checkpoints WHERE sub_job_id = ? AND state = 'open' LIMIT 1", (lease.id,)
                ).fetchone()
                and conclusion.outcome is not Outcome.EMPTY
            ) or _begins_anew(conn, lease):
                _give_back(conn, lease)
                return _begins_anew(conn, lease)
            conn.execute(
                "UPDATE sub_jobs SET status = 'success', outcome = ?, reason = ?, detail = ?, retriable = ?,"
                " contiguous = ?, owner = NULL, lease_until = NULL, finished_at = ? WHERE id = ?",
                (conclusion.outcome, conclusion.reason, conclusion.detail, conclusion.retriable,
                 conclusion.contiguous and sort == "newest", _iso(self._clock()), lease.id),
            )  # fmt: skip
            if lease.kind is Kind.METADATA:
                end_dependants(conn, lease.job_id, None, "")
            self._end_job(conn, lease)
        lease.outcome, lease.reason = conclusion.outcome, conclusion.reason
        return lease.kind is Kind.METADATA

    def last_read(self, lease: Lease, options: Options) -> tuple[int, str, float] | None:
        """The sub-job of an earlier run that read this to its end, asked for the same things; how it ended, when."""
        wanted = ("languages", "kinds", "translate", "tracks", "parts")
        parts = "SELECT parts FROM jobs WHERE id = "
        same = " AND ".join(f"json_extract(r.config, '$.options.{name}') IS ?" for name in wanted)
        with self._store.explained():
            row = self._store.conn.execute(
                "SELECT s.id, s.outcome, max(s.finished_at) FROM sub_jobs s JOIN runs r ON r.id = s.run_id"  # noqa: S608
                " WHERE s.provider = ? AND s.video_id = ? AND s.kind = ? AND s.id <> ? AND s.status = 'success'"
                f" AND s.outcome IN ('complete', 'empty') AND coalesce(s.reason, '') <> 'up_to_date'"
                f" AND ({parts} s.job_id) IN ('', ({parts} ?)) AND {same}",
                (lease.provider, lease.video_id, lease.kind, lease.id, lease.job_id,
                 *(getattr(options, name) for name in wanted)),
            ).fetchone()  # fmt: skip
        return (row[0], row[1], datetime.fromisoformat(row[2]).timestamp()) if row[2] else None

    def adopt(self, lease: Lease, earlier: int) -> None:
        """What an earlier sub-job found, and still holds, is this one's too."""
        with self._fenced(lease) as conn:
            adopt_transcripts(conn, lease.id, earlier)

    def fail(self, lease: Lease, reason: str, detail: str, *, retriable: bool) -> bool:
        """End a sub-job badly, with its reason; what it stored and where it stood is kept. Returns whether there is
        something new to claim.
        """
        with self._fenced(lease) as conn:
            if _begins_anew(conn, lease):
                _give_back(conn, lease)
                return True
            self._fail(conn, lease, reason, detail, retriable=retriable)
        return False

    def _fail(self, conn: sqlite3.Connection, lease: Lease, reason: str, detail: str, *, retriable: bool) -> None:
        conn.execute(
            "UPDATE sub_jobs SET status = 'failed', outcome = NULL, reason = ?, detail = ?, retriable = ?,"
            " owner = NULL, lease_until = NULL, finished_at = ? WHERE id = ?",
            (reason, detail, retriable, _iso(self._clock()), lease.id),
        )
        if lease.kind is Kind.METADATA:
            if reason == reason_of(NotAVideo):
                make_invalid(conn, lease.job_id, detail or reason)
                return
            end_dependants(conn, lease.job_id, (reason, detail, retriable), _iso(self._clock()))
        self._end_job(conn, lease)
        lease.outcome, lease.reason = "failed", reason

    def fail_waiting(self, provider: str, kinds: Iterable[Kind], reason: str, detail: str) -> int:
        """Fail every sub-job of these kinds that waits; it can be tried again. Returns how many that were."""
        with self._store.writing() as conn:
            return fail_waiting(conn, (self.run_id, provider), tuple(kinds), (reason, detail), _iso(self._clock()))

    def park_all(self, until: float, reason: str, provider: str | None = None, kinds: Iterable[Kind] = Kind) -> int:
        """Put every waiting sub-job of this run, or of one provider and these kinds, back until a moment."""
        kinds = tuple(kinds)
        with self._store.writing() as conn:
            return conn.execute(
                "UPDATE sub_jobs SET not_before = ?, reason = ? WHERE run_id = ? AND status = 'pending'"  # noqa: S608
                f" AND provider = coalesce(?, provider) AND kind IN ({', '.join('?' * len(kinds))})",
                (until, reason, self.run_id, provider, *kinds),
            ).rowcount

    def parked_until(self) -> float | None:
        """The earliest moment at which a parked sub-job may go on, if nothing else is left to do."""
        with self._store.explained():
            row = self._store.conn.execute(
                "SELECT min(coalesce(not_before, 0)) FROM sub_jobs WHERE run_id = ? AND status = 'pending'",
                (self.run_id,),
            ).fetchone()
        return row[0] if row[0] is not None and row[0] > self._clock() else None

    def _end_job(self, conn: sqlite3.Connection, lease: Lease) -> None:
        conn.execute(
            "UPDATE jobs SET (status, reason, detail) = (SELECT CASE"
            "   WHEN sum(status IN ('pending', 'in_progress')) THEN 'in_progress'"
            "   WHEN sum(status = 'failed') THEN 'failed' ELSE 'success' END, max(reason), max(detail)"
            " FROM sub_jobs WHERE job_id = ?) WHERE id = ?",
            (lease.job_id, lease.job_id),
        )

    def _fenced(self, lease: Lease, *, durable: bool = False) -> Fence:
        """Only records are worth waiting for the disk: where a walk stands and how it ended is found out again."""
        return Fence(self._store, lease, self._clock() + self._lease_s, durable=durable)


def _give_back(conn: sqlite3.Connection, lease: Lease) -> None:
    conn.execute("UPDATE sub_jobs SET status = 'pending', owner = NULL, lease_until = NULL WHERE id = ?", (lease.id,))


def _begins_anew(conn: sqlite3.Connection, lease: Lease) -> bool:
    """Whether more of the video was asked for while this was under way."""
    return bool(conn.execute("SELECT route FROM sub_jobs WHERE id = ?", (lease.id,)).fetchone()[0] == ANEW)


def _rerouted(conn: sqlite3.Connection, row: sqlite3.Row, route: str) -> sqlite3.Row:
    """A sub-job that was begun by another route (no API key then, one now) begins anew: one route's cursors mean
    nothing to another. Its comments are kept, and are not stored twice.
    """
    conn.execute("DELETE FROM checkpoints WHERE sub_job_id = ?", (row["id"],))
    for table in ("sightings", "transcript_sightings", "danmaku_sightings"):
        conn.execute(f"DELETE FROM {table} WHERE sub_job_id = ?", (row["id"],))  # noqa: S608
    again: sqlite3.Row = conn.execute(
        "UPDATE sub_jobs SET route = ?, session = '{}', pages = 0, top_level = 0, replies = 0, threads_found = 0,"
        " threads_done = 0, threads_failed = 0, claimed = NULL, note = NULL, limited = 0 WHERE id = ? RETURNING *",
        (route, row["id"]),
    ).fetchone()
    return again


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
