"""YouTube transcripts."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from research_scrapers.coverage import Conclusion, Facts, conclude_tracks
from research_scrapers.crawling.assisted import AssistedSpider, TranscriptLibrary
from research_scrapers.crawling.walk import Walk
from research_scrapers.models import Cursor, Kind, Outcome, Page
from research_scrapers.providers import Route
from research_scrapers.providers.youtube.transcripts import LIBRARY, LIBRARY_TRACK, TranscriptRoute

if TYPE_CHECKING:
    from research_scrapers.store.pages import Lease


class YtTranscriptsSpider(AssistedSpider):
    """The transcripts of every YouTube link, human ones told from automatic ones: by youtube-transcript-api, and by
    our own reading of the caption tracks where it cannot.

    ``scrapy crawl yt_transcripts -a links=links.txt -a languages=en,zh-Hans -s JOBDIR=jobs/t -o transcripts.jsonl``
    """

    name = "yt_transcripts"
    provider_name = "youtube"
    kind = Kind.TRANSCRIPT
    assisted_steps = frozenset({LIBRARY, LIBRARY_TRACK})

    def _route(self) -> Route:
        assert self.provider.transcripts is not None
        route = self.provider.transcripts(self.options)
        assert isinstance(route, TranscriptRoute)
        self.library = TranscriptLibrary(route, self.config.in_flight + self.reserve)
        return route

    async def by_library(self, walk: Walk, cursor: Cursor) -> Page:
        """A step that the library takes."""
        return await self.library.read(walk.lease.video_id, cursor, partial(self.carry, walk))

    def known(self, lease: Lease) -> Conclusion | None:
        """``refresh``: whether what an earlier run read is new enough."""
        read = None if self.options.refresh == "always" else self.ledger.last_read(lease, self.options)
        if read is None or (
            self.options.refresh == "stale" and time.time() - read > self.config.transcript_age_days * 86_400
        ):
            return None
        when = datetime.fromtimestamp(read, UTC).date().isoformat()
        return Conclusion(Outcome.COMPLETE, "up_to_date", f"read on {when}; -a refresh=always reads it again")

    def conclude(self, facts: Facts) -> Conclusion:
        """Tracks that nobody asked for are no gap."""
        return conclude_tracks(facts)

    def _close(self) -> None:
        self.library.close()
        super()._close()
