"""How Bilibili refuses, and what it costs: passing refusals nothing, lasting ones the time until the next try."""

from __future__ import annotations

import asyncio
import gzip
import logging

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred

from research_scrapers.config import Limits
from research_scrapers.crawling.gate import Gate
from research_scrapers.errors import LoginRefused, NothingReached, SiteBlocked
from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from tests.conftest import LOGIN
from tests.integration.test_bili_comments import expected, flown, held, spec

REFUSALS = {
    "bili_-352": "risk_control",
    "bili_-352_bare": "risk_control",
    "bili_412": "address_banned",
    "bili_412_json": "request_banned",
    "bili_-412": "request_banned",
    "bili_-509": "over_limit",
    "bili_-799": "too_frequent",
    "bili_voucher": "voucher_only",
    "bili_-403": "signature_refused",
    "bili_null": "silent_refusal",
    "bili_void": "silent_refusal",
    "bili_captcha": "ip_blocked",
    "bili_html": "address_banned",
}
MAIN = "/x/v2/reply/wbi/main"


def scene(replica, workplace, *entries, **more):
    bili = replica(spec=spec(*(entries or ({"comments": 50, "danmaku": 60, "busy": [2, 30]},) * 2)))
    work = workplace(bili.origin, login=LOGIN, **more)
    work.links(*bili.bili_videos)
    return bili, work


def whole(work, bili):
    """Everything is here, and everything is called complete."""
    for video in bili.bili_videos:
        truth = bili.truth(video)
        assert held(work, video) == truth["comments"]["logged_in"]
        assert flown(work, video) == expected(truth, "logged_in")
    ends = work.query("SELECT DISTINCT status, outcome FROM sub_jobs")
    assert ends == [("success", "complete")]


@ensureDeferred
@pytest.mark.parametrize("action", REFUSALS)
async def test_passing_refusals_lose_nothing(replica, workplace, action):
    bili, work = scene(replica, workplace)
    path = MAIN if action == "bili_-403" else "/x/v2/reply"
    bili.faults({"action": action, "path": path, "skip": 2, "count": 3})
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    whole(work, bili)


@ensureDeferred
@pytest.mark.parametrize("action", [name for name in REFUSALS if name != "bili_-403"])
async def test_lasting_refusals_of_all_stop_the_run_with_everything_kept(replica, workplace, action):
    bili, work = scene(replica, workplace)
    # The files of danmaku are no JSON, so an answer without data is one for comments and metadata only.
    bili.faults({"action": action, "skip": 8})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 2})
    assert isinstance(crawler.spider.failure, SiteBlocked), crawler.spider.failure
    assert crawler.spider.failure.exit_code == 7
    assert work.query("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'") == [(0,)]
    kept = set(work.ids())
    bili.faults()
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    assert kept <= set(work.ids())
    whole(work, bili)


@ensureDeferred
@pytest.mark.parametrize("action", ["bili_-352", "bili_412", "bili_-799", "bili_null"])
async def test_blocked_comments_do_not_stop_danmaku(replica, workplace, action):
    bili, work = scene(replica, workplace, *({"comments": 60, "danmaku": 60, "parts": 2},) * 4)
    bili.faults({"action": action, "path": "/x/v2/reply", "skip": 3})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 2})
    assert isinstance(crawler.spider.failure, SiteBlocked)
    for video in bili.bili_videos:
        assert flown(work, video) == expected(bili.truth(video), "logged_in")
        assert work.coverage(video, "danmaku")["outcome"] == "complete"
    assert work.query("SELECT count(*) FROM sub_jobs WHERE kind = 'comments' AND outcome = 'complete'") == [(0,)]
    bili.faults()
    asked = bili.counters()["by_path"]
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    whole(work, bili)
    seg = "api.bilibili.com/x/v2/dm/web/seg.so"
    assert bili.counters()["by_path"][seg] == asked[seg]


@ensureDeferred
async def test_blocked_danmaku_do_not_stop_comments(replica, workplace):
    bili, work = scene(replica, workplace)
    bili.faults({"action": "bili_412", "path": "/x/v2/dm", "skip": 2})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 2})
    assert isinstance(crawler.spider.failure, SiteBlocked)
    for video in bili.bili_videos:
        assert held(work, video) == bili.truth(video)["comments"]["logged_in"]
    bili.faults()
    await work.bili_here()
    whole(work, bili)


