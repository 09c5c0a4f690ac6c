"""The gate as a downloader middleware, and an AutoThrottle that a refusal never speeds up."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.extensions.throttle import AutoThrottle

from research_scrapers.crawling.gate import GateClosed, Ticket

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from research_scrapers.crawling.gate import Gate
    from research_scrapers.crawling.spider import ResearchSpider

SLOW_DOWN = (429, 503)
_SLOWEST_S = 2.0
"""Pauses are the gate's business; this is only the pace between requests once they go again."""


class Stopping(IgnoreRequest):
    """The run is stopping: this request was not sent, its sub-job goes on next time."""


class GateMiddleware:
    """Must be the last middleware before the download: between it and the network nothing may fail unseen."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._tickets: dict[int, Ticket] = {}
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        meta = request.meta
        if "research_sub_job" in meta:  # before a place is taken, for learning takes places too
            await self._spider.visitor.ready(self._spider.fetch)
        ticket = Ticket(
            domain=meta["research_domain"],
            line=meta["research_line"],
            artifact=meta["research_artifact"],
            pace=meta["research_pace"],
            not_before=meta.get("research_not_before", 0.0),
            priority=request.priority,
        )
        try:
            await self._gate.enter(ticket)
        except GateClosed:
            raise Stopping("the run is stopping") from None
        self._tickets[id(request)] = ticket

    def _left(self, request: Request, spider: Spider) -> None:
        ticket = self._tickets.pop(id(request), None)
        if ticket is not None:
            self._gate.leave(ticket)

    @property
    def _spider(self) -> ResearchSpider:
        return self._crawler.spider  # type: ignore[return-value]

    @property
    def _gate(self) -> Gate:
        return self._spider.gate


class SteadyThrottle(AutoThrottle):
    """AutoThrottle, except that errors only ever slow it down.

    A refusal is small and fast, so its latency would speed up a crawler that is being told to slow down. The gate
    obeys the refusal itself; here the pace afterwards is halved, once for all the refusals that come together.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._slowed: dict[int, float] = {}

    def _adjust_delay(self, slot: Slot, latency: float, response: Response) -> None:
        if response.status in SLOW_DOWN:
            now = monotonic()
            if now - self._slowed.get(id(slot), 0.0) > max(slot.delay, 1.0):
                self._slowed[id(slot)] = now
                slot.delay = min(max(slot.delay * 2, 0.1), _SLOWEST_S, self.maxdelay)
        elif response.status == 200:
            super()._adjust_delay(slot, latency, response)
