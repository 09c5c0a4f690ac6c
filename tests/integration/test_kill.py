"""Kill -9 at random moments, the same command again each time: nothing lost, nothing twice, little fetched again."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import time

from tests.conftest import LOGIN

KILLS = 50
TRANSCRIPT_KILLS = 15
BILI_KILLS = 25
VIDEOS = 20
CAP = 16
READ_NOT_STORED = 8
"""Answers that have left the network but are not stored yet count as in flight too."""


def test_fifty_kills_lose_nothing_and_store_nothing_twice(replica, workplace):
    yt = replica("--videos", str(VIDEOS), "--comments", "150-400", "--latency-ms", "250")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    chance = random.Random(2)
    kills = repeats_allowed = 0
    # A killed process writes no coverage; measuring it would only slow the test down.
    environment = {name: value for name, value in work.environment.items() if not name.startswith("COVERAGE")}
    for _ in range(400):
        before = _requests(yt), _pages(work)
        process = subprocess.Popen(
            work.command(), env=environment, cwd=work.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kills < KILLS:
            _wait_until_working(process, yt, before[0])
            time.sleep(chance.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.3)  # what was on its way when it died must have reached the replica's counters
            in_flight = (_requests(yt) - before[0]) - (_pages(work) - before[1])
            assert 0 <= in_flight <= CAP + READ_NOT_STORED
            repeats_allowed += in_flight
            kills += 1
            assert _unfinished(work), "the run ended before all kills were done: make it longer"
        else:
            assert process.wait(timeout=120) == 0
            break

    assert kills == KILLS
    truth = {comment for video in yt.videos for comment in yt.truth(video)["parents"]}
    stored = work.ids()
    assert len(stored) == len(set(stored))
    assert set(stored) == truth
    lines = [json.loads(line)["comment_id"] for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(set(lines))
    assert set(lines) == truth
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]
    assert work.query("PRAGMA integrity_check") == [("ok",)]
    repeats = _requests(yt) - _pages(work)
    assert repeats <= repeats_allowed
    counters = yt.counters()
    assert counters["max_in_flight"]["www.youtube.com"] <= CAP * 2  # a dead process's requests still run out
    print(f"{KILLS} kills, {len(truth)} comments, {_pages(work)} pages, {repeats} fetched again")


def _wait_until_working(process: subprocess.Popen[bytes], yt, before: int) -> None:
    """Until the process has sent its first requests (or has ended)."""
    deadline = time.monotonic() + 60
    while _requests(yt) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def _requests(yt) -> int:
    return sum(count for path, count in yt.counters()["by_path"].items() if not path.endswith("robots.txt"))


def _pages(work) -> int:
    try:
        return work.query("SELECT coalesce(sum(pages), 0) FROM sub_jobs")[0][0]
    except sqlite3.OperationalError:
        return 0


def _unfinished(work) -> bool:
    return bool(work.query("SELECT 1 FROM sub_jobs WHERE status IN ('pending', 'in_progress')"))


def _killed(work, site, command, most, chance, wait=(0.0, 0.4)) -> int:
    """Begin the command and kill it, again and again, then let it end. Returns how often it was killed."""
    environment = {name: value for name, value in work.environment.items() if not name.startswith("COVERAGE")}
    kills = 0
    for _ in range(most + 50):
        before = _requests(site)
        process = subprocess.Popen(
            command, env=environment, cwd=work.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if kills == most or (kills and not _unfinished(work)):
            assert process.wait(timeout=120) == 0
            break
        _wait_until_working(process, site, before)
        time.sleep(chance.uniform(*wait))
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    return kills


def test_kills_lose_no_transcript_and_store_none_twice(replica, workplace):
    tracks = [["en", "manual"], ["en", "asr"], ["de", "manual"], ["ja", "manual"]]
    yt = replica("--latency-ms", "200", spec=[{"comments": 0, "tracks": tracks} for _ in range(60)])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    chance = random.Random(3)
    command = [part.replace("yt_comments", "yt_transcripts") for part in work.command("-a", "tracks=all")]
    kills = _killed(work, yt, command, TRANSCRIPT_KILLS, chance, (0.2, 0.7))
    assert kills >= 5
    rows = work.query("SELECT video_id, language, kind, count(*) FROM transcripts GROUP BY 1, 2, 3")
    assert {tuple(row[:3]) for row in rows} == {
        (video, language, kind) for video in yt.videos for language, kind in tracks
    }
    assert {row[3] for row in rows} == {1}
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(rows) == len({(line["video_id"], line["language"], line["kind"]) for line in lines})
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]
    truth = yt.truth(yt.videos[0])["tracks"]
    for track in truth:
        stored = work.query(
            "SELECT s.text FROM transcript_segments s JOIN transcripts t ON t.id = s.transcript WHERE t.video_id = ?"
            " AND t.language = ? AND t.kind = ? ORDER BY s.position",
            yt.videos[0], track["language"], track["kind"],
        )  # fmt: skip
        assert [row[0] for row in stored] == [text for _, _, text in track["segments"]]


FAST = ("-s", "DOMAIN_RATE=0", "-s", "BREAKER_COOLDOWN_S=0.05")
"""The replica has no feelings; what Bilibili's own pace is, other tests show."""


def test_kills_lose_no_comment_and_no_danmaku_of_bilibili_and_store_none_twice(replica, workplace):
    entry = {"site": "bilibili", "comments": 120, "danmaku": 150, "parts": 2, "seconds": 1500, "busy": [2, 45]}
    bili = replica("--latency-ms", "60", spec=[entry for _ in range(6)])
    work = workplace(bili.origin, login=LOGIN, spider="bili_comments")
    shorts = [bili.truth(video, texts=False)["short"] for video in bili.bili_videos[:2]]
    work.links(*bili.bili_videos, *shorts)
    kills = _killed(work, bili, work.command(*FAST), BILI_KILLS, random.Random(4))
    assert kills == BILI_KILLS, "the run ended before all kills were done: make it longer"
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


def test_kills_lose_no_subtitle_of_bilibili_and_store_none_twice(replica, workplace):
    tracks = [["zh-CN", "human"], ["ai-zh", "ai"], ["en-US", "human"]]
    entry = {"site": "bilibili", "comments": 0, "danmaku": 0, "tracks": tracks, "parts": 3}
    bili = replica("--latency-ms", "60", spec=[entry for _ in range(28)])
    work = workplace(bili.origin, login=LOGIN, spider="bili_transcripts")
    work.links(*bili.bili_videos)
    kills = _killed(work, bili, work.command("-a", "tracks=all", *FAST), BILI_KILLS, random.Random(5))
    assert kills == BILI_KILLS, "the run ended before all kills were done: make it longer"
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
