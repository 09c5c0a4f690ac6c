"""What a run came to, in words and a table: the last thing a person reads, so it must be the truth."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from research_scrapers.models import counted

_COLUMNS = ("video", "outcome", "claimed", "top level", "replies", "threads", "reason")
_TRACK_COLUMNS = ("video", "outcome", "listed", "taken", "", "tracks", "reason")
_MIXED_COLUMNS = ("video", "what", "outcome", "claimed", "held", "replies", "threads", "reason")
_ENDS = ("complete", "empty", "partial", "failed", "in_progress", "pending")
_CHAINS = {"comments": "reply thread", "transcript": "track", "danmaku": "piece of danmaku", "metadata": "page"}
# A video's own facts are only a means: they are told where they were not to be had, or led elsewhere.
_TOLD = "(kind <> 'metadata' OR status <> 'success' OR reason IS NOT NULL)"


def summary(conn: sqlite3.Connection, run_id: str) -> str:
    """One paragraph: how many videos ended how, how much was collected, what it cost."""
    kinds = _kinds(conn, run_id)
    pages, failed = conn.execute(
        "SELECT coalesce(sum(pages), 0), coalesce(sum(threads_failed), 0) FROM sub_jobs WHERE run_id = ?", (run_id,)
    ).fetchone()
    videos, quota = conn.execute(
        "SELECT (SELECT count(DISTINCT job_id) FROM sub_jobs WHERE run_id = ?1 AND kind <> 'metadata'),"
        " (SELECT quota_used FROM runs WHERE id = ?1)",
        (run_id,),
    ).fetchone()
    lines = dict(
        conn.execute(
            "SELECT status, count(*) FROM jobs WHERE run_id = ? AND status IN ('invalid', 'cancelled') GROUP BY 1",
            (run_id,),
        ).fetchall()
    )
    told = [(kind, *_held(conn, run_id, kind)) for kind in kinds if kind != "metadata"]
    head = f"{run_id}: {counted(videos, 'video')}"
    if len(told) == 1:
        text = [f"{head} ({told[0][1]})", f"  {told[0][2]}, from {counted(pages, 'page')}"]
    else:
        text = [f"{head}, {counted(pages, 'page')}", *(f"  {kind}: {ends}. {held}" for kind, ends, held in told)]
    if failed:
        chain = _CHAINS[told[0][0]] if len(told) == 1 else "piece"
        text.append(f"  {counted(failed, chain)} could not be read; the same command tries again")
    if quota:
        text.append(f"  {counted(quota, 'unit')} of API quota used")
    if lines.get("invalid"):
        text.append(f"  {counted(lines['invalid'], 'line')} without a video (told by `research coverage {run_id}`)")
    if lines.get("cancelled"):
        text.append(f"  {counted(lines['cancelled'], 'link')} for another spider")
    return "\n".join(text)


def _kinds(conn: sqlite3.Connection, run_id: str) -> list[str]:
    """What a run collects."""
    return [row[0] for row in conn.execute("SELECT DISTINCT kind FROM sub_jobs WHERE run_id = ? ORDER BY 1", (run_id,))]


def _held(conn: sqlite3.Connection, run_id: str, kind: str) -> tuple[str, str]:
    """How the sub-jobs of a kind ended, and how much they hold."""
    rows = conn.execute(
        "SELECT coalesce(outcome, status) AS ending, count(*) AS videos, sum(top_level) AS tops,"
        " sum(replies) AS replies FROM sub_jobs WHERE run_id = ? AND kind = ? GROUP BY 1",
        (run_id, kind),
    ).fetchall()
    counts = {row["ending"]: row["videos"] for row in rows}
    ends = ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in _ENDS if counts.get(name))
    top, replies = (sum(row[name] for row in rows) for name in ("tops", "replies"))
    if kind == "transcript":
        return ends, counted(top, "transcript")
    if kind == "danmaku":
        return ends, f"{top:,} danmaku"
    return ends, f"{counted(top + replies, 'comment')}: {top:,} top level, {replies:,} replies"


def coverage_table(conn: sqlite3.Connection, run_id: str, most: int | None = None) -> str:
    """A line per video: what the site claims, what is held, and why they differ. The odd ones come first. With
    ``most``, only so many, and only such as have been begun.
    """
    begun = f"run_id = ? AND {_TOLD}" + ("" if most is None else " AND (status <> 'pending' OR pages)")
    total = conn.execute(f"SELECT count(*) FROM coverage WHERE {begun}", (run_id,)).fetchone()[0]  # noqa: S608
    if not total:
        return "no video has been begun"
    rows = conn.execute(
        f"SELECT * FROM coverage WHERE {begun} ORDER BY status = 'success',"  # noqa: S608
        " coalesce(outcome, '') = 'complete', outcome, video_id, kind LIMIT ?",
        (run_id, -1 if most is None else most),
    )
    kinds = _kinds(conn, run_id)
    columns = _MIXED_COLUMNS if len(kinds) > 1 else _TRACK_COLUMNS if kinds == ["transcript"] else _COLUMNS
    table = "\n".join(_aligned([columns, *(_coverage_row(row, mixed=len(kinds) > 1) for row in rows)]))
    more = "" if most is None or total <= most else f"\n… and {total - most:,} more: research coverage {run_id}"
    return table + more


def _coverage_row(row: sqlite3.Row, *, mixed: bool) -> tuple[str, ...]:
    claimed = "?" if row["claimed"] is None else f"{'' if row['claimed_exact'] else '~'}{row['claimed']:,}"
    threads = f"{row['threads_done']:,}/{row['threads_found']:,}"
    if row["threads_failed"]:
        threads += f" ({row['threads_failed']} failed)"
    reason = ": ".join(part for part in (row["reason"], row["detail"]) if part)
    return (
        row["video_id"], *([row["kind"]] if mixed else []), row["outcome"] or row["status"], claimed,
        f"{row['top_level']:,}", f"{row['replies']:,}" if row["kind"] == "comments" else "", threads, reason,
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
