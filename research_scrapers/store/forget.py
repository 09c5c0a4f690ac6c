"""Removing a person or a video so that no byte of them is left: rows, revisions, full text, raw bodies, journal.

What other people wrote stays; where they mention the person, the mention goes. Exports that were made before are files
of their own, which nobody but their owner can find.
"""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from research_scrapers.errors import StoreLocked
from research_scrapers.privacy import GONE, Veil
from research_scrapers.store.blobs import find
from research_scrapers.store.database import Store

_TEXTS = (
    ("comments", "text"), ("comment_revisions", "text"), ("danmaku", "text"), ("videos", "title"),
    ("transcript_segments", "text"),
)  # fmt: skip
_JSON = (
    ("comments", "extras"), ("danmaku", "extras"), ("videos", "extras"), ("transcripts", "extras"),
    ("transcript_segments", "words"), ("sub_jobs", "session"),
)  # fmt: skip
_KEYS = {"transcript_segments": ("transcript", "position")}
"""Of tables without a rowid."""


@dataclass(slots=True)
class Forgotten:
    """What was removed."""

    comments: int = 0
    danmaku: int = 0
    transcripts: int = 0
    mentions: int = 0
    videos: int = 0
    bodies: int = 0
    files: list[str] = field(default_factory=list)
    """Where the bodies lie."""

    @property
    def anything(self) -> bool:
        return any((self.comments, self.danmaku, self.transcripts, self.mentions, self.videos, self.bodies))


def forget_author(store: Store, author: str, veil: Veil | None = None) -> Forgotten:
    """Remove everything by and about a person. ``author`` is an id, a handle (``@name``) or a pseudonym; with the
    project's key (``veil``) the pseudonym of an id is found too.
    """
    done = Forgotten()
    with store.writing() as conn:
        conn.execute("PRAGMA secure_delete = ON")
        ids, names, hashes = _identities(conn, author, veil)
        rows = _mark(conn, "SELECT id FROM comments WHERE author_id IN (SELECT value FROM json_each(?))", ids)
        for name, extras in conn.execute(
            "SELECT author_name, extras FROM comments WHERE id IN (SELECT id FROM temp.forgotten)"
        ):
            names |= {known for known in (name, json.loads(extras).get("handle")) if known}
        names |= {
            row[0] for row in conn.execute(
                "SELECT DISTINCT channel_name FROM videos WHERE channel_name <> ''"
                " AND channel_id IN (SELECT value FROM json_each(?))",
                (json.dumps(sorted(ids)),),
            )
        }  # fmt: skip
        done.comments = rows
        _delete_comments(conn)
        done.danmaku = _mark(
            conn, "SELECT id FROM danmaku WHERE author_hash IN (SELECT value FROM json_each(?))", hashes
        )
        _delete_danmaku(conn)
        done.videos = conn.execute(
            "UPDATE videos SET channel_id = NULL, channel_name = NULL, extras = '{}'"
            " WHERE channel_id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(ids)),),
        ).rowcount
        done.mentions = _unmention(conn, ids, names)
        _bodies(conn, done, {*ids, *names})
    _wipe(store, done)
    return done


def _identities(conn: sqlite3.Connection, author: str, veil: Veil | None) -> tuple[set[str], set[str], set[str]]:
    """Ids, names and the site's weak hashes under which the person is stored."""
    ids, names, hashes = {author}, set[str](), {author}
    if author.startswith("@"):
        names.add(author)
        ids |= {
            row[0] for row in conn.execute(
                "SELECT DISTINCT author_id FROM comments WHERE author_id IS NOT NULL AND (lower(author_name) = lower(?)"
                " OR provider = 'bilibili' AND lower(author_name) = lower(?))",  # there names are unique and without @
                (author, author[1:]),
            )
        }  # fmt: skip
    hashes |= {f"{zlib.crc32(one.encode()):x}" for one in ids if one.isascii() and one.isdigit()}
    if veil is not None and veil.policy == "pseudonymise":
        ids |= {hidden for one in tuple(ids) if (hidden := veil.id(one))}
        hashes |= {hidden for one in tuple(hashes) if (hidden := veil.hash(one))}
        names |= {hidden for one in tuple(names) if (hidden := veil.name(one))}
    return ids, names, hashes


def forget_video(store: Store, video: str) -> Forgotten:
    """Remove a video: its records, its jobs in every run, and its raw bodies."""
    done = Forgotten()
    with store.writing() as conn:
        conn.execute("PRAGMA secure_delete = ON")
        done.comments = _mark(
            conn, "SELECT id FROM comments WHERE video_id IN (SELECT value FROM json_each(?))", {video}
        )
        _delete_comments(conn)
        done.danmaku = _mark(conn, "SELECT id FROM danmaku WHERE video_id IN (SELECT value FROM json_each(?))", {video})
        _delete_danmaku(conn)
        done.transcripts = _mark(
            conn, "SELECT id FROM transcripts WHERE video_id IN (SELECT value FROM json_each(?))", {video}
        )
        for table in ("transcript_sightings", "transcript_segments"):
            conn.execute(f"DELETE FROM {table} WHERE transcript IN (SELECT id FROM temp.forgotten)")  # noqa: S608
        conn.execute("DELETE FROM transcripts WHERE id IN (SELECT id FROM temp.forgotten)")
        _bodies(conn, done, {video})
        work = "(SELECT id FROM sub_jobs WHERE video_id = ?)"
        for (where,) in conn.execute(f"SELECT location FROM artifacts WHERE sub_job_id IN {work}", (video,)):  # noqa: S608
            done.files.append(where)
            done.bodies += 1
        for table in ("artifacts", "checkpoints"):
            conn.execute(f"DELETE FROM {table} WHERE sub_job_id IN {work}", (video,))  # noqa: S608
        conn.execute("DELETE FROM sub_jobs WHERE video_id = ?", (video,))
        jobs = conn.execute("DELETE FROM jobs WHERE video_id = ? OR instr(link, ?)", (video, video)).rowcount
        done.videos = max(conn.execute("DELETE FROM videos WHERE video_id = ?", (video,)).rowcount, int(jobs > 0))
    _wipe(store, done)
    return done


