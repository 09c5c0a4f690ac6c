"""The replica is believed only because programs written by others read it without loss."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from research_scrapers.replica.launch import ReplicaProcess

pytest.importorskip("yt_dlp")
pytest.importorskip("youtube_comment_downloader")

YT_DLP = """
import json, sys, yt_dlp
options = {
    "skip_download": True, "getcomments": True, "ignore_no_formats_error": True, "quiet": True,
    "noprogress": True, "cachedir": False, "proxy": sys.argv[2], "retries": 1,
    "extractor_retries": 1, "compat_opts": {"no-certifi"},  # trust SSL_CERT_FILE
}
with yt_dlp.YoutubeDL(options) as ydl:
    info = ydl.extract_info("https://www.youtube.com/watch?v=" + sys.argv[1], download=False)
print(json.dumps({
    "title": info.get("title"), "channel_id": info.get("channel_id"),
    "comments": info.get("comments"),
}))
"""
DOWNLOADER = """
import json, sys
from youtube_comment_downloader import YoutubeCommentDownloader
print(json.dumps(list(YoutubeCommentDownloader().get_comments(sys.argv[1], sleep=0))))
"""
VIDEOS: dict[str, dict[str, Any]] = {
    "plain": {"comments": 70},
    "busy": {"comments": 45, "busy": [3, 130], "claimed_extra": 5},
    "old": {"comments": 45, "generation": "commentRenderer", "busy": [1, 75]},
    "nested": {"comments": 30, "nested": True, "busy": [4, 40]},
    "nested_endpoint": {
        "comments": 25,
        "nested": True,
        "busy": [2, 130],
        "inline_replies": 0,
        "more_kind": "endpoint",
    },
    "element": {"comments": 30, "initial_data": "element"},
    "no_contents": {"comments": 30, "initial_data": "no_contents"},
    "executor": {"comments": 10, "busy": [2, 30], "more_kind": "executor"},
    "view_model": {"comments": 10, "busy": [2, 30], "more_kind": "viewModel"},
    "pinned_twice": {"comments": 45, "pinned_twice": True},
    "consent": {"comments": 30, "state": "consent_redirect"},
    "german": {"comments": 30, "locale": "de", "short_pages": True},
    "off": {"comments": 0, "state": "comments_off"},
    "zero": {"comments": 0, "state": "zero"},
    "window": {"comments": 25, "initial_data": "window", "old_ids": True},
}
NAMES = list(VIDEOS)


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    with ReplicaProcess(spec=list(VIDEOS.values())) as process:
        yield process


def run(script: str, replica: ReplicaProcess, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=replica.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def video_of(replica: ReplicaProcess, name: str) -> str:
    return replica.videos[NAMES.index(name)]


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "busy",
        "old",
        "nested",
        "nested_endpoint",
        "element",
        "no_contents",
        "executor",
        "view_model",
        "pinned_twice",
        "consent",
        "german",
        "window",
    ],
)
def test_yt_dlp_reads_every_comment(replica: ReplicaProcess, name: str) -> None:
    vid = video_of(replica, name)
    truth = replica.truth(vid)
    info = run(YT_DLP, replica, vid, replica.proxy)
    ids = [comment["id"] for comment in info["comments"]]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(truth["parents"])
    parents = {c["id"]: None if c["parent"] == "root" else c["parent"] for c in info["comments"]}
    assert parents == truth["parents"]
    texts = {c["id"]: c.get("text") or "" for c in info["comments"]}
    assert texts == truth["texts"]
    assert info["title"]
    assert info["channel_id"].startswith("UC")


@pytest.mark.parametrize("name", ["plain", "busy", "consent", "german", "window"])
def test_comment_downloader_reads_every_comment(replica: ReplicaProcess, name: str) -> None:
    vid = video_of(replica, name)
    truth = replica.truth(vid)
    comments = run(DOWNLOADER, replica, vid)
    ids = [comment["cid"] for comment in comments]
    assert len(ids) == len(set(ids))
    assert set(ids) == set(truth["parents"])
    assert {c["cid"]: c["text"] for c in comments} == truth["texts"]
    for comment in comments:
        assert comment["reply"] == (truth["parents"][comment["cid"]] is not None)


@pytest.mark.parametrize(("name", "expected"), [("off", None), ("zero", [])])
def test_yt_dlp_sees_that_there_are_no_comments(
    replica: ReplicaProcess, name: str, expected: list[object] | None
) -> None:
    info = run(YT_DLP, replica, video_of(replica, name), replica.proxy)
    assert info["comments"] == expected


REFUSALS = {
    "private": "This video is private",
    "removed": "Video unavailable",
    "age_gated": "Sign in to confirm your age",
    "members_only": "members on level",
    "region_blocked": "not made this video available in your country",
    "upcoming": "This live event will begin in",
    "bot_check": "not a bot",
}


def test_yt_dlp_understands_why_a_video_cannot_be_played() -> None:
    with ReplicaProcess(spec=[{"comments": 5, "state": state} for state in REFUSALS]) as replica:
        script = YT_DLP.replace('"ignore_no_formats_error": True', '"extract_flat": False')
        for vid, text in zip(replica.videos, REFUSALS.values(), strict=True):
            done = subprocess.run(
                [sys.executable, "-c", script, vid, replica.proxy],
                env=replica.environment(),
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode != 0
            assert text in done.stderr


def test_a_missing_comment_would_be_noticed(replica: ReplicaProcess) -> None:
    """Guards the tests above: after a change of the world the old truth no longer fits."""
    vid = video_of(replica, "plain")
    before = replica.truth(vid)
    made = replica.mutate(vid, "add", count=2, text="fresh 😀")
    info = run(YT_DLP, replica, vid, replica.proxy)
    ids = {comment["id"] for comment in info["comments"]}
    assert ids - set(before["parents"]) == set(made)
    assert [c["id"] for c in info["comments"] if c["text"] == "fresh 😀"] == made[::-1]
