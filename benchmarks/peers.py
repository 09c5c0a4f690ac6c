"""What the same comments cost other programs: wall and CPU seconds for each thousand, on the same replica.

    python -m benchmarks.peers                       every peer, without latency and at 50 ms
    python -m benchmarks.peers --peers yt-dlp --latencies 50

Every program is a process of its own, reads the same list of links in one go, and comes to the replica as to the
internet: through its https proxy, with TLS. Start-up counts, on both sides. Peers run as their manuals say, one video
after the other, without the pauses that they can be told to leave out; our pace limits are off and robots.txt is
ignored. Ours stores in its database and waits for the disk; peers write files. Both must have found the same ids.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from benchmarks.cost import PACE_OFF, Cost, Failed, run, write_links
from benchmarks.table import Row, show
from research_scrapers.replica.launch import ReplicaProcess

VIDEOS = 10
LATENCIES_MS = (0, 50)
LOGIN = "replica-sessdata"
_DOWNLOADER = """
import json, sys
from youtube_comment_downloader import YoutubeCommentDownloader
downloader = YoutubeCommentDownloader()
with open("comments.jsonl", "w", encoding="utf-8") as file:
    for video in open(sys.argv[1]).read().split():
        for comment in downloader.get_comments(video, sleep=0):
            print(json.dumps(comment, ensure_ascii=False), file=file)
"""
_BILIBILI = """
import asyncio, json, sys
from bilibili_api import Credential, request_settings, select_client, video
from bilibili_api.comment import Comment, CommentResourceType, OrderType, get_comments_lazy

VIDEO = CommentResourceType.VIDEO

async def comments(aid, credential):
    offset = ""
    while True:
        page = await get_comments_lazy(aid, VIDEO, offset, OrderType.TIME, credential=credential)
        for root in [*(page["replies"] or []), *(page["top_replies"] or [])]:
            yield root
            number = 1
            while root["rcount"]:
                below = await Comment(aid, VIDEO, root["rpid"], credential).get_sub_comments(number, 20)
                for reply in below["replies"] or []:
                    yield reply
                if number * below["page"]["size"] >= below["page"]["count"]:
                    break
                number += 1
        if page["cursor"]["is_end"]:
            return
        offset = page["cursor"]["pagination_reply"]["next_offset"]

async def main():
    select_client("aiohttp")
    request_settings.set_proxy(sys.argv[2])
    credential = Credential(sessdata=sys.argv[3], bili_jct="0")
    with open("found.jsonl", "w", encoding="utf-8") as file:
        for name in open(sys.argv[1]).read().split():
            wanted = video.Video(name, credential=credential)
            about = await wanted.get_info()
            async for comment in comments(about["aid"], credential):
                print(json.dumps(comment, ensure_ascii=False), file=file)
            for number in range(len(about["pages"])):
                for danmaku in await wanted.get_danmakus(number):
                    if danmaku.id_ != -1:  # what it makes out of a segment's tail
                        print(json.dumps(vars(danmaku), ensure_ascii=False), file=file)
                # The pool holds others than the segments do: ours reads both.
                print(json.dumps({"xml": await wanted.get_danmaku_xml(number)}, ensure_ascii=False), file=file)

