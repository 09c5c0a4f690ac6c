"""Bilibili subtitles."""

from __future__ import annotations

from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.models import Kind


class BiliTranscriptsSpider(ResearchSpider):
    """The subtitles of every part of every Bilibili link, human ones told from automatic ones. The site shows them only
    to those who are logged in (``BILIBILI_SESSDATA``).

    ``scrapy crawl bili_transcripts -a links=links.txt -a languages=zh,en -s JOBDIR=jobs/s -o subtitles.jsonl``
    """

    name = "bili_transcripts"
    provider_name = "bilibili"
    kinds = (Kind.TRANSCRIPT, Kind.METADATA)
