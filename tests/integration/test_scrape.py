"""`research scrape` as a person runs it: both sites at once, with all that goes wrong, exact and within the caps."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter

LINKS = int(os.environ.get("SCRAPE_LINKS", "120"))
"""1,000 with SCRAPE_LINKS=1000: too long for every run of the tests."""
MAIN = "from research_scrapers.cli.main import main; main()"
LOGIN = "replica-sessdata"
FREE = ("--domain", "bilibili.com=16", "-s", "DOMAIN_RATE=0", "-s", "DOMAIN_RATES=bilibili.com=0,youtube.com=0")
"""Bilibili's own pace (one a second) would only make tests slow."""
QUICK = ("-s", "RETRY_BACKOFF_CAP_S=0.3", "-s", "BREAKER_COOLDOWN_S=0.2")


def command(work, *extra: str) -> list[str]:
    return [sys.executable, "-c", MAIN, "scrape", *FREE, *QUICK, *extra]


def environment(work) -> dict[str, str]:
    return {**work.environment, "BILIBILI_SESSDATA": LOGIN, "RESEARCH_ROBOTS": "ignore"}


def scrape(work, *extra: str, timeout: int = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(work, *extra), env=environment(work), cwd=work.folder, text=True, capture_output=True, timeout=timeout,
        check=False,
    )  # fmt: skip


def world(links: int) -> list[dict]:
    """Videos of both sites, one in eight not to be had."""
    spec: list[dict] = []
    for number in range(links):
        youtube = number % 2 == 0
        state = {3: "private", 11: "removed", 6: "private", 14: "removed"}.get(number % 16, "ok")
        if youtube:
            spec.append({"comments": 3 + number % 25, "state": state, "tracks": [["en", "manual"]]})
        else:
            spec.append({"site": "bilibili", "comments": 2 + number % 21, "danmaku": number % 17, "state": state,
                         "tracks": [["zh-CN", "human"]]})  # fmt: skip
    return spec


def links_of(site) -> list[str]:
    lines = [f"https://www.youtube.com/watch?v={video}" for video in site.videos]
    lines += [f"https://www.bilibili.com/video/{video}" for video in site.bili_videos]
    random.Random(1).shuffle(lines)
    for number in range(0, len(lines), 20):
        lines.insert(number, f"this is no link {number}")
    return lines


def check_exact(site, work) -> None:
    """Every record that can be had is there, once, and nothing else."""
    comments, danmaku, transcripts = set(), set(), set()
    for video in site.videos:
        truth = site.truth(video, texts=False)
        if truth["state"] == "ok":
            comments |= {(video, comment) for comment in truth["parents"]}
            transcripts |= {(video, track["language"]) for track in truth["tracks"]}
    for video in site.bili_videos:
        truth = site.truth(video, texts=False)
        if truth["state"] == "ok":
            comments |= {(video, comment) for comment in truth["comments"]["logged_in"]}
            for part in truth["parts"]:
                danmaku |= {(video, one) for one in part["danmaku"]["logged_in"]}
                transcripts |= {(video, track["language"]) for track in part["subtitles"]["logged_in"]}
    for found, table, column in (
        (comments, "comments", "comment_id"), (danmaku, "danmaku", "danmaku_id"),
        (transcripts, "transcripts", "language"),
    ):  # fmt: skip
        rows = work.query(f"SELECT video_id, {column} FROM {table}")
        assert len(rows) == len(set(rows)), table
        assert set(rows) == found, table


def check_ended(site, work, invalid: int) -> None:
    """Every link is in a terminal state, and what is not a success says why."""
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status NOT IN ('success', 'failed')") == [(0,)]
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'failed' AND reason IS NULL") == [(0,)]
    jobs = Counter(row[0] for row in work.query("SELECT status FROM jobs"))
    gone = sum(site.truth(video, texts=False)["state"] != "ok" for video in [*site.videos, *site.bili_videos])
    assert jobs == {
        "success": len(site.videos) + len(site.bili_videos) - gone, "failed": gone, "invalid": invalid,
    }  # fmt: skip
    reasons = {row[0] for row in work.query("SELECT reason FROM sub_jobs WHERE status = 'failed'")}
    assert reasons <= {"video_private", "video_unavailable"}
    assert work.query("SELECT count(*) FROM jobs WHERE status IN ('failed', 'invalid') AND reason IS NULL") == [(0,)]


def check_caps(counters: dict) -> None:
    assert counters["max_in_flight_total"] <= 64
    by_domain: Counter[str] = Counter()
    for host, most in counters["max_in_flight"].items():
        by_domain["bilibili" if "bili" in host or "hdslb" in host else "youtube"] = max(
            by_domain["bilibili" if "bili" in host or "hdslb" in host else "youtube"], most
        )
    assert max(by_domain.values()) <= 16


