"""Storing one page: what is new, where its chain goes on, which chains it opens. Runs inside one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from research_scrapers.errors import LeaseLost
from research_scrapers.models import MAIN, Comment, Cursor, Danmaku, Kind, Options, Page, Transcript
from research_scrapers.store.danmaku import store_danmaku
from research_scrapers.store.raw import Raw, link
from research_scrapers.store.records import Stored, store_comments, store_video
from research_scrapers.store.resolve import resolve
from research_scrapers.store.transcripts import store_transcripts

STALE_PAGES = 5
"""So many pages in a row without anything new end a chain: the site has begun to repeat itself."""


@dataclass(slots=True)
class Lease:
    """A sub-job that this process owns, until its lease ends."""

    id: int
    job_id: int
    run_id: str
    provider: str
    video_id: str
    kind: Kind
    priority: int
    owner: str
    attempt: int
    route: str | None
    session: dict[str, str]
    """What its own pages handed on."""
    facts: dict[str, str] = field(default_factory=dict)
    """What its job's metadata handed on, and which parts its links name (``only_parts``)."""
    cursors: list[Cursor] = field(default_factory=list)
    """The open chains."""
    collected: int = 0
    pages: int = 0
    outcome: str | None = None
    """How it ended, once it has: ``complete``, ``empty``, ``partial`` or ``failed``; and why."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the ledger made of a page."""

    fresh: list[Comment | Transcript | Danmaku]
    """Records that this run had not stored before, or that were reworded: what a feed must write."""
    cursors: list[Cursor]
    """Where to go on: the page's own chain, and the chains it found."""
    added: int = 0
    """Records that this sub-job had not seen before."""
    full: bool = False
    """The sub-job has reached its limit: nothing more is to be fetched."""
    ended: str | None = None
    """Why the chain was ended although the site offered another page."""


@dataclass(frozen=True, slots=True)
class Handed:
    """A page that is handed in to be stored."""

    lease: Lease
    page: Page
    options: Options
    quota: int = 0
    raw: Raw | None = None


def commit(
    conn: sqlite3.Connection, lease: Lease, page: Page, options: Options, quota: int, raw: Raw | None = None
) -> Receipt:
    """Store the page's records, its chain's next cursor, the chains it found, the sub-job's counters, and which body
    it was read from.
    """
    if lease.kind is not Kind.COMMENTS:  # the limits that a person sets are for comments
        options = replace(options, max_comments=None, max_replies=None)
    chain = conn.execute(
        "SELECT * FROM checkpoints WHERE sub_job_id = ? AND chain = ?", (lease.id, page.cursor.chain)
    ).fetchone()
    if chain is not None and chain["reason"] == "limit":
        return Receipt([], [], full=True)  # it was on its way when the limit was reached
    here = (page.cursor.step, page.cursor.token, "open")
    if chain is None or (chain["step"], chain["token"], chain["state"]) != here:
        raise LeaseLost(f"this page of {lease.video_id} is stored already")
    if raw is not None:
        link(conn, lease, page.cursor, raw, chain)
    if page.video is not None:
        store_video(conn, page.video)

    comments = [record for record in page.records if isinstance(record, Comment)]
    records = within_limits(comments, page.cursor, chain["records"], lease.collected, options)
    cut = len(records) < len(comments)
    for offset, record in enumerate(records):
        record.position = chain["records"] + offset
    stored = store_comments(conn, records)
    seen = _sight(conn, lease.id, stored, chain["walk"])
    first_seen = {row for row in stored.rows if row not in seen}
    new = len({row for row in stored.rows if seen.get(row) != chain["walk"]})
    top, replies = _split(_chosen(records, stored.rows, first_seen))
    transcripts = [record for record in page.records if isinstance(record, Transcript)]
    read = store_transcripts(conn, lease.id, transcripts)
    flown = store_danmaku(conn, lease.id, [record for record in page.records if isinstance(record, Danmaku)])
    new, top = new + len(transcripts) + len(flown), top + len(read) + len(flown)
    note = page.note
    if page.resolved is not None:
        note = resolve(conn, lease.job_id, page.resolved, page.session.get("part"))

    full = options.max_comments is not None and lease.collected + top + replies >= options.max_comments
    stale = 0 if new or page.next is None or page.next.step != page.cursor.step else chain["stale"] + 1
    ended = None
    if page.next is not None:
        if full or _thread_full(page, chain["records"] + new, options):
            ended = "limit"
        elif stale >= STALE_PAGES or page.next == page.cursor:
            ended = "loop"
        elif options.refresh == "new" and page.cursor.chain == MAIN and _known_ground(conn, lease, records, stored):
            ended = "known_ground"
    elif cut:
        ended = "limit"  # cut on its last page: whoever reads this chain later must know that it is not whole
    going_on = None if ended else page.next
    found = [] if full else _open(conn, lease, page, options)
    limited = ended == "limit" or cut or (not found and bool(page.found) and (
        full or options.max_replies == 0))  # fmt: skip

    cursor = going_on or page.cursor
    conn.execute(
        "UPDATE checkpoints SET step = ?, token = ?, state = ?, pages = pages + 1, records = records + ?, stale = ?,"
        " reason = ? WHERE sub_job_id = ? AND chain = ?",
        (cursor.step, cursor.token, "open" if going_on else "done", new, stale, ended, lease.id,
         page.cursor.chain),
    )  # fmt: skip
    if full:  # nothing more is wanted: what was found but not read is over too
        left = conn.execute(
            "UPDATE checkpoints SET state = 'done', reason = 'limit' WHERE sub_job_id = ? AND state = 'open'",
            (lease.id,),
        ).rowcount
        limited = limited or left > 0
    conn.execute(
        "UPDATE sub_jobs SET pages = pages + 1, top_level = top_level + ?, replies = replies + ?,"
        " threads_found = threads_found + ?, threads_done = threads_done + ?, quota_used = quota_used + ?,"
        " claimed = coalesce(?, claimed), claimed_exact = coalesce(?, claimed_exact), note = coalesce(?, note),"
        " limited = max(limited, ?), session = json_patch(session, ?) WHERE id = ?",
        (
            top, replies, len(found), int(going_on is None and page.cursor.chain != MAIN), quota, page.claimed,
            None if page.claimed is None else int(page.claimed_exact), note, limited,
            json.dumps(page.session), lease.id,
        ),
    )  # fmt: skip
    if quota:
        conn.execute("UPDATE runs SET quota_used = quota_used + ? WHERE id = ?", (quota, lease.run_id))
    return Receipt(
        fresh=[*_chosen(records, stored.rows, first_seen | stored.reworded), *read, *flown],
        cursors=([going_on] if going_on else []) + found,
        added=top + replies,
        full=full,
        ended=ended,
    )


