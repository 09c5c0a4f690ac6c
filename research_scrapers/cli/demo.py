"""``research demo``: the real spider against a replica on this machine, so that anyone can see it work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from research_scrapers.replica.launch import ReplicaProcess


def run_demo(folder: Path, latency_ms: int) -> int:
    """Start the replica, crawl it with the ordinary command, and say where the data is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    links, db, feed = folder / "links.txt", folder / "research.db", folder / "out.jsonl"
    with ReplicaProcess("--demo", "--robots", "open", "--latency-ms", str(latency_ms)) as replica:
        links.write_text(
            "# The demo's videos: a replica on this machine plays YouTube.\n"
            + "".join(f"https://www.youtube.com/watch?v={video}\n" for video in replica.videos)
            + "https://www.youtube.com/@a-channel   # not a video: told, and never in the way\n",
            encoding="utf-8",
        )
        command = ["crawl", "yt_comments", "-a", f"links={links}", "-s", f"JOBDIR={folder / 'jobdir'}", "-o", str(feed)]
        print(
            f"A replica of YouTube answers at {replica.origin}. Running:\n\n  scrapy {' '.join(command)}\n", flush=True
        )
        environment = {
            **os.environ,
            "RESEARCH_ORIGIN": replica.origin,
            "RESEARCH_DB": str(db),
            "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
            "YOUTUBE_API_KEY": "",
        }
        crawl = [sys.executable, "-m", "scrapy", *command]
        status = subprocess.run(crawl, env=environment, check=False).returncode  # noqa: S603
    if not status:
        print(
            f"The comments are in {db} and, one a line, in {feed}. Look around:\n",
            f" sqlite-utils {db} 'select video_id, author_name, text from comments limit 5' -t\n",  # noqa: S608
            f" research coverage --db {db}",
        )
    return status
