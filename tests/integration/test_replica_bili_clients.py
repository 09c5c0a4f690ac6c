"""Programs written by others read Bilibili from the replica without loss."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research_scrapers.replica.launch import ReplicaProcess

pytest.importorskip("yt_dlp")
pytest.importorskip("bilibili_api")

LIBRARY = """
import asyncio, json, sys
from bilibili_api import Credential, request_settings, select_client, video
from bilibili_api.comment import Comment, CommentResourceType, OrderType, get_comments_lazy
from bilibili_api.utils.network import Api

VIDEO = CommentResourceType.VIDEO

async def comments(aid, order, credential):
    found, offset = {}, ""
    while True:
        page = await get_comments_lazy(aid, VIDEO, offset, order, credential=credential)
        for root in [*(page["replies"] or []), *(page["top_replies"] or [])]:
            found[root["rpid"]] = None
            number = 1
            while root["rcount"]:
                below = await Comment(aid, VIDEO, root["rpid"], credential).get_sub_comments(number, 20)
                found |= {reply["rpid"]: str(reply["parent"]) for reply in below["replies"] or []}
                if number * below["page"]["size"] >= below["page"]["count"]:
                    break
                number += 1
        if page["cursor"]["is_end"]:
            return found
        offset = page["cursor"]["pagination_reply"]["next_offset"]

async def main():
    select_client("aiohttp")
    request_settings.set_proxy(sys.argv[2])
    credential = Credential(sessdata="replica-sessdata", bili_jct="0")
    wanted = video.Video(sys.argv[1], credential=credential)
    about = await wanted.get_info()
    parts = []
    for number, page in enumerate(about["pages"]):
        tracks = []
        for track in (await wanted.get_subtitle(page["cid"]))["subtitles"]:
            body = await Api(url="https:" + track["subtitle_url"], method="GET").request(raw=True)
            tracks.append([track["lan"], [[line["from"], line["to"], line["content"]] for line in body["body"]]])
        parts.append({
            "cid": page["cid"],
            "xml": await wanted.get_danmaku_xml(number),
            # Out of the tail of a segment it makes danmaku without id, from recorded segments too.
            "danmaku": [str(d.id_) for d in await wanted.get_danmakus(number) if d.id_ != -1],
            "special": [str(danmaku.id_) for danmaku in await wanted.get_special_dms(number)],
            "segments": (await wanted.get_danmaku_view(number))["dm_seg"]["total"],
            "tracks": tracks,
        })
    aid = about["aid"]
    print(json.dumps({
        "newest": await comments(aid, OrderType.TIME, credential),
        "hottest": await comments(aid, OrderType.LIKE, credential),
        "parts": parts,
    }))

asyncio.run(main())
"""
YT_DLP = """
import json, sys, yt_dlp
options = {
    "skip_download": True, "getcomments": True, "ignore_no_formats_error": True, "quiet": True,
    "noprogress": True, "cachedir": False, "proxy": sys.argv[2], "retries": 1, "extractor_retries": 1,
    "writesubtitles": True, "cookiefile": sys.argv[3], "compat_opts": {"no-certifi"},  # trust SSL_CERT_FILE
}
with yt_dlp.YoutubeDL(options) as ydl:
    info = ydl.extract_info("https://www.bilibili.com/video/" + sys.argv[1], download=False)
    entries = [*info["entries"]] if "entries" in info else [info]
    for entry in entries:
        address = entry["subtitles"]["danmaku"][0]["url"]
        entry["xml"] = ydl.urlopen(address).read().decode("latin-1")
