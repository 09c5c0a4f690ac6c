"""How fast each format is written, and whether its memory stays flat.

    python -m benchmarks.exports                          1,000,000 synthetic comments, every format
    python -m benchmarks.exports --comments 10000000 --formats csv,jsonl,parquet,sqlite

Each export is the ordinary command in a process of its own; the memory is the most that the system ever gave it. What
the same command takes for ten comments is shown first: that is Python and its libraries, not the data.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cost import run
from benchmarks.table import Row
from research_scrapers.store.database import Store

FORMATS = ("jsonl", "csv", "sqlite", "parquet", "xlsx", "jsonl.gz", "csv.zst")
_RUN = "from research_scrapers.cli.main import main; main()"
_FILL = """
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO comments (id, provider, video_id, comment_id, parent_id, root_id, depth, text, author_id, author_name,
    author_is_uploader, like_count, reply_count, published_text, published_after, published_before, is_pinned,
    is_hearted, is_edited, paid_amount, pictures, position, content_hash, fetched_at, extras)
SELECT i, 'youtube', printf('v%010d', i / 5000), printf('Ugz%023d', i),
    CASE WHEN i % 3 = 0 THEN printf('Ugz%023d', i - 1) END, printf('Ugz%023d', i - (i % 3 = 0)), i % 3 = 0,
    printf('第 %d 条评论 with some words, 😀 and a number %d: ', i, i * 7919 % 1000003)
        || substr(:filler, 1, i * 31 % 200),
    printf('UC%022d', i * 7919 % 1000003), printf('@user-%d', i * 7919 % 1000003), 0, i % 1000, 0, '2 years ago',
    '2023-11-16T00:00:00Z', '2024-11-16T00:00:00Z', 0, 0, 0, NULL, '[]', i, printf('%032x', i), '2026-11-16T00:00:00Z',
    '{"handle": "user"}'
FROM n
"""


def fill(path: Path, count: int) -> None:
    """A database of so many comments, five thousand a video, without a crawl."""
    Store(path).close()
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA synchronous = OFF")
    for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        conn.execute(f"DROP TRIGGER {name}")  # the full-text index is not what is measured
    conn.execute("BEGIN")
    conn.execute(
        "INSERT INTO runs (id, spider, status, config, created_at) VALUES ('run_1', 'yt_comments', 'success', '{}', '')"
    )
    conn.execute(_FILL, {"count": count, "filler": "lorem ipsum dolor sit amet " * 8})
    conn.execute(
        "INSERT INTO jobs (run_id, provider, video_id, link, line, status)"
        " SELECT DISTINCT 'run_1', provider, video_id, video_id, 1, 'success' FROM comments"
    )
    conn.execute(
        "INSERT INTO sub_jobs (job_id, run_id, provider, video_id, kind, status, outcome)"
        " SELECT id, run_id, provider, video_id, 'comments', 'success', 'complete' FROM jobs"
    )
    conn.execute(
        "INSERT INTO sightings SELECT s.id, c.id, 0 FROM comments c JOIN sub_jobs s ON s.video_id = c.video_id"
    )
    conn.execute("COMMIT")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()


def measure(db: Path, form: str, out: Path) -> tuple[float, float, float]:
    """Seconds, most memory in MB, and MB written."""
    command = [sys.executable, "-c", _RUN, "export", "run_1", "--what", "comments", "--quiet"]
    cost = run([*command, "--format", form, "--out", str(out), "--db", str(db)], env=os.environ, cwd=db.parent)
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file() and path.name.count("manifest") == 0)
    return cost.seconds, cost.peak_mb, written / 1e6


def rows(quick: bool = False, comments: int = 1_000_000) -> list[Row]:
    comments = 20_000 if quick else comments
    made = []
    with tempfile.TemporaryDirectory() as name:
        db = Path(name, "research.db")
        fill(db, comments)
        for form in ("csv", "parquet") if quick else FORMATS:
            out = Path(name, form)
            seconds, most, written = measure(db, form, out)
            shutil.rmtree(out)
            made.append(Row(
                f"E{len(made) + 1}", f"memory of an export of {comments:,} comments as {form}, over 300 MB", most / 300,
                1.0, False, f"python -m benchmarks.exports --comments {comments} --formats {form}",
                f"{most:.0f} MB; {comments / seconds:,.0f} rows/s",
                {"mb": most, "seconds": seconds, "written_mb": written},
            ))  # fmt: skip
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comments", type=int, default=1_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--folder", help="where to work; a database that is there is used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        small, large = folder / "small.db", Path(options.folder or name) / f"{options.comments}.db"
        fill(small, 10)
        if not large.exists():
            began = time.monotonic()
            fill(large, options.comments)
            print(f"{options.comments:,} comments, {large.stat().st_size / 1e6:,.0f} MB, made in "
                  f"{time.monotonic() - began:.0f} s\n")  # fmt: skip
        print(f"{'format':10} {'idle MB':>8} {'MB':>6} {'seconds':>8} {'rows/s':>9} {'written MB':>11}", flush=True)
        for form in options.formats.split(","):
            _, idle, _ = measure(small, form, folder / "idle" / form)
            out = folder / form
            seconds, most, written = measure(large, form, out)
            rate = options.comments / seconds
            print(f"{form:10} {idle:8.0f} {most:6.0f} {seconds:8.1f} {rate:9,.0f} {written:11,.0f}", flush=True)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
