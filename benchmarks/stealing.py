"""What stealing brings when queues are skewed: the same links, with each policy, side by side with four fixed lines.

    python -m benchmarks.stealing                    200 links, 90 % of the work on YouTube comments
    python -m benchmarks.stealing --heavy yt_transcripts --links 1000

Every policy works on the same replica at the same latency, one after the other, each with a database of its own. The
clock runs from the first sub-job that is assigned to the end of the last; start-up is nobody's merit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.table import Row
from research_scrapers.replica.launch import ReplicaProcess

LINES = ("yt_comments", "yt_transcripts", "bili_comments", "bili_transcripts")
LOGIN = "replica-sessdata"
_RUN = """
import json, sqlite3, sys, time
from scrapy.settings import Settings
from research_scrapers.control.events import Listeners
from research_scrapers.control.scrape import Order, scrape
from research_scrapers.links import open_links

links, db, policy, workers, provider_line, kind = sys.argv[1:]
heavy, skewed = [line.strip() for line in open(links + ".heavy")], []
settings = Settings()
settings.setmodule("research_scrapers.settings", priority="project")
settings.setdict({
    "RESEARCH_DB": db, "LOG_LEVEL": "ERROR", "DOMAIN_RATE": 0, "DOMAIN_RATES": "bilibili.com=0,youtube.com=0",
    "DOMAIN_CONCURRENCY": "bilibili.com=16", "ROBOTSTXT_OBEY": False,
    "EXTENSIONS": {**settings.getdict("EXTENSIONS"), "research_scrapers.crawling.progress.Progress": None},
}, priority="cmdline")
first = []
def listen(event):
    if event.what == "line_ready" and event.line == provider_line and event.run not in skewed:
        skewed.append(event.run)
        with sqlite3.connect(db) as conn:
            marks = ", ".join("?" * len(heavy))
            conn.execute(f"DELETE FROM sub_jobs WHERE video_id IN ({marks}) AND kind NOT IN (?, 'metadata')",
                         (*heavy, kind))
        conn.close()
    if event.what == "ended" and not first:
        first.append(time.monotonic())
result = scrape(settings, Order(open_links(links), policy=policy, workers=int(workers)), Listeners(listen))
centre = result.centre
seconds = centre.over_at - centre.started
print(json.dumps({
    "seconds": seconds, "first": first[0] - centre.started, "utilisation": centre.utilisation,
    "overall": sum(worker.busy_s for worker in centre.workers) / seconds / len(centre.workers),
    "stolen": sum(worker.stolen for worker in centre.workers), "done": sum(worker.done for worker in centre.workers),
    "exit": result.exit_code, "cpu": time.process_time(),
}))
"""


def world(links: int, heavy: str) -> list[dict[str, object]]:
    """Nine links in ten are for one line only; the others for all lines of their site."""
    few = links // 10
    others: list[dict[str, object]] = [
        {"comments": 20, "tracks": [["en", "manual"]]}
        if n % 2
        else {"site": "bilibili", "comments": 10, "danmaku": 10, "tracks": [["zh-CN", "human"]]}
        for n in range(few)
    ]
    heavy_one: dict[str, object] = {
        "yt_comments": {"comments": 60, "reply_share": 0.0, "tracks": []},
        "yt_transcripts": {"comments": 0, "tracks": [["en", "manual"]]},
        "bili_comments": {"site": "bilibili", "comments": 60, "reply_share": 0.0, "danmaku": 0, "tracks": []},
        "bili_transcripts": {"site": "bilibili", "comments": 0, "danmaku": 0, "tracks": [["zh-CN", "human"]]},
    }[heavy]  # type: ignore[assignment]
    return others + [heavy_one for _ in range(links - few)]


def measure(replica: ReplicaProcess, folder: Path, policy: str, options: argparse.Namespace) -> dict[str, float]:
    """One run with this policy. Before it begins, the heavy links lose what other lines would do about them."""
    few = options.links // 10
    site = replica.videos if options.heavy.startswith("yt") else replica.bili_videos
    heavy = site[len(site) - (options.links - few) :]
    (folder / "links.txt.heavy").write_text("".join(f"{video}\n" for video in heavy), encoding="utf-8")
    kind = "comments" if options.heavy.endswith("comments") else "transcript"
    links = folder / "links.txt"
    links.write_text("".join(f"{video}\n" for video in (*replica.videos, *replica.bili_videos)), encoding="utf-8")
    environment = {**os.environ, "RESEARCH_ORIGIN": replica.origin, "BILIBILI_SESSDATA": LOGIN}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(links), str(folder / f"{policy}.db"), policy, str(options.workers),
         options.heavy, kind],
        env=environment, cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def playground(options: argparse.Namespace) -> Iterator[tuple[ReplicaProcess, Path]]:
    """A replica of that world, and a folder."""
    with (
        tempfile.TemporaryDirectory() as name,
        ReplicaProcess(
            "--videos", "0", "--latency-ms", str(options.latency_ms), "--cache-pages", "20000",
            spec=world(options.links, options.heavy),
        ) as replica,
    ):  # fmt: skip
        yield replica, Path(name)


def rows(quick: bool = False) -> list[Row]:
    options = parser().parse_args(["--links", "20", "--latency-ms", "20"] if quick else [])
    with playground(options) as (replica, folder):
        fixed, stealing = (measure(replica, folder, policy, options) for policy in ("none", "least"))
    command = "python -m benchmarks.stealing --policies none,least"
    figures = {"none": fixed, "least": stealing, "links": options.links, "latency_ms": options.latency_ms}
    return [
        Row("3a", "links per minute with stealing over four fixed lines", fixed["seconds"] / stealing["seconds"], 1.2,
            True, command, f"{stealing['seconds']:.1f} s, {fixed['seconds']:.1f} s for {options.links} links", figures),
        Row("3b", "utilisation of the workers while work remains", stealing["utilisation"], 0.9, True, command,
            f"{stealing['utilisation']:.0%}, {fixed['utilisation']:.0%} on fixed lines"),
    ]  # fmt: skip


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--links", type=int, default=200)
    made.add_argument("--heavy", choices=LINES, default="yt_comments")
    made.add_argument("--latency-ms", type=int, default=100)
    made.add_argument("--workers", type=int, default=8)
    made.add_argument("--policies", default="none,least,most,turn")
    return made


def main() -> None:
    options = parser().parse_args()
    with playground(options) as (replica, folder):
        print(f"{options.links} links, 90 % on {options.heavy}, {options.latency_ms} ms, {options.workers} workers")
        print("policy   links/min   against none   utilisation while work remains   overall   first   stolen   own CPU")
        base = None
        for policy in options.policies.split(","):
            found = measure(replica, folder, policy, options)
            rate = options.links / found["seconds"] * 60
            base = base or rate
            print(
                f"{policy:8} {rate:9.0f} {rate / base:14.2f} {found['utilisation']:32.0%} {found['overall']:9.0%}"
                f" {found['first']:5.2f} s {found['stolen']:8.0f} {found['cpu']:7.1f} s"
            )
            if found["exit"]:
                print(f"         it did not end well: exit code {found['exit']}")
        print("goals: at least 1.2 times the links per minute, 90 % utilisation, the first result no later")


if __name__ == "__main__":
    main()
