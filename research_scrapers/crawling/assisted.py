"""Steps that a library takes: it asks, Scrapy carries, our parsers read what it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from research_scrapers.crawling.library import Download, EngineAdapter, carried_session
from research_scrapers.crawling.mishaps import bare, mishap
from research_scrapers.crawling.politeness import Stopping
from research_scrapers.crawling.requests import request_of
from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.crawling.walk import Walk
from research_scrapers.errors import Blocked, LayoutChanged, LeaseLost, NothingThere, ResearchError, SourceError
from research_scrapers.items import PageItem, Reading
from research_scrapers.models import Ask, Cursor, Options, Page
from research_scrapers.providers.youtube.library import failure_of_library, library_cannot, what_the_library_reads
from research_scrapers.providers.youtube.track_ask import TrackAsk
from research_scrapers.providers.youtube.transcripts import (
    LIBRARY,
    TranscriptRoute,
    without_library,
)

if TYPE_CHECKING:
    from scrapy.http import Response


_Step = Callable[[str, Cursor, EngineAdapter], "Response"]
_PLAYER, _TIMEDTEXT = "/youtubei/v1/player", "/api/timedtext"


class AssistedSpider(ResearchSpider):
    """A spider some of whose steps a blocking library takes."""

    reserve = 24
    """More than others: a walk whose library thinks between two requests does not wait at the gate."""

    def __init__(self, *args: Any, **arguments: Any) -> None:
        super().__init__(*args, **arguments)
        self._under_way: set[asyncio.Task[None]] = set()

    async def by_library(self, walk: Walk, cursor: Cursor) -> tuple[Page, Reading | None]:
        """The page of an assisted step, and what it was read from. What the library cannot do becomes a page that
        leads elsewhere.
        """
        raise NotImplementedError

    def assist(self, walk: Walk, cursor: Cursor) -> None:
        """Begin an assisted step."""
        walk.assisted += 1
        task = asyncio.get_running_loop().create_task(self._assist(walk, cursor))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _assist(self, walk: Walk, cursor: Cursor) -> None:
        try:
            page, reading = await self.by_library(walk, cursor)
            item = PageItem(page, walk.lease, reading=reading)
            self._outbox.append(item)
            self.news.set()
            self._outbox.extend(await self.stored(walk, item))
        except Stopping:
            self.halt(walk)
        except Exception as error:
            told = error if isinstance(error, ResearchError) else LayoutChanged(f"{type(error).__name__}: {error}")
            failure = bare(told)
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

    def __init__(
        self, route: TranscriptRoute, threads: int, reading: Callable[[Response], Reading],
        forget: Callable[[Response], None],
    ) -> None:  # fmt: skip
        self._route = route
        self._reading = reading
        self._forget = forget
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="transcripts")

    async def read(self, video_id: str, cursor: Cursor, download: Download) -> tuple[Page, Reading | None]:
        """The page of an assisted step, and what it was read from. Where the library cannot, or says that there is
        nothing, the page leads to our own reading, which proves it.
        """
        loop = asyncio.get_running_loop()
        adapter = EngineAdapter(download, loop, what_the_library_reads)
        step = self._list if cursor.step == LIBRARY else self._fetch
        try:
            return await loop.run_in_executor(self._threads, self._read, step, video_id, cursor, adapter)
        except (Stopping, LeaseLost):
            raise
        except Exception as error:
            for answer in adapter.answers.values():
                self._forget(answer)
            failure = failure_of_library(error)
            if isinstance(error, ResearchError) and isinstance(failure, SourceError) and not library_cannot(failure):
                raise failure from error  # what our own parser saw in the answer
            if isinstance(failure, Blocked | NothingThere) or library_cannot(failure) or cursor.step != LIBRARY:
                return without_library(cursor), None
            raise failure from error

    def _read(self, step: _Step, video_id: str, cursor: Cursor, adapter: EngineAdapter) -> tuple[Page, Reading]:
        reading = self._reading(step(video_id, cursor, adapter))
        return self._route.read(video_id, cursor, reading.answer, reading.at, Options()), reading

    @staticmethod
    def _list(video_id: str, cursor: Cursor, adapter: EngineAdapter) -> Response:
        from youtube_transcript_api import YouTubeTranscriptApi  # noqa: PLC0415 -- slow to import, only needed here

        YouTubeTranscriptApi(http_client=carried_session(adapter)).list(video_id)
        return adapter.answers[_PLAYER]

    @staticmethod
    def _fetch(video_id: str, cursor: Cursor, adapter: EngineAdapter) -> Response:
        from youtube_transcript_api._transcripts import Transcript  # noqa: PLC0415

        track = TrackAsk.of(cursor.token)
        Transcript(
            carried_session(adapter), video_id, track.url.replace("&fmt=srv3", ""), track.name, track.language,
            track.kind == "asr", [],
        ).fetch()  # fmt: skip
        return adapter.answers[_TIMEDTEXT]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
