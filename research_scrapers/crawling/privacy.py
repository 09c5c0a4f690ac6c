"""Between validation and the store: who wrote what is hidden before anything is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import DropItem

from research_scrapers.errors import LayoutChanged
from research_scrapers.privacy import PERSONAL

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.items import PageItem


class PrivacyPipeline:
    """Applies the run's policy to a page. With ``keep`` the page goes through untouched."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_item(self, item: PageItem) -> PageItem:
        spider: ResearchSpider = self._crawler.spider  # type: ignore[assignment]
        veil = spider.session.veil
        if veil.keeps:
            return item
        page = item.page
        try:
            video = None if page.video is None else veil.video(page.video)
            session = {name: value for name, value in page.session.items() if name not in PERSONAL}
            item.page = replace(page, records=veil.records(page.records), video=video, session=session)
        except Exception as error:  # a page that cannot be hidden is not stored, and the spider must not wait for it
            item.receipt.set_exception(LayoutChanged(f"a page could not be pseudonymised: {type(error).__name__}"))
            raise DropItem("not pseudonymised", log_level="DEBUG") from error
        return item
