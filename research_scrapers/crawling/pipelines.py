"""An item's life: validated, then stored."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import DropItem

from research_scrapers.crawling.cache import keeps_everything
from research_scrapers.errors import LayoutChanged, ResearchError, SpiderError, StoreError
from research_scrapers.models import Comment, Danmaku, Transcript
from research_scrapers.store.pages import Handed, Receipt
from research_scrapers.store.raw import Raw, blobs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.items import PageItem


class ValidatePipeline:
    """Refuses a page whose records cannot be right, rather than storing something wrong."""

    def process_item(self, item: PageItem) -> PageItem:
        for record in item.page.records:
            problem = _problem(record, item)
            if problem:
                item.receipt.set_exception(LayoutChanged(problem))
                raise DropItem(problem, log_level="DEBUG")
        return item


def _problem(record: Comment | Transcript | Danmaku, item: PageItem) -> str | None:
    if record.video_id != item.lease.video_id or record.provider != item.lease.provider:
        return f"a record belongs to video {record.video_id!r}"
    if isinstance(record, Transcript):
        return None if record.language and record.content_hash else "a transcript without a language"
    if isinstance(record, Danmaku):
        return None if record.danmaku_id and record.cid and record.content_hash else "a danmaku without an id"
    if not record.comment_id or not record.root_id or not record.content_hash:
        return "a comment without an id"
    if (record.parent_id is None) != (record.depth == 0):
        return f"comment {record.comment_id!r} has depth {record.depth} and parent {record.parent_id!r}"
    return None


class StorePipeline:
    """Hands pages to the ledger, and the ledger's receipts to the spider that waits for them.

    Pages that are ready in the same moment are stored in one transaction. Its wait for the disk is a thread's business;
    what becomes ready meanwhile is the next group.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._capturing = keeps_everything(crawler.settings, "RAW_CAPTURE")
        self._waiting: list[tuple[PageItem, Handed]] = []
        self._busy = self._closed = False
        self._thread = ThreadPoolExecutor(1, "store")  # its own: whoever waits in Scrapy's threads may wait for a page
        self._thread.submit(int)  # begins it: where there is no room for a thread, nothing must be written first
        crawler.signals.connect(self._close, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: PageItem) -> PageItem:
        spider: ResearchSpider = self._crawler.spider  # type: ignore[assignment]
        try:
            raw = self._capture(spider, item) if self._capturing else None
        except ResearchError as error:
            item.receipt.set_exception(error)
        else:
            self._waiting.append((item, Handed(item.lease, item.page, spider.options, item.quota, raw)))
            if not self._busy:
                self._busy = True
                asyncio.get_running_loop().call_soon(self._begin)
        try:
            receipt = await asyncio.shield(item.receipt)
        except ResearchError as error:
            raise DropItem(str(error), log_level="DEBUG") from error
        stats = self._crawler.stats
        assert stats is not None
        stats.inc_value("research/pages")
        stats.inc_value("research/records", receipt.added)
        return item

    def _begin(self) -> None:
        """Write what waits."""
        spider: ResearchSpider = self._crawler.spider  # type: ignore[assignment]
        waiting, self._waiting = self._waiting, []
        try:
            if isinstance(spider.failure, StoreError):
                raise spider.failure  # the database is out of reach: do not wait for it once per page
            group = spider.ledger.group([handed for _, handed in waiting])
            group.write()
            if self._closed:
                self._tell(waiting, group.settle())
                return
        except Exception as error:
            self._tell(waiting, [error] * len(waiting))
        else:
            settled = asyncio.get_running_loop().run_in_executor(self._thread, group.settle)
            settled.add_done_callback(lambda done: self._tell(waiting, done.exception() or done.result()))

    def _tell(
        self, waiting: Sequence[tuple[PageItem, Handed]], results: Sequence[Receipt | Exception] | BaseException
    ) -> None:
        """Tell everyone who waits what became of his page, and go on with those that came meanwhile."""
        if isinstance(results, BaseException):
            results = [results if isinstance(results, Exception) else SpiderError(repr(results))] * len(waiting)
        for (item, _), result in zip(waiting, results, strict=True):
            if item.receipt.done():  # nobody waits for it any more: its task was cancelled
                continue
            if isinstance(result, Receipt):
                item.receipt.set_result(result)
            elif isinstance(result, ResearchError):
                item.receipt.set_exception(result)
            elif isinstance(result, ValueError | OverflowError):  # no text, or a number that no database could hold
                item.receipt.set_exception(LayoutChanged(f"a record cannot be stored: {result}"))
            else:  # a mistake of ours
                item.receipt.set_exception(SpiderError(f"{type(result).__name__}: {result}"))
        self._busy = bool(self._waiting)
        if self._busy:
            asyncio.get_running_loop().call_soon(self._begin)

    def _close(self) -> None:
        self._closed = True
        self._thread.shutdown()

    @staticmethod
    def _capture(spider: ResearchSpider, item: PageItem) -> Raw | None:
        """Keep the body that a page was read from, before the page's own transaction, which links it."""
        if item.reading is None:
            return None
        answer = spider.provider.scrub(item.reading.answer)
        store = spider.session.store
        with store.explained():
            address = blobs_of(store).put(answer.body)
        return Raw(address, len(answer.body), answer, item.reading.at, item.reading.visit)
