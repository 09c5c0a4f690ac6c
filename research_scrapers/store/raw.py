"""Raw bodies as artifacts: what a page was read from, with all that reading it again needs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research_scrapers.models import Answer, Cursor, Kind
from research_scrapers.store.bodies import Blobs, FolderBlobs

if TYPE_CHECKING:
    from research_scrapers.store.database import Store
    from research_scrapers.store.pages import Lease

HEADERS = ("content-type", "date", "location", "retry-after")
"""What of an answer's head can matter to whoever reads it. The rest, cookies above all, is not kept."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A body that is kept already, about to be linked by its page's transaction."""

    address: str
    size: int
    answer: Answer
    fetched_at: datetime
    visit: Mapping[str, str] = field(default_factory=dict)
    """What reading it depended on beside the sub-job: whether somebody was logged in."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A linked body, as it is found again."""

    id: int
    sub_job: int
    job: int
    provider: str
    video_id: str
    kind: Kind
    route: str
    address: str
    cursor: Cursor
    url: str
    status: int
    headers: Mapping[str, str]
    fetched_at: datetime
    session: Mapping[str, str]
    """What the sub-job, its job's metadata and the visit had handed on."""
    walk: int
    held: int
    """How many records its chain, and its whole sub-job, had before it: limits count from there."""
    collected: int

    def answer(self, body: bytes) -> Answer:
        """What the site said then."""
        return Answer(self.url, self.status, body, self.headers)


def blobs_of(store: Store) -> Blobs:
    """Where the bodies of a database's runs are kept: beside it."""
    return FolderBlobs(store.path.with_suffix(".artifacts"))


def link(conn: sqlite3.Connection, lease: Lease, cursor: Cursor, raw: Raw, chain: sqlite3.Row) -> None:
    """Enter a body as an artifact. Must run inside its page's transaction, after the body was put."""
    context = {
        "route": lease.route,
        "chain": cursor.chain, "step": cursor.step, "token": cursor.token, "claimed": cursor.claimed,
        "walk": chain["walk"], "held": chain["records"], "collected": lease.collected,
        "url": raw.answer.url, "status": raw.answer.status,
        "headers": {name: raw.answer.headers[name] for name in HEADERS if name in raw.answer.headers},
        "fetched_at": raw.fetched_at.isoformat(), "visit": dict(raw.visit),
    }  # fmt: skip
    conn.execute(
        "INSERT INTO artifacts (run_id, sub_job_id, kind, location, checksum, version, size, created_at, context)"
        " VALUES (?, ?, 'raw_body', ?, ?, 1, ?, ?, ?)",
        (
            lease.run_id, lease.id, raw.address, raw.address.rpartition("/")[2].removesuffix(".z"), raw.size,
            datetime.now(UTC).isoformat(), json.dumps(context, ensure_ascii=False),
        ),
    )  # fmt: skip


def kept_bodies(conn: sqlite3.Connection, run_id: str, after: int = 0, most: int = 100) -> list[Kept]:
    """The next bodies of a run's pages, in the order in which the pages were stored."""
    rows = conn.execute(
        "SELECT a.id, a.location, a.context, s.id AS sub_job, s.job_id, s.provider, s.video_id, s.kind, s.session,"
        " j.parts, (SELECT m.session FROM sub_jobs m WHERE m.job_id = s.job_id AND m.kind = ?) AS metadata"
        " FROM artifacts a JOIN sub_jobs s ON s.id = a.sub_job_id JOIN jobs j ON j.id = s.job_id"
        " WHERE a.run_id = ? AND a.kind = 'raw_body' AND a.context IS NOT NULL AND a.id > ? ORDER BY a.id LIMIT ?",
        (Kind.METADATA, run_id, after, most),
    )
    return [_kept(row) for row in rows]


def _kept(row: sqlite3.Row) -> Kept:
    told: dict[str, Any] = json.loads(row["context"])
    facts = json.loads(row["metadata"] or "{}") | ({"only_parts": row["parts"]} if row["parts"] else {})
    return Kept(
        id=row["id"], sub_job=row["sub_job"], job=row["job_id"], provider=row["provider"],
        video_id=row["video_id"], kind=Kind(row["kind"]), route=told["route"] or "", address=row["location"],
        cursor=Cursor(told["chain"], told["step"], told["token"], told["claimed"]), url=told["url"],
        status=told["status"], headers=told["headers"], fetched_at=datetime.fromisoformat(told["fetched_at"]),
        session={**told["visit"], **facts, **json.loads(row["session"])}, walk=told["walk"], held=told["held"],
        collected=told["collected"],
    )  # fmt: skip


__all__ = ["Kept", "Raw", "blobs_of", "kept_bodies", "link"]
