"""Does anything grow while `research scrape` works for a long time? Seen from outside, every second.

    python -m benchmarks.soak                           1,200 links at low rate, an hour
    python -m benchmarks.soak --minutes 10 --links 3000 the same kind of list, more of it in less time

The replica runs in a process of its own, and so does the ordinary command, with links of both sites: comments, replies,
danmaku, transcripts, videos that cannot be had, and now and then a passing fault. The pace is set so that the list
lasts the wanted time. The first quarter is warm-up; over the rest, what the process holds must stay flat, and answers
must not come later. At the end every id is compared with the replica's truth. Exit code 1: something grew, or is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import ProxyHandler, build_opener

from benchmarks.growth import HEADER, Limit, Point, Verdict, judge
from benchmarks.held import Held, held_by
from research_scrapers.replica.launch import ReplicaProcess

LOGIN = "replica-sessdata"
LATENCY_MS = 60
FAULTS = (
    {"action": "status", "status": 503, "probability": 0.004},
    {"action": "reset", "probability": 0.004},
    {"action": "truncate", "probability": 0.004},
)
LINKS_PER_MINUTE = 20
REQUESTS_PER_LINK = {"youtube.com": 9.7, "bilibili.com": 4.8, "hdslb.com": 0.4}
"""To each domain, by the length of the whole list; measured, so that the list lasts as long as it should."""
WARM_UP = 0.25
EVERY_S = 1.0
_MAIN = "from research_scrapers.cli.main import main; main()"
_METRICS = re.compile(r"metrics: (http://127\.0\.0\.1:(\d+)/metrics)")
_ROW = re.compile(r"(\w+)\{([^}]*)\} (\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_LEFT = {"research_sub_jobs": 1, "research_sub_jobs_done": -1}
_OPENER = build_opener(ProxyHandler({}))
_ENDED = ("success", "failed")


# -- the world -------------------------------------------------------------------------------------------------------


def world(links: int, seed: int) -> list[dict[str, Any]]:
    """Videos of both sites, in the same proportions wherever one looks."""
    chance = random.Random(seed)
    return [_youtube(number, chance) if number % 5 < 3 else _bilibili(number, chance) for number in range(links)]


def _youtube(number: int, chance: random.Random) -> dict[str, Any]:
    state = {10: "private", 31: "removed", 52: "comments_off"}.get(number % 60, "ok")
    video: dict[str, Any] = {"comments": chance.randint(5, 70), "state": state, "tracks": [["en", "manual"]]}
    return video | {0: {"nested": True}, 1: {"busy": [1, 30]}, 2: {"tracks": []}}.get(number // 5 % 8, {})


def _bilibili(number: int, chance: random.Random) -> dict[str, Any]:
    state = {13: "removed", 44: "private"}.get(number % 60, "ok")
    video: dict[str, Any] = {
        "site": "bilibili", "comments": chance.randint(5, 40), "danmaku": chance.randint(0, 80), "state": state,
        "tracks": [["zh-CN", "human"]],
    }  # fmt: skip
    return video | {0: {"parts": 2}, 1: {"busy": [1, 25]}, 2: {"tracks": []}}.get(number // 5 % 8, {})


def links_of(replica: ReplicaProcess, seed: int) -> list[str]:
    """One link per video, in an order of chance."""
    lines = [f"https://www.youtube.com/watch?v={video}" for video in replica.videos]
    lines += [f"https://www.bilibili.com/video/{video}" for video in replica.bili_videos]
    random.Random(seed).shuffle(lines)
    return lines


# -- watching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """How the process stood at one moment."""

    at: float
    held: Held
    told_ms: float
    """Until it had told its metrics: its event loop was busy elsewhere for no longer than this."""
    requests: float
    records: float
    ended: float
    left: dict[str, float]
    """Sub-jobs of each line that have not ended."""
    database_mb: float
    log_mb: float
    """The database's write-ahead log."""
    latency: dict[str, tuple[float, float]]
    """Of each endpoint: seconds until all its answers so far, and how many they were."""


