"""Kill -9 at random moments for the Bilibili spiders: nothing lost, nothing twice."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time

import pytest

from tests.conftest import LOGIN
from tests.integration.test_kill import _requests, _wait_until_working

pytestmark = pytest.mark.long

KILLS = 12


def _killed(forks, bili, work, command, chance) -> None:
    """Begin the command and kill it, again and again, then let it end."""
    environment = {name: value for name, value in work.environment.items() if not name.startswith("COVERAGE")}
    for _ in range(KILLS):
        before = _requests(bili)
        child = forks.start(command, environment, work.folder)
        _wait_until_working(bili, before)
        time.sleep(chance.uniform(0.0, 0.4))
        assert child.kill() == -signal.SIGKILL, "the run ended before all kills were done: make it longer"
    bili.latency(0)
    done = subprocess.run(command, env=environment, cwd=work.folder, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


FAST = ("-s", "DOMAIN_RATE=0", "-s", "BREAKER_COOLDOWN_S=0.05")
"""The replica has no feelings; what Bilibili's own pace is, other tests show."""


def test_kills_lose_no_comment_and_no_danmaku_of_bilibili_and_store_none_twice(replica, workplace, forks):
    entry = {"site": "bilibili", "comments": 120, "danmaku": 150, "parts": 2, "seconds": 1500, "busy": [2, 45]}
    bili = replica("--latency-ms", "60", spec=[entry for _ in range(6)])
    work = workplace(bili.origin, login=LOGIN, spider="bili_comments")
    shorts = [bili.truth(video, texts=False)["short"] for video in bili.bili_videos[:2]]
    work.links(*bili.bili_videos, *shorts)
    _killed(forks, bili, work, work.command(*FAST), random.Random(4))
    truths = [bili.truth(video) for video in bili.bili_videos]
    comments = {comment for truth in truths for comment in truth["comments"]["logged_in"]}
    danmaku = {
        (truth["bvid"], str(part["cid"]), one)
        for truth in truths
        for part in truth["parts"]
        for one in part["danmaku"]["logged_in"]
    }
    assert sorted(work.ids()) == sorted(comments)
    assert sorted(work.query("SELECT video_id, cid, danmaku_id FROM danmaku")) == sorted(danmaku)
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["comment_id"] for line in lines if line["type"] == "comment") == sorted(comments)
    flown = [(line["video_id"], line["cid"], line["danmaku_id"]) for line in lines if line["type"] == "danmaku"]
    assert sorted(flown) == sorted(danmaku)
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]
    assert work.query("SELECT count(*) FROM jobs WHERE status <> 'success'") == [(0,)]
    assert work.query("PRAGMA integrity_check") == [("ok",)]


def test_kills_lose_no_subtitle_of_bilibili_and_store_none_twice(replica, workplace, forks):
    tracks = [["zh-CN", "human"], ["ai-zh", "ai"], ["en-US", "human"]]
    entry = {"site": "bilibili", "comments": 0, "danmaku": 0, "tracks": tracks, "parts": 3}
    bili = replica("--latency-ms", "60", spec=[entry for _ in range(28)])
    work = workplace(bili.origin, login=LOGIN, spider="bili_transcripts")
    work.links(*bili.bili_videos)
    _killed(forks, bili, work, work.command("-a", "tracks=all", *FAST), random.Random(5))
    rows = work.query("SELECT video_id, part, language, kind, count(*) FROM transcripts GROUP BY 1, 2, 3, 4")
    assert {row[4] for row in rows} == {1}
    kinds = {"human": "manual", "ai": "asr"}
    assert {tuple(row[:4]) for row in rows} == {
        (video, part, language.removeprefix("ai-"), kinds[kind])
        for video in bili.bili_videos
        for part in (1, 2, 3)
        for language, kind in tracks
    }
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    named = [(line["video_id"], line["part"], line["language"], line["kind"]) for line in lines]
    assert sorted(named) == sorted(tuple(row[:4]) for row in rows)
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]
