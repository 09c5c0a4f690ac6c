"""How near the transcripts spider comes to what its caps allow, and whether its memory grows with the list.

    python -m benchmarks.transcripts                 1,000 links at 100 ms: wall time over the bound
    python -m benchmarks.transcripts --memory        peak memory at 100, 1,000 and 10,000 links, without latency

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
from dataclasses import dataclass
from pathlib import Path

from research_scrapers.replica.launch import ReplicaProcess

CAP = 16


@dataclass
class Crawl:
    """What one run of the spider cost."""

    seconds: float
    cpu: float
    peak_mb: float
    summary: str


def crawl(replica: ReplicaProcess, videos: list[str], folder: Path, *flags: str) -> Crawl:
    """Run the spider to its end."""
    links = folder / "links.txt"
    links.write_text("".join(f"{video}\n" for video in videos), encoding="utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", "yt_transcripts", "-a", f"links={links}", *flags]
    environment = {
        **os.environ, "RESEARCH_ORIGIN": replica.origin, "RESEARCH_DB": str(folder / f"{len(videos)}.db"),
        "RESEARCH_ROBOTS": "ignore", "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    }  # fmt: skip
    printed = folder / "printed.txt"
    began = time.monotonic()
    with printed.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=file, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
    seconds, text = time.monotonic() - began, printed.read_text(encoding="utf-8")
    if status:
        raise SystemExit(text[-2000:])
    found = re.search(r"run_.*: .*", text)
    return Crawl(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, found[0] if found else "")


def cpu_of(pid: int) -> float:
    """CPU seconds that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
        before = cpu_of(replica.pid)
        run = crawl(replica, replica.videos, folder, "-s", "DOMAIN_RATE=0")
        served = cpu_of(replica.pid) - before
        requests = replica.counters()["total"]
        bound = requests / CAP * latency_ms / 1000
        print(run.summary)
        print(
            f"{links:,} links, {latency_ms} ms, {requests:,} requests: {run.seconds:.1f} s of which {idle:.1f} s"
            f" start-up; bound {bound:.1f} s; ratio {(run.seconds - idle) / bound:.2f} (goal 1.15);"
            f" CPU {run.cpu:.1f} s here, {served:.1f} s in the replica"
        )


def memory(*sizes: int) -> None:
    peaks = []
    for links in sizes:
        with (
            tempfile.TemporaryDirectory() as name,
            ReplicaProcess("--videos", str(links), "--comments", "0-0") as replica,
        ):
            run = crawl(replica, replica.videos, Path(name), "-s", "DOMAIN_RATE=0")
            peaks.append(run.peak_mb)
            print(f"{links:,} links: {run.seconds:.0f} s, peak memory {run.peak_mb:.0f} MB", flush=True)
    print(f"{sizes[-1]:,} links take {peaks[-1] / peaks[0]:.2f} times the memory of {sizes[0]:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--latency-ms", type=int, default=100)
    options = parser.parse_args()
    if options.memory:
        memory(100, 1_000, 10_000)
    else:
        speed(options.links, options.latency_ms)
