"""`research scrape` and the commands that look after a run, as a person types them."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from research_scrapers.cli.main import cli
from research_scrapers.errors import ResearchError
from tests.conftest import ROOT

QUICK = "[max_concurrency_per_domain]\n'bilibili.com' = 8\n[domain_rate]\n'bilibili.com' = 100\n"
CODE = "from research_scrapers.cli.main import main; main()"


class Desk:
    """A folder with a file of knobs, in front of a replica."""

    def __init__(self, folder, replica=None):
        self.folder, self.replica = folder, replica
        self.knobs(QUICK)
        if replica is not None:
            self.links(*replica.videos, *replica.bili_videos)

    def knobs(self, text):
        (self.folder / "research.toml").write_text(text, encoding="utf-8")

    def links(self, *lines):
        (self.folder / "links.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def start(self, *arguments, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("RESEARCH_", "YOUTUBE_"))}
        origin = {"RESEARCH_ORIGIN": self.replica.origin if self.replica else "http://127.0.0.1:9"}
        return subprocess.Popen(
            [sys.executable, "-c", CODE, *arguments], env={**kept, "PYTHONPATH": str(ROOT), **origin, **environment},
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=240)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def here(self, *arguments):
        """For what ends before the reactor starts: in this process, which is quicker."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.setenv("RESEARCH_CONFIG", "")
            result = CliRunner().invoke(cli, arguments)
        error = result.exception
        code = error.exit_code if isinstance(error, ResearchError) else result.exit_code
        return subprocess.CompletedProcess(arguments, code, result.stdout, f"{result.stderr}{error or ''}")

    def status(self):
        return json.loads(self.here("status", "--json").stdout)

    def query(self, sql):
        connection = sqlite3.connect(self.folder / "research.db")
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def config(self):
        return json.loads(self.query("SELECT config FROM runs ORDER BY created_at DESC")[0][0])


@pytest.fixture
def desk(tmp_path):
    def make(replica=None):
        return Desk(tmp_path, replica)

    return make


@pytest.fixture
def small(replica):
    return replica(spec=[{"comments": 30}, {"comments": 25}, {"state": "private"}, {"site": "bilibili", "comments": 3}])


def test_a_run_its_snapshot_and_what_a_resume_may_change(small, desk):
    work = desk(small)
    work.knobs(QUICK + "[max_concurrency_per_artifact]\n")
    assert work.here("scrape", "-l", "links.txt").returncode == 2
    work.knobs("worker_pool_size = 3\nretry_attempts = 2\n" + QUICK)
    first = work.run(
        "scrape", "--links", "links.txt", "--only", "yt_comments", "--only", "bili_comments", "--max-comments", "20",
        "--comments-window", "2", "--domain", "youtube.com=5", "-s", "lease_s=99", "--priority", "4",
        YOUTUBE_API_KEY="", BILIBILI_SESSDATA="canary-cookie",
    )  # fmt: skip
    assert first.returncode in (0, 5), first.stderr
    config = work.config()
    assert "canary" not in str(config)
    knobs = config["knobs"]
    assert (knobs["worker_pool_size"], knobs["retry_attempts"], knobs["comments_inflight_window"]) == (3, 2, 2)
    assert (float(knobs["lease_s"]), knobs["robots"], knobs["bilibili_sessdata"]) == (99.0, "obey", "set")
    assert {name: int(one) for name, one in knobs["max_concurrency_per_domain"].items()} == {
        "default": 16, "bilibili.com": 8, "youtube.com": 5,
    }  # fmt: skip
    assert (config["options"]["lines"], config["arguments"]) == (["yt_comments", "bili_comments"],
                                                                 {"max_comments": "20"})  # fmt: skip
    assert work.query("SELECT DISTINCT priority FROM jobs") == [(4,)]

    work.knobs("worker_pool_size = 1\n" + QUICK)
    again = work.run("scrape", "--resume", "last", "--comments-window", "1")
    assert again.returncode == 0, again.stderr
    knobs = work.config()["knobs"]
    assert (knobs["worker_pool_size"], knobs["retry_attempts"], knobs["comments_inflight_window"]) == (3, 2, 1)
    assert work.config()["options"] == config["options"]
    over = work.run("scrape", "--resume", "last")
    assert (over.returncode, "nothing was left to do: 0 requests" in over.stdout) == (0, True)
    for flags in (["--max-comments", "7"], ["--languages", "de"], ["--skip", "yt_comments"], ["-a", "sort=top"]):
        other = work.here("scrape", "--resume", "last", *flags)
        assert (other.returncode, "was begun with yt_comments, bili_comments" in other.stderr) == (2, True)
    asked = small.counters()["total"]
    assert work.run("scrape", "--resume", "last", "--max-comments", "20").returncode == 0
    assert small.counters()["total"] == asked


