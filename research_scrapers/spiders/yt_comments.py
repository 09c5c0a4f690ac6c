"""YouTube comments and replies."""

from __future__ import annotations

from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.models import Kind


class YtCommentsSpider(ResearchSpider):
    """Every comment and reply of every YouTube link: by the official API when a key is set, else by the web route.

    ``scrapy crawl yt_comments -a links=links.txt -s JOBDIR=jobs/first -o out.jsonl``
    """

    name = "yt_comments"
    provider_name = "youtube"
    kinds = (Kind.COMMENTS,)
