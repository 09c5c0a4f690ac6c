"""What must not happen, and then does: a mistake of ours, an add-on that drops something, a line that is given up.

Each costs the sub-job that it hit, with its reason; the worker is free again and the rest go on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Request, signals

from research_scrapers.errors import BreakerOpen, LeaseLost, RequestLost, ResearchError, SpiderError, StoreError
from research_scrapers.items import PageItem
from research_scrapers.models import Kind, counted
from research_scrapers.verdicts import retriable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.crawling.walk import Walk

logger = logging.getLogger(__name__)

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
_SOON_S = 0.05


def bare(error: E) -> E:
    """What was raised, without where: a traceback holds its frames, and through them the whole answer, until the
    garbage is collected.
    """
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


async def guarded(spider: ResearchSpider, walk: Walk, steps: AsyncIterator[T]) -> AsyncIterator[T]:
    """The steps of a callback; whatever it raises is this walk's own misfortune."""
    try:
        async for step in steps:
            yield step
    except Exception as error:
        mishap(spider, walk, error)


def begun(spider: ResearchSpider, walk: Walk, steps: Iterator[T]) -> Iterator[T]:
    """Likewise for a walk that begins."""
    try:
        yield from steps
    except Exception as error:
        mishap(spider, walk, error)


def mishap(spider: ResearchSpider, walk: Walk, error: BaseException) -> None:
    """Fail a walk for what was raised while it was worked on, unless it is not ours any more."""
    if isinstance(error, StoreError):
        spider.stop(error)
        return
    if not isinstance(error, ResearchError):
        logger.error("%s of %s: a mistake of ours", walk.lease.kind, walk.lease.video_id, exc_info=error)
        error = SpiderError(f"{type(error).__name__}: {error}")
    walk.cut()
    if spider.holds(walk):
        fail(spider, walk, error)


def fail(spider: ResearchSpider, walk: Walk, error: ResearchError) -> None:
    """End a walk badly, whatever of it is still under way."""
    try:
        spider.ledger.fail(walk.lease, error.reason, error.detail, retriable=can_be_retried(error))
    except LeaseLost as lost:
        logger.warning("%s", lost)
    except StoreError as broken:
        spider.stop(broken)
        return
    spider.drop(walk)


def can_be_retried(error: ResearchError) -> bool:
    """Whether the same may go well another time. What a breaker gave up was never tried."""
    return retriable(error) or isinstance(error, BreakerOpen)


def watch(spider: ResearchSpider, crawler: Crawler) -> None:
    """Hear of what Scrapy, its pipelines and its middlewares drop."""

    def raised(failure: Failure, response: Response | Failure) -> None:
        request: Request | None = getattr(response, "request", None)
        walk = request.cb_kwargs.get("walk") if request is not None else None
        if walk is not None and failure.value is not None:
            mishap(spider, walk, failure.value)

    def unstored(item: Any, exception: BaseException | None = None, failure: Failure | None = None) -> None:
        if isinstance(item, PageItem) and not item.receipt.done():
            cause = exception or (failure.value if failure is not None else None)
            item.receipt.set_exception(SpiderError(f"a page was not stored: {type(cause).__name__}: {cause}"))

    closing = _Closing(crawler)
    for handler, signal in ((raised, signals.spider_error), (unstored, signals.item_dropped),
                            (unstored, signals.item_error), (closing.item_done, signals.item_dropped),
                            (closing.item_done, signals.item_error),
                            (closing.item_done, signals.item_scraped)):  # fmt: skip
        crawler.signals.connect(handler, signal=signal, weak=False)


