"""What a run came to, in words and a table: the last thing a person reads, so it must be the truth."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from research_scrapers.models import counted

_COLUMNS = ("video", "outcome", "claimed", "top level", "replies", "threads", "reason")
_TRACK_COLUMNS = ("video", "outcome", "listed", "taken", "", "tracks", "reason")
_ENDS = ("complete", "empty", "partial", "failed", "in_progress", "pending")


def summary(conn: sqlite3.Connection, run_id: str) -> str:
    """One paragraph: how many videos ended how, how much was collected, what it cost."""
    counts = dict(
        conn.execute(
            "SELECT coalesce(outcome, status), count(*) FROM sub_jobs WHERE run_id = ? GROUP BY 1", (run_id,)
        ).fetchall()
    )
    lines = dict(
        conn.execute(
            "SELECT status, count(*) FROM jobs WHERE run_id = ? AND status IN ('invalid', 'cancelled') GROUP BY 1",
            (run_id,),
        ).fetchall()
    )
    top, replies, failed, pages = conn.execute(
        "SELECT coalesce(sum(top_level), 0), coalesce(sum(replies), 0), coalesce(sum(threads_failed), 0),"
        " coalesce(sum(pages), 0) FROM sub_jobs WHERE run_id = ?",
        (run_id,),
    ).fetchone()
    quota = conn.execute("SELECT quota_used FROM runs WHERE id = ?", (run_id,)).fetchone()[0]
    ends = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in _ENDS if counts.get(name))
    held, chain = f"{counted(top + replies, 'comment')}: {top:,} top level, {replies:,} replies", "reply thread"
    if _of_tracks(conn, run_id):
        held, chain = counted(top, "transcript"), "track"
    text = [
        f"{run_id}: {counted(sum(counts.values()), 'video')} ({ends or 'none'})",
        f"  {held}, from {counted(pages, 'page')}",
    ]
    if failed:
        text.append(f"  {counted(failed, chain)} could not be read; the same command tries again")
    if quota:
        text.append(f"  {counted(quota, 'unit')} of API quota used")
    if lines.get("invalid"):
        text.append(f"  {counted(lines['invalid'], 'line')} without a video (told by `research coverage {run_id}`)")
    if lines.get("cancelled"):
        text.append(f"  {counted(lines['cancelled'], 'link')} for another spider")
    return "\n".join(text)


def _of_tracks(conn: sqlite3.Connection, run_id: str) -> bool:
    """Whether a run collects transcripts, so that what it counts are tracks."""
    row = conn.execute("SELECT kind FROM sub_jobs WHERE run_id = ? LIMIT 1", (run_id,)).fetchone()
    return row is not None and row[0] == "transcript"


def coverage_table(conn: sqlite3.Connection, run_id: str, most: int | None = None) -> str:
    """A line per video: what the site claims, what is held, and why they differ. The odd ones come first. With
    ``most``, only so many, and only such as have been begun.
    """
    begun = "run_id = ?" if most is None else "run_id = ? AND (status <> 'pending' OR pages)"
    total = conn.execute(f"SELECT count(*) FROM coverage WHERE {begun}", (run_id,)).fetchone()[0]  # noqa: S608
    if not total:
        return "no video has been begun"
    rows = conn.execute(
        f"SELECT * FROM coverage WHERE {begun} ORDER BY status = 'success',"  # noqa: S608
        " coalesce(outcome, '') = 'complete', outcome, video_id LIMIT ?",
        (run_id, -1 if most is None else most),
    )
    columns = _TRACK_COLUMNS if _of_tracks(conn, run_id) else _COLUMNS
    table = "\n".join(_aligned([columns, *(_coverage_row(row) for row in rows)]))
    more = "" if most is None or total <= most else f"\n… and {total - most:,} more: research coverage {run_id}"
    return table + more


def _coverage_row(row: sqlite3.Row) -> tuple[str, ...]:
    claimed = "?" if row["claimed"] is None else f"{'' if row['claimed_exact'] else '~'}{row['claimed']:,}"
    threads = f"{row['threads_done']:,}/{row['threads_found']:,}"
    if row["threads_failed"]:
        threads += f" ({row['threads_failed']} failed)"
    reason = ": ".join(part for part in (row["reason"], row["detail"]) if part)
    return (
        row["video_id"], row["outcome"] or row["status"], claimed, f"{row['top_level']:,}",
        "" if row["kind"] == "transcript" else f"{row['replies']:,}",
        threads, reason,
    )  # fmt: skip


def invalid_lines(conn: sqlite3.Connection, run_id: str) -> Iterator[str]:
    """Every line that names no video, with its number and the reason."""
    for row in conn.execute(
        "SELECT line, link, reason FROM jobs WHERE run_id = ? AND status IN ('invalid', 'cancelled') ORDER BY line",
        (run_id,),
    ):
        yield f"line {row['line']}: {row['link']}: {row['reason']}"


def runs_table(conn: sqlite3.Connection) -> str:
    """Every run, newest first."""
    rows = conn.execute(
        "SELECT r.id, r.spider, r.status, r.reason, r.links, r.jobdir, count(s.id) AS videos,"
        " coalesce(sum(s.status = 'success'), 0) AS done, coalesce(sum(s.top_level + s.replies), 0) AS comments"
        " FROM runs r LEFT JOIN sub_jobs s ON s.run_id = r.id GROUP BY r.id ORDER BY r.created_at DESC"
    )
    return "\n".join(
        _aligned([
            ("run", "spider", "status", "videos", "done", "comments", "links", "jobdir"),
            *(
                (row["id"], row["spider"], ": ".join(filter(None, (row["status"], row["reason"]))),
                 f"{row['videos']:,}", f"{row['done']:,}", f"{row['comments']:,}", row["links"] or "",
                 row["jobdir"] or "")
                for row in rows
            ),
        ])
    )  # fmt: skip


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
