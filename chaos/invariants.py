"""What must hold after a round, whatever was done in it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from chaos.world import Found, Target, World

_STORED = {
    "comments": "SELECT video_id, comment_id, coalesce(parent_id, '') FROM comments",
    "danmaku": "SELECT video_id, cid, danmaku_id FROM danmaku",
    "transcripts": "SELECT t.video_id, t.part, t.language, t.kind, (SELECT group_concat(text, char(30)) FROM"
    " (SELECT text FROM transcript_segments s WHERE s.transcript = t.id ORDER BY s.position)) FROM transcripts t",
}
_FED = {
    "comments": ("comment", ("video_id", "comment_id", "parent_id")),
    "danmaku": ("danmaku", ("video_id", "cid", "danmaku_id")),
    "transcripts": ("transcript", ("video_id", "part", "language", "kind")),
}
TRACEBACK = "Traceback (most recent call last)"
_SENTENCE = re.compile(r"^research: \S.*[.?]$", re.M)
_RECORDS = ("comments", "comment_revisions", "sightings", "danmaku", "danmaku_sightings", "transcripts",
            "transcript_segments", "transcript_sightings", "videos", "jobs", "sub_jobs", "checkpoints", "artifacts",
            "runs")  # fmt: skip


def whole(folder: Path, target: Target, world: World) -> Iterator[str]:
    """After the last resume: everything is there once, and every piece of work has its end."""
    with closing(sqlite3.connect(folder / "research.db")) as conn:
        yield from sound(conn)
        truth = world.truth(target.parts)
        for kind, query in _STORED.items():
            yield from _differences(f"stored {kind}", [*conn.execute(query)], truth.get(kind, []))
        yield from _ended(conn, world)
    if target.feeds:
        yield from _fed(folder / "out.jsonl", truth)


def sound(conn: sqlite3.Connection) -> Iterator[str]:
    told = conn.execute("PRAGMA integrity_check").fetchone()[0]
    if told != "ok":
        yield f"integrity_check: {told}"
    if broken := conn.execute("PRAGMA foreign_key_check").fetchall():
        yield f"foreign_key_check: {len(broken)} rows"


def _differences(what: str, found: list[tuple[Any, ...]], truth: list[tuple[Any, ...]]) -> Iterator[str]:
    counted, wanted = Counter(found), Counter(truth)
    twice = [one for one, count in counted.items() if count > 1]
    missing, strange = wanted.keys() - counted.keys(), counted.keys() - wanted.keys()
    for name, some in (("twice", twice), ("missing", missing), ("not of this world", strange)):
        if some:
            yield f"{what}: {len(some)} {name}, for example {str(sorted(some)[0])[:120]}"


def _ended(conn: sqlite3.Connection, world: World) -> Iterator[str]:
    rows = conn.execute("SELECT video_id, kind, status, outcome, reason, owner FROM sub_jobs").fetchall()
    for video, kind, status, outcome, reason, owner in rows:
        expected = status == "failed" and reason if video in world.private else outcome in ("complete", "empty")
        if not expected or owner:
            yield f"{kind} of {video} is {status}, {outcome}, {reason}, held by {owner}"
    for video, status in conn.execute("SELECT coalesce(video_id, link), status FROM jobs"):
        if status in ("pending", "in_progress"):
            yield f"job {video} is {status}"
    for run, status in conn.execute("SELECT id, status FROM runs"):
        if status != "success":
            yield f"{run} is {status}"


def _fed(feed: Path, truth: Found) -> Iterator[str]:
    lines = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    for kind, (name, fields) in _FED.items():
        found = [tuple(line[field] or "" for field in fields) for line in lines if line["type"] == name]
        wanted = [row[: len(fields)] for row in truth.get(kind, [])]
        yield from _differences(f"fed {kind}", found, wanted)


def said_well(text: str, code: int) -> Iterator[str]:
    """What a command printed: sentences for people."""
    if TRACEBACK in text:
        last = text[text.rindex(TRACEBACK) :].splitlines()
        yield f"a traceback: {next((line for line in last[1:] if not line.startswith(' ')), '')[:150]}"
    sentences = len(_SENTENCE.findall(text))
    if code in (2, 3, 4, 5, 6, 7, 8, 9) and sentences != 1:
        yield f"exit code {code} with {sentences} sentences"


def digest(folder: Path) -> dict[str, str]:
    """The content of each table, to tell whether anybody wrote. Samples are left out: they tell what a process did, and
    a zombie that asks in vain has asked.
    """
    with closing(sqlite3.connect(folder / "research.db")) as conn:
        rows = {table: conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in _RECORDS}
    return {table: hashlib.sha256(repr(found).encode()).hexdigest() for table, found in rows.items()}
