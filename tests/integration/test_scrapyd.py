"""The spiders under a real Scrapyd: built, deployed, scheduled; logs and items served."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

pytest.importorskip("scrapyd", reason="Scrapyd is not installed: pip install scrapyd scrapyd-client")
pytest.importorskip("scrapyd_client", reason="scrapyd-client is not installed: pip install scrapyd-client")

ROOT = Path(__file__).parents[2]
DEPLOYED = ("setup.py", "scrapy.cfg", "pyproject.toml", "README.md", "LICENSE", "research_scrapers")
LOGIN = "canary-of-scrapyd"
"""What the replica takes for a login. Scrapyd hands its own environment to the spiders, so it stands nowhere else."""
_OPEN = build_opener(ProxyHandler({})).open


def environment(**more: str) -> dict[str, str]:
    """Without our own settings, and unmeasured: what runs from an egg has no source that a report could show."""
    ours = ("COV", "RESEARCH_", "YOUTUBE_", "BILIBILI_", "SCRAPY", "PYTHONPATH", "HTTP", "http")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(ours)}, **more}


def project(folder: Path) -> Path:
    """A copy of the project, as in a fresh checkout: building an egg leaves folders behind."""
    for name in DEPLOYED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Scrapyd:
    """A running Scrapyd, asked over HTTP as people do."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> bytes:
        with _OPEN(f"{self.url}/{path}", timeout=20) as answer:
            return answer.read()

    def ask(self, service: str, **values: object) -> dict:
        """GET without values that change something, POST with a list of pairs."""
        data = urlencode(values, doseq=True)
        if service in ("schedule.json", "cancel.json"):
            with _OPEN(f"{self.url}/{service}", data.encode(), timeout=20) as answer:
                told = json.load(answer)
        else:
            told = json.loads(self.get(f"{service}?{data}"))
        assert told["status"] == "ok", told
        return told

    def finished(self, jobs: set[str], patience: float = 60) -> dict[str, dict]:
        until = time.monotonic() + patience
        while time.monotonic() < until:
            done = {one["id"]: one for one in self.ask("listjobs.json", project="research_scrapers")["finished"]}
            if jobs <= done.keys():
                return done
            time.sleep(0.2)
        raise AssertionError("the jobs did not finish")


@contextmanager
def running(folder: Path, **env: str):
    port = free_port()
    folder.mkdir()
    (folder / "scrapyd.conf").write_text(
        f"[scrapyd]\nbind_address = 127.0.0.1\nhttp_port = {port}\nitems_dir = items\npoll_interval = 0.2\n"
        "max_proc_per_cpu = 4\n",
        encoding="utf-8",
    )
    log = (folder / "scrapyd.log").open("wb")
    process = subprocess.Popen(
        [Path(sys.executable).with_name("scrapyd")], cwd=folder, env=environment(**env), stdout=log, stderr=log
    )
    server = Scrapyd(f"http://127.0.0.1:{port}")
    try:
        for _ in range(150):
            try:
                server.ask("daemonstatus.json")
                break
            except (URLError, ConnectionError):
                assert process.poll() is None, (folder / "scrapyd.log").read_text()
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def test_two_spiders_are_deployed_scheduled_and_their_results_served(tmp_path, replica):
    played = replica("--sessdata", LOGIN, spec=[{"comments": 45}, {"site": "bilibili", "comments": 33, "danmaku": 20}])
    checkout = project(tmp_path / "checkout")
    with running(tmp_path / "scrapyd", RESEARCH_ORIGIN=played.origin, BILIBILI_SESSDATA=LOGIN) as server:
        (checkout / "scrapy.cfg").write_text(
            (checkout / "scrapy.cfg").read_text().replace("http://127.0.0.1:6800", server.url).replace("GIT", "1.2"),
            encoding="utf-8",
        )
        deployed = subprocess.run(
            [Path(sys.executable).with_name("scrapyd-deploy")], cwd=checkout, env=environment(), text=True,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert deployed.returncode == 0, deployed.stderr + deployed.stdout
        told = json.loads(deployed.stdout)
        assert told["spiders"] == 4
        spiders = server.ask("listspiders.json", project="research_scrapers")["spiders"]
        assert spiders == ["bili_comments", "bili_transcripts", "yt_comments", "yt_transcripts"]

        videos = {"yt_comments": played.videos[0], "bili_comments": played.bili_videos[0]}
        jobs = {
            spider: server.ask(
                "schedule.json", project="research_scrapers", spider=spider, links=video,
                setting=[f"JOBDIR={tmp_path / 'jobs' / spider}", f"RESEARCH_DB={tmp_path / spider}.db",
                         "DOMAIN_RATE=0", "CONCURRENT_REQUESTS_PER_DOMAIN=8"],
            )["jobid"]
            for spider, video in videos.items()
        }  # fmt: skip
        done = server.finished(set(jobs.values()))
        for spider, video in videos.items():
            job = done[jobs[spider]]
            log = server.get(job["log_url"].lstrip("/")).decode()
            items = [json.loads(line) for line in server.get(job["items_url"].lstrip("/")).splitlines()]
            comments = [item["comment_id"] for item in items if item["type"] == "comment"]
            assert sorted(comments) == sorted(expected(played, video)), log
            assert "1 video" in log
            assert LOGIN not in log
            assert (tmp_path / "jobs" / spider / "run.json").is_file()
        assert any(item["type"] == "danmaku" for item in items)

    egg = next((tmp_path / "scrapyd" / "eggs").rglob("*.egg"))
    assert_harmless(egg)


def expected(played, video: str) -> set[str]:
    truth = played.truth(video, texts=False)
    if truth.get("site") == "bilibili":
        return set(truth["comments"]["logged_in"])
    return set(truth["parents"]) - set(truth["unobtainable"])


def assert_harmless(egg: Path) -> None:
    """The egg holds our package and its description, nothing else."""
    with zipfile.ZipFile(egg) as packed:
        for name in packed.namelist():
            assert name.split("/")[0] in ("research_scrapers", "EGG-INFO"), name
            assert not name.endswith((".db", ".toml", ".env", ".key", ".pem", "cookies.txt")), name
            assert LOGIN.encode() not in packed.read(name) or "/replica/" in name, name
        assert b"settings = research_scrapers.settings" in packed.read("EGG-INFO/entry_points.txt")
