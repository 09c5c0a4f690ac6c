"""Mistakes of ours and of add-ons: one sub-job pays, with its reason; nobody waits for ever, and the rest go on."""

from __future__ import annotations

import asyncio
import time

import pytest
from pytest_twisted import ensureDeferred
from scrapy import signals
from scrapy.exceptions import DropItem

from research_scrapers.crawling import spider as spider_module
from research_scrapers.crawling.pipelines import StorePipeline
from research_scrapers.errors import BreakerOpen, StoreFull
from research_scrapers.items import PageItem
from research_scrapers.providers.youtube.transcripts import TranscriptRoute
from research_scrapers.providers.youtube.web import WebRoute
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

VICTIM = 1


def poison(monkeypatch, owner, name, victim, error):
    """Let a method raise for one video."""
    real = getattr(owner, name)

    def broken(self, first, *rest):
        video = first if isinstance(first, str) else first.video_id
        if video == victim:
            raise error
        return real(self, first, *rest)

    monkeypatch.setattr(owner, name, broken)


@ensureDeferred
@pytest.mark.parametrize(("owner", "name", "error", "reason"), [
    (WebRoute, "start", KeyError("poison"), "spider_error"),
    (WebRoute, "ask", ZeroDivisionError("poison"), "spider_error"),
    (WebRoute, "read", RecursionError("poison"), "layout_changed"),
    (WebRoute, "read", MemoryError("poison"), "layout_changed"),
    (YtCommentsSpider, "conclude", TypeError("poison"), "spider_error"),
])  # fmt: skip
async def test_whatever_is_raised_costs_one_sub_job(replica, workplace, monkeypatch, owner, name, error, reason):
    yt = replica("--videos", "3", "--comments", "10-30")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    poison(monkeypatch, owner, name, yt.videos[VICTIM], error)
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    row = work.coverage(yt.videos[VICTIM])
    assert (row["status"], row["reason"]) == ("failed", reason)
    assert "poison" in row["detail"]
    assert [work.coverage(video)["outcome"] for video in (yt.videos[0], yt.videos[2])] == ["complete"] * 2


@ensureDeferred
async def test_an_errback_that_raises_costs_one_sub_job(replica, workplace, monkeypatch):
    yt = replica("--videos", "2", "--comments", "10-30")
    yt.faults({"action": "reset", "path": "/watch", "video": yt.videos[0]})
    work = workplace(yt.origin)
    work.links(*yt.videos)

    def broken(self, cursor, failure):
        raise KeyError("poison")

    monkeypatch.setattr(WebRoute, "fallback", broken)
    await work.crawl_here()
    assert work.coverage(yt.videos[0])["reason"] == "spider_error"
    assert work.coverage(yt.videos[1])["outcome"] == "complete"


@ensureDeferred
async def test_a_library_step_whose_failure_fails_too_costs_one_sub_job(replica, workplace, monkeypatch):
    yt = replica(spec=[{"comments": 0, "tracks": [["en", "manual"]]} for _ in range(2)])
    work = workplace(yt.origin)
    work.links(*yt.videos)

    async def broken(self, walk, cursor):
        if walk.lease.video_id == yt.videos[0]:
            raise KeyError("poison")
        return await by_library(self, walk, cursor)

    def worse(self, cursor, failure):
        raise TypeError("poison")

    by_library = YtTranscriptsSpider.by_library
    monkeypatch.setattr(YtTranscriptsSpider, "by_library", broken)
    monkeypatch.setattr(TranscriptRoute, "fallback", worse)
    await work.crawl_here(spider=YtTranscriptsSpider)
    assert work.coverage(yt.videos[0])["reason"] == "spider_error"
    assert work.coverage(yt.videos[1])["outcome"] == "complete"


class Dropping:
    """A pipeline that somebody added, and that drops or breaks."""

    error: Exception = DropItem("not wanted")
    victim = ""

    def process_item(self, item):
        if item.lease.video_id == self.victim:
            raise self.error
        return item


