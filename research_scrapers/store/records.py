"""Comments and videos: each row once, changed rows kept with their earlier wording."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from research_scrapers.models import Comment, Video

COMMENT_COLUMNS = tuple(field.name for field in fields(Comment))
_FIELDS = attrgetter(*COMMENT_COLUMNS)
_NESTED = tuple(place for place, name in enumerate(COMMENT_COLUMNS) if name in ("pictures", "extras"))
_JSON = json.JSONEncoder(ensure_ascii=False).encode
_VIDEO_COLUMNS = tuple(field.name for field in fields(Video))
_INSERT_COMMENT = f"INSERT INTO comments (id, {', '.join(COMMENT_COLUMNS)}) VALUES (?{', ?' * len(COMMENT_COLUMNS)})"  # noqa: S608
# What may change without being an edit. The relative time counts only when its wording moved on.
_OBSERVED = (
    "author_name", "like_count", "reply_count", "is_pinned", "is_hearted", "published_text", "published_after",
    "published_before", "extras",
)  # fmt: skip
_COMPARED = ("author_name", "like_count", "reply_count", "is_pinned", "is_hearted", "published_text")
_CONTENT = ("text", "is_edited", "paid_amount", "pictures", "content_hash", "fetched_at")
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a page's comments: row ids in the same order, and which rows are new or reworded."""

    rows: list[int]
    inserted: set[int]
    reworded: set[int]


def store_comments(conn: sqlite3.Connection, comments: Sequence[Comment]) -> Stored:
    """Insert new comments, keep the earlier wording of edited ones, refresh counts; write nothing for the rest.
    Must run inside the page's transaction.
    """
    known = _known(conn, comments)
    next_row = conn.execute("SELECT coalesce(max(id), 0) + 1 FROM comments").fetchone()[0]
    rows: list[int] = []
    fresh: list[tuple[Any, ...]] = []
    inserted: set[int] = set()
    reworded: set[int] = set()
    ids: dict[str, int] = {key: row["id"] for key, row in known.items()}
    for comment in comments:
        row_id = ids.get(comment.comment_id)
        if row_id is None:
            row_id = ids[comment.comment_id] = next_row
            next_row += 1
            fresh.append((row_id, *values_of(comment)))
            inserted.add(row_id)
        elif row_id not in inserted:
            old = known[comment.comment_id]
            if old["content_hash"] != comment.content_hash:
                _reword(conn, old, comment)
                reworded.add(row_id)
            elif any(old[name] != getattr(comment, name) for name in _COMPARED):
                _observe(conn, old, comment, _OBSERVED)
        rows.append(row_id)
    conn.executemany(_INSERT_COMMENT, fresh)
    return Stored(rows, inserted, reworded)


def _known(conn: sqlite3.Connection, comments: Sequence[Comment]) -> dict[str, sqlite3.Row]:
    known: dict[str, sqlite3.Row] = {}
    for start in range(0, len(comments), _CHUNK):
        chunk = comments[start : start + _CHUNK]
        marks = ", ".join("?" * len(chunk))
        rows = conn.execute(
            f"SELECT id, comment_id, text, content_hash, fetched_at, published_after, published_before,"  # noqa: S608
            f" {', '.join(_COMPARED)} FROM comments WHERE provider = ? AND video_id = ? AND comment_id IN ({marks})",
            (chunk[0].provider, chunk[0].video_id, *(comment.comment_id for comment in chunk)),
        )
        known.update((row["comment_id"], row) for row in rows)
    return known


def _reword(conn: sqlite3.Connection, old: sqlite3.Row, comment: Comment) -> None:
    conn.execute(
        "INSERT INTO comment_revisions (comment, text, content_hash, fetched_at, replaced_at) VALUES (?, ?, ?, ?, ?)",
        (old["id"], old["text"], old["content_hash"], old["fetched_at"], comment.fetched_at),
    )
    _observe(conn, old, comment, _OBSERVED + _CONTENT)


def _observe(conn: sqlite3.Connection, old: sqlite3.Row, comment: Comment, names: Sequence[str]) -> None:
    values = {name: _plain(getattr(comment, name)) for name in names}
    if old["published_text"] == comment.published_text:
        values.pop("published_after"), values.pop("published_before")
    else:
        values["published_after"], values["published_before"] = _tightened(old, comment)
    assignments = ", ".join(f"{name} = ?" for name in values)
    conn.execute(f"UPDATE comments SET {assignments} WHERE id = ?", (*values.values(), old["id"]))  # noqa: S608


def _tightened(old: sqlite3.Row, comment: Comment) -> tuple[str | None, str | None]:
    """Two sightings of a relative time bound the moment from both sides; keep what both allow."""
    if old["published_after"] is None or comment.published_after is None:
        return comment.published_after or old["published_after"], comment.published_before or old["published_before"]
    after = max(old["published_after"], comment.published_after)
    before = min(old["published_before"], comment.published_before or old["published_before"])
    # An edit can move the shown time; then the sightings contradict each other and the newer one stands.
    return (after, before) if after <= before else (comment.published_after, comment.published_before)


def _plain(value: Any) -> Any:
    return _JSON(value) if isinstance(value, dict | list) else value


def values_of(comment: Comment) -> list[Any]:
    """A comment as a row of `COMMENT_COLUMNS`."""
    values = list(_FIELDS(comment))
    for place in _NESTED:
        values[place] = _plain(values[place])
    return values


def store_video(conn: sqlite3.Connection, video: Video) -> None:
    """Keep the newest facts; a fact that this answer does not tell does not erase an earlier one."""
    values = [_plain(getattr(video, name)) for name in _VIDEO_COLUMNS]
    updates = ", ".join(
        f"{name} = coalesce(excluded.{name}, {name})" for name in _VIDEO_COLUMNS if name not in ("provider", "video_id")
    )
    marks = ", ".join("?" * len(values))
    conn.execute(
        f"INSERT INTO videos ({', '.join(_VIDEO_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        f" ON CONFLICT (provider, video_id) DO UPDATE SET {updates}",
        values,
    )


def comment_of(row: sqlite3.Row) -> Comment:
    """A stored row as a record again."""
    values = {name: row[name] for name in COMMENT_COLUMNS}
    for name in ("author_is_uploader", "is_pinned", "is_hearted", "is_edited"):
        values[name] = bool(values[name])
    for name in ("pictures", "extras"):
        values[name] = json.loads(values[name])
    return Comment(**values)


def comments_of_run(conn: sqlite3.Connection, run_id: str, lacking: str) -> Iterator[sqlite3.Row]:
    """The comments that a run saw and the (temporary) table ``lacking`` does not have, video by video, as a stream."""
    return conn.execute(
        "SELECT c.* FROM sub_jobs s JOIN sightings g ON g.sub_job_id = s.id JOIN comments c ON c.id = g.comment"  # noqa: S608
        f" LEFT JOIN {lacking} f ON f.comment_id = c.comment_id AND f.content_hash = c.content_hash"
        " WHERE s.run_id = ? AND f.comment_id IS NULL ORDER BY s.id, g.comment",
        (run_id,),
    )


def note_comments_of_run(conn: sqlite3.Connection, run_id: str, table: str) -> None:
    """Enter every comment that a run saw in a (temporary) table of ids and hashes."""
    conn.execute(
        f"INSERT OR REPLACE INTO {table} SELECT c.comment_id, c.content_hash FROM sub_jobs s"  # noqa: S608
        " JOIN sightings g ON g.sub_job_id = s.id JOIN comments c ON c.id = g.comment WHERE s.run_id = ?",
        (run_id,),
    )
