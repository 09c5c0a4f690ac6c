"""Kill -9 at random moments, the same command again each time: nothing lost, nothing twice, little fetched again."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import time

import pytest

pytestmark = pytest.mark.long

KILLS = 50
VIDEOS = 20
CAP = 16
READ_NOT_STORED = 8
"""Answers that have left the network but are not stored yet count as in flight too."""
HALF_LISTED = 24
"""Videos whose watch page the library has read, and whose player answer is still to come."""
QUICK = ("-s", "ROBOTSTXT_OBEY=False")
"""Fifty times less to wait for."""


def killed_again_and_again(forks, yt, work, command, chance, expected):
    """Kill the command fifty times while it works, then let it end. ``expected``: how many requests the stored pages
    stand for. Returns how many may have been lost with the processes.
    """
    lost = 0
    environment = {name: value for name, value in work.environment.items() if not name.startswith("COVERAGE")}
    for _ in range(KILLS):
        before = _requests(yt), expected()
        child = forks.start(command, environment, work.folder)
        _wait_until_working(yt, before[0])
        time.sleep(chance.uniform(0.0, 0.4))
        assert child.kill() == -signal.SIGKILL, "the run ended before all kills were done: make it longer"
        _wait_until_settled(yt)
        in_flight = (_requests(yt) - before[0]) - (expected() - before[1])
        assert 0 <= in_flight <= CAP + READ_NOT_STORED + HALF_LISTED
        lost += in_flight
    yt.latency(0)
    done = subprocess.run(command, env=environment, cwd=work.folder, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return lost


def test_fifty_kills_lose_nothing_and_store_nothing_twice(replica, workplace, forks):
    yt = replica("--videos", str(VIDEOS), "--comments", "150-400", "--latency-ms", "250")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    repeats_allowed = killed_again_and_again(
        forks, yt, work, work.command(*QUICK), random.Random(2), lambda: _pages(work)
    )
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


def _wait_until_working(yt, before: int) -> None:
    """Until the process has sent its first requests."""
    deadline = time.monotonic() + 60
    while _requests(yt) == before and time.monotonic() < deadline:
        time.sleep(0.02)


def _wait_until_settled(yt) -> None:
    """Until what was on its way when the process died has reached the replica's counters."""
    seen = -1
    while seen != (seen := _requests(yt)):
        time.sleep(0.15)


def _requests(yt) -> int:
    return sum(count for path, count in yt.counters()["by_path"].items() if not path.endswith("robots.txt"))


def _pages(work) -> int:
    try:
        return work.query("SELECT coalesce(sum(pages), 0) FROM sub_jobs")[0][0]
    except sqlite3.OperationalError:
        return 0


def _listings(work) -> int:
    try:
        return work.query("SELECT coalesce(sum(pages), 0) FROM checkpoints WHERE chain = ''")[0][0]
    except sqlite3.OperationalError:
        return 0


def test_fifty_kills_lose_no_transcript_and_store_none_twice(replica, workplace, forks):
    tracks = [["en", "manual"], ["en", "asr"], ["de", "manual"], ["ja", "manual"]]
    yt = replica("--latency-ms", "200", spec=[{"comments": 0, "tracks": tracks} for _ in range(300)])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    command = [part.replace("yt_comments", "yt_transcripts") for part in work.command("-a", "tracks=all", *QUICK)]

    def expected():
        return _pages(work) + _listings(work)  # the library asks twice for a list: the watch page, the player

    lost = killed_again_and_again(forks, yt, work, command, random.Random(3), expected)
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
    repeats = _requests(yt) - expected()
    assert repeats <= lost
    print(f"{KILLS} kills, {len(rows)} transcripts, {_pages(work)} pages, {repeats} fetched again")