print(json.dumps([{
    "title": entry["title"], "comments": entry["comments"], "xml": entry["xml"],
    "tracks": {name: [t["data"] for t in found] for name, found in entry["subtitles"].items() if name != "danmaku"},
} for entry in entries]))
"""
TRACKS = [["zh-CN", "human"], ["en-US", "human"], ["ai-zh", "ai"], ["ai-en", "translated"], ["ai-ja", "translated"]]
VIDEOS: dict[str, dict[str, Any]] = {
    "plain": {"comments": 50, "tracks": TRACKS},
    "parts": {
        "comments": 25, "parts": 3, "seconds": 1300, "empty_segments": [2], "special": 4,
        "tracks": [["ai-zh", "ai"]],
    },
    "busy": {"comments": 30, "busy": [2, 63], "short_pages": True, "plain_human": True},
    "old_cursors": {"comments": 70, "offsets": "json", "old_aid": True, "segment_tail": False},
    "empty_end": {"comments": 41, "end": "empty", "null_replies": False, "past_end": "empty"},
    "few_replies": {"comments": 45, "replies": [1, 3], "pinned": False, "tracks": TRACKS},
    "anthology": {"comments": 5, "replies": [1, 3], "parts": 2, "tracks": TRACKS[:3], "pinned": False},
    "none": {"comments": 0, "danmaku": 0, "tracks": []},
}  # fmt: skip
NAMES = list(VIDEOS)


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    spec = [{"site": "bilibili", **settings} for settings in VIDEOS.values()]
    with ReplicaProcess("--bili-buvid", spec=spec) as process:
        yield process


@pytest.fixture
def cookies(tmp_path: Path) -> str:
    path = tmp_path / "cookies.txt"
    line = "\t".join((".bilibili.com", "TRUE", "/", "FALSE", "2147483647", "SESSDATA", "replica-sessdata"))
    path.write_text(f"# Netscape HTTP Cookie File\n{line}\n", encoding="utf-8")
    return str(path)


def run(script: str, replica: ReplicaProcess, name: str, *arguments: str) -> tuple[Any, dict[str, Any]]:
    bvid = replica.bili_videos[NAMES.index(name)]
    done = subprocess.run(
        [sys.executable, "-c", script, bvid, replica.proxy, *arguments],
        env=replica.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1]), replica.truth(bvid)


def xml_ids(text: str) -> list[str]:
    return sorted(place.split(",")[7] for place in re.findall(r'<d p="([^"]*)"', text))


@pytest.mark.parametrize("name", ["plain", "parts", "busy", "old_cursors", "empty_end", "none"])
def test_bilibili_api_reads_everything(replica: ReplicaProcess, name: str) -> None:
    read, truth = run(LIBRARY, replica, name)
    assert read["newest"] == truth["comments"]["logged_in"]
    assert read["hottest"] == truth["comments"]["logged_in"]
    for part, true in zip(read["parts"], truth["parts"], strict=True):
        assert part["cid"] == true["cid"]
        assert part["segments"] == true["segments"]
        assert sorted(part["danmaku"]) == true["danmaku"]["segments"]
        assert sorted(part["special"]) == true["danmaku"]["special"]
        assert xml_ids(part["xml"]) == true["danmaku"]["xml"]
        assert part["tracks"] == [[t["language"], t["segments"]] for t in true["subtitles"]["logged_in"]]


def clock(text: str) -> float:
    hours, minutes, seconds = text.replace(",", ".").split(":")
    return round(int(hours) * 3600 + int(minutes) * 60 + float(seconds), 3)


@pytest.mark.parametrize("name", ["few_replies", "anthology"])
def test_yt_dlp_reads_what_it_asks_for(replica: ReplicaProcess, cookies: str, name: str) -> None:
    """It takes replies from the previews only: these threads have no more than fit there."""
    entries, truth = run(YT_DLP, replica, name, cookies)
    for entry, true in zip(entries, truth["parts"], strict=True):
        assert truth["title"] in entry["title"]
        found = {str(c["id"]): None if c["parent"] == "root" else str(c["parent"]) for c in entry["comments"]}
        assert found == truth["comments"]["logged_in"]
        assert {str(c["id"]): c["text"] or "" for c in entry["comments"]} == truth["texts"]
        assert xml_ids(entry["xml"]) == true["danmaku"]["xml"]
        assert list(entry["tracks"]) == [track["language"] for track in true["subtitles"]["logged_in"]]
        for track in true["subtitles"]["logged_in"]:
            (srt,) = entry["tracks"][track["language"]]
            times = re.findall(r"^([\d:,]{12}) --> ([\d:,]{12})$", srt, re.MULTILINE)
            assert [[clock(a), clock(b)] for a, b in times] == [line[:2] for line in track["segments"]]
            assert all(line[2] in srt for line in track["segments"])


def test_a_missing_comment_would_be_noticed(replica: ReplicaProcess) -> None:
    """Guards the tests above: after a change of the world the old truth no longer fits."""
    bvid = replica.bili_videos[NAMES.index("none")]
    before = replica.truth(bvid)["comments"]["logged_in"]
    made = replica.bilibili(video=bvid, op="add", count=2, text="新的 😀")
    made += replica.bilibili(video=bvid, op="reply", comment=made[0], text="回复")
    read, truth = run(LIBRARY, replica, "none")
    assert {*read["newest"]} - {*before} == {*made}
    assert read["newest"] == truth["comments"]["logged_in"]
