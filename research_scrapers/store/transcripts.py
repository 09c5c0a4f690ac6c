"""Transcripts: the same text once, a changed one as a new version."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from research_scrapers.models import Segment, Transcript


def store_transcripts(conn: sqlite3.Connection, sub_job: int, transcripts: Sequence[Transcript]) -> list[Transcript]:
    """Store what is new or changed, and note that this sub-job has seen each. Returns those that this sub-job had not
    seen before. Must run inside the page's transaction.
    """
    fresh = []
    for transcript in transcripts:
        newest = _newest(conn, transcript)
        row_id = newest["id"] if newest is not None and newest["content_hash"] == transcript.content_hash else None
        if row_id is None:
            row_id = _insert(conn, transcript, 1 if newest is None else newest["version"] + 1)
        if conn.execute("INSERT OR IGNORE INTO transcript_sightings VALUES (?, ?)", (sub_job, row_id)).rowcount:
            fresh.append(transcript)
    return fresh


def adopt_transcripts(conn: sqlite3.Connection, sub_job: int, earlier: int) -> None:
    """Let a sub-job hold what an earlier one found, of the parts that it is about."""
    conn.execute(
        "INSERT OR IGNORE INTO transcript_sightings SELECT s.id, t.id FROM sub_jobs s JOIN jobs j ON j.id = s.job_id,"
        " transcript_sightings g JOIN transcripts t ON t.id = g.transcript WHERE s.id = ? AND g.sub_job_id = ?"
        " AND (j.parts = '' OR instr(',' || j.parts || ',', ',' || t.part || ','))",
        (sub_job, earlier),
    )


def _newest(conn: sqlite3.Connection, transcript: Transcript) -> sqlite3.Row | None:
    row: sqlite3.Row | None = conn.execute(
        "SELECT id, version, content_hash FROM transcripts WHERE provider = ? AND video_id = ? AND part = ?"
        " AND language = ? AND kind = ? AND name = ? ORDER BY version DESC LIMIT 1",
        (transcript.provider, transcript.video_id, transcript.part, transcript.language, transcript.kind,
         transcript.name),
    ).fetchone()  # fmt: skip
    return row


def _insert(conn: sqlite3.Connection, transcript: Transcript, version: int) -> int:
    row_id = conn.execute(
        "INSERT INTO transcripts (provider, video_id, part, language, kind, name, version, segments, content_hash,"
        " fetched_at, extras) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (transcript.provider, transcript.video_id, transcript.part, transcript.language, transcript.kind,
         transcript.name, version, len(transcript.segments), transcript.content_hash, transcript.fetched_at,
         json.dumps(transcript.extras, ensure_ascii=False)),
    ).lastrowid  # fmt: skip
    assert row_id is not None
    conn.executemany(
        "INSERT INTO transcript_segments (transcript, position, start, duration, text, words)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (row_id, position, segment.start, segment.duration, segment.text,
             json.dumps(segment.words, ensure_ascii=False) if segment.words else None)
            for position, segment in enumerate(transcript.segments)
        ],
    )  # fmt: skip
    return row_id


def transcript_of(conn: sqlite3.Connection, row: sqlite3.Row) -> Transcript:
    """A stored row as a record again, with its segments."""
    found = conn.execute("SELECT * FROM transcript_segments WHERE transcript = ? ORDER BY position", (row["id"],))
    segments = [
        Segment(
            line["start"], line["duration"], line["text"],
            [(start, word) for start, word in json.loads(line["words"])] if line["words"] else None,
        )
        for line in found
    ]  # fmt: skip
    return Transcript(
        row["provider"], row["video_id"], row["part"], row["language"], row["kind"], row["name"], segments,
        row["content_hash"], row["fetched_at"], json.loads(row["extras"]),
    )  # fmt: skip


def transcripts_of_run(conn: sqlite3.Connection, run_id: str) -> Iterator[Transcript]:
    """Every transcript that a run saw, as a stream."""
    rows = conn.execute(
        "SELECT t.* FROM sub_jobs s JOIN transcript_sightings g ON g.sub_job_id = s.id"
        " JOIN transcripts t ON t.id = g.transcript WHERE s.run_id = ? ORDER BY s.id, t.id",
        (run_id,),
    )
    return (transcript_of(conn, row) for row in rows)


def transcripts_of_video(conn: sqlite3.Connection, video_id: str) -> Iterator[Transcript]:
    """The newest version of each transcript of a video."""
    rows = conn.execute(
        "SELECT t.*, max(version) FROM transcripts t WHERE video_id = ?"
        " GROUP BY provider, part, language, kind, name ORDER BY part, language, kind, name",
        (video_id,),
    )
    return (transcript_of(conn, row) for row in rows)