asyncio.run(main())
"""


@dataclass(frozen=True)
class Peer:
    """Another program, and how to read what it found."""

    name: str
    spider: str
    """Ours, which does the same."""
    command: Callable[[ReplicaProcess, Path], list[str]]
    ids: Callable[[Path], list[str]]


def _yt_dlp(replica: ReplicaProcess, links: Path) -> list[str]:
    return [
        sys.executable, "-m", "yt_dlp", "--ignore-config", "--skip-download", "--write-comments", "--write-info-json",
        "--ignore-no-formats-error", "--no-cache-dir", "--compat-options", "no-certifi", "--no-progress", "--quiet",
        "--no-warnings", "--output", "%(id)s", "--proxy", replica.proxy, "--batch-file", str(links),
    ]  # fmt: skip


def _ids_of_yt_dlp(folder: Path) -> list[str]:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.info.json")]
    return [comment["id"] for info in files for comment in info["comments"]]


def _lines(path: Path) -> list[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _ids_of_bilibili_api(folder: Path) -> list[str]:
    lines = _lines(folder / "found.jsonl")
    pools = [re.findall(r'<d p="(?:[^",]*,){7}(\d+)', str(line.get("xml", ""))) for line in lines]
    return [*chain(*pools), *(str(line.get("rpid") or line["id_"]) for line in lines if "xml" not in line)]


PEERS = (
    Peer("yt-dlp", "yt_comments", _yt_dlp, _ids_of_yt_dlp),
    Peer(
        "youtube-comment-downloader", "yt_comments",
        lambda replica, links: [sys.executable, "-c", _DOWNLOADER, str(links)],
        lambda folder: [str(line["cid"]) for line in _lines(folder / "comments.jsonl")],
    ),
    Peer(
        "bilibili-api-python", "bili_comments",
        lambda replica, links: [sys.executable, "-c", _BILIBILI, str(links), replica.proxy, LOGIN],
        _ids_of_bilibili_api,
    ),
)  # fmt: skip


def ours(spider: str, replica: ReplicaProcess, links: Path) -> Cost:
    """Our spider, by the way that the peers take."""
    return run(
        [sys.executable, "-m", "scrapy", "crawl", spider, "-a", f"links={links}", *PACE_OFF],
        env={
            **replica.environment(), "RESEARCH_DB": str(links.parent / "research.db"), "RESEARCH_ROBOTS": "ignore",
            "BILIBILI_SESSDATA": LOGIN, "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
        },
        cwd=links.parent,
    )  # fmt: skip


def _ids_of_ours(folder: Path) -> list[str]:
    conn = sqlite3.connect(folder / "research.db")
    found = [
        *conn.execute("SELECT comment_id FROM comments"),
        *conn.execute("SELECT danmaku_id FROM danmaku"),
    ]
    conn.close()
    return list(chain.from_iterable(found))


def compare(peer: Peer, replica: ReplicaProcess, videos: Sequence[str]) -> tuple[Cost, Cost, int]:
    """What the peer took, what we took, and how many records both have found."""
    with tempfile.TemporaryDirectory() as name:
        theirs, mine = Path(name, "theirs"), Path(name, "ours")
        for folder in (theirs, mine):
            folder.mkdir()
            write_links(folder / "links.txt", videos)
        us = ours(peer.spider, replica, mine / "links.txt")
        them = run(peer.command(replica, theirs / "links.txt"), env=replica.environment(), cwd=theirs)
        found, wanted = peer.ids(theirs), _ids_of_ours(mine)
    if len(wanted) != len({*wanted}) or {*found} != {*wanted} or not wanted:
        raise Failed(
            f"{peer.name} and {peer.spider} disagree: {len({*found} - {*wanted})} ids are only theirs,"
            f" {len({*wanted} - {*found})} only ours"
        )
    return them, us, len(wanted)


def world(videos: int, comments: int) -> list[dict[str, object]]:
    youtube: dict[str, object] = {"comments": comments * 2 // 5, "tracks": []}
    bilibili: dict[str, object] = {
        "site": "bilibili", "comments": comments * 2 // 5, "danmaku": comments // 2, "tracks": [],
    }  # fmt: skip
    return [dict(one) for one in (youtube, bilibili) for _ in range(videos)]


def rows(
    quick: bool = False, peers: Sequence[str] = tuple(peer.name for peer in PEERS),
    latencies: Sequence[int] = LATENCIES_MS, videos: int = VIDEOS,
) -> list[Row]:  # fmt: skip
    if quick:
        latencies, videos = (0,), 2
    made: list[Row] = []
    warm: set[str] = set()
    with ReplicaProcess("--cache-pages", "20000", spec=world(videos, 50 if quick else 500)) as replica:
        for peer in PEERS:
            if peer.name not in peers:
                continue
            links = replica.videos if peer.spider.startswith("yt") else replica.bili_videos
            command = f"python -m benchmarks.peers --peers {peer.name}"
            if peer.spider not in warm:  # whoever comes first waits for the pages that the replica keeps from then on
                warm.add(peer.spider)
                with tempfile.TemporaryDirectory() as name:
                    ours(peer.spider, replica, write_links(Path(name, "links.txt"), links))
            for latency in latencies:
                replica.latency(latency / 1000)
                them, us, records = compare(peer, replica, links)
                for what, theirs, mine in (("wall", them.seconds, us.seconds), ("CPU", them.cpu, us.cpu)):
                    if what == "CPU" and latency != latencies[0]:
                        continue  # waiting costs none
                    made.append(Row(
                        f"8{chr(ord('a') + len(made))}", f"{what} time of {peer.name} over ours, {latency} ms",
                        theirs / mine, 1.0, True, command,
                        f"{theirs / records * 1000:.2f} s, {mine / records * 1000:.2f} s for 1,000 of {records:,}",
                        {"records": records, "videos": len(links), "theirs_s": theirs, "ours_s": mine},
                    ))  # fmt: skip
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default=",".join(peer.name for peer in PEERS))
    parser.add_argument("--latencies", default=",".join(map(str, LATENCIES_MS)), help="in ms")
    parser.add_argument("--videos", type=int, default=VIDEOS)
    options = parser.parse_args()
    latencies = [int(one) for one in options.latencies.split(",")]
    show(rows(peers=options.peers.split(","), latencies=latencies, videos=options.videos))


if __name__ == "__main__":
    main()
