"""What a process costs, as the system counts it: the same yardstick for our spiders and for other people's programs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from research_scrapers.replica.launch import ReplicaProcess

_LOOK_S = 0.05
PACE_OFF = (
    "-s", "DOMAIN_RATE=0", "-s", "DOMAIN_RATES=bilibili.com=0,youtube.com=0",
    "-s", "DOMAIN_CONCURRENCY=bilibili.com=16",
)  # fmt: skip
"""The replica is ours, and what is measured is the program, not its patience."""


@dataclass(frozen=True)
class Cost:
    """What one process took from its start to its end."""

    seconds: float
    cpu: float
    """User and system time."""
    peak_mb: float
    """The most that it ever had in memory, with the files that it maps; looked at twenty times a second."""
    anon_mb: float
    """Of that its own data, without mapped files: the most that was seen."""
    text: str
    """What it printed."""


class Failed(Exception):
    """A program that is measured did not end well."""


def run(command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Cost:
    """Run a program to its end. Its modules may be kept compiled, as those of installed programs are."""
    env = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        began = time.monotonic()
        process = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)
        over, most = threading.Event(), {"VmHWM": 0.0, "RssAnon": 0.0}
        watcher = threading.Thread(target=_watch, args=(process.pid, over, most))
        watcher.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        over.set()
        watcher.join()
        printed.seek(0)
        text = printed.read()
    if process.returncode:
        raise Failed(f"exit code {process.returncode} of {' '.join(command)[:200]}\n{text[-2000:]}")
    return Cost(seconds, used.ru_utime + used.ru_stime, most["VmHWM"], most["RssAnon"], text)


def _watch(pid: int, over: threading.Event, most: dict[str, float]) -> None:
    """The system's own count of the most (`ru_maxrss`) would not do: a process inherits that of whoever started it."""
    status = Path(f"/proc/{pid}/status")
    while not over.wait(_LOOK_S):
        try:
            lines = status.read_text(encoding="utf-8").splitlines()
        except OSError:
            return
        for name, _, told in (line.partition(":") for line in lines):
            if name in most:
                most[name] = max(most[name], int(told.split()[0]) / 1024)


def crawl(spider: str, replica: ReplicaProcess, links: Path, db: Path, *flags: str) -> Cost:
    """Run one of our spiders to its end, without pace limits and robots.txt."""
    return run(
        [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"links={links}", *PACE_OFF, *flags],
        env={
            **os.environ, "RESEARCH_ORIGIN": replica.origin, "RESEARCH_DB": str(db), "RESEARCH_ROBOTS": "ignore",
            "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
        },
        cwd=links.parent,
    )  # fmt: skip


def write_links(path: Path, videos: Sequence[str]) -> Path:
    path.write_text("".join(f"{video}\n" for video in videos), encoding="utf-8")
    return path


def cpu_of(pid: int) -> float:
    """CPU seconds that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
