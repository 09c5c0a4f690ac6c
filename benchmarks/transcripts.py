"""How near the transcripts spider comes to what its caps allow, and whether its memory grows with the list.

    python benchmarks/transcripts.py                 1,000 links at 100 ms: wall time over the bound
    python benchmarks/transcripts.py --memory        peak memory at 100 and at 10,000 links

Both numbers of a ratio come from the same run. The bound is what the caps allow: the requests that the replica counted,
divided by those that may be in flight, times the latency.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from research_scrapers.replica.launch import ReplicaProcess

CAP = 16


def crawl(replica: ReplicaProcess, videos: list[str], folder: Path, *flags: str) -> tuple[float, str]:
    """Run the spider to its end; returns the seconds between its first and its last line, and what it printed."""
    links = folder / "links.txt"
    links.write_text("".join(f"{video}\n" for video in videos), encoding="utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", "yt_transcripts", "-a", f"links={links}", *flags]
    environment = {
        **os.environ, "RESEARCH_ORIGIN": replica.origin, "RESEARCH_DB": str(folder / f"{len(videos)}.db"),
        "RESEARCH_ROBOTS": "ignore", "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    }  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    return time.monotonic() - began, done.stderr


def start_up(folder: Path) -> float:
    """Seconds that the command takes to start and end without work: they are not the crawl's."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "scrapy", "list"], cwd=folder, capture_output=True, check=True, env={
        **os.environ, "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    })  # fmt: skip
    return time.monotonic() - began


def speed(links: int, latency_ms: int) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        ReplicaProcess(
            "--videos", str(links), "--comments", "0-0", "--latency-ms", str(latency_ms), "--cache-pages", "20000"
        ) as replica,
    ):
        folder = Path(name)
        idle = start_up(folder)
        seconds, printed = crawl(replica, replica.videos, folder, "-s", "DOMAIN_RATE=0")
        requests = replica.counters()["total"]
        bound = requests / CAP * latency_ms / 1000
        print(re.search(r"run_.*: .*", printed)[0])  # type: ignore[index]
        print(
            f"{links:,} links, {latency_ms} ms, {requests:,} requests: {seconds:.1f} s of which {idle:.1f} s start-up;"
            f" bound {bound:.1f} s; ratio {(seconds - idle) / bound:.2f} (goal 1.15)"
        )


def memory(small: int, large: int) -> None:
    peaks = []
    for links in (small, large):
        with (
            tempfile.TemporaryDirectory() as name,
            ReplicaProcess("--videos", str(links), "--comments", "0-0") as replica,
        ):
            crawl(replica, replica.videos, Path(name), "-s", "DOMAIN_RATE=0")
            peaks.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    print(
        f"peak memory: {peaks[0]:.0f} MB at {small:,} links, {peaks[1]:.0f} MB at {large:,}: {peaks[1] / peaks[0]:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--latency-ms", type=int, default=100)
    options = parser.parse_args()
    if options.memory:
        memory(100, 10_000)
    else:
        speed(options.links, options.latency_ms)
