"""The server inside a running reactor, as a process, and as an https proxy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from research_scrapers.replica.launch import ReplicaProcess

ROOT = Path(__file__).parents[2]

IN_TWISTED = """
import sys
import research_scrapers.replica as package
assert "twisted.internet.reactor" not in sys.modules, "import must not install a reactor"
from twisted.internet import asyncioreactor, task
asyncioreactor.install()
from twisted.internet import reactor
from twisted.internet.defer import ensureDeferred
from twisted.web.client import Agent, HTTPConnectionPool, readBody
from twisted.web.http_headers import Headers

async def main():
    world = package.World(videos=2, comments=(30, 40))
    for _ in range(2):  # a replica can be followed by another one
        replica = package.Replica(world, latency=0.01)
        origin = await replica.start()
        pool = HTTPConnectionPool(reactor, persistent=False)
        headers = Headers({"Host": ["www.youtube.com"]})
        url = f"{origin}/watch?v={next(iter(world.videos))}".encode()
        answer = await Agent(reactor, pool=pool).request(b"GET", url, headers)
        body = await readBody(answer)
        assert answer.code == 200 and b"ytInitialData" in body
        replica.faults.add("hang")
        hanging = Agent(reactor, pool=pool).request(b"GET", url, headers)
        hanging.addErrback(lambda failure: None)
        await task.deferLater(reactor, 0.1, lambda: None)
        assert replica.counters.in_flight_total == 1
        await replica.stop()
        await task.deferLater(reactor, 0.05, lambda: None)
        left = [call for call in reactor.getDelayedCalls() if call.active()]
        assert replica.counters.in_flight_total == 0
        assert not left, left
    print("fine")

task.react(lambda reactor: ensureDeferred(main()))
"""
IN_ASYNCIO = """
import asyncio, urllib.request
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
from twisted.internet import asyncioreactor
asyncioreactor.install(loop)
from twisted.internet import reactor
from research_scrapers.replica import Replica, World

def ask(url):
    request = urllib.request.Request(url, headers={"Host": "www.youtube.com"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(request, timeout=5).read()

async def main():
    reactor.startRunning(installSignalHandlers=False)
    replica = Replica(World(videos=1))
    origin = await replica.start()
    body = await loop.run_in_executor(None, ask, origin + "/robots.txt")
    assert b"Disallow" in body
    await replica.stop()
    print("fine")

loop.run_until_complete(main())
"""


@pytest.mark.parametrize("script", [IN_TWISTED, IN_ASYNCIO], ids=["twisted", "asyncio"])
def test_lives_in_a_running_reactor(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr[-3000:]


def test_process_says_one_line_and_ends_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "research_scrapers.replica", "--demo", "--exit-with-parent"]
    process = subprocess.Popen(
        [*command, "--ca-file", str(tmp_path / "ca.pem")],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    assert set(ready) == {"origin", "proxy", "ca_file", "videos", "bili_videos"}
    assert len(ready["videos"]) >= 12
    assert (tmp_path / "ca.pem").read_text().startswith("-----BEGIN CERTIFICATE")
    process.stdin.close()
    assert process.wait(10) == 0
    assert process.stdout.read() == ""
    process.stdout.close()


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    spec: list[dict[str, Any]] = [
        {"comments": 30},
        {"comments": 30, "state": "consent_redirect"},
        {"state": "sorry"},
    ]
    with ReplicaProcess("--gzip", spec=spec) as process:
        yield process


@pytest.fixture
def session(replica: ReplicaProcess) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.proxies = {"https": replica.proxy, "http": replica.proxy}
    session.verify = replica.ca_file
    return session


def test_https_through_the_proxy(replica: ReplicaProcess, session: requests.Session) -> None:
    answer = session.get(f"https://www.youtube.com/watch?v={replica.videos[0]}", timeout=10)
    assert answer.status_code == 200
    assert "ytInitialData" in answer.text
    assert answer.headers["Content-Encoding"] == "gzip"
    plain = session.get("http://youtube.com/robots.txt", timeout=10)
    assert "Disallow" in plain.text


def test_other_hosts_are_out_of_reach(session: requests.Session) -> None:
    with pytest.raises(requests.exceptions.ProxyError):
        session.get("https://example.org/", timeout=10)
    assert session.get("http://example.org/", timeout=10).status_code == 502


def test_tls_is_checked(replica: ReplicaProcess, session: requests.Session) -> None:
    session.verify = True
    with pytest.raises(requests.exceptions.SSLError):
        session.get("https://www.youtube.com/", timeout=10)


def test_consent_can_be_given(replica: ReplicaProcess, session: requests.Session) -> None:
    url = f"https://www.youtube.com/watch?v={replica.videos[1]}"
    page = session.get(url, timeout=10)
    assert page.url.startswith("https://consent.youtube.com/m?")
    given = session.post("https://consent.youtube.com/s", data={"continue": url}, timeout=10)
    assert given.url == url
    assert "ytInitialData" in given.text
    assert "ytInitialData" in session.get(url, timeout=10).text


def test_sorry_ends_in_429(replica: ReplicaProcess, session: requests.Session) -> None:
    answer = session.get(f"https://www.youtube.com/watch?v={replica.videos[2]}", timeout=10)
    assert answer.status_code == 429
    assert "captcha-form" in answer.text
    assert answer.url.startswith("https://www.google.com/sorry/index")


def test_faults_work_inside_tls(replica: ReplicaProcess, session: requests.Session) -> None:
    url = f"https://www.youtube.com/watch?v={replica.videos[0]}"
    replica.faults({"action": "reset", "count": 1}, {"action": "truncate", "count": 1})
    with pytest.raises(requests.exceptions.ConnectionError):
        session.get(url, timeout=10)
    with pytest.raises(requests.exceptions.RequestException):
        session.get(url, timeout=10)
    assert session.get(url, timeout=10).status_code == 200
