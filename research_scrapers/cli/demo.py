"""``research demo``: the real spiders against a replica on this machine, so that anyone can see them work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from research_scrapers.replica.launch import ReplicaProcess

_LOGIN = "replica-sessdata"
_CRAWLS = (
    ("YouTube comments", "yt_comments", ()),
    ("YouTube transcripts", "yt_transcripts", ()),
    # The real site is asked once a second; a replica has no feelings.
    ("Bilibili comments and danmaku, logged in", "bili_comments", ("-s", "DOMAIN_RATES=bilibili.com=0")),
    ("Bilibili subtitles, logged in", "bili_transcripts", ("-s", "DOMAIN_RATES=bilibili.com=0")),
)


def run_demo(folder: Path, latency_ms: int) -> int:
    """Start the replica, crawl it with the ordinary commands, and say where the data is."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    db = folder / "research.db"
    with ReplicaProcess("--demo", "--robots", "open", "--latency-ms", str(latency_ms)) as replica:
        youtube, bilibili = _write_links(folder, replica)
        print(f"A replica of YouTube and Bilibili answers at {replica.origin}.", flush=True)
        environment = {
            **os.environ,
            "RESEARCH_ORIGIN": replica.origin,
            "RESEARCH_DB": str(db),
            "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
            "YOUTUBE_API_KEY": "",
            "BILIBILI_SESSDATA": _LOGIN,
            "BILIBILI_COOKIES": "",
        }
        for title, spider, more in _CRAWLS:
            links, feed = bilibili if spider.startswith("bili") else youtube, folder / f"{spider}.jsonl"
            command = [
                "crawl",
                spider,
                "-a",
                f"links={links}",
                *more,
                "-s",
                f"JOBDIR={folder / spider}",
                "-o",
                str(feed),
            ]
            print(f"\n{title}:\n\n  scrapy {' '.join(command)}\n", flush=True)
            crawl = [sys.executable, "-m", "scrapy", *command]
            status = subprocess.run(crawl, env=environment, check=False).returncode  # noqa: S603
            if status:
                return status
    print(
        f"Everything is in {db} and, one record a line, in {folder}/*.jsonl. Look around:\n\n",
        f" sqlite-utils {db} 'select video_id, author_name, text from comments limit 5' -t\n",  # noqa: S608
        f" sqlite-utils {db} 'select part, progress_ms, text from danmaku limit 5' -t\n",  # noqa: S608
        f" research runs --db {db}",
    )
    return 0


def _write_links(folder: Path, replica: ReplicaProcess) -> tuple[Path, Path]:
    youtube, bilibili = folder / "youtube.txt", folder / "bilibili.txt"
    youtube.write_text(
        "# The demo's videos: a replica on this machine plays YouTube.\n"
        + "".join(f"https://www.youtube.com/watch?v={video}\n" for video in replica.videos)
        + "https://www.youtube.com/@a-channel   # not a video: told, and never in the way\n",
        encoding="utf-8",
    )
    truths = [replica.truth(video, texts=False) for video in replica.bili_videos]
    series = [f"https://www.bilibili.com/bangumi/play/ep{one['ep_id']}\n" for one in truths if one["ep_id"]]
    bilibili.write_text(
        "# And Bilibili: video pages, a short link, an episode of a series.\n"
        + "".join(f"https://www.bilibili.com/video/{one['bvid']}/\n" for one in truths if not one["ep_id"])
        + "".join(series)
        + f"{truths[3]['short']}   # the same video as one above: it is read once\n"
        + "https://space.bilibili.com/1   # not a video\n",
        encoding="utf-8",
    )
    return youtube, bilibili
