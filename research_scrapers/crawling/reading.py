"""An answer on its way to being read: when it was given, whether a request went out for it, what it depended on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from research_scrapers.crawling.retry import answer_of
from research_scrapers.items import Reading

if TYPE_CHECKING:
    from scrapy.http import Response

    from research_scrapers.crawling.spider import ResearchSpider

FORGET = object()
"""Signal: the answer to this request was not what it should be, so a cache must not give it again."""
REVALIDATED = "revalidated"
"""Flag of a cached answer that the site has just confirmed."""


def reading_of(spider: ResearchSpider, response: Response) -> Reading:
    """A response as it is read now. One that a cache held is as old as it is: what it says was true then."""
    facts = {name: spider.visitor.facts[name] for name in spider.provider.visit_facts if name in spider.visitor.facts}
    at, sent = datetime.now(UTC), "cached" not in response.flags or REVALIDATED in response.flags
    if not sent:
        assert response.request is not None
        at = datetime.fromtimestamp(response.request.meta["cache_timestamp"], UTC)
    return Reading(answer_of(response), at, facts, sent)


def forget(spider: ResearchSpider, response: Response) -> None:
    """Let no cache give this answer again."""
    spider.crawler.signals.send_catch_log(FORGET, request=response.request)