@dataclass
class Watch:
    """Samples of one process at work on one database."""

    process: int
    database: Path
    metrics: str
    port: int
    samples: list[Sample] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def look(self) -> Sample | None:
        """One more sample; None when there is nothing to be seen any more."""
        asked = time.monotonic()
        try:
            with _OPENER.open(self.metrics, timeout=10) as answer:
                rows = list(_rows(answer.read().decode()))
        except OSError:
            return None
        told = time.monotonic()
        held = held_by(self.process, self.port)
        if held is None:
            return None
        total: dict[str, float] = defaultdict(float)
        left: dict[str, float] = defaultdict(float)
        latency: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for name, labels, value in rows:
            if name.startswith("research_latency_seconds_"):
                latency[labels["endpoint"]][name.endswith("_count")] += value
            else:
                total[name] += value
            if name in _LEFT:
                left[labels["line"]] += _LEFT[name] * value
        sample = Sample(
            told - self.began, held, (told - asked) * 1000, total["research_requests_total"],
            total["research_records_total"], total["research_sub_jobs_done"], dict(left),
            _mb(self.database), _mb(self.database.with_name(f"{self.database.name}-wal")),
            {endpoint: (seconds, count) for endpoint, (seconds, count) in latency.items()},
        )  # fmt: skip
        self.samples.append(sample)
        return sample