def test_a_dry_run_leaves_no_trace(small, desk):
    work = desk(small)
    work.links(*small.videos, small.videos[0], *small.bili_videos, "https://www.youtube.com/@x")
    before = {path: path.read_bytes() for path in work.folder.iterdir()}
    told = work.run(
        "scrape", "-l", "links.txt", "--dry-run", "--skip", "bili_transcripts", "-s", "JOBDIR=job",
        YOUTUBE_API_KEY="canary", RESEARCH_WORKER_POOL_SIZE="5",
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    for expected in (
        "4 videos, 1 line without one, 1 link to a video", "yt_comments: 3 videos", "bili_comments: 1 video",
        "line 6: https://www.youtube.com/@x", "worker_pool_size = 5  (the variable RESEARCH_WORKER_POOL_SIZE)",
        "bilibili.com=8  (research.toml:1)", "comments by api; robots.txt does not concern it",
        "robots.txt of www.youtube.com is asked", "youtube_api_key = set", "bilibili.com: 8 in flight, 100 a second",
    ):  # fmt: skip
        assert expected in told.stdout, expected
    assert "bili_transcripts:" not in told.stdout
    assert "canary" not in told.stdout + told.stderr
    assert {path: path.read_bytes() for path in work.folder.iterdir()} == before
    assert small.counters()["total"] == 0


def test_robots_close_some_lines_and_all_ways_on_are_told(replica, desk):
    work = desk(replica("--robots", "real", spec=[{"comments": 5}, {"site": "bilibili", "comments": 3}]))
    refused = work.run("scrape", "-l", "links.txt", YOUTUBE_API_KEY="replica-key")
    assert refused.returncode == 4
    for line in ("yt_transcripts", "bili_transcripts", "bili_comments"):
        assert f"{line}: " in refused.stderr
        assert f"--skip {line}" in refused.stderr
    assert "--skip yt_comments" not in refused.stderr
    assert "RESEARCH_ROBOTS=ignore" in refused.stderr
    assert work.query("SELECT sum(pages) FROM sub_jobs") == [(0,)]
    skips = [flag for line in ("yt_transcripts", "bili_transcripts", "bili_comments") for flag in ("--skip", line)]
    rest = work.run("scrape", "-l", "links.txt", *skips, YOUTUBE_API_KEY="replica-key")
    assert rest.returncode == 0, rest.stderr
    assert work.config()["robots"] == "obey"
    run = work.query("SELECT id FROM runs ORDER BY created_at")[0][0]
    assert work.run("scrape", "--resume", run, RESEARCH_ROBOTS="ignore").returncode == 0
    assert work.run("scrape", "--resume", run).returncode == 0  # the run remembers that decision


def test_a_live_run_is_seen_and_stopped_from_another_terminal(replica, desk):
    work = desk(replica("--videos", "6", "--comments", "150-200", "--latency-ms", "700"))
    work.knobs("max_concurrency_per_domain = 4\n")
    process = work.start("scrape", "-l", "links.txt", "--only", "yt_comments")
    while work.replica.counters()["total"] < 10:
        time.sleep(0.1)
    time.sleep(2.5)
    now = work.status()
    assert (now["alive"], now["status"]) == (True, "in_progress")
    line = now["lines"]["yt_comments"]
    assert (line["total"], line["in_progress"], line["done"] + line["waiting"]) == (6, 6, 0)
    assert line["per_minute"] is not None
    assert f"process {process.pid}" in work.here("status").stdout
    stopped = work.here("cancel")
    assert (stopped.returncode, "has stopped" in stopped.stdout) == (0, True)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "asked to stop" in err) == (130, True)
    now = work.status()
    assert (now["alive"], now["status"], now["reason"]) == (False, "cancelled", "run_cancelled")
    assert "--resume" in now["what_to_do"]
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'") == [(0,)]
    assert "is not running" in work.here("cancel").stdout
    work.replica.latency(0)
    assert work.run("scrape", "--resume", "last", "-s", "max_concurrency_per_domain=16").returncode == 0
    truth = {comment for video in work.replica.videos for comment in work.replica.truth(video)["parents"]}
    assert {row[0] for row in work.query("SELECT comment_id FROM comments")} == truth
    assert work.status()["status"] == "success"


