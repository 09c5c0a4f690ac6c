"""Row 1: pages a second of the comments spider, which stores them, against a bare Scrapy spider, which does not.

    python -m benchmarks.pages

Every side (see `benchmarks.sides`) asks the same replica for the same pages, without latency: 20 comments each, in
bodies of 0.2 MB, as the site's are. The replica keeps its pages ready, so that the client is what is measured; its CPU
time is told beside the client's. Sides take turns, and each ratio is the median of the rounds' ratios. Seconds of CPU
are given too: other load on the machine stretches the clock, and hardly them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import sides
from benchmarks.table import Row, show
from benchmarks.transcripts import cpu_of
from research_scrapers.replica.launch import ReplicaProcess

COMMAND = "python -m benchmarks.pages"


def measure(videos: int, comments: int, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Each side's figures, round by round."""
    spec: list[dict[str, Any]] = [{"comments": comments, "reply_share": 0.0, "tracks": []} for _ in range(videos)]
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in sides.SIDES}
    with tempfile.TemporaryDirectory() as name, ReplicaProcess("--cache-pages", "20000", spec=spec) as replica:
        links = Path(name, "links.txt")
        links.write_text("".join(f"{video}\n" for video in replica.videos), encoding="utf-8")
        sides.run("loop", replica.origin, links, Path(name, "unused"))  # so that the replica has every page ready
        asked = _pages(replica)
        for number in range(rounds):
            for side in sides.SIDES:
                replica.reset()
                before = cpu_of(replica.pid)
                figures = sides.run(side, replica.origin, links, Path(name, f"{number}.db"))
                if _pages(replica) != asked or figures["pages"] != len(asked):
                    raise SystemExit(f"{side} did not ask for the same pages, each once")
                found[side].append({**figures, "replica_cpu": cpu_of(replica.pid) - before})
    return found


def _pages(replica: ReplicaProcess) -> list[str]:
    return sorted(entry[3] for entry in replica.counters(log=True)["log"])


def rows(quick: bool = False) -> list[Row]:
    """1a and 1b in pages a second; 1c is 1a in seconds of CPU."""
    found = measure(2, 60, 1) if quick else measure(16, 1000, 5)
    speed = {side: [one["pages"] / one["seconds"] for one in all_of] for side, all_of in found.items()}
    cost = {side: [one["cpu"] / one["pages"] * 1000 for one in all_of] for side, all_of in found.items()}

    def over(other: str) -> float:
        return median(ours / theirs for ours, theirs in zip(speed["ours"], speed[other], strict=True))

    def told(other: str) -> str:
        return f"{median(speed['ours']):.0f} pages/s over {median(speed[other]):.0f}"

    served = median(one["replica_cpu"] / one["pages"] * 1000 for one in found["ours"])
    cheaper = median(theirs / ours for ours, theirs in zip(cost["ours"], cost["bare"], strict=True))
    costs = f"{median(cost['ours']):.1f} ms of CPU a page over {median(cost['bare']):.1f}; the replica's {served:.1f}"
    what = "pages/s of yt_comments"
    return [
        Row("1a", f"{what} over a bare Scrapy spider", over("bare"), 0.85, True, COMMAND, told("bare"), found),
        Row("1b", f"{what} over a raw aiohttp loop", over("loop"), None, True, COMMAND, told("loop")),
        Row("1c", "1a by CPU time: bare Scrapy's over ours", cheaper, None, True, COMMAND, costs),
    ]


def main() -> None:
    show(rows())


if __name__ == "__main__":
    main()
