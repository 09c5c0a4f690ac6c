"""``research demo``: the real spider against a replica on this machine, so that anyone can see it work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def run_demo(folder: Path, latency_ms: int) -> int:
    """Start the replica, crawl it with the ordinary command, and say where the data is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    replica = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "research_scrapers.replica", "--demo", "--robots", "open", "--latency-ms",
         str(latency_ms), "--exit-with-parent"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert replica.stdout is not None
        ready = json.loads(replica.stdout.readline() or "{}")
        if "origin" not in ready:
            print("research: the replica did not start.", file=sys.stderr)
            return 1
        links, db = folder / "links.txt", folder / "research.db"
        links.write_text(
            "# The demo's videos: a replica on this machine plays YouTube.\n"
            + "".join(f"https://www.youtube.com/watch?v={video}\n" for video in ready["videos"])
            + "https://www.youtube.com/@a-channel   # not a video: told, and never in the way\n",
            encoding="utf-8",
        )
        command = [
            "crawl", "yt_comments", "-a", f"links={links}", "-s", f"JOBDIR={folder / 'jobdir'}", "-o",
            str(folder / "out.jsonl"),
        ]  # fmt: skip
        print(
            f"A replica of YouTube answers at {ready['origin']}. Running:\n\n  scrapy {' '.join(command)}\n", flush=True
        )
        environment = {
            **os.environ,
            "RESEARCH_ORIGIN": ready["origin"],
            "RESEARCH_DB": str(db),
            "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
            "YOUTUBE_API_KEY": "",
        }
        crawl = [sys.executable, "-m", "scrapy", *command]
        status = subprocess.run(crawl, env=environment, check=False).returncode  # noqa: S603
        if not status:
            print(
                f"The comments are in {db} and, one a line, in {folder / 'out.jsonl'}. Look around:\n",
                f" sqlite-utils {db} 'select video_id, author_name, text from comments limit 5' -t\n",  # noqa: S608
                f" research coverage --db {db}",
            )
        return status
    finally:
        assert replica.stdin is not None
        replica.stdin.close()
        replica.terminate()
        replica.wait()
