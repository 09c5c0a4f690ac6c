"""Records that were read again from kept bodies, against those that are stored: what is the same is not touched.

A body is as old as it is. Whatever a later visit has read of the same thing stands; a reading of the same visit that
differs (a parser was mended) is stored as a revision or a version, as an edit would be.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from research_scrapers.errors import InputError
from research_scrapers.models import Comment, Danmaku, Transcript, Video
from research_scrapers.store.danmaku import DANMAKU_COLUMNS, store_danmaku
from research_scrapers.store.database import Store
from research_scrapers.store.raw import Kept
from research_scrapers.store.records import store_comments, store_video
from research_scrapers.store.transcripts import store_transcripts

ADDED, CHANGED, SAME, OLDER = "added", "changed", "same", "older"
Tally = Counter[tuple[str, str]]
"""(kind of record, what became of it) → how many."""


def restore(conn: sqlite3.Connection, kept: Kept, video: Video | None, records: Sequence[object]) -> Tally:
    """Store what a body says where that is not stored yet. Must run inside a transaction."""
    tally = _comments(conn, kept, [record for record in records if isinstance(record, Comment)])
    tally += _transcripts(conn, kept, [record for record in records if isinstance(record, Transcript)])
    tally += _danmaku(conn, kept, [record for record in records if isinstance(record, Danmaku)])
    if video is not None:
        tally[("video", _video(conn, video))] += 1
    return tally


def _comments(conn: sqlite3.Connection, kept: Kept, comments: Sequence[Comment]) -> Tally:
    tally: Tally = Counter()
    for offset, comment in enumerate(comments):
        comment.position = kept.held + offset
        key = (comment.provider, comment.video_id, comment.comment_id)
        row = conn.execute(
            "SELECT id, content_hash, fetched_at FROM comments WHERE provider = ? AND video_id = ? AND comment_id = ?",
            key,
        ).fetchone()
        fate = _fate(row, comment.content_hash, comment.fetched_at)
        row_id = store_comments(conn, [comment]).rows[0] if fate in (ADDED, CHANGED) else row["id"]
        conn.execute("INSERT OR IGNORE INTO sightings VALUES (?, ?, ?)", (kept.sub_job, row_id, kept.walk))
        tally[("comment", fate)] += 1
    return tally


def _transcripts(conn: sqlite3.Connection, kept: Kept, transcripts: Sequence[Transcript]) -> Tally:
    tally: Tally = Counter()
    for one in transcripts:
        rows = conn.execute(
            "SELECT id, content_hash, fetched_at FROM transcripts WHERE provider = ? AND video_id = ? AND part = ?"
            " AND language = ? AND kind = ? AND name = ? ORDER BY version DESC",
            (one.provider, one.video_id, one.part, one.language, one.kind, one.name),
        ).fetchall()
        same = next((row for row in rows if row["content_hash"] == one.content_hash), None)
        fate = SAME if same is not None else _fate(rows[0] if rows else None, one.content_hash, one.fetched_at)
        if fate in (ADDED, CHANGED):
            store_transcripts(conn, kept.sub_job, [one])
        elif same is not None:
            conn.execute("INSERT OR IGNORE INTO transcript_sightings VALUES (?, ?)", (kept.sub_job, same["id"]))
        tally[("transcript", fate)] += 1
    return tally


def _danmaku(conn: sqlite3.Connection, kept: Kept, records: Sequence[Danmaku]) -> Tally:
    """Danmaku are never edited: one that reads otherwise than before, from the very same body, was misread."""
    tally: Tally = Counter()
    fresh = []
    for one in records:
        row = conn.execute(
            "SELECT id, content_hash, fetched_at FROM danmaku WHERE provider = ? AND video_id = ? AND danmaku_id = ?"
            " AND cid = ?",
            (one.provider, one.video_id, one.danmaku_id, one.cid),
        ).fetchone()
        if row is None or row["content_hash"] == one.content_hash or row["fetched_at"] != one.fetched_at:
            fate = ADDED if row is None else SAME if row["content_hash"] == one.content_hash else OLDER
            fresh.append(one)  # notes the sighting, and adds what another source did not tell
        else:
            fate = CHANGED
            plain = [name for name in DANMAKU_COLUMNS if name not in ("extras", "weight")]
            conn.execute(
                f"UPDATE danmaku SET {', '.join(f'{name} = ?' for name in plain)} WHERE id = ?",  # noqa: S608
                (*(getattr(one, name) for name in plain), row["id"]),
            )
        tally[("danmaku", fate)] += 1
    store_danmaku(conn, kept.sub_job, fresh)
    return tally


def _video(conn: sqlite3.Connection, video: Video) -> str:
    row = conn.execute(
        "SELECT * FROM videos WHERE provider = ? AND video_id = ?", (video.provider, video.video_id)
    ).fetchone()
    if row is not None and row["fetched_at"] > video.fetched_at:
        return OLDER
    told = {field.name: getattr(video, field.name) for field in fields(Video) if field.name != "extras"}
    if row is not None and all(value is None or row[name] == value for name, value in told.items()):
        return SAME
    store_video(conn, video)
    return ADDED if row is None else CHANGED


def _fate(row: sqlite3.Row | None, content_hash: str, fetched_at: str) -> str:
    if row is None:
        return ADDED
    if row["content_hash"] == content_hash:
        return SAME
    return OLDER if row["fetched_at"] > fetched_at else CHANGED


def copy_ledger(source: Store, target: Store, run_id: str) -> None:
    """Enter a run, with its jobs and how each of them ended, in a new database; its records are for others to fill."""
    if target.conn.execute("SELECT 1 FROM runs LIMIT 1").fetchone():
        raise InputError(f"{target.path} has runs already: name a file that does not exist yet")
    tables = {
        "runs": "id = ?", "jobs": "run_id = ?", "sub_jobs": "run_id = ?",
        "checkpoints": "sub_job_id IN (SELECT id FROM sub_jobs WHERE run_id = ?)",
    }  # fmt: skip
    with target.writing() as conn:
        for table, condition in tables.items():
            for row in source.conn.execute(f"SELECT * FROM {table} WHERE {condition}", (run_id,)):  # noqa: S608
                marks = ", ".join("?" * len(row.keys()))
                conn.execute(f"INSERT INTO {table} ({', '.join(row.keys())}) VALUES ({marks})", tuple(row))  # noqa: S608


__all__ = ["ADDED", "CHANGED", "OLDER", "SAME", "Tally", "copy_ledger", "restore"]
