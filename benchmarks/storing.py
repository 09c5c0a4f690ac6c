"""Row 7: comments a second through the store, against a bare ``executemany`` of the same rows.

    python -m benchmarks.storing

Ours is the way that a spider's pages take: a fenced transaction with revisions, sightings, checkpoints, counters and
the full-text index. The other side is a plain table with the same columns and the same key, with the same pragmas (WAL,
FULL), filled page by page as ours, group by group, and all at once. Both sides take turns, and each ratio is the median
of the rounds' ratios. Nothing that ours does beyond the plain table is left out, so a ratio near 1 is not to be had.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.protocol import walk
from benchmarks.table import Row, show
from research_scrapers.models import Cursor, Kind, Link, Options, Page
from research_scrapers.replica.launch import ReplicaProcess
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.pages import Handed
from research_scrapers.store.records import COMMENT_COLUMNS, values_of
from research_scrapers.store.runs import Runs

COMMAND = "python -m benchmarks.storing"
TOGETHER = 8
"""Pages in a group: half of what may be in flight. How many come together in a crawl depends on the disk."""


def pages_of(videos: int, comments: int) -> list[list[Page]]:
    """What the spider would hand over, video by video."""
    spec = [{"comments": comments, "reply_share": 0.0, "tracks": []} for _ in range(videos)]
    with ReplicaProcess(spec=spec) as replica:
        return [[step.page for step in walk(replica, video)] for video in replica.videos]


def ours(folder: Path, videos: Sequence[Sequence[Page]], together: int) -> float:
    """Seconds that the store takes. Pages of a group are of different videos, as they are in a crawl."""
    store = Store(folder / "ours.db")
    runs = Runs(store)
    run = runs.create("run_bench", "yt_comments", config={}, jobdir=None, links="")
    names = [next(page.video.video_id for page in pages if page.video) for pages in videos]
    links = [Link("youtube", name, line, name) for line, name in enumerate(names, 1)]
    runs.take_in(run.id, links, {"youtube": (Kind.COMMENTS,)}, "yt_comments")
    ledger = Ledger(store, run.id, "benchmark")
    leases = {}
    for _ in videos:
        lease = ledger.claim("youtube", {Kind.COMMENTS: "web"})
        assert lease is not None
        ledger.begin(lease, Cursor("", "watch"))
        leases[lease.video_id] = lease
    turns = [
        Handed(leases[name], page, Options())
        for nth in range(max(map(len, videos)))
        for name, pages in zip(names, videos, strict=True)
        for page in pages[nth : nth + 1]
    ]
    began = time.perf_counter()
    for start in range(0, len(turns), together):
        group = ledger.group(turns[start : start + together])
        group.write()
        for result in group.settle():
            if isinstance(result, Exception):
                raise result
    seconds = time.perf_counter() - began
    store.close()
    return seconds


def bare(folder: Path, videos: Sequence[Sequence[Page]], at_a_time: int | None) -> float:
    """Seconds that ``executemany`` takes; turning records into rows is not counted."""
    rows = [values_of(record) for pages in videos for page in pages for record in page.records]  # type: ignore[arg-type]
    conn = sqlite3.connect(folder / "bare.db", isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    columns = ", ".join(COMMENT_COLUMNS)
    conn.execute(f"CREATE TABLE comments (id INTEGER PRIMARY KEY, {columns}, UNIQUE (provider, video_id, comment_id))")
    insert = f"INSERT INTO comments ({columns}) VALUES ({', '.join('?' * len(COMMENT_COLUMNS))})"
    began = time.perf_counter()
    for start in range(0, len(rows), at_a_time or len(rows)):
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(insert, rows[start : start + (at_a_time or len(rows))])
        conn.execute("COMMIT")
    seconds = time.perf_counter() - began
    conn.close()
    return seconds


def _timed(side: Callable[..., float], videos: Sequence[Sequence[Page]], size: int | None) -> float:
    with tempfile.TemporaryDirectory() as name:
        return side(Path(name), [[_fresh(page) for page in pages] for pages in videos], size)


def _fresh(page: Page) -> Page:
    """A page that nobody has stored yet: storing writes its place into each record."""
    return replace(page, records=tuple(replace(record) for record in page.records))


def rows(quick: bool = False) -> list[Row]:
    """7a page by page, 7b in groups, 7c our groups against everything at once."""
    videos = pages_of(2, 40) if quick else pages_of(16, 1000)
    page_size = 20
    comments = sum(len(page.records) for pages in videos for page in pages)
    speeds: dict[str, list[float]] = {}
    for _ in range(1 if quick else 5):
        for name, side, size in (
            ("ours", ours, 1), ("bare", bare, page_size), ("ours in groups", ours, TOGETHER),
            ("bare in groups", bare, TOGETHER * page_size), ("bare at once", bare, None),
        ):  # fmt: skip
            speeds.setdefault(name, []).append(comments / _timed(side, videos, size))

    def row(number: str, what: str, mine: str, theirs: str) -> Row:
        ratio = median(one / other for one, other in zip(speeds[mine], speeds[theirs], strict=True))
        detail = f"{median(speeds[mine]):,.0f} comments/s over {median(speeds[theirs]):,.0f}"
        return Row(number, what, ratio, None, True, COMMAND, detail, {mine: speeds[mine], theirs: speeds[theirs]})

    return [
        row("7a", "comments/s stored over bare executemany, page by page", "ours", "bare"),
        row("7b", f"the same, {TOGETHER} pages together on both sides", "ours in groups", "bare in groups"),
        row("7c", f"ours by {TOGETHER} pages over executemany of all at once", "ours in groups", "bare at once"),
    ]


def main() -> None:
    show(rows())


if __name__ == "__main__":
    main()
