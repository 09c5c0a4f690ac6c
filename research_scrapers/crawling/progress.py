"""What a person sees while a run goes on, and what it came to at the end."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from research_scrapers.errors import NothingReached, QuotaExhausted, ResearchError, StoreError
from research_scrapers.models import Kind
from research_scrapers.store.report import coverage_table, summary

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from research_scrapers.crawling.session import Session
    from research_scrapers.crawling.spider import ResearchSpider

logger = logging.getLogger(__name__)

_EVERY_S = 5.0
_LISTED = 40
_NAMES = {Kind.COMMENTS: "comments", Kind.TRANSCRIPT: "transcripts", Kind.DANMAKU: "danmaku"}


class Progress:
    """A line every few seconds."""

    def __init__(self, crawler: Crawler) -> None:
        if crawler.spider is None or not hasattr(crawler.spider, "gate"):
            raise NotConfigured("only for the research spiders")
        self._crawler = crawler
        self._spider: ResearchSpider = crawler.spider  # type: ignore[assignment]
        self._task: asyncio.Task[None] | None = None
        self._what = " and ".join(_NAMES[kind] for kind in self._spider.active if kind in _NAMES)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _opened(self, spider: Spider) -> None:
        self._task = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        pages = 0
        ended = total = -1
        while True:
            await asyncio.sleep(_EVERY_S)
            if not hasattr(self._spider, "session"):
                continue
            if total < 0:  # asked once: counting a million sub-jobs every few seconds would hold up the work
                ended, total = self._spider.session.runs.standing(self._spider.session.run.id)
                ended -= self._value("research/ended")
            now = self._value("research/pages")
            logger.info("%s", self._line(ended + self._value("research/ended"), total, now - pages))
            pages = now

    def _line(self, ended: int, total: int, pages: int) -> str:
        spider = self._spider
        domains = set(spider.provider.hosts.values())
        pauses = [
            (max(spider.gate.paused_for(domain, line) for domain in domains), spider.gate.breaker(line).state, kind)
            for kind in spider.active
            for line in [spider.line_of(kind)]
        ]
        pause = "".join(
            f", {kind}: breaker {state}, paused for {waits:.0f} s" for waits, state, kind in pauses if waits
        )
        what = "videos" if len(spider.active) == 1 else "pieces of work"
        return (
            f"{ended:,} of {total:,} {what} done, {self._value('research/records'):,} {self._what}, "
            f"{pages / _EVERY_S:.1f} pages/s, {spider.gate.in_flight} in flight, {spider.gate.waiting} waiting{pause}"
        )

    def _value(self, name: str) -> int:
        assert self._crawler.stats is not None
        return int(self._crawler.stats.get_value(name, 0))

    def _closed(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


def tell_end(spider: ResearchSpider, session: Session) -> ResearchError | None:
    """Print what the run came to; returns why it counts as failed, if it does."""
    assert spider.crawler.stats is not None
    conn, run_id = session.store.conn, session.run.id
    if session.resumed and not spider.failure and not spider.crawler.stats.get_value("downloader/request_count", 0):
        logger.info("nothing was left to do: 0 requests, 0 new rows")
    logger.info("%s\n\n%s\n", summary(conn, run_id), coverage_table(conn, run_id, _LISTED))
    if spider.failure or session.runs.reached(run_id):
        return spider.failure
    return NothingReached(
        "every video failed for a passing reason: check the network (and HTTPS_PROXY), then run the same command again"
    )


def close_run(spider: ResearchSpider, session: Session) -> None:
    """Write down how this session of the run ended, say what it came to, and let go of it."""
    failure = spider.failure
    until = failure.until if isinstance(failure, QuotaExhausted) else ""
    try:
        spider.left = session.end(
            failure.reason if failure else "interrupted",
            park_until=datetime.fromisoformat(until).timestamp() if until else None,
        )
        spider.closed_well = True
        if spider.begun:
            spider.failure = tell_end(spider, session)
    except StoreError as error:
        spider.failure = failure or error
    finally:
        session.close()
