"""An item's life: validated, then stored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

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

    Pages that are ready in the same moment are stored in one transaction: they share one wait for the disk.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._capturing = keeps_everything(crawler.settings, "RAW_CAPTURE")
        self._waiting: list[tuple[PageItem, Handed]] = []

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
            if len(self._waiting) == 1:
                asyncio.get_running_loop().call_soon(self._store)
        try:
            receipt = await asyncio.shield(item.receipt)
        except ResearchError as error:
            raise DropItem(str(error), log_level="DEBUG") from error
        stats = self._crawler.stats
        assert stats is not None
        stats.inc_value("research/pages")
        stats.inc_value("research/records", receipt.added)
        return item

    def _store(self) -> None:
        """Store what waits, and tell everyone who waits for it."""
        spider: ResearchSpider = self._crawler.spider  # type: ignore[assignment]
        waiting, self._waiting = self._waiting, []
        results: Sequence[Receipt | Exception]
        try:
            if isinstance(spider.failure, StoreError):
                raise spider.failure  # the database is out of reach: do not wait for it once per page
            results = spider.ledger.commit_pages([handed for _, handed in waiting])
        except ResearchError as error:
            results = [error] * len(waiting)
        except Exception as error:  # a mistake of ours: whoever waits must hear of it
            results = [SpiderError(f"{type(error).__name__}: {error}")] * len(waiting)
        for (item, _), result in zip(waiting, results, strict=True):
            if item.receipt.done():  # nobody waits for it any more: its task was cancelled
                continue
            if isinstance(result, Receipt):
                item.receipt.set_result(result)
            elif isinstance(result, ValueError | OverflowError):  # no text, or a number that no database could hold
                item.receipt.set_exception(LayoutChanged(f"a record cannot be stored: {result}"))
            else:
                item.receipt.set_exception(result)

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
