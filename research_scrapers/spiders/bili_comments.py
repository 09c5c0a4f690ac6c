"""Bilibili comments, sub-replies and danmaku."""

from __future__ import annotations

from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.models import Kind


class BiliCommentsSpider(ResearchSpider):
    """Every comment, sub-reply and danmaku of every Bilibili link (``-a danmaku=0`` leaves the last out).

    ``scrapy crawl bili_comments -a links=links.txt -s JOBDIR=jobs/b -o out.jsonl``
    """

    name = "bili_comments"
    provider_name = "bilibili"
    kinds = (Kind.COMMENTS, Kind.DANMAKU, Kind.METADATA)