def test_a_mixed_list_with_faults_ends_exactly(replica, workplace):
    site = replica("--latency-ms", "100", spec=world(LINKS))
    site.faults(
        {"action": "status", "status": 503, "probability": 0.01},
        {"action": "reset", "probability": 0.005},
        {"action": "truncate", "probability": 0.005},
    )
    work = workplace(site.origin)
    lines = links_of(site)
    began = time.monotonic()
    done = scrape(work, "--links", str(work.links(*lines)), "-s", "RETRY_TIMES=8", timeout=1800)
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stderr[-3000:]
    check_ended(site, work, sum("no link" in line for line in lines))
    check_exact(site, work)
    check_caps(site.counters())
    print(f"{LINKS} links in {seconds:.1f} s, {site.counters()['total']} requests")


def started(work, *extra: str) -> subprocess.Popen[str]:
    # A killed process writes no coverage; measuring it would only slow the test down.
    plain = {name: value for name, value in environment(work).items() if not name.startswith("COVERAGE")}
    return subprocess.Popen(
        command(work, *extra), env=plain, cwd=work.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def pages(work) -> int:
    try:
        return work.query("SELECT coalesce(sum(pages), 0) FROM sub_jobs")[0][0]
    except sqlite3.OperationalError:
        return 0


def wait_for(condition, process=None, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition() and (process is None or process.poll() is None) and time.monotonic() < until:
        time.sleep(0.02)


def test_ctrl_c_once_stops_cleanly_and_resume_completes(replica, workplace):
    site = replica("--latency-ms", "150", spec=world(40))
    work = workplace(site.origin)
    process = started(work, "--links", str(work.links(*links_of(site))))
    wait_for(lambda: pages(work) > 20, process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told[-2000:]
    assert "Nothing is lost" in told
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'") == [(0,)]
    assert work.query("SELECT status, reason FROM runs") == [("cancelled", "interrupted")]
    done = scrape(work, "--resume", "last")
    assert done.returncode == 0, done.stderr[-2000:]
    check_ended(site, work, 2)
    check_exact(site, work)


def test_ctrl_c_twice_stops_now_and_resume_completes(replica, workplace):
    site = replica("--latency-ms", "50", spec=world(24))
    work = workplace(site.origin)
    site.faults({"action": "hang", "seconds": 600, "every": 9})
    process = started(work, "--links", str(work.links(*links_of(site))))
    wait_for(lambda: pages(work) > 8, process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert time.monotonic() - began < 10  # although answers are outstanding
    assert process.returncode != 0
    site.faults()
    done = scrape(work, "--resume", "last")
    assert done.returncode == 0, done.stderr[-2000:]
    check_exact(site, work)


def test_one_line_that_is_given_up_does_not_touch_the_others(replica, workplace):
    site = replica(spec=world(40))
    site.faults({"action": "status", "status": 403, "path": "/youtubei/v1/next"})
    work = workplace(site.origin)
    done = scrape(work, "--links", str(work.links(*links_of(site))), "-s", "BREAKER_COOLDOWN_S=never")
    assert done.returncode == 7, done.stderr[-2000:]
    query = (
        "SELECT DISTINCT reason FROM sub_jobs WHERE status <> 'success' AND (provider || kind = 'youtubecomments') = ?"
    )
    reasons, elsewhere = ({row[0] for row in work.query(query, mine)} for mine in (1, 0))
    gone = {"video_private", "video_unavailable"}
    assert "breaker_open" in reasons <= {"breaker_open", "access_refused"} | gone
    assert elsewhere <= gone
    site.faults()
    done = scrape(work, "--resume", "last")
    assert done.returncode == 0, done.stderr[-2000:]
    check_exact(site, work)


def test_a_run_that_is_cancelled_from_outside_stops_and_can_be_resumed(replica, workplace):
    site = replica("--latency-ms", "150", spec=world(40))
    work = workplace(site.origin)
    process = started(work, "--links", str(work.links(*links_of(site))))
    wait_for(lambda: pages(work) > 15, process)
    with sqlite3.connect(work.db) as conn:
        conn.execute("UPDATE runs SET cancel = 1")
    conn.close()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told[-2000:]
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'") == [(0,)]
    done = scrape(work, "--resume", "last")
    assert done.returncode == 0, done.stderr[-2000:]
    check_exact(site, work)


KILLS = int(os.environ.get("SCRAPE_KILLS", "20"))


def test_kills_of_the_whole_thing_lose_nothing_and_store_nothing_twice(replica, workplace, forks):
    site = replica("--latency-ms", "250", spec=world(90))
    work = workplace(site.origin)
    chance = random.Random(2)
    what = ("--links", str(work.links(*links_of(site))))
    plain = {name: value for name, value in environment(work).items() if not name.startswith("COVERAGE")}
    for _ in range(KILLS):
        before = pages(work)
        child = forks.start(["research", *command(work, *what)[3:]], plain, work.folder)
        wait_for(lambda before=before: pages(work) > before)
        time.sleep(chance.uniform(0.0, 0.3))
        assert child.kill() == -signal.SIGKILL, "the run ended before all kills were done: make it longer"
        what = ("--resume", "last")
    site.latency(0)
    done = scrape(work, "--resume", "last")
    assert done.returncode == 0, done.stderr[-2000:]
    check_ended(site, work, 5)
    check_exact(site, work)
    assert work.query("PRAGMA integrity_check") == [("ok",)]
    assert work.query("SELECT count(*) FROM runs") == [(1,)]
