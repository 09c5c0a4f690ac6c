"""Canaries: an API key, a login and a proxy's password through runs that go wrong in every way, told at DEBUG."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import quote

import pytest

KEY = "canaryKEY+/=7"
LOGIN = "canaryLOGIN,1700000000,ab*cd"
PASSWORD = "canaryPASSWORD"
QUICK = ("-L", "DEBUG", "-s", "RETRY_BACKOFF_CAP_S=0.01", "-s", "BREAKER_COOLDOWN_S=0.01", "-s", "RETRY_TIMES=1",
         "-s", "BREAKER_PATIENCE=3", "-s", "DOMAIN_RATES=bilibili.com=50,hdslb.com=50")  # fmt: skip
TROUBLE = (
    {"action": "status", "status": 500, "skip": 1, "count": 1},
    {"action": "truncate", "skip": 1, "count": 1},
    {"action": "reset", "skip": 1, "count": 1},
    {"action": "garbage", "skip": 1, "count": 1},
    {"action": "status", "status": 302, "skip": 2, "count": 1},
    {"action": "status", "status": 403, "skip": 2, "count": 1},
)


def _spelt(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), quote(secret)}


def _silent(work, result: subprocess.CompletedProcess[str], *secrets: str) -> None:
    told = result.stdout + result.stderr
    assert "DEBUG" in told
    for secret in (spelling for one in secrets for spelling in _spelt(one)):
        assert secret not in told, told[max(told.find(secret) - 300, 0) : told.find(secret) + 60]
        for path in work.folder.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


def test_the_key_is_never_told(replica, workplace):
    yt = replica("--videos", "2", "--comments", "150-200", "--api-key", KEY)
    yt.faults(*({**rule, "path": "/youtube/v3/"} for rule in TROUBLE))
    work = workplace(yt.origin, key=KEY)
    work.links(*yt.videos)
    result = work.crawl(*QUICK)
    assert work.query("SELECT count(*) FROM comments")[0][0] > 0, result.stderr[-2000:]
    _silent(work, result, KEY)


def test_a_key_that_is_refused_is_never_told(replica, workplace):
    yt = replica("--videos", "1", "--api-key", "another")
    work = workplace(yt.origin, key=KEY)
    work.links(*yt.videos)
    result = work.crawl(*QUICK)
    assert result.returncode == 5
    _silent(work, result, KEY)


def test_the_login_is_never_told(replica, workplace):
    site = replica("--bili-videos", "1", "--videos", "0", "--sessdata", LOGIN)
    site.faults(*({**rule, "path": "/x/"} for rule in TROUBLE))
    work = workplace(site.origin)
    work.links(*site.bili_videos)
    result = _crawl(work, "bili_comments", *QUICK, env={"BILIBILI_SESSDATA": LOGIN})
    assert work.query("SELECT count(*) FROM sub_jobs")[0][0] > 0, result.stderr[-2000:]
    _silent(work, result, LOGIN)


def test_a_login_that_is_refused_is_never_told(replica, workplace):
    site = replica("--bili-videos", "1", "--videos", "0", "--sessdata", "another")
    work = workplace(site.origin)
    work.links(*site.bili_videos)
    result = _crawl(work, "bili_comments", *QUICK, env={"BILIBILI_SESSDATA": LOGIN})
    assert result.returncode == 5
    _silent(work, result, LOGIN)


class _Proxy(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        self.send_error(407)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def proxy() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_nothing_is_told_where_a_proxy_fails(proxy, workplace):
    work = workplace("", key=KEY)
    work.links("dQw4w9WgXcQ")
    result = work.crawl(*QUICK, env={"HTTPS_PROXY": f"http://me:{PASSWORD}@127.0.0.1:{proxy}", "NO_PROXY": ""})
    assert _Proxy.asked == ["www.googleapis.com:443"] * len(_Proxy.asked)
    assert _Proxy.asked
    assert result.returncode != 0
    _silent(work, result, KEY, PASSWORD)


def _crawl(work, spider: str, *extra: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [spider if part == "yt_comments" else part for part in work.command(*extra)]
    return subprocess.run(
        command,
        env={**work.environment, **env},
        cwd=work.folder,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
