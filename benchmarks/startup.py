"""How long a run takes to come back to work, with a long list and with a short one.

    python -m benchmarks.startup                     100,000 sub-jobs in the ledger over 100
    python -m benchmarks.startup --links 1000000

The first start takes the links in, and is killed as soon as its first request arrives at the replica. The starts that
are measured resume that run: from the start of the process to its first request, the median of several, each killed in
turn. Both clocks are the system's, so the replica's time of arrival can be compared with our time of departure.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cost import Failed, write_links
from benchmarks.table import Row, show
from research_scrapers.replica.launch import ReplicaProcess

FEW, MANY = 100, 100_000
STARTS = 5
_PATIENCE_S = 120.0
_CLI = ("-c", "from research_scrapers.cli.main import main; main()", "scrape")
COMMANDS = {
    "scrapy crawl": [("-m", "scrapy", "crawl", "yt_comments", "-a", "links=links.txt", "-s", "JOBDIR=job")] * 2,
    "research scrape": [(*_CLI, "--only", "yt_comments", "--links", "links.txt"), (*_CLI, "--resume", "last")],
}
"""Each as it begins a run, and as it resumes it."""


def first_request(replica: ReplicaProcess, folder: Path, command: Sequence[str]) -> float:
    """Seconds from the start of the process to its first request; then it is killed."""
    replica.reset()
    began = time.monotonic()
    with (folder / "printed.txt").open("w", encoding="utf-8") as printed:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, stdout=printed, stderr=printed, stdin=subprocess.DEVNULL,
            env={
                **os.environ, "RESEARCH_ORIGIN": replica.origin, "RESEARCH_DB": str(folder / "research.db"),
                "RESEARCH_ROBOTS": "ignore", "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
            },
        )  # fmt: skip
        try:
            while not replica.counters()["total"]:
                if process.poll() is not None or time.monotonic() - began > _PATIENCE_S:
                    raise Failed(f"no request came\n{(folder / 'printed.txt').read_text(encoding='utf-8')[-2000:]}")
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
    at: float = replica.counters(log=True)["log"][0][0]
    return at - began


def begin(replica: ReplicaProcess, folder: Path, links: int, command: Sequence[str]) -> float:
    """Begin a run over so many links. Only the first videos exist: no start lives long enough to ask for many."""
    invented = [f"{n:011d}" for n in range(links - len(replica.videos))]
    write_links(folder / "links.txt", [*replica.videos, *invented])
    return first_request(replica, folder, command)


def rows(quick: bool = False, links: int = MANY) -> list[Row]:
    made: list[Row] = []
    few, many = (20, 200) if quick else (FEW, links)
    with ReplicaProcess("--videos", "20", "--comments", "40-40") as replica:
        for letter, (name, (anew, again)) in zip("ab", COMMANDS.items(), strict=True):
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                folders = (Path(one), Path(other))
                begun = [begin(replica, *where, anew) for where in zip(folders, (few, many), strict=True)]
                # In turn, so that whatever else the machine does falls on both.
                taken = [
                    [first_request(replica, where, again) for where in folders] for _ in range(1 if quick else STARTS)
                ]
            short, long = (statistics.median(side) for side in zip(*taken, strict=True))
            made.append(Row(
                f"6{letter}", f"start-up of {name}, {many:,} sub-jobs over {few:,}", long / short, None, False,
                f"python -m benchmarks.startup --links {many}",
                f"{long:.2f} s, {short:.2f} s; with the links to be read {begun[1]:.1f} s, {begun[0]:.2f} s",
                {"sub_jobs": [few, many], "resumed_s": [short, long], "begun_s": begun},
            ))  # fmt: skip
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=MANY)
    show(rows(links=parser.parse_args().links))


if __name__ == "__main__":
    main()