def test_a_killed_run_is_told_as_such(replica, desk):
    work = desk(replica("--videos", "3", "--comments", "100-150", "--latency-ms", "250"))
    process = work.start("scrape", "-l", "links.txt", "--only", "yt_comments")
    while work.replica.counters()["total"] < 5:
        time.sleep(0.1)
    process.kill()
    process.communicate()
    now = work.status()
    assert (now["alive"], now["status"]) == (False, "in_progress")
    assert "its process died" in work.here("status").stdout
    nobody = work.here("cancel")
    assert (nobody.returncode, "nobody works on" in nobody.stdout) == (0, True)
    work.replica.latency(0)
    assert work.run("scrape", "--resume", "last").returncode == 0


def test_ctrl_c_is_130(replica, desk):
    work = desk(replica("--videos", "3", "--comments", "100-150", "--latency-ms", "250"))
    process = work.start("scrape", "-l", "links.txt", "--only", "yt_comments")
    while work.replica.counters()["total"] < 5:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "research scrape --resume run_" in err) == (130, True)


def test_retry_takes_what_passing_reasons_do_not(small, desk):
    work = desk(small)
    only = ("--only", "yt_comments")
    assert work.run("scrape", "-l", "links.txt", *only).returncode == 0
    assert work.status()["last_errors"][0]["reason"] == "video_private"
    asked = small.counters()["total"]
    assert "nothing was left to do" in work.run("retry").stdout
    assert small.counters()["total"] == asked
    again = work.run("retry", "--failed")
    assert (again.returncode, "1 sub-job to be tried again" in again.stderr) == (0, True)
    assert small.counters()["total"] > asked
    assert work.here("retry", "run_nonsense").returncode == 2


def test_a_run_of_scrapy_crawl_can_be_resumed_too(small, desk):
    work = desk(small)
    crawl = subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", "yt_comments", "-a", "links=links.txt", "-a", "max_comments=10"],
        env={**os.environ, "RESEARCH_ORIGIN": small.origin, "PYTHONPATH": str(ROOT),
             "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings"},
        cwd=work.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert crawl.returncode == 0, crawl.stderr
    assert work.config()["knobs"]["max_concurrency_per_domain"] == {"default": 16, "bilibili.com": 8}
    assert "nothing was left to do" in work.run("scrape", "--resume", "last").stdout
    assert work.run("retry", "--failed").returncode == 0
    assert set(work.status()["lines"]) == {"yt_comments"}


def test_the_knobs_hold_for_scrapy_crawl_and_a_mistake_is_one_sentence(desk):
    work = desk()
    work.links("dQw4w9WgXcQ")
    work.knobs("max_browsers = 1")
    command = [sys.executable, "-m", "scrapy", "crawl", "yt_comments", "-a", "links=links.txt"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
    }
    for text, extra, told in (
        ("max_browsers = 1", [], "max_browsers=1 (research.toml:1): this version has no browser route"),
        ("retry_atempts = 1", [], "research.toml:1: no knob is called retry_atempts. Did you mean retry_attempts?"),
        ("", ["-s", "max_concurrency_global=none"], "-s max_concurrency_global"),
        ("", ["-s", "CONCURENT_REQUESTS=1"], "Did you mean CONCURRENT_REQUESTS?"),
    ):
        work.knobs(text)
        result = subprocess.run([*command, *extra], env=environment, cwd=work.folder, capture_output=True, text=True,
                                check=False)  # fmt: skip
        assert (result.returncode, told in result.stderr) == (2, True), result.stderr
        assert "Traceback" not in result.stderr


BAD = {
    "nothing": ([], "name links with --links"),
    "missing file": (["-l", "nowhere.txt"], "there is no file nowhere.txt"),
    "empty file": (["-l", "empty.txt"], "has no links"),
    "no line left": (["-l", "links.txt", "--only", "yt_comments", "--skip", "yt_comments"], "no line is left"),
    "no database": (["--resume", "last", "--db", "other.db"], "there is no database other.db"),
    "argument": (["-l", "links.txt", "-a", "sorts=top"], "Did you mean sort?"),
    "choice": (["-l", "links.txt", "-a", "refresh=newest"], "no such choice"),
    "domain": (["-l", "links.txt", "--domain", "youtub.com=3"], "Did you mean youtube.com?"),
    "config": (["-l", "links.txt", "--config", "mine.toml"], "mine.toml: there is no such file"),
    "demo": (["-l", "links.txt", "--demo"], "brings its own links"),
    "pair": (["-l", "links.txt", "-s", "lease_s"], "NAME=VALUE"),
    "line": (["-l", "links.txt", "--only", "yt_coments"], "yt_comments"),
}


