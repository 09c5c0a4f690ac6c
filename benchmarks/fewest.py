"""Rows 4b to 4d: requests over the fewest that the protocol allows. For YouTube comments see `benchmarks.bound`.

    python -m benchmarks.fewest

The fewest are computed from the replica's truth. A YouTube transcript: the watch page, the player, the text. Bilibili:
three requests of a run for its visit, and the view of each video; then of comments their threads by 20 and, where more
replies are there than the three that are shown already, these by 20; of danmaku their view, each segment of six minutes
and the XML file, for none of the three has all; of transcripts the player and the text.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks.table import Row, show
from research_scrapers.replica.launch import ReplicaProcess

COMMAND = "python -m benchmarks.fewest"
LOGIN = "replica-sessdata"
VISIT, BY, SHOWN = 3, 20, 3


def requests(replica: ReplicaProcess, spider: str, videos: list[str], folder: Path) -> int:
    """How many requests a run of the spider makes."""
    replica.reset()
    links = folder / "links.txt"
    links.write_text("".join(f"{video}\n" for video in videos), encoding="utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"links={links}", "-s", "DOMAIN_RATE=0"]
    environment = {
        **os.environ, "RESEARCH_ORIGIN": replica.origin, "RESEARCH_DB": str(folder / f"{spider}.db"),
        "RESEARCH_ROBOTS": "ignore", "BILIBILI_SESSDATA": LOGIN, "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    }  # fmt: skip
    fast = ["-s", "DOMAIN_RATES=bilibili.com=0", "-s", "DOMAIN_CONCURRENCY=bilibili.com=16"]
    subprocess.run([*command, *fast], env=environment, cwd=folder, capture_output=True, check=True)
    return int(replica.counters()["total"])


def of_bilibili(truth: dict[str, Any]) -> int:
    """The fewest requests for comments and danmaku of one video, its view included."""
    parents = truth["comments"]["logged_in"]

    def root(comment: str) -> str:
        while parents[comment] is not None:
            comment = parents[comment]
        return comment

    replies = Counter(root(comment) for comment, parent in parents.items() if parent is not None)
    threads = sum(ceil(count / BY) for count in replies.values() if count > SHOWN)
    roots = sum(parent is None for parent in parents.values())
    danmaku = sum(1 + part["segments"] + 1 for part in truth["parts"])
    return 1 + max(ceil(roots / BY), 1) + threads + danmaku


def rows(quick: bool = False) -> list[Row]:
    """One run of each of the three spiders."""
    videos = 2 if quick else 20
    youtube: dict[str, Any] = {"comments": 0, "tracks": [["en", "manual"]]}
    bilibili = {"site": "bilibili", "comments": 90, "danmaku": 100, "tracks": [["zh-CN", "human"]]}
    with (
        tempfile.TemporaryDirectory() as name,
        ReplicaProcess("--videos", "0", spec=[youtube] * videos + [bilibili] * videos) as replica,
    ):
        folder = Path(name)
        of_comments = VISIT + sum(of_bilibili(replica.truth(video, texts=False)) for video in replica.bili_videos)
        return [
            _row("4b", "YouTube transcripts", requests(replica, "yt_transcripts", replica.videos, folder), 3 * videos),
            _row("4c", "Bilibili comments and danmaku",
                 requests(replica, "bili_comments", replica.bili_videos, folder), of_comments),
            _row("4d", "Bilibili transcripts",
                 requests(replica, "bili_transcripts", replica.bili_videos, folder), VISIT + 3 * videos),
        ]  # fmt: skip


def _row(number: str, what: str, made: int, least: int) -> Row:
    what = f"requests over the fewest: {what}"
    return Row(number, what, made / least, 1.0, False, COMMAND, f"{made:,} over {least:,}")


def main() -> None:
    show(rows())


if __name__ == "__main__":
    main()
