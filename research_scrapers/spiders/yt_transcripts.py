"""YouTube transcripts."""

from __future__ import annotations

from functools import partial

from research_scrapers.crawling.assisted import AssistedSpider, TranscriptLibrary
from research_scrapers.crawling.walk import Walk
from research_scrapers.models import Cursor, Kind, Page
from research_scrapers.providers import Route
from research_scrapers.providers.youtube.transcripts import LIBRARY, LIBRARY_TRACK, TranscriptRoute


class YtTranscriptsSpider(AssistedSpider):
    """The transcripts of every YouTube link, human ones told from automatic ones: by youtube-transcript-api, and by
    our own reading of the caption tracks where it cannot.

    ``scrapy crawl yt_transcripts -a links=links.txt -a languages=en,zh-Hans -s JOBDIR=jobs/t -o transcripts.jsonl``
    """

    name = "yt_transcripts"
    provider_name = "youtube"
    kinds = (Kind.TRANSCRIPT,)
    assisted_steps = frozenset({LIBRARY, LIBRARY_TRACK})

    def _route(self, kind: Kind) -> Route:
        route = super()._route(kind)
        assert isinstance(route, TranscriptRoute)
        self.library = TranscriptLibrary(route, self.config.in_flight(self.provider) + self.reserve)
        return route

    async def by_library(self, walk: Walk, cursor: Cursor) -> Page:
        """A step that the library takes."""
        return await self.library.read(walk.lease.video_id, cursor, partial(self.carry, walk))

    def _close(self) -> None:
        self.library.close()
        super()._close()
