"""The replica that rounds work against, what it holds, and the commands that collect it."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from research_scrapers.providers import providers
from research_scrapers.replica.launch import ReplicaProcess

_TRACKS = [["en", "manual"], ["en", "asr"], ["de", "manual"]]
_SUBTITLES = [["zh-CN", "human"], ["ai-zh", "ai"]]
_KINDS = {"human": "manual", "ai": "asr"}
LATENCY_S = 0.012
SEGMENT = "\x1e"
"""Between the segments of a transcript, where one text stands for them all."""
SPEC: list[dict[str, Any]] = [
    {"comments": 45, "tracks": _TRACKS},
    {"comments": 8, "tracks": _TRACKS[1:]},
    {"comments": 3, "state": "private"},
    {"site": "bilibili", "comments": 26, "danmaku": 40, "parts": 2, "seconds": 500, "tracks": _SUBTITLES},
    {"site": "bilibili", "comments": 9, "danmaku": 15, "seconds": 300, "tracks": _SUBTITLES[:1]},
]
PRIVATE = {("youtube", 2)}
"""Site and number of the videos that nobody may read."""

Found = dict[str, list[tuple[Any, ...]]]
"""Kind of record → what identifies each, with what it must say."""


class World:
    """A replica and its truth."""

    def __init__(self, replica: ReplicaProcess) -> None:
        self.replica = replica
        self.videos = {"youtube": replica.videos, "bilibili": replica.bili_videos}
        self.private = {self.videos[site][number] for site, number in PRIVATE}
        known = providers()
        links = [known[site].link(video) for site, videos in self.videos.items() for video in videos]
        truths = {video: replica.truth(video) for videos in self.videos.values() for video in videos}
        short = truths[replica.bili_videos[0]]["short"]
        self.links = [*links, links[0], short, "this line names no video"]
        self._of = {"youtube": _youtube, "bilibili": _bilibili}
        self._truths = truths

    def truth(self, parts: Iterable[tuple[str, str]]) -> Found:
        """What must be stored of these sites and kinds, sorted."""
        found: Found = {}
        for site, kind in parts:
            for video in self.videos[site]:
                if video not in self.private:
                    found.setdefault(kind, []).extend(self._of[site](video, self._truths[video], kind))
        return {kind: sorted(rows) for kind, rows in found.items()}


def start() -> ReplicaProcess:
    return ReplicaProcess("--videos", "0", "--robots", "open", "--latency-ms", str(LATENCY_S * 1000), spec=SPEC)


def _youtube(video: str, truth: dict[str, Any], kind: str) -> Iterable[tuple[Any, ...]]:
    if kind == "comments":
        return [(video, comment, parent or "") for comment, parent in truth["parents"].items()]
    return [
        (video, 1, track["language"], track["kind"], SEGMENT.join(text for _, _, text in track["segments"]))
        for track in truth["tracks"]
    ]


def _bilibili(video: str, truth: dict[str, Any], kind: str) -> Iterable[tuple[Any, ...]]:
    if kind == "comments":
        return [(video, comment, parent or "") for comment, parent in truth["comments"]["logged_in"].items()]
    if kind == "danmaku":
        return [
            (video, str(part["cid"]), one) for part in truth["parts"] for one in part["danmaku"]["logged_in"]
        ]  # fmt: skip
    return [
        (video, number, track["language"].removeprefix("ai-"), _KINDS[track["kind"]],
         SEGMENT.join(text for _, _, text in track["segments"]))
        for number, part in enumerate(truth["parts"], 1)
        for track in part["subtitles"]["logged_in"]
    ]  # fmt: skip


# -- commands ------------------------------------------------------------------------------------------------------

_QUICK = {
    "DOMAIN_RATE": "0", "TRANSLATION_RATE": "0", "BREAKER_COOLDOWN_S": "0.05", "RETRY_BACKOFF_CAP_S": "0.05",
    "DOWNLOAD_TIMEOUT": "3", "DOMAIN_CONCURRENCY": "bilibili.com=6,hdslb.com=4",
}  # fmt: skip
"""The replica has no feelings."""


@dataclass(frozen=True)
class Target:
    """A command, and what it is to collect."""

    name: str
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def feeds(self) -> bool:
        return self.name in SPIDERS

    def command(self, folder: Path, settings: dict[str, str]) -> list[str]:
        """What a person types, at first and to go on."""
        told = [part for name, value in {**_QUICK, **settings}.items() for part in ("-s", f"{name}={value}")]
        tracks = ["-a", "tracks=all"] if self.name not in ("yt_comments", "bili_comments") else []
        if self.feeds:
            return [sys.executable, "-m", "scrapy", "crawl", self.name, "-a", "links=links.txt", "-o", "out.jsonl",
                    "-s", "JOBDIR=job", *tracks, *told]  # fmt: skip
        resume = ["--resume", "last"] if _begun(folder / "research.db") else []
        return ["research", "scrape", *resume, "--links", "links.txt", *tracks, *told]


def _begun(db: Path) -> bool:
    """Whether there is a run to go on with."""
    try:
        with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as conn:
            return bool(conn.execute("SELECT 1 FROM runs").fetchone())
    except sqlite3.Error:
        return False


SPIDERS = {
    "yt_comments": (("youtube", "comments"),),
    "yt_transcripts": (("youtube", "transcripts"),),
    "bili_comments": (("bilibili", "comments"), ("bilibili", "danmaku")),
    "bili_transcripts": (("bilibili", "transcripts"),),
}
TARGETS = {
    "scrape": Target("scrape", tuple(part for parts in SPIDERS.values() for part in parts)),
    **{name: Target(name, parts) for name, parts in SPIDERS.items()},
}


def environment(origin: str) -> dict[str, str]:
    """A person with a login, who has set nothing else."""
    ours = ("RESEARCH_", "YOUTUBE_", "BILIBILI_", "COVERAGE", "PYTEST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "RESEARCH_ORIGIN": origin, "BILIBILI_SESSDATA": "replica-sessdata", "RESEARCH_DB": "research.db",
            "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings"}  # fmt: skip
