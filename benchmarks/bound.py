"""Rows 2 and 4: how near the comments spider comes to the shortest time that is possible, and to the fewest requests.

    python -m benchmarks.bound

40 videos of 500 comments at 150 ms. The bound is what no client could beat that keeps to the cap: every page takes one
latency, a page can be asked for only when the page that leads to it is here, and no more than the cap's number are in
flight. Of all pages that have at least `b` pages before them and `a` behind them, none can be asked for before `b`
latencies are over, none may be answered later than `a` latencies before the end, and there are so many of them: that
makes `b + a + number / cap` latencies, and the largest such sum is the bound (`benchmarks.protocol`, which first reads
all pages one by one to learn what leads to what). The clock runs from the first request to the end; start-up is told
beside it. The fewest requests are computed from the replica's truth and the site's page sizes, not from anyone's walk.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import sides
from benchmarks.protocol import bound_s, fewest, walk
from benchmarks.table import Row, show
from benchmarks.transcripts import cpu_of
from research_scrapers.replica.launch import ReplicaProcess

COMMAND = "python -m benchmarks.bound"


def measure(videos: int, comments: int, latency_ms: int, rounds: int) -> dict[str, Any]:
    """What the spider did, round by round, and what was possible."""
    spec: list[dict[str, Any]] = [{"comments": comments, "tracks": []} for _ in range(videos)]
    with tempfile.TemporaryDirectory() as name, ReplicaProcess("--cache-pages", "20000", spec=spec) as replica:
        links = Path(name, "links.txt")
        links.write_text("".join(f"{video}\n" for video in replica.videos), encoding="utf-8")
        steps = [step for video in replica.videos for step in walk(replica, video)]
        least = sum(fewest(replica.truth(video, texts=False)) for video in replica.videos)
        runs = []
        for number in range(rounds):
            replica.reset()
            replica.latency(latency_ms / 1000)
            before = cpu_of(replica.pid)
            figures = sides.run("ours", replica.origin, links, Path(name, f"{number}.db"))
            counted = replica.counters()
            runs.append({
                **figures, "requests": counted["total"], "most_in_flight": counted["max_in_flight_total"],
                "replica_cpu": cpu_of(replica.pid) - before,
            })  # fmt: skip
    bound = bound_s(steps, sides.IN_FLIGHT, latency_ms / 1000)
    return {"pages": len(steps), "least": least, "bound_s": bound, "runs": runs}


def rows(quick: bool = False) -> list[Row]:
    """Row 2, and row 4a from the same runs."""
    found = measure(2, 30, 20, 1) if quick else measure(40, 500, 150, 2)
    runs = found["runs"]
    seconds, start_up = median(one["seconds"] for one in runs), median(one["start_up"] for one in runs)
    busy = median(one["cpu"] for one in runs)
    requests = max(one["requests"] for one in runs)
    timing = f"{seconds:.1f} s over {found['bound_s']:.1f} s; start-up {start_up:.1f} s apart; own CPU {busy:.1f} s"
    return [
        Row("2", "wall time over the bound: 40 videos × 500 comments, 150 ms", seconds / found["bound_s"], 1.05, False,
            COMMAND, timing, found),
        Row("4a", "requests over the fewest: YouTube comments", requests / found["least"], 1.0, False,
            COMMAND, f"{requests:,} over {found['least']:,}"),
    ]  # fmt: skip


def main() -> None:
    show(rows())


if __name__ == "__main__":
    main()