@pytest.mark.parametrize(("flags", "message"), BAD.values(), ids=BAD)
def test_a_mistake_costs_one_sentence(desk, flags, message):
    work = desk()
    work.links("dQw4w9WgXcQ")
    (work.folder / "empty.txt").write_text("# none\n")
    result = work.here("scrape", *flags)
    assert (result.returncode, message in result.stderr) == (2, True), result.stderr
    assert not (work.folder / "research.db").exists()


def test_an_unknown_run(small, desk):
    work = desk(small)
    work.run("scrape", "-l", "links.txt", "--only", "bili_comments")
    for command in (["scrape", "--resume"], ["status"], ["retry"], ["cancel"]):
        result = work.here(*command, "run_nonsense")
        assert (result.returncode, "no run is called run_nonsense" in result.stderr) == (2, True)


def test_doctor(replica, desk):
    work = desk(replica("--robots", "real", "--api-key", "canary-key", "--sessdata", "canary-cookie",
                        spec=[{"comments": 5}]))  # fmt: skip
    keys = {"YOUTUBE_API_KEY": "canary-key", "BILIBILI_SESSDATA": "canary-cookie"}
    well = work.run("doctor", **keys)
    assert (well.returncode, work.replica.counters()["total"]) == (0, 0), well.stdout
    for expected in (
        "Scrapy 2.19",
        "research.toml is valid",
        "GB free",
        "API key: set",
        "yt_comments: comments by api",
    ):
        assert expected in well.stdout
    asked = work.run("doctor", "--online", **keys)
    assert asked.returncode == 1
    for expected in ("yt_transcripts is closed", "the API key is accepted", "the bilibili login is accepted"):
        assert expected in asked.stdout
    open_ = work.run("doctor", "--online", RESEARCH_ROBOTS="ignore", **keys)
    assert open_.returncode == 0, open_.stdout
    wrong = work.run("doctor", "--online", RESEARCH_ROBOTS="ignore", YOUTUBE_API_KEY="canary-2",
                     BILIBILI_SESSDATA="canary-3")  # fmt: skip
    assert wrong.returncode == 1
    assert "the API key is refused" in wrong.stdout
    assert "login is not accepted" in wrong.stdout
    assert "canary" not in "".join(one.stdout + one.stderr for one in (well, asked, open_, wrong))
    (work.folder / "research.db").write_bytes(b"garbage " * 100)
    damaged = work.run("doctor")
    assert (damaged.returncode, "bad   research.db" in damaged.stdout) == (1, True)
    work.knobs("max_browsers = 1")
    knobs = work.run("doctor", SSL_CERT_FILE="")
    assert (knobs.returncode, "no browser route" in knobs.stdout) == (1, True)


def test_the_demo(desk):
    work = desk()
    told = work.run("scrape", "--demo", "--only", "bili_comments", "--only", "yt_transcripts")
    assert told.returncode == 0, told.stderr
    assert "danmaku: " in told.stdout
    assert "Scrapy 2.19.0 started" not in told.stderr
    assert (work.folder / "jobs/scrape-demo/research.db").is_file()


@pytest.mark.parametrize("pause_s", [0.05, 4.0])
def test_without_a_network_it_is_one_sentence(workplace, pause_s):
    """Lines that are stopped while they ask for robots.txt, or wait to ask again, have nothing to say of their own."""
    work = workplace("http://127.0.0.1:9")
    work.links("dQw4w9WgXcQ", "BV17x411w7KC")
    done = subprocess.run(
        [sys.executable, "-c", "from research_scrapers.cli.main import main; main()", "scrape", "--links", "links.txt",
         "-s", f"RETRY_BACKOFF_CAP_S={pause_s}"],
        env=work.environment, cwd=work.folder, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "robots.txt could not be read" in done.stderr
    assert "Traceback" not in done.stderr
    assert ".." not in done.stderr.splitlines()[-1]
