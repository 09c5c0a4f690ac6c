"""Steps that a library takes: it asks, Scrapy carries, our parsers read what it was given."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research_scrapers.crawling.library import Download, EngineAdapter, carried_session
from research_scrapers.crawling.mishaps import mishap
from research_scrapers.crawling.politeness import Stopping
from research_scrapers.crawling.requests import request_of
from research_scrapers.crawling.retry import answer_of
from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.crawling.walk import Walk
from research_scrapers.errors import Blocked, LayoutChanged, LeaseLost, NothingThere, ResearchError, SourceError
from research_scrapers.items import PageItem
from research_scrapers.models import Ask, Cursor, Page
from research_scrapers.providers.youtube.library import failure_of_library, library_cannot
from research_scrapers.providers.youtube.track_ask import TrackAsk
from research_scrapers.providers.youtube.transcripts import (
    LIBRARY,
    TranscriptRoute,
    read_library_track,
    without_library,
)

if TYPE_CHECKING:
    from scrapy.http import Response


_PLAYER, _TIMEDTEXT = "/youtubei/v1/player", "/api/timedtext"


class AssistedSpider(ResearchSpider):
    """A spider some of whose steps a blocking library takes."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._under_way: set[asyncio.Task[None]] = set()

    async def by_library(self, walk: Walk, cursor: Cursor) -> Page:
        """The page of an assisted step. What the library cannot do becomes a page that leads elsewhere."""
        raise NotImplementedError

    def assist(self, walk: Walk, cursor: Cursor) -> None:
        """Begin an assisted step."""
        walk.assisted += 1
        task = asyncio.get_running_loop().create_task(self._assist(walk, cursor))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _assist(self, walk: Walk, cursor: Cursor) -> None:
        try:
            item = PageItem(await self.by_library(walk, cursor), walk.lease)
            self._outbox.append(item)
            self.news.set()
            self._outbox.extend(await self.stored(walk, item))
        except Stopping:
            self.halt(walk)
        except Exception as error:
            failure = error if isinstance(error, ResearchError) else LayoutChanged(f"{type(error).__name__}: {error}")
            link = Ask(self.provider.link(walk.lease.video_id))
            request = request_of(link, self.provider, self.line, self.kind)
            try:
                self._outbox.extend(self.failed(walk, cursor, link, request, failure, b"", tried=True))
            except Exception as mistake:
                mishap(self, walk, mistake)
        finally:
            walk.assisted -= 1
            self.news.set()

    async def carry(self, walk: Walk, ask: Ask) -> Response:
        """Download for a library, under the same limits as any request."""
        request = request_of(ask, self.provider, self.line, self.kind, priority=walk.lease.priority)
        request.meta["research_sub_job"] = walk.lease.id
        assert self.crawler.engine is not None
        return await self.crawler.engine.download_async(request)


class TranscriptLibrary:
    """Runs the library in threads, and turns what it meets into pages."""

    def __init__(self, route: TranscriptRoute, threads: int) -> None:
        self._route = route
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="transcripts")

    async def read(self, video_id: str, cursor: Cursor, download: Download) -> Page:
        """The page of an assisted step. Where the library cannot, or says that there is nothing, the page leads to our
        own reading, which proves it.
        """
        loop = asyncio.get_running_loop()
        adapter = EngineAdapter(download, loop)
        step = self._list if cursor.step == LIBRARY else self._fetch
        try:
            return await loop.run_in_executor(self._threads, step, video_id, cursor, adapter)
        except (Stopping, LeaseLost):
            raise
        except Exception as error:
            failure = failure_of_library(error)
            if isinstance(error, ResearchError) and isinstance(failure, SourceError) and not library_cannot(failure):
                raise failure from error  # what our own parser saw in the answer
            if isinstance(failure, Blocked | NothingThere) or library_cannot(failure) or cursor.step != LIBRARY:
                return without_library(cursor)
            raise failure from error

    def _list(self, video_id: str, cursor: Cursor, adapter: EngineAdapter) -> Page:
        from youtube_transcript_api import YouTubeTranscriptApi  # noqa: PLC0415 -- slow to import, only needed here

        YouTubeTranscriptApi(http_client=carried_session(adapter)).list(video_id)
        player = json.loads(adapter.answers[_PLAYER].body)
        return self._route.listed_by_library(video_id, cursor, player, datetime.now(UTC))

    def _fetch(self, video_id: str, cursor: Cursor, adapter: EngineAdapter) -> Page:
        from youtube_transcript_api._transcripts import Transcript  # noqa: PLC0415

        track = TrackAsk.of(cursor.token)
        Transcript(
            carried_session(adapter), video_id, track.url.replace("&fmt=srv3", ""), track.name, track.language,
            track.kind == "asr", [],
        ).fetch()  # fmt: skip
        return read_library_track(video_id, cursor, answer_of(adapter.answers[_TIMEDTEXT]), datetime.now(UTC))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
