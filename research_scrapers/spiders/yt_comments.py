"""YouTube comments and replies."""

from __future__ import annotations

from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.models import Kind
from research_scrapers.providers import Route


class YtCommentsSpider(ResearchSpider):
    """Every comment and reply of every YouTube link: by the official API when a key is set, else by the web route.

    ``scrapy crawl yt_comments -a links=links.txt -s JOBDIR=jobs/first -o out.jsonl``
    """

    name = "yt_comments"
    provider_name = "youtube"
    kind = Kind.COMMENTS

    def _route(self) -> Route:
        assert self.provider.comments is not None
        return self.provider.comments(self.config.api_key)