def _rows(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for name, labels, value in _ROW.findall(text):
        yield name, dict(_LABEL.findall(labels)), float(value)


def _mb(path: Path) -> float:
    return path.stat().st_size / 2**20 if path.exists() else 0.0


# -- judging ---------------------------------------------------------------------------------------------------------


def warmed_up(samples: list[Sample]) -> list[Sample]:
    """Those after the warm-up, while work was left."""
    busy = [sample for sample in samples if any(sample.left.values())]
    if not busy:
        return []
    begin = busy[0].at + WARM_UP * (busy[-1].at - busy[0].at)
    return [sample for sample in busy if sample.at >= begin]


def steady(samples: list[Sample]) -> list[Sample]:
    """The longest time during which the same lines had work: others hold other connections, and other numbers of them.
    The first quarter of it is left out again, for connections that nobody needs any more are closed only later.
    """
    spans = [list(span) for _, span in groupby(samples, lambda sample: {line for line, n in sample.left.items() if n})]
    longest = max(spans, key=len, default=[])
    return longest[int(len(longest) * WARM_UP) :]


def lateness(samples: list[Sample]) -> list[Point]:
    """How late answers came between two samples, against what is usual for their endpoints: 1 is as always."""
    pieces: list[tuple[float, str, float, float]] = []
    for before, after in pairwise(samples):
        for endpoint, (seconds, count) in after.latency.items():
            past, counted = before.latency.get(endpoint, (0.0, 0.0))
            if count > counted:
                pieces.append((after.at, endpoint, seconds - past, count - counted))
    means: dict[str, list[float]] = defaultdict(list)
    for _, endpoint, seconds, count in pieces:
        means[endpoint].append(seconds / count)
    usual = {endpoint: median(found) for endpoint, found in means.items()}
    sums: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for at, endpoint, seconds, count in pieces:
        sums[at][0] += seconds
        sums[at][1] += usual[endpoint] * count
    return [(at, took / expected) for at, (took, expected) in sums.items() if expected]


COUNT = Limit(least=2.0)
NUMBERS: tuple[tuple[str, str, Limit, Callable[[Sample], float]], ...] = (
    ("resident memory", "MB", Limit(0.05), lambda sample: sample.held.resident_mb),
    ("anonymous memory", "MB", Limit(0.05), lambda sample: sample.held.anonymous_mb),
    ("threads", "", COUNT, lambda sample: sample.held.threads),
    ("database per 1,000 records", "MB", Limit(0.05), lambda sample: sample.database_mb / sample.records * 1000),
    ("write-ahead log", "MB", Limit(least=4.0), lambda sample: sample.log_mb),
    ("time until metrics are told", "ms", Limit(0.1, 10.0), lambda sample: sample.told_ms),
)
"""Measured from the warm-up to the end."""
BY_WORK: tuple[tuple[str, str, Limit, Callable[[Sample], float]], ...] = (
    ("descriptors", "", COUNT, lambda sample: sample.held.descriptors),
    ("connections", "", COUNT, lambda sample: sample.held.connections),
)
"""These follow the work that is being done: measured while it is the same."""


def verdicts(samples: list[Sample]) -> list[Verdict]:
    """One for each number; none if too little was seen."""
    warm = warmed_up(samples)
    same = steady(warm)
    if len(same) <= 2:
        return []
    found = [
        judge(name, unit, [(sample.at, value(sample)) for sample in seen], limit)
        for numbers, seen in ((NUMBERS, warm), (BY_WORK, same))
        for name, unit, limit, value in numbers
    ]
    return [*found, judge("time to an answer, to the usual", "ratio", lateness(warm), Limit(0.1))]


# -- exactness -------------------------------------------------------------------------------------------------------


def inexact(replica: ReplicaProcess, database: Path) -> list[str]:
    """What is not as the replica knows it to be; empty: every record once, nothing else, and everything ended."""
    wanted: dict[str, set[tuple[str, str]]] = {"comments": set(), "danmaku": set(), "transcripts": set()}
    for video in replica.videos:
        truth = replica.truth(video, texts=False)
        wanted["comments"] |= {(video, one) for one in truth["parents"]}
        if truth["captions"] == "complete":
            wanted["transcripts"] |= {(video, track["language"]) for track in truth["tracks"]}
    for video in replica.bili_videos:
        truth = replica.truth(video, texts=False)
        wanted["comments"] |= {(video, one) for one in truth["comments"]["logged_in"]}
        for part in truth["parts"]:
            wanted["danmaku"] |= {(video, one) for one in part["danmaku"]["logged_in"]}
            if truth["state"] == "ok":
                wanted["transcripts"] |= {(video, track["language"]) for track in part["subtitles"]["logged_in"]}
    wrong = []
    with sqlite3.connect(database) as conn:
        for table, column in (("comments", "comment_id"), ("danmaku", "danmaku_id"), ("transcripts", "language")):
            rows = conn.execute(f"SELECT video_id, {column} FROM {table}").fetchall()
            found = set(rows)
            if found != wanted[table]:
                missing = wanted[table] - found
                wrong.append(f"{table}: {len(missing)} missing, {len(found - wanted[table])} too many")
                wrong += [
                    f"{table}: {video}: {_ends(conn, video)}" for video in sorted({video for video, _ in missing})
                ]
            if table != "transcripts" and len(rows) != len(found):
                wrong.append(f"{table}: {len(rows) - len(found)} twice")
        for status, count in conn.execute("SELECT status, count(*) FROM sub_jobs GROUP BY status"):
            if status not in _ENDED:
                wrong.append(f"sub-jobs: {count} are {status}")
        (bare,) = conn.execute("SELECT count(*) FROM sub_jobs WHERE status = 'failed' AND reason IS NULL").fetchone()
        if bare:
            wrong.append(f"sub-jobs: {bare} failed without a reason")
    conn.close()
    return wrong


def _ends(conn: sqlite3.Connection, video: str) -> str:
    """How the sub-jobs of a video ended."""
    rows = conn.execute(
        "SELECT kind, coalesce(outcome, status), reason, detail FROM sub_jobs WHERE video_id = ?", (video,)
    )
    return "; ".join(" ".join(str(one) for one in row if one) for row in rows)


# -- the run ---------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What a soak found."""

    minutes: float
    links: int
    exit_code: int
    verdicts: list[Verdict]
    inexact: list[str]
    samples: list[Sample]
    requests: dict[str, float]
    """To each domain, per link."""
    latency_ms: dict[str, float]

    @property
    def well(self) -> bool:
        return not self.exit_code and not self.inexact and bool(self.verdicts) and all(v.flat for v in self.verdicts)

    def told(self) -> str:
        """The table, and what it means."""
        lines = [HEADER, *(verdict.line() for verdict in self.verdicts)]
        if not self.verdicts:
            lines.append("NOTHING MEASURED: the run was too short")
        lines += [f"NOT EXACT: {one}" for one in self.inexact] or ["exact: ids equal the truth, every sub-job ended"]
        if self.exit_code:
            lines.append(f"EXIT CODE {self.exit_code}")
        return "\n".join(lines)

    def as_json(self) -> str:
        """Everything, with the samples."""
        return json.dumps({
            "well": self.well, "minutes": self.minutes, "links": self.links, "exit_code": self.exit_code,
            "inexact": self.inexact, "requests_per_link": self.requests, "latency_ms": self.latency_ms,
            "verdicts": [{**asdict(v), "growth": v.growth, "flat": v.flat} for v in self.verdicts],
            "samples": [{**asdict(sample), "latency": None} for sample in self.samples],
        }, indent=1)  # fmt: skip


def command(links: Path, count: int, minutes: float) -> list[str]:
    """The ordinary command, at the pace that makes the list last."""
    rates = ",".join(f"{domain}={need * count / minutes / 60:.3f}" for domain, need in REQUESTS_PER_LINK.items())
    return [
        sys.executable, "-c", _MAIN, "scrape", "--links", str(links), "--metrics-port", "0", "--plain",
        "-s", f"DOMAIN_RATES={rates}", "-s", "DOMAIN_BURST=4", "-s", "DOMAIN_CONCURRENCY=bilibili.com=8",
        "-s", "RETRY_TIMES=6", "-s", "RETRY_BACKOFF_CAP_S=2",
        "-s", "TRANSCRIPTS_PRIORITY_BOOST=1",  # all lines to the end, so that the mixture stays the same
    ]  # fmt: skip


def soak(minutes: float, links: int, seed: int, folder: Path, say: Callable[[str], None] = print) -> Result:
    """Run it to its end and judge what was seen."""
    with ReplicaProcess(
        "--videos", "0", "--robots", "open", "--seed", str(seed), "--latency-ms", str(LATENCY_MS),
        spec=world(links, seed),
    ) as replica:  # fmt: skip
        replica.faults(*FAULTS)
        (folder / "links.txt").write_text("\n".join(links_of(replica, seed)) + "\n", encoding="utf-8")
        database, log = folder / "research.db", folder / "log.txt"
        environment = {**os.environ, "RESEARCH_ORIGIN": replica.origin, "BILIBILI_SESSDATA": LOGIN,
                       "RESEARCH_DB": str(database), "RESEARCH_CONFIG": ""}  # fmt: skip
        with log.open("w") as stream, subprocess.Popen(
            command(folder / "links.txt", links, minutes), env=environment, cwd=folder, stdout=stream, stderr=stream
        ) as process:  # fmt: skip
            try:
                samples = _watch(process, log, database, minutes, say)
                code = process.wait(60)
            finally:
                process.kill()
        if code:
            say(log.read_text(encoding="utf-8", errors="replace")[-2000:])
        counters = replica.counters()
        return Result(
            minutes=samples[-1].at / 60 if samples else 0.0, links=links, exit_code=code,
            verdicts=verdicts(samples), inexact=inexact(replica, database), samples=samples,
            requests={domain: _asked(counters["by_path"], domain) / links for domain in REQUESTS_PER_LINK},
            latency_ms={
                endpoint: seconds / count * 1000 for endpoint, (seconds, count) in samples[-1].latency.items()
            } if samples else {},
        )  # fmt: skip


def _watch(
    process: subprocess.Popen[bytes], log: Path, database: Path, minutes: float, say: Callable[[str], None]
) -> list[Sample]:
    """Look every second until it ends, and say how it stands every minute."""
    watch: Watch | None = None
    began = said = time.monotonic()
    while process.poll() is None:
        time.sleep(EVERY_S)
        if time.monotonic() - began > minutes * 120 + 120:
            say("it takes more than twice as long as it should: stopped")
            process.terminate()
            break
        if watch is None:
            if found := _METRICS.search(log.read_text(encoding="utf-8", errors="replace")):
                watch = Watch(process.pid, database, found[1], int(found[2]))
            continue
        now = watch.look()
        if now is not None and time.monotonic() - said >= 60:
            said = time.monotonic()
            held, all_of_them = now.held, now.ended + sum(now.left.values())
            say(
                f"{now.at / 60:5.1f} min  {now.ended:.0f} of {all_of_them:.0f} sub-jobs  {now.requests:.0f} requests"
                f"  {now.records:.0f} records  {held.resident_mb:.1f} MB  {held.descriptors} descriptors"
                f"  {held.threads} threads  {held.connections} connections"
            )
    return watch.samples if watch is not None else []


def _asked(by_path: dict[str, int], domain: str) -> int:
    return sum(count for path, count in by_path.items() if path.split("/")[0].endswith(domain))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long it should take (default: 60)")
    parser.add_argument("--links", type=int, help=f"default: {LINKS_PER_MINUTE} a minute")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    options = parser.parse_args()
    links = options.links or max(round(options.minutes * LINKS_PER_MINUTE), LINKS_PER_MINUTE)
    print(f"{links} links in about {options.minutes:g} minutes; a line every minute", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        result = soak(options.minutes, links, options.seed, Path(folder), lambda text: print(text, flush=True))
    print(f"{result.links} links in {result.minutes:.1f} minutes, {len(result.samples)} samples")
    print(result.told())
    if options.json:
        options.json.write_text(result.as_json() + "\n", encoding="utf-8")
    return 0 if result.well else 1


if __name__ == "__main__":
    raise SystemExit(main())
