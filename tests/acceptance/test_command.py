"""The command of the README, as a person types it: exit codes, messages, resume, Ctrl-C, proxies and certificates."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from tests.conftest import LOGIN, ROOT


def told(result: subprocess.CompletedProcess[str]) -> str:
    """The last sentence that the person reads. A traceback is never kind."""
    assert "Traceback" not in result.stderr, result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_collects_resumes_and_says_when_nothing_is_left(replica, workplace):
    yt = replica("--videos", "3", "--comments", "30-60")
    work = workplace(yt.origin)
    work.links(*(f"https://www.youtube.com/watch?v={video}" for video in yt.videos), "https://www.youtube.com/@x")
    first = work.crawl()
    assert first.returncode == 0, first.stderr
    assert "3 videos (3 complete)" in first.stderr
    assert "1 line without a video" in first.stderr
    truth = {comment for video in yt.videos for comment in yt.truth(video)["parents"]}
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert sorted(line["comment_id"] for line in lines) == sorted(truth)
    assert {line["type"] for line in lines} == {"comment"}
    before, asked = work.feed.read_bytes(), yt.counters()["total"]
    again = work.crawl()
    assert again.returncode == 0
    assert "nothing was left to do: 0 requests, 0 new rows" in again.stderr
    assert (work.feed.read_bytes(), yt.counters()["total"]) == (before, asked)


def test_csv_and_a_new_feed_of_a_finished_run(replica, workplace):
    yt = replica("--videos", "1", "--comments", "20-30")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    assert work.crawl(feed=False).returncode == 0
    out = work.folder / "out.csv"
    assert work.crawl("-O", str(out), feed=False).returncode == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["comment_id"] for row in rows) == sorted(yt.truth(yt.videos[0])["parents"])


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(replica, workplace):
    yt = replica("--videos", "6", "--comments", "60-90", "--latency-ms", "150")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    process = subprocess.Popen(work.command(), env=work.environment, cwd=work.folder, stderr=subprocess.PIPE, text=True)
    while yt.counters()["total"] < 20:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Nothing is lost" in stderr
    assert "Traceback" not in stderr
    assert time.monotonic() - began < 30
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'") == [(0,)]
    asked, pages = yt.counters()["total"], work.query("SELECT sum(pages) FROM sub_jobs")[0][0]
    assert asked - pages <= 1  # robots.txt: what was in flight was stored before it stopped
    yt.latency(0)
    assert work.crawl().returncode == 0
    truth = {comment for video in yt.videos for comment in yt.truth(video)["parents"]}
    lines = [json.loads(line)["comment_id"] for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert sorted(lines) == sorted(truth)
    assert yt.counters()["repeats"] <= 1


def test_ctrl_c_does_not_wait_for_a_site_that_asked_for_patience(replica, workplace):
    yt = replica("--videos", "3", "--comments", "5-9")
    yt.faults({"action": "status", "status": 429, "retry_after": 600, "path": "/watch"})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    process = subprocess.Popen(work.command(), env=work.environment, cwd=work.folder, stderr=subprocess.PIPE, text=True)
    while yt.counters()["total"] < 2:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr


def test_a_real_proxy_and_its_certificate(replica, workplace):
    yt = replica("--videos", "2", "--comments", "20-40")
    work = workplace("")
    work.links(*yt.videos)
    environment = {"HTTPS_PROXY": yt.proxy, "SSL_CERT_FILE": yt.ca_file, "NO_PROXY": "", "no_proxy": ""}
    assert work.crawl(env=environment).returncode == 0
    assert set(work.ids()) == {comment for video in yt.videos for comment in yt.truth(video)["parents"]}
    untrusted = work.crawl(env=environment | {"SSL_CERT_FILE": ""}, jobdir="other", feed=False)
    assert untrusted.returncode == 8
    assert "SSL_CERT_FILE" in told(untrusted)


def test_robots_refuse_with_their_own_exit_code(replica, workplace):
    yt = replica("--videos", "2", "--comments", "5-9", "--robots", "real")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    refused = work.crawl()
    assert refused.returncode == 4
    assert "www.youtube.com disallows /youtubei/v1/next" in told(refused)
    assert "YOUTUBE_API_KEY" in told(refused)
    assert work.crawl(env={"RESEARCH_ROBOTS": "ignore"}).returncode == 0


def test_a_site_that_cannot_be_reached(workplace):
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ")
    result = work.crawl("-s", "RETRY_BACKOFF_CAP_S=0.01")
    assert result.returncode == 4
    assert "Check the network" in told(result)
    result = work.crawl("-s", "RETRY_BACKOFF_CAP_S=0.01", "-s", "ROBOTSTXT_OBEY=False")
    assert result.returncode == 9
    assert "run the same command again" in told(result)


def test_secrets_are_nowhere(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9", "--api-key", "canary-AIza-7")
    work = workplace(yt.origin, key="canary-AIza-7")
    work.links(*yt.videos)
    result = work.crawl("-L", "DEBUG")
    assert result.returncode == 0
    assert set(work.ids()) == set(yt.truth(yt.videos[0])["parents"])
    assert "canary" not in result.stderr.replace("'YOUTUBE_API_KEY': 'canary-AIza-7'", "canary in the settings list")
    for path in work.folder.rglob("*"):
        if path.is_file():
            assert b"canary-AIza" not in path.read_bytes(), path


BAD = {
    "no links": (["-a", "links="], 2, "one link per line"),
    "missing file": (["-a", "links=nowhere.txt"], 2, "there is no file nowhere.txt"),
    "unknown argument": (["-a", "sorts=top"], 2, "Did you mean sort"),
    "bad sort": (["-a", "sort=newset"], 2, "Did you mean newest"),
    "bad number": (["-a", "max_comments=ten"], 2, "whole number"),
    "bad setting": (["-s", "CONCURRENT_REQUESTS=many"], 2, "CONCURRENT_REQUESTS=many"),
    "foreign origin": (["-s", "ORIGIN=http://example.org"], 2, "loopback"),
    "no such level": (["-s", "LOG_LEVEL=loud"], 2, "LOG_LEVEL=loud: there is no such level"),
    "no switch": (["-s", "RAW_CAPTURE=all"], 2, "RAW_CAPTURE=all: it must be True or False"),
    "feed format": (["-o", "out.xlsx"], 2, "Unrecognized output format"),
    "no folder for the database": (["-s", "RESEARCH_DB=/nowhere/at/all.db"], 3, "RESEARCH_DB"),
}


@pytest.mark.parametrize(("flags", "code", "message"), BAD.values(), ids=BAD)
def test_bad_input_gets_its_message_and_exit_code(workplace, flags, code, message):
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ")
    result = work.crawl(*flags, feed=False)
    assert "Traceback" not in result.stderr, result.stderr
    assert (result.returncode, message in result.stderr + result.stdout) == (code, True), result.stderr + result.stdout


def test_an_empty_links_file(workplace):
    work = workplace("http://127.0.0.1:9")
    work.links("# nothing")
    result = work.crawl()
    assert (result.returncode, "has no links" in told(result)) == (2, True)


def test_a_misspelt_spider(workplace):
    work = workplace()
    command = [part.replace("yt_comments", "yt_coments") for part in work.command()]
    result = subprocess.run(command, env=work.environment, cwd=work.folder, capture_output=True, text=True, check=False)
    assert (result.returncode, "Did you mean yt_comments?" in result.stdout + result.stderr) == (2, True)


def test_a_database_that_is_none(workplace):
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ")
    work.db.write_bytes(b"garbage " * 1000)
    result = work.crawl()
    assert (result.returncode, "damaged or is not a database" in told(result)) == (3, True)
    assert work.db.read_bytes() == b"garbage " * 1000


def test_a_database_of_a_newer_version(workplace):
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ")
    work.crawl("-s", "ROBOTSTXT_OBEY=False", "-s", "RETRY_TIMES=0")
    with sqlite3.connect(work.db) as conn:
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('research_scrapers', 'm9', '')"
        )
    conn.close()
    result = work.crawl()
    assert (result.returncode, "newer version" in told(result)) == (3, True)


def test_a_jobdir_in_use(replica, workplace):
    yt = replica("--videos", "3", "--comments", "100-200", "--latency-ms", "300")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    first = subprocess.Popen(work.command(), env=work.environment, cwd=work.folder, stderr=subprocess.DEVNULL)
    try:
        while yt.counters()["total"] < 2:
            time.sleep(0.05)
        second = work.crawl()
        assert (second.returncode, f"process {first.pid}" in told(second)) == (2, True)
    finally:
        first.kill()
        first.wait()


def test_a_disk_that_fills_up_stops_the_run_and_loses_nothing(replica, workplace, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    yt = replica("--videos", "4", "--comments", "300-400")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    try:
        result = work.crawl("-s", f"RESEARCH_DB={disk / 'r.db'}", feed=False)
        assert (result.returncode, "The disk is full" in told(result)) == (3, True)
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        result = work.crawl("-s", f"RESEARCH_DB={disk / 'r.db'}")
        assert result.returncode == 0, result.stderr
        lines = [json.loads(line)["comment_id"] for line in work.feed.read_text(encoding="utf-8").splitlines()]
        truth = {comment for video in yt.videos for comment in yt.truth(video)["parents"]}
        assert sorted(lines) == sorted(truth)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


class TestResearch:
    def run(self, *arguments, cwd, **environment):
        return subprocess.run(
            [sys.executable, "-c", "from research_scrapers.cli.main import main; main()", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, cwd=cwd, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip

    def test_coverage_and_runs(self, replica, workplace):
        yt = replica(spec=[{"comments": 20}, {"state": "private"}])
        work = workplace(yt.origin)
        work.links(*yt.videos, "https://www.youtube.com/playlist?list=PL1")
        work.crawl()
        shown = self.run("coverage", "--db", str(work.db), cwd=work.folder)
        assert shown.returncode == 0
        for expected in (*yt.videos, "complete", "video_private", "line 3", "playlist"):
            assert expected in shown.stdout
        listed = self.run("runs", cwd=work.folder, RESEARCH_DB=str(work.db))
        assert "yt_comments" in listed.stdout
        missing = self.run("coverage", "run_nonsense", "--db", str(work.db), cwd=work.folder)
        assert (missing.returncode, "no run is called" in missing.stderr) == (2, True)

    def test_transcripts(self, replica, workplace):
        yt = replica(spec=[{"comments": 0, "tracks": [["en", "manual"], ["de", "asr"]]}])
        work = workplace(yt.origin)
        work.links(*yt.videos)
        command = [part.replace("yt_comments", "yt_transcripts") for part in work.command("-a", "tracks=all")]
        crawl = subprocess.run(
            command, env=work.environment, cwd=work.folder, capture_output=True, text=True, check=False
        )
        assert crawl.returncode == 0, crawl.stderr
        assert "2 transcripts, from" in crawl.stderr
        assert "comments" not in crawl.stderr
        assert "listed" in crawl.stderr
        video = yt.videos[0]
        done = self.run(
            "transcripts",
            "--run",
            "last",
            "--format",
            "vtt",
            "--out",
            "subs",
            cwd=work.folder,
            RESEARCH_DB=str(work.db),
        )
        assert (done.returncode, "2 files in subs" in done.stdout) == (0, True)
        assert sorted(path.name for path in (work.folder / "subs").iterdir()) == [
            f"{video}.de.asr.vtt",
            f"{video}.en.manual.vtt",
        ]
        truth = {track["language"]: track["segments"] for track in yt.truth(video)["tracks"]}
        shown = self.run(
            "transcripts", f"https://youtu.be/{video}", "--format", "srt", cwd=work.folder, RESEARCH_DB=str(work.db)
        )
        assert shown.stdout.count(" --> ") == len(truth["en"]) + len(truth["de"])
        missing = self.run("transcripts", "AAAAAAAAAAA", cwd=work.folder, RESEARCH_DB=str(work.db))
        assert (missing.returncode, "no transcript" in missing.stderr) == (2, True)
        both = self.run("transcripts", cwd=work.folder, RESEARCH_DB=str(work.db))
        assert both.returncode == 2

    def test_no_database(self, tmp_path):
        result = self.run("runs", cwd=tmp_path)
        assert (result.returncode, "there is no database" in result.stderr) == (2, True)
        assert not list(tmp_path.iterdir())

    def test_demo(self, tmp_path):
        result = self.run("demo", "--latency-ms", "0", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr
        assert "complete" in result.stderr
        assert "comments_disabled" in result.stderr
        folder = tmp_path / "jobs/demo"
        assert (folder / "yt_comments.jsonl").stat().st_size > 100_000
        types = {
            spider: {json.loads(line)["type"] for line in (folder / f"{spider}.jsonl").read_text("utf-8").splitlines()}
            for spider in ("yt_comments", "yt_transcripts", "bili_comments", "bili_transcripts")
        }
        assert list(types.values()) == [{"comment"}, {"transcript"}, {"comment", "danmaku"}, {"transcript"}]
        runs = self.run("runs", "--db", str(folder / "research.db"), cwd=tmp_path).stdout
        assert [line.split()[1] for line in runs.splitlines()[1:]] == list(reversed(types))
        assert runs.splitlines()[2].split()[3] == "8"  # videos: what a short link and an episode are counts once


def test_a_key_is_not_told_even_when_the_download_fails(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9", "--api-key", "canary-AIza-7")
    work = workplace(yt.origin, key="canary-AIza-7")
    work.links(*yt.videos)
    yt.faults({"action": "hang", "seconds": 60, "count": 1}, {"action": "truncate", "skip": 1, "count": 2})
    result = work.crawl("-s", "DOWNLOAD_TIMEOUT=3")
    assert result.returncode == 0, result.stderr
    assert "No answer in time" in result.stderr
    assert "canary" not in result.stderr
    for path in work.folder.rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes()


def test_ctrl_c_while_threads_wait_leaves_nothing_behind(replica, workplace):
    """A page that lands while its sister waits at the gate must not end the video."""
    yt = replica("--latency-ms", "500", spec=[{"comments": 30, "reply_share": 0.0, "busy": [4, 8]}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    command = work.command("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1", "-s", "ROBOTSTXT_OBEY=False")
    process = subprocess.Popen(command, env=work.environment, cwd=work.folder, stderr=subprocess.PIPE, text=True)
    while yt.counters()["total"] < 4:
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert work.query("SELECT status FROM sub_jobs") == [("pending",)]
    assert work.crawl("-s", "ROBOTSTXT_OBEY=False").returncode == 0
    assert set(work.ids()) == set(yt.truth(yt.videos[0])["parents"])


def test_a_feed_that_cannot_be_written_is_told(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    result = work.crawl("-o", str(work.folder / "links.txt" / "out.jsonl"), feed=False)
    assert (result.returncode, "in the database" in told(result)) == (3, True)
    result = work.crawl("-o", "/dev/full:jsonl", feed=False)
    assert (result.returncode, "No space left" in told(result)) == (3, True)
    assert work.crawl().returncode == 0
    assert len(work.feed.read_text().splitlines()) == len(yt.truth(yt.videos[0])["parents"])


@pytest.mark.parametrize(
    "flag", ["DOWNLOAD_TIMEOUT=abc", "ROBOTSTXT_OBEY=maybe", "DOWNLOAD_MAXSIZE=x", "JOBDIR=links.txt/x"]
)
def test_a_wrong_value_for_scrapys_own_settings(workplace, flag):
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ")
    result = work.crawl("-s", flag, jobdir=None, feed=False)
    assert result.returncode in (2, 3)
    told(result)


def test_the_same_empty_file_twice(workplace):
    work = workplace("http://127.0.0.1:9")
    work.links("https://www.youtube.com/@x")
    assert [work.crawl().returncode, work.crawl().returncode] == [2, 2]


class TestBilibili:
    """Both spiders as a person types them."""

    def scene(self, replica, workplace, *options, **more):
        spec = [{"site": "bilibili", "comments": 30, "danmaku": 20, "tracks": [["zh-CN", "human"]]}]
        bili = replica(*options, spec=spec)
        work = workplace(bili.origin, **{"login": LOGIN, "spider": "bili_comments", **more})
        work.links(*(f"https://www.bilibili.com/video/{video}/" for video in bili.bili_videos))
        return bili, work

    def test_collects_resumes_and_says_when_nothing_is_left(self, replica, workplace):
        _, work = self.scene(replica, workplace)
        first = work.crawl("-s", "DOMAIN_RATES=bilibili.com=0")
        assert first.returncode == 0, first.stderr
        assert "comments: 1 complete." in first.stderr
        assert "danmaku: 1 complete." in first.stderr
        before = work.feed.read_bytes()
        again = work.crawl()
        assert "nothing was left to do: 0 requests, 0 new rows" in again.stderr
        assert work.feed.read_bytes() == before
        work.spider = "bili_transcripts"
        subtitles = work.crawl(jobdir="t", feed=False)
        assert subtitles.returncode == 0
        assert "1 transcript, from" in subtitles.stderr

    def test_its_exit_codes(self, replica, workplace):
        bili, work = self.scene(replica, workplace, "--robots", "real")
        refused = work.crawl()
        assert refused.returncode == 4
        assert "api.bilibili.com disallows" in told(refused)
        ignore = {"RESEARCH_ROBOTS": "ignore"}
        dead = work.crawl(env={**ignore, "BILIBILI_SESSDATA": "canary-dead"})
        assert dead.returncode == 5
        assert "copy the value of its cookie SESSDATA anew" in told(dead)
        assert "canary" not in dead.stderr
        wrong = work.crawl("-s", "DOMAIN_RATES=bilbili.com=1", env=ignore)
        assert (wrong.returncode, "Did you mean bilibili.com?" in told(wrong)) == (2, True)
        bili.faults({"action": "bili_412", "path": "/x/web-interface/view"})
        blocked = work.crawl("-s", "BREAKER_COOLDOWN_S=0.05", "-s", "BREAKER_PATIENCE=1", env=ignore)
        assert blocked.returncode == 7, blocked.stderr
        assert "HTTP 412" in told(blocked)
        bili.faults()
        assert work.crawl(env=ignore).returncode == 0
