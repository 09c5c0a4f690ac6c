"""Faults happen as ordered, and the counters see what clients do."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from research_scrapers.replica.counters import Counters
from research_scrapers.replica.faults import FaultPlan, rule_from
from research_scrapers.replica.launch import ReplicaProcess

HOST = "www.youtube.com"


# -- rules ----------------------------------------------------------------------------------


def fired(plan: FaultPlan, count: int, **request: str) -> list[bool]:
    asked = {"host": HOST, "path": "/watch", "method": "GET", **request}
    return [plan.pick(**asked) is not None for _ in range(count)]


def test_next_n_every_and_nth() -> None:
    plan = FaultPlan()
    plan.add("status", count=2)
    assert fired(plan, 4) == [True, True, False, False]
    plan.clear()
    plan.add("reset", every=3)
    assert fired(plan, 7) == [False, False, True, False, False, True, False]
    plan.clear()
    plan.add("hang", nth=2)
    assert fired(plan, 4) == [False, True, False, False]


def test_a_limit_fires_only_above_its_rate() -> None:
    plan = FaultPlan()
    plan.add("status", over=3, window=1.0)
    assert fired(plan, 5) == [False, False, False, True, True]
    time.sleep(1.1)
    assert fired(plan, 1) == [False]


def test_conditions_must_all_hold() -> None:
    plan = FaultPlan()
    plan.add("empty", host=HOST, path="/youtubei/", method="POST", video="v1", key="next:")
    good = {"path": "/youtubei/v1/next", "method": "POST", "video": "v1", "key": "next:abc"}
    assert fired(plan, 1, **good) == [True]
    for name, value in (("path", "/watch"), ("method", "GET"), ("video", "v2"), ("key", "x")):
        assert fired(plan, 1, **{**good, name: value}) == [False]


def test_probability_is_seeded() -> None:
    one, two = FaultPlan(5), FaultPlan(5)
    one.add("status", probability=0.5)
    two.add("status", probability=0.5)
    pattern = fired(one, 200)
    assert pattern == fired(two, 200)
    assert 60 < sum(pattern) < 140


def test_wrong_rules_are_refused() -> None:
    for bad in (
        {"action": "explode"},
        {"action": "hang", "colour": 1},
        {"action": "hang", "every": 0},
    ):
        with pytest.raises(ValueError, match=r"unknown fault|every"):
            rule_from(bad)


# -- counters -------------------------------------------------------------------------------


def test_counters() -> None:
    counters = Counters()
    first = counters.begin("a", "/x", "page1")
    second = counters.begin("a", "/x", "page2")
    third = counters.begin("b", "/x", "page1")
    assert counters.in_flight == {"a": 2, "b": 1}
    for entry in (first, second, third):
        counters.end(entry, 200)
    counters.end(counters.begin("a", "/x", "page1"), 429)
    assert counters.total == 4
    assert counters.repeats == 1
    assert counters.max_in_flight["a"] == 2
    assert counters.max_in_flight_total == 3
    assert counters.in_flight_total == 0
    assert counters.min_gap["a"] >= 0
    assert "b" not in counters.min_gap
    counters.told_to_wait("a", 0.5)
    counters.end(counters.begin("a", "/x", "page3"), 200)
    counters.end(counters.begin("b", "/x", "page3"), 200)
    time.sleep(0.6)
    counters.end(counters.begin("a", "/x", "page4"), 200)
    assert counters.early == 1
    assert [entry.status for entry in counters.log].count(429) == 1


# -- over the wire --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    with ReplicaProcess("--videos", "3", "--comments", "30-60") as process:
        yield process


@pytest.fixture(autouse=True)
def clean(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "replica" in request.fixturenames:
        request.getfixturevalue("replica").reset()


def ask(replica: ReplicaProcess, path: str = "", timeout: float = 5.0) -> tuple[int, Any, bytes]:
    address = urlsplit(replica.origin)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=timeout)
    try:
        connection.request("GET", path or f"/watch?v={replica.videos[0]}", headers={"Host": HOST})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("rule", "status", "part"),
    [
        ({"action": "status", "status": 429, "retry_after": 7}, 429, b"429"),
        ({"action": "status", "status": 429}, 429, b"429"),
        ({"action": "status", "status": 502}, 502, b"502"),
        ({"action": "status", "status": 403}, 403, b"403"),
        ({"action": "empty"}, 200, b""),
        ({"action": "html"}, 200, b"<!DOCTYPE html>"),
        ({"action": "bot_check"}, 200, b"not a bot"),
        ({"action": "consent"}, 200, b"consent.youtube.com/s"),
        ({"action": "consent_redirect"}, 302, b""),
        ({"action": "sorry"}, 302, b""),
        ({"action": "captcha"}, 429, b"g-recaptcha"),
        ({"action": "incomplete"}, 200, b"responseContext"),
        ({"action": "rate_limit"}, 403, b"rateLimitExceeded"),
    ],
)
def test_answers_ordered_by_rule(replica: ReplicaProcess, rule: dict[str, Any], status: int, part: bytes) -> None:
    replica.faults({**rule, "count": 1})
    got, headers, body = ask(replica)
    assert got == status
    assert part in body
    assert headers.get("Retry-After") == ("7" if "retry_after" in rule else None)
    if rule["action"] in ("sorry", "consent_redirect"):
        assert urlsplit(headers["Location"]).hostname in ("www.google.com", "consent.youtube.com")
    assert ask(replica)[0] == 200  # the rule is used up


def test_retry_after_as_a_date_counts_too(replica: ReplicaProcess) -> None:
    replica.faults({"action": "status", "retry_after": 30, "retry_date": True, "count": 1})
    when = parsedate_to_datetime(ask(replica)[1]["Retry-After"])
    assert 25 < when.timestamp() - time.time() < 35
    ask(replica)
    assert replica.counters()["early"] == 1


def test_innertube_failures_are_json(replica: ReplicaProcess) -> None:
    replica.faults({"action": "status", "status": 500, "path": "/youtubei/", "count": 1})
    status, _, body = ask(replica, "/youtubei/v1/next")
    assert status == 500
    assert json.loads(body)["error"]["status"] == "INTERNAL"


def test_reset(replica: ReplicaProcess) -> None:
    replica.faults({"action": "reset", "count": 1})
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        ask(replica)
    assert ask(replica)[0] == 200


def test_hang(replica: ReplicaProcess) -> None:
    replica.faults({"action": "hang", "count": 1, "seconds": 30})
    with pytest.raises(socket.timeout):
        ask(replica, timeout=0.5)
    assert ask(replica)[0] == 200


def test_truncated_body(replica: ReplicaProcess) -> None:
    replica.faults({"action": "truncate", "count": 1, "keep": 0.25})
    with pytest.raises(http.client.IncompleteRead) as caught:
        ask(replica)
    assert len(caught.value.partial) > 50_000
    assert caught.value.expected is not None


def test_garbage_and_drip(replica: ReplicaProcess) -> None:
    replica.faults({"action": "garbage", "count": 1}, {"action": "drip", "count": 1, "seconds": 0.5})
    _, _, body = ask(replica)
    with pytest.raises(UnicodeDecodeError):
        json.loads(body)
    start = time.monotonic()
    status, _, body = ask(replica)
    assert status == 200
    assert body.endswith(b"</html>")
    assert time.monotonic() - start > 0.4


def test_wire_counters(replica: ReplicaProcess) -> None:
    replica.faults({"action": "status", "status": 429, "retry_after": 60, "count": 1})
    replica.latency(1.0)
    threads = [Thread(target=ask, args=(replica,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    replica.latency(0)
    ask(replica)  # early: 60 seconds have not passed
    seen = replica.counters(log=True)
    assert seen["total"] == 5
    assert seen["by_path"] == {f"{HOST}/watch": 5}
    assert seen["by_status"] == {"429": 1, "200": 4}
    assert seen["max_in_flight"] == {HOST: 4}
    assert seen["in_flight_total"] == 0
    assert seen["repeats"] == 4
    assert seen["early"] == 1
    assert len(seen["log"]) == 5
    assert seen["log"][0][3] == f"watch:{replica.videos[0]}"


def test_latency_delays(replica: ReplicaProcess) -> None:
    replica.latency(0.25)
    start = time.monotonic()
    assert ask(replica)[0] == 200
    replica.latency(0)
    assert 0.25 <= time.monotonic() - start < 20


def test_robots(replica: ReplicaProcess) -> None:
    status, _, body = ask(replica, "/robots.txt")
    assert status == 200
    assert b"Disallow: /youtubei/" in body
    with ReplicaProcess("--videos", "1", "--robots", "open") as open_replica:
        assert b"/youtubei/" not in ask(open_replica, "/robots.txt")[2]


def test_unknown_hosts_are_refused(replica: ReplicaProcess) -> None:
    address = urlsplit(replica.origin)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=5)
    connection.set_tunnel("example.org", 443)
    with pytest.raises(OSError, match="502"):
        connection.connect()
    connection.close()


def test_keep_alive(replica: ReplicaProcess) -> None:
    address = urlsplit(replica.origin)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=5)
    for _ in range(3):
        connection.request("GET", "/sw.js_data", headers={"Host": HOST})
        body = connection.getresponse().read()
        assert body.startswith(b")]}'\n")
        assert json.loads(body[5:])[0][2][0][0][16].startswith("2.2026")
        assert connection.sock is not None
    connection.close()


def test_wrong_control_calls_are_refused(replica: ReplicaProcess) -> None:
    with pytest.raises(OSError, match="400"):
        replica.faults({"action": "explode"})
    with pytest.raises(OSError, match="400"):
        replica.mutate(replica.videos[0], "edit", comment="UgNone", text="x")
