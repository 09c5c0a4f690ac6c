"""Whether the memory of a run grows with what it collects.

    python -m benchmarks.memory                      100,000 comments over 10,000
    python -m benchmarks.memory --comments 1000000   a million over 10,000

Two real runs of `yt_comments` against the replica, which makes each page when it is asked for it; a thousand comments
a video, twenty a page. Two numbers of each run: the most that the system ever gave the process, and how much of it was
its own data rather than mapped files (Python, its libraries, and the database's shared memory).
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from pathlib import Path

from benchmarks.cost import Cost, Failed, crawl, write_links
from benchmarks.table import Row, show
from research_scrapers.replica.launch import ReplicaProcess

SMALL = 10_000
OF_A_VIDEO = 1_000


def measure(comments: int, *flags: str) -> Cost:
    """A run that collects so many comments. That it has them all is checked."""
    spec: list[dict[str, object]] = [
        {"comments": min(OF_A_VIDEO, comments), "reply_share": 0.0} for _ in range(max(comments // OF_A_VIDEO, 1))
    ]
    with tempfile.TemporaryDirectory() as name, ReplicaProcess(spec=spec) as replica:
        db = Path(name, "research.db")
        cost = crawl("yt_comments", replica, write_links(Path(name, "links.txt"), replica.videos), db, *flags)
        conn = sqlite3.connect(db)
        (found,) = conn.execute("SELECT count(*) FROM comments").fetchone()
        conn.close()
    if found != comments:
        raise Failed(f"{found:,} of {comments:,} comments were stored")
    return cost


def rows(quick: bool = False, comments: int = 100_000) -> list[Row]:
    few, many = (100, 400) if quick else (SMALL, comments)
    small, large = measure(few), measure(many)
    command = f"python -m benchmarks.memory --comments {many}"
    figures = {
        "comments": [few, many], "peak_mb": [small.peak_mb, large.peak_mb], "anon_mb": [small.anon_mb, large.anon_mb],
        "seconds": [small.seconds, large.seconds],
    }  # fmt: skip
    return [
        Row("5a", f"memory of yt_comments, {many:,} comments over {few:,}", large.peak_mb / small.peak_mb, 1.1, False,
            command, f"{large.peak_mb:.0f} MB, {small.peak_mb:.0f} MB; {large.seconds:.0f} s", figures),
        Row("5b", "of that its own data, without mapped files", large.anon_mb / small.anon_mb, 1.1, False, command,
            f"{large.anon_mb:.0f} MB, {small.anon_mb:.0f} MB"),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comments", type=int, default=100_000)
    show(rows(comments=parser.parse_args().comments))


if __name__ == "__main__":
    main()