@ensureDeferred
async def test_when_nothing_is_left_to_collect_no_more_facts_are_asked_for(replica, workplace):
    bili, work = scene(replica, workplace, *({"comments": 5, "danmaku": 0},) * 30)
    bili.faults({"action": "bili_412", "path": "/x/v2/reply"})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 1}, danmaku="0")
    assert isinstance(crawler.spider.failure, SiteBlocked)
    assert bili.counters()["by_path"]["api.bilibili.com/x/web-interface/view"] < 30


@ensureDeferred
async def test_blocked_comments_do_not_stop_the_transcripts_of_the_same_process(replica, workplace):
    bili, work = scene(replica, workplace, *({"comments": 40, "danmaku": 0, "tracks": [["ai-zh", "ai"]]},) * 3)
    bili.faults({"action": "bili_-352", "path": "/x/v2/reply"})
    gate = Gate(Limits(cooldown_s=0.05, patience=1, unhurried=False))
    comments = Deferred.fromCoroutine(
        work.bili_here(gate=gate, jobdir="c", danmaku="0", settings={"BREAKER_PATIENCE": 1})
    )
    transcripts = await work.bili_here(BiliTranscriptsSpider, gate=gate, jobdir="t")
    crawler = await comments
    assert isinstance(crawler.spider.failure, SiteBlocked)
    assert transcripts.spider.failure is None
    assert work.query("SELECT count(*) FROM transcripts") == [(3,)]


@ensureDeferred
async def test_new_keys_in_the_middle_of_a_run(replica, workplace):
    bili, work = scene(replica, workplace, {"comments": 200, "danmaku": 5, "reply_share": 0.0})
    turned = []

    async def turn():
        while bili.counters()["by_path"].get(f"api.bilibili.com{MAIN}", 0) < 3:
            await asyncio.sleep(0.02)
        bili.bilibili(rotate_keys=True)
        turned.append(1)

    bili.latency(0.05)
    task = asyncio.ensure_future(turn())
    crawler = await work.bili_here()
    assert task.done()
    assert turned
    assert crawler.spider.failure is None
    whole(work, bili)
    assert bili.counters()["by_path"]["api.bilibili.com/x/web-interface/nav"] == 2  # renewed once


@ensureDeferred
async def test_a_signature_that_is_never_accepted_leads_to_the_unsigned_list(replica, workplace):
    bili, work = scene(replica, workplace)
    bili.faults({"action": "bili_-403", "path": "/x/v2/reply/wbi"})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 2})
    assert crawler.spider.failure is None  # no block: nobody has to wait, and nobody to come again
    whole(work, bili)


@ensureDeferred
async def test_visitor_ids_are_brought_where_the_site_wants_them(replica, workplace):
    bili, work = scene(replica, workplace)
    bili.bilibili(require_buvid=True)
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    whole(work, bili)


@ensureDeferred
async def test_without_ids_or_a_ticket_it_goes_on(replica, workplace):
    bili, work = scene(replica, workplace)
    bili.faults(
        {"action": "status", "status": 404, "path": "/x/frontend"},
        {"action": "status", "status": 403, "path": "/bapis"},
    )
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    whole(work, bili)


@ensureDeferred
@pytest.mark.parametrize(
    ("action", "kind"), [("bili_412", SiteBlocked), ("bili_-352", SiteBlocked), ("reset", NothingReached)]
)
async def test_nothing_begins_before_it_is_known_who_we_are(replica, workplace, action, kind):
    bili, work = scene(replica, workplace)
    bili.faults({"action": action, "path": "/x/web-interface/nav"})
    crawler = await work.bili_here(settings={"BREAKER_PATIENCE": 1, "RETRY_TIMES": 1})
    assert isinstance(crawler.spider.failure, kind), crawler.spider.failure
    assert "api.bilibili.com/x/web-interface/view" not in bili.counters()["by_path"]
    assert work.query("SELECT DISTINCT status FROM sub_jobs") == [("pending",)]
    bili.faults()
    await work.bili_here()
    whole(work, bili)