@ensureDeferred
@pytest.mark.parametrize("error", [DropItem("not wanted"), ValueError("broken")])
async def test_a_pipeline_that_drops_a_page_does_not_hold_anybody_up(replica, workplace, monkeypatch, error):
    yt = replica("--videos", "2", "--comments", "10-30")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    monkeypatch.setattr(Dropping, "error", error)
    monkeypatch.setattr(Dropping, "victim", yt.videos[0])
    await work.crawl_here(settings={"ITEM_PIPELINES": {
        Dropping: 50, "research_scrapers.crawling.pipelines.StorePipeline": 900,
    }})  # fmt: skip
    row = work.coverage(yt.videos[0])
    assert (row["status"], row["reason"]) == ("failed", "spider_error")
    assert work.coverage(yt.videos[1])["outcome"] == "complete"


class Swallowing:
    """A spider middleware that loses the requests of one video, or raises."""

    victim = ""
    raises = False

    async def process_spider_output(self, response, result):
        async for thing in result:
            mine = not isinstance(thing, PageItem) and thing.cb_kwargs["walk"].lease.video_id == self.victim
            if mine and self.raises:
                raise ValueError("an add-on's mistake")
            if not mine:
                yield thing


@ensureDeferred
@pytest.mark.parametrize(("raises", "reason"), [(False, "request_lost"), (True, "spider_error")])
async def test_a_walk_that_never_lands_is_found(replica, workplace, monkeypatch, raises, reason):
    yt = replica("--videos", "3", "--comments", "30-60")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    monkeypatch.setattr(Swallowing, "victim", yt.videos[0])
    monkeypatch.setattr(Swallowing, "raises", raises)
    monkeypatch.setattr(spider_module, "_LOOK_AGAIN_S", 0.2)
    await work.crawl_here(settings={"SPIDER_MIDDLEWARES": {Swallowing: 10}})
    row = work.coverage(yt.videos[0])
    assert (row["status"], row["reason"]) == ("failed", reason)
    assert [work.coverage(video)["outcome"] for video in yt.videos[1:]] == ["complete"] * 2


@ensureDeferred
async def test_a_breaker_that_is_never_to_close_fails_the_rest_at_once_and_resuming_tries_it_again(replica, workplace):
    yt = replica("--videos", "30", "--comments", "5-9")
    yt.faults({"action": "status", "status": 403, "path": "/youtubei", "skip": 5})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"BREAKER_COOLDOWN_S": "never"})
    assert isinstance(crawler.spider.failure, BreakerOpen)
    rows = dict(work.query("SELECT coalesce(reason, outcome), count(*) FROM sub_jobs GROUP BY 1"))
    assert set(rows) <= {"complete", "breaker_open", "access_refused"}
    assert rows["breaker_open"] > 10
    assert work.query("SELECT count(*) FROM jobs WHERE status IN ('pending', 'in_progress')") == [(0,)]
    assert yt.counters()["total"] < 60  # nothing was asked for in vain
    yt.faults()
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]
    assert sorted(work.ids()) == sorted(c for video in yt.videos for c in yt.truth(video)["parents"])


@ensureDeferred
async def test_a_share_of_faults_opens_the_breaker_and_the_run_still_ends_well(replica, workplace):
    yt = replica("--videos", "12", "--comments", "30-60")
    yt.faults({"action": "status", "status": 503, "every": 2, "count": 30})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"BREAKER_SAMPLE": 10, "BREAKER_SHARE": 0.4, "RETRY_TIMES": 8})
    assert crawler.spider.failure is None
    assert work.query("SELECT DISTINCT status, outcome FROM sub_jobs") == [("success", "complete")]


@ensureDeferred
async def test_a_run_that_stops_while_a_page_of_an_assisted_step_is_on_its_way_ends(replica, workplace, monkeypatch):
    from twisted.internet import defer, reactor

    yt = replica(spec=[{"comments": 0, "tracks": [["en", "manual"]]} for _ in range(2)])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    real = StorePipeline.process_item

    def stopping(self, item):
        async def slow(item):
            await asyncio.sleep(0.3)

        self._crawler.signals.connect(slow, signal=signals.item_scraped, weak=False)
        done = real(self, item)
        self._crawler.spider.stop(StoreFull("a test"))
        return done

    monkeypatch.setattr(StorePipeline, "process_item", stopping)
    began = time.monotonic()
    crawl = defer.ensureDeferred(work.crawl_here(spider=YtTranscriptsSpider))
    crawler = await crawl.addTimeout(20, reactor)  # which cancels it, and lets it end
    assert isinstance(crawler.spider.failure, StoreFull)
    assert time.monotonic() - began < 15
