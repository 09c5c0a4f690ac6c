"""How near the transcripts spider comes to what its caps allow, and whether its memory grows with the list.

    python -m benchmarks.transcripts                 1,000 links at 100 ms: wall time over the bound
    python -m benchmarks.transcripts --memory        peak memory at 1,000 links over that at 100, without latency
    python -m benchmarks.transcripts --memory --links 10000

Both numbers of a ratio come from the same run. The bound is what the caps allow: the requests that the replica counted,
divided by those that may be in flight, times the latency. The CPU seconds of both processes are told beside it: on a
machine that is busy with other things, or too slow, they are what the ratio measures.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cost import Cost, cpu_of, crawl, write_links
from benchmarks.table import HEADER, Row
from research_scrapers.replica.launch import ReplicaProcess

CAP = 16
FEW = 100


def start_up(folder: Path) -> float:
    """Seconds that the command takes to start and end without work: they are not the crawl's."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "scrapy", "list"], cwd=folder, capture_output=True, check=True, env={
        **os.environ, "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    })  # fmt: skip
    return time.monotonic() - began


def speed(links: int, latency_ms: int) -> Row:
    """A run over so many links, over what the caps allow."""
    with (
        tempfile.TemporaryDirectory() as name,
        ReplicaProcess(
            "--videos", str(links), "--comments", "0-0", "--latency-ms", str(latency_ms), "--cache-pages", "20000"
        ) as replica,
    ):
        folder = Path(name)
        idle = start_up(folder)
        before = cpu_of(replica.pid)
        run = crawl(
            "yt_transcripts", replica, write_links(folder / "links.txt", replica.videos), folder / "research.db"
        )
        served = cpu_of(replica.pid) - before
        requests = replica.counters()["total"]
    found = re.search(r"run_.*: .*", run.text)
    bound = requests / CAP * latency_ms / 1000
    return Row(
        "T1", f"wall time of yt_transcripts over its bound, {latency_ms} ms", (run.seconds - idle) / bound, 1.15, False,
        f"python -m benchmarks.transcripts --links {links} --latency-ms {latency_ms}",
        f"{run.seconds - idle:.1f} s, {bound:.1f} s for {requests:,} requests",
        {"summary": found[0] if found else "", "start_up_s": idle, "cpu_s": run.cpu, "replica_cpu_s": served},
    )  # fmt: skip


def peak(links: int) -> Cost:
    """A run over so many links, without latency."""
    with tempfile.TemporaryDirectory() as name, ReplicaProcess("--videos", str(links), "--comments", "0-0") as replica:
        folder = Path(name)
        return crawl(
            "yt_transcripts", replica, write_links(folder / "links.txt", replica.videos), folder / "research.db"
        )


def memory(few: int, many: int) -> Row:
    small, large = peak(few), peak(many)
    return Row(
        "T2", f"memory of yt_transcripts, {many:,} links over {few:,}", large.peak_mb / small.peak_mb, 1.1, False,
        f"python -m benchmarks.transcripts --memory --links {many}",
        f"{large.peak_mb:.0f} MB, {small.peak_mb:.0f} MB; {large.seconds:.0f} s",
        {"anon_mb": [small.anon_mb, large.anon_mb]},
    )  # fmt: skip


def rows(quick: bool = False, many: int = 1_000) -> list[Row]:
    if quick:
        return [speed(10, 20), memory(5, 10)]
    return [speed(1_000, 100), memory(FEW, many)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--latency-ms", type=int, default=100)
    options = parser.parse_args()
    row = memory(FEW, options.links) if options.memory else speed(options.links, options.latency_ms)
    print(f"{HEADER}\n{row.line()}\n{row.figures}")


if __name__ == "__main__":
    main()