class _Closing:
    """Scrapy asks itself whether it can close when an answer has been read, but not when an item that came from
    ``start`` is through: closed while one of those was on its way, it would wait for ever.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._armed = False

    def item_done(self, item: Any, response: Response | None = None) -> None:
        if response is None and not self._armed:
            self._armed = True
            self._later()

    def _later(self) -> None:
        asyncio.get_running_loop().call_later(_SOON_S, self._look)

    def _look(self) -> None:
        engine: Any = self._crawler.engine
        slot = engine.scraper.slot if engine is not None else None
        if slot is not None and slot.itemproc_size:
            self._later()
            return
        self._armed = False
        if slot is not None and slot.closing is not None and not slot.closing.called:
            engine.scraper._check_if_closing()


class Lost:
    """Finds walks that wait for an answer to a request that nobody has any more."""

    def __init__(self, spider: ResearchSpider) -> None:
        self._spider = spider
        self._suspects: set[int] = set()
        self._looked = time.monotonic()

    def look(self, walks: Sequence[Walk], every_s: float) -> None:
        """Fail those that were found without a request twice in a row."""
        if time.monotonic() - self._looked < every_s:
            return
        self._looked = time.monotonic()
        held = self._held()
        suspects = set() if held is None else {
            walk.lease.id for walk in walks if walk.in_flight and not walk.assisted and walk.lease.id not in held
        }  # fmt: skip
        for walk in [walk for walk in walks if walk.lease.id in suspects & self._suspects]:
            logger.error("%s of %s: its request was dropped", walk.lease.kind, walk.lease.video_id)
            walk.cut()
            fail(self._spider, walk, RequestLost("no part of the program holds it any more"))
        self._suspects = suspects

    def _held(self) -> set[int] | None:
        """The sub-jobs of which a request is under way; ``None`` while some wait unseen in Scrapy's queue."""
        engine: Any = self._spider.crawler.engine
        slot = engine._slot
        if slot is None or slot.closing is not None or slot.scheduler.has_pending_requests():
            return None
        scraped = engine.scraper.slot
        requests = [
            *engine.downloader.active,
            *slot.inprogress,
            *scraped.active,
            *(entry[1] for entry in scraped.queue),
        ]
        return {request.meta.get("research_sub_job") for request in requests}


# -- kinds that the site refuses -----------------------------------------------------------------------------------


def block(spider: ResearchSpider, kind: Kind, error: ResearchError) -> None:
    """The site refuses one kind for good: the others go on, and what is left of this one is kept; or fails, if its
    breaker is never to close again.
    """
    whole = kind is Kind.METADATA or not set(spider.active) - {*spider.blocked, kind, Kind.METADATA}
    if isinstance(error, BreakerOpen) and not spider.is_blocked(kind):
        _give_up(spider, spider.active if whole else [kind], error)
    if whole:
        spider.stop(error)
    elif kind not in spider.blocked:
        logger.error("%s of %s: %s. The rest goes on", kind, spider.provider_name, error)
        spider.blocked[kind] = error
        spider.gate.close(spider.line_of(kind))


def _give_up(spider: ResearchSpider, kinds: Iterable[Kind], error: ResearchError) -> None:
    """Fail what waits of these kinds. Metadata that another line can still bring is left to it."""
    kinds = [kind for kind in kinds if not spider.source.shared(spider, kind)]
    failed = spider.ledger.fail_waiting(spider.provider_name, kinds, error.reason, error.detail)
    logger.error("%s: its breaker stays open: %s that waited failed", spider.name, counted(failed, "sub-job"))


def give_back(spider: ResearchSpider, walk: Walk) -> None:
    """Of a kind that is blocked while others go on, what was begun is free again for a later session; of one that is
    given up, it fails.
    """
    error = spider.failure or spider.blocked.get(walk.lease.kind)
    if walk.in_flight or not spider.holds(walk):
        return
    if isinstance(error, BreakerOpen):
        fail(spider, walk, error)
    elif walk.lease.kind in spider.blocked:
        spider.drop(walk)
        spider.ledger.let_go(walk.lease)


def end_given_up(spider: ResearchSpider, walks: Iterable[Walk]) -> None:
    """Fail what was still under way when a line was given up."""
    for walk in list(walks):
        error = spider.failure or spider.blocked.get(walk.lease.kind)
        if isinstance(error, BreakerOpen):
            fail(spider, walk, error)