def _mark(conn: sqlite3.Connection, query: str, values: Collection[str]) -> int:
    """Note the rows of a query in a temporary table: they may be millions."""
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS forgotten (id INTEGER PRIMARY KEY)")
    conn.execute("DELETE FROM temp.forgotten")
    return conn.execute(f"INSERT INTO temp.forgotten {query}", (json.dumps(sorted(values)),)).rowcount


def _delete_comments(conn: sqlite3.Connection) -> None:
    for table, column in (("sightings", "comment"), ("comment_revisions", "comment"), ("comments", "id")):
        conn.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM temp.forgotten)")  # noqa: S608


def _delete_danmaku(conn: sqlite3.Connection) -> None:
    for table, column in (("danmaku_sightings", "danmaku"), ("danmaku", "id")):
        conn.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM temp.forgotten)")  # noqa: S608


def _unmention(conn: sqlite3.Connection, ids: Collection[str], names: Collection[str]) -> int:
    """Take ids and mentions out of what others wrote. A handle goes wherever it stands, a plain name behind an @."""
    patterns = [rf"(?<![\w-]){re.escape(one)}(?![\w-])" for one in ids if len(one) > 5]
    for name in names:
        bare = name.lstrip("@＠")
        if bare:
            handle = name.startswith(("@", "＠")) and len(bare) > 2
            patterns.append(rf"(?<!\w)[@＠]{'?' if handle else ''}{re.escape(bare)}(?![\w-])")
    pattern = re.compile("|".join(patterns) or "(?!)", re.I)
    exact = {one.casefold() for one in (*ids, *names)}
    changed = 0
    for table, column in (*_TEXTS, *_JSON):
        keys = _KEYS.get(table, ("rowid",))
        found = []
        for text, *key in conn.execute(f"SELECT {column}, {', '.join(keys)} FROM {table} WHERE {column} IS NOT NULL"):  # noqa: S608
            if (table, column) in _TEXTS:
                left = pattern.sub(f"@{GONE}", text)
            else:
                known = json.loads(text)
                fewer = _without(known, exact, pattern)
                left = text if fewer == known else json.dumps(fewer, ensure_ascii=False)
            if left != text:
                found.append((left, *key))
        changed += 0 if table == "sub_jobs" else len(found)
        where = " AND ".join(f"{key} = ?" for key in keys)
        conn.executemany(f"UPDATE {table} SET {column} = ? WHERE {where}", found)  # noqa: S608
    return changed


def _without(value: Any, exact: Collection[str], pattern: re.Pattern[str]) -> Any:
    """A value of JSON without the person: what is their id or name as a whole, and mentions within texts."""
    if isinstance(value, dict):
        return {name: _without(one, exact, pattern) for name, one in value.items()}
    if isinstance(value, list):
        return [_without(one, exact, pattern) for one in value]
    if isinstance(value, str):
        return GONE if value.casefold() in exact else pattern.sub(f"@{GONE}", value)
    return GONE if type(value) is int and value > 9999 and str(value) in exact else value


def _bodies(conn: sqlite3.Connection, done: Forgotten, needles: Collection[str]) -> None:
    """Raw bodies that hold the person: as UTF-8, or with the signs escaped as JSON escapes them."""
    wanted = {one.encode() for one in needles if len(one) > 2} | {
        json.dumps(one)[1:-1].encode() for one in needles if len(one) > 2
    }
    for row in conn.execute("SELECT id, location FROM artifacts WHERE kind = 'raw_body'").fetchall():
        blobs, name = find(row["location"])
        try:
            body = gzip.decompress(blobs.get(name) or b"")
        except (OSError, EOFError, zlib.error):
            continue
        if any(one in body for one in wanted):
            conn.execute("DELETE FROM artifacts WHERE id = ?", (row["id"],))
            done.files.append(row["location"])
            done.bodies += 1


def _wipe(store: Store, done: Forgotten) -> None:
    """Make sure that what was deleted is not merely unlisted: index, free pages, journal, files."""
    for location in done.files:
        with store.explained():
            blobs, name = find(location)
            blobs.delete(name)
    with store.explained():
        conn = store.conn
        conn.execute("DROP TABLE IF EXISTS temp.forgotten")
        conn.execute("INSERT INTO comments_fts (comments_fts) VALUES ('rebuild')")
        conn.execute("VACUUM")
        busy = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise StoreLocked(
            f"{store.path}: the rows are gone, but another program reads the database, so that old pages remain in its "
            "journal. Close that program and run the same command again"
        )