def _sight(conn: sqlite3.Connection, sub_job: int, stored: Stored, walk: int) -> dict[int, int]:
    """Note which rows this sub-job has seen; returns in which walk it had seen them before."""
    if not stored.rows:
        return {}
    marks = ", ".join("?" * len(stored.rows))
    rows = conn.execute(
        f"SELECT comment, walk FROM sightings WHERE sub_job_id = ? AND comment IN ({marks})",  # noqa: S608
        (sub_job, *stored.rows),
    ).fetchall()
    seen = {row[0]: row[1] for row in rows}
    conn.executemany(
        "INSERT OR REPLACE INTO sightings (sub_job_id, comment, walk) VALUES (?, ?, ?)",
        [(sub_job, row, walk) for row in dict.fromkeys(stored.rows) if seen.get(row) != walk],
    )
    return seen


def _known_ground(conn: sqlite3.Connection, lease: Lease, records: Sequence[Comment], stored: Stored) -> bool:
    """Whether every top-level comment of the page lies in a range that an earlier run read without a hole.
    A row that is merely known is not enough: an interrupted run leaves known rows above a hole.
    """
    tops = {
        row for row, record in zip(stored.rows, records, strict=True)
        if record.parent_id is None and not record.is_pinned
    }  # fmt: skip
    if not tops or not stored.inserted.isdisjoint(tops):
        return False
    marks = ", ".join("?" * len(tops))
    known = conn.execute(
        f"SELECT count(DISTINCT g.comment) FROM sub_jobs s JOIN sightings g ON g.sub_job_id = s.id"  # noqa: S608
        f" WHERE s.provider = ? AND s.video_id = ? AND s.kind = ? AND s.contiguous = 1 AND s.id <> ?"
        f" AND g.comment IN ({marks})",
        (lease.provider, lease.video_id, lease.kind, lease.id, *tops),
    ).fetchone()[0]
    return bool(known == len(tops))


def _read_before(conn: sqlite3.Connection, lease: Lease, cursor: Cursor) -> bool:
    """Whether an earlier run read this thread to its end when it had as many replies as now."""
    return conn.execute(
        "SELECT 1 FROM sub_jobs s JOIN checkpoints c ON c.sub_job_id = s.id AND c.chain = ? AND c.state = 'done'"
        " AND c.claimed = ? AND c.reason IS NULL WHERE s.provider = ? AND s.video_id = ? AND s.kind = ? LIMIT 1",
        (cursor.chain, cursor.claimed, lease.provider, lease.video_id, lease.kind),
    ).fetchone() is not None  # fmt: skip


def _open(conn: sqlite3.Connection, lease: Lease, page: Page, options: Options) -> list[Cursor]:
    """Write down the chains that a page found; returns those that are to be walked."""
    if options.max_replies == 0:
        return []
    opened = []
    for cursor in page.found:
        if options.refresh == "new" and _read_before(conn, lease, cursor):
            continue
        inserted = conn.execute(
            "INSERT OR IGNORE INTO checkpoints"
            " (sub_job_id, chain, step, token, first_step, first_token, claimed, state)"
            " VALUES (?1, ?2, ?3, ?4, ?3, ?4, ?5, 'open')",
            (lease.id, cursor.chain, cursor.step, cursor.token, cursor.claimed),
        ).rowcount
        if inserted:
            opened.append(cursor)
    return opened


def within_limits(records: list[Comment], cursor: Cursor, held: int, collected: int, options: Options) -> list[Comment]:
    """The records of a page that the person's limits allow."""
    if options.max_replies is not None:
        kept, per_thread = [], {cursor.chain: held}
        for record in records:
            if record.parent_id is not None:
                thread = cursor.chain or record.root_id
                per_thread[thread] = per_thread.get(thread, 0) + 1
                if per_thread[thread] > options.max_replies:
                    continue
            kept.append(record)
        records = kept
    if options.max_comments is not None:
        records = records[: max(options.max_comments - collected, 0)]
    return records


def _thread_full(page: Page, held: int, options: Options) -> bool:
    return options.max_replies is not None and page.cursor.chain != MAIN and held >= options.max_replies


def _chosen(records: Sequence[Comment], rows: Sequence[int], wanted: set[int]) -> list[Comment]:
    chosen: dict[int, Comment] = {}
    for record, row in zip(records, rows, strict=True):
        if row in wanted:
            chosen.setdefault(row, record)
    return list(chosen.values())


def _split(records: Sequence[Comment]) -> tuple[int, int]:
    tops = sum(record.parent_id is None for record in records)
    return tops, len(records) - tops
