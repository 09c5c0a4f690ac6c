"""YouTube transcripts."""

from __future__ import annotations

from research_scrapers.coverage import Conclusion, Facts, conclude_tracks
from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.models import Kind
from research_scrapers.providers import Route


class YtTranscriptsSpider(ResearchSpider):
    """The transcripts of every YouTube link, human ones told from automatic ones.

    ``scrapy crawl yt_transcripts -a links=links.txt -a languages=en,zh-Hans -s JOBDIR=jobs/t -o transcripts.jsonl``
    """

    name = "yt_transcripts"
    provider_name = "youtube"
    kind = Kind.TRANSCRIPT

    def _route(self) -> Route:
        assert self.provider.transcripts is not None
        return self.provider.transcripts(self.options)

    def conclude(self, facts: Facts) -> Conclusion:
        """Tracks that nobody asked for are no gap."""
        return conclude_tracks(facts)