@ensureDeferred
async def test_a_login_that_dies_within_a_run(replica, workplace):
    bili, work = scene(replica, workplace, {"comments": 300, "danmaku": 5, "reply_share": 0.0})
    bili.latency(0.05)

    async def die():
        while bili.counters()["by_path"].get(f"api.bilibili.com{MAIN}", 0) < 3:
            await asyncio.sleep(0.02)
        bili.bilibili(logout=True, rotate_keys=True)

    task = asyncio.ensure_future(die())
    crawler = await work.bili_here()
    assert task.done()
    assert isinstance(crawler.spider.failure, LoginRefused)
    assert work.query("SELECT count(*) FROM sub_jobs WHERE outcome = 'complete' AND kind = 'comments'") == [(0,)]
    bili.bilibili(login=True)
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    whole(work, bili)


FAULTS = {
    "500": {"action": "status", "status": 500, "every": 4, "count": 3},
    "503 with Retry-After": {"action": "status", "status": 503, "retry_after": 1, "count": 2},
    "429": {"action": "status", "status": 429, "count": 2},
    "reset": {"action": "reset", "every": 4, "count": 3},
    "hang": {"action": "hang", "seconds": 60, "count": 2},
    "truncated": {"action": "truncate", "every": 4, "count": 3},
    "empty": {"action": "bili_empty", "every": 3, "count": 3},
    "garbage": {"action": "garbage", "every": 4, "count": 3},
    "hollow": {"action": "bili_hollow", "path": MAIN, "skip": 1, "count": 2},
}


@ensureDeferred
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_passing_faults_lose_nothing(replica, workplace, fault):
    bili, work = scene(replica, workplace, {"comments": 60, "danmaku": 90, "seconds": 1500})
    bili.faults({"path": "/x/v2", **fault})
    crawler = await work.bili_here(settings={"DOWNLOAD_TIMEOUT": 1})
    assert crawler.spider.failure is None
    whole(work, bili)


@ensureDeferred
async def test_the_login_is_seen_nowhere(replica, workplace, caplog):
    canary = "canary%2C1790000000%2Cab12*c1CjD-secret"
    bili = replica("--sessdata", canary, spec=spec({"comments": 30, "danmaku": 20, "tracks": [["ai-zh", "ai"]]}))
    work = workplace(bili.origin, login=canary)
    work.links(*bili.bili_videos)
    caplog.set_level(logging.DEBUG)
    for logger in ("scrapy", "research_scrapers", "twisted"):
        caplog.set_level(logging.DEBUG, logger)
    broken = {"action": "garbage", "path": "/x/v2/reply/wbi/main"}
    bili.faults(broken, {"action": "reset", "path": "/x/v2/dm", "count": 2})
    feed = {"FEEDS": {str(work.feed): {"format": "jsonl"}}, "RETRY_TIMES": 1}
    await work.bili_here(settings=feed)
    bili.faults({"action": "truncate", "count": 2})
    await work.bili_here(BiliTranscriptsSpider, jobdir="t")
    forms = [canary, "canary,1790000000,ab12*c1CjD-secret", "ab12"]
    assert work.query("SELECT count(*) FROM comments")[0][0] >= 0
    for path in work.folder.rglob("*"):
        if path.is_file():
            body = path.read_bytes()
            body = gzip.decompress(body) if path.suffix == ".gz" else body
            assert not [form for form in forms if form.encode() in body], path
    assert not [form for form in forms if form in caplog.text]
    assert "DEBUG" in caplog.text
    assert '"logins": ["bilibili"]' in work.query("SELECT config FROM runs")[0][0]


@ensureDeferred
async def test_a_kept_body_does_not_tell_who_asked(replica, workplace, monkeypatch):
    bili = replica(spec=spec({"comments": 0, "danmaku": 0, "tracks": [["ai-zh", "ai"]]}))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    from research_scrapers.providers.bilibili import subtitles

    def surprised(*_):
        raise KeyError("surprise")

    monkeypatch.setattr(subtitles, "read_list", surprised)
    await work.bili_here(BiliTranscriptsSpider)
    location = work.query("SELECT location FROM artifacts")[0][0]
    with gzip.open(location) as file:
        body = file.read()
    assert b"subtitles" in body
    for told in (b"203.0.113.7", b'"replica"', b'"login_mid":1000', "北京".encode()):
        assert told not in body
