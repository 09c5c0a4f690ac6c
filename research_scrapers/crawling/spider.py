"""The base spider: feeds itself from the ledger, walks each sub-job's pages, and stores a page before it goes on.

A subclass says its name, provider and kinds. What a page looks like is the provider's business; what a failure leads
to is told in ``consequences``.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap, deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request, Spider, signals

from research_scrapers.config import Config, take_names
from research_scrapers.coverage import CONCLUDE, Conclusion
from research_scrapers.crawling.consequences import already_read, consequence, finish
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.mishaps import Lost, bare, begun, block, end_given_up, give_back, guarded, watch
from research_scrapers.crawling.politeness import Stopping
from research_scrapers.crawling.reading import forget, reading_of
from research_scrapers.crawling.requests import request_of
from research_scrapers.crawling.retry import Retrier, answer_of, failure_of, mark
from research_scrapers.crawling.session import Session
from research_scrapers.crawling.source import Alone, Source
from research_scrapers.crawling.visit import Visitor, prepare
from research_scrapers.crawling.walk import Walk
from research_scrapers.errors import LayoutChanged, LeaseLost, ResearchError, SourceError, SpiderError, StoreError
from research_scrapers.items import PageItem, Reading
from research_scrapers.models import Answer, Ask, Cursor, Kind, Options, Page
from research_scrapers.providers import Provider, Route, providers

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from research_scrapers.store.ledger import Ledger
    from research_scrapers.store.pages import Lease

_LOOK_AGAIN_S = 10.0


class ResearchSpider(Spider):
    """One production line."""

    provider_name: ClassVar[str]
    kinds: ClassVar[tuple[Kind, ...]]
    """What it collects, in the order in which it is taken up; the first names its line."""
    assisted_steps: ClassVar[frozenset[str]] = frozenset()
    """Steps that `assist` takes, with a library's help, instead of a request and the route."""
    reserve: ClassVar[int] = 8
    """Requests kept waiting at the gate, so that a free place is taken at once."""

    session: Session
    ledger: Ledger
    retrier: Retrier

    def __init__(
        self, links: str | None = None, gate: Gate | None = None, source: Source | None = None, **arguments: Any
    ) -> None:
        super().__init__()
        self.arguments = arguments
        self.provider: Provider = providers()[self.provider_name]
        self.kind, self.active = self.kinds[0], self.kinds  # active: those that are wanted
        self.line = f"{self.provider_name}:{self.kind}"
        self.failure: ResearchError | None = None
        """Why the run stopped before its work was done."""
        self.source: Source = source or Alone(links)
        self._given_gate = gate
        self.visitor = Visitor(None)
        self._walks: dict[int, Walk] = {}
        self._outbox: deque[PageItem | Request] = deque()
        """What assisted steps have for Scrapy; `start` hands it over."""
        self.news = asyncio.Event()
        """Something changed that the feeding should look at."""
        self.blocked: dict[Kind, ResearchError] = {}
        """Kinds that the site refuses us for so long that waiting here is pointless."""
        self._stopping = self.begun = self.closed_well = False
        self.left = 0  # sub-jobs that were not ended when the run was closed

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        take_names(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.config = Config.from_settings(crawler.settings)
        spider.options = spider.config.options(spider.arguments, spider.kinds)
        if not spider.options.danmaku:
            spider.active = tuple(kind for kind in spider.kinds if kind is not Kind.DANMAKU)
        spider.gate = spider._given_gate or Gate(spider.config.limits)
        if spider.provider.visit is not None:
            spider.visitor = Visitor(spider.provider.visit(spider.config.logins.get(spider.provider_name)))
        spider.retrier = Retrier(spider.config.retry, spider.gate, spider.line, spider.visitor)
        spider.routes = {kind: spider._route(kind) for kind in spider.active}
        crawler.signals.connect(spider._close, signal=signals.engine_stopped)
        watch(spider, crawler)
        return spider

    config: Config
    options: Options
    gate: Gate
    routes: dict[Kind, Route]

    def _route(self, kind: Kind) -> Route:
        """The way in which a kind of record is collected."""
        return self.provider.route(kind, self.options, self.config.api_key)

    def line_of(self, kind: Kind) -> str:
        """The name of a kind's breaker: what is refused of one kind stops neither another nor the visit."""
        return self.line if len(self.kinds) == 1 else f"{self.line}:{kind}"

    # -- feeding -------------------------------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Request | PageItem]:
        try:
            self.session = self.source.open(self)
            self.ledger = self.session.ledger
            await prepare(self)
            await self.source.ready(self)
            self.begun = True
            async for request in self._feed():
                yield request
        except ResearchError as error:
            self.stop(error)
        except Stopping as error:
            self.logger.debug("%s: %s", self.name, error)  # whoever stopped it has said why
        except Exception as error:
            self.logger.exception("%s: a mistake of ours", self.name)
            self.stop(SpiderError(f"{type(error).__name__}: {error}"))
        finally:
            # Also on Ctrl-C, which cancels start(): whoever waits at the gate must not hold up the shutdown.
            self._stopping = True
            self.source.leave(self)
            if self.failure is not None or self._walks:
                self.gate.close(self.line)

    async def _feed(self) -> AsyncIterator[Request | PageItem]:
        """Begin sub-jobs as they come, and hand on what those under way want, until nothing is left."""
        lost = Lost(self)
        while not self._stopping:
            self.news.clear()
            lost.look(list(self._walks.values()), _LOOK_AGAIN_S)
            while self._outbox:
                yield self._outbox.popleft()
            lease = self.source.next(self)
            if lease is not None:
                walk = self._walks[lease.id] = Walk(lease, self._window)
                for request in begun(self, walk, self._begin(walk)):
                    yield request
            elif not self._outbox:
                if self.source.over(self):
                    break
                try:
                    await asyncio.wait_for(self.news.wait(), _LOOK_AGAIN_S)
                except TimeoutError:
                    self.source.look_again()  # somebody else's lease may have run out

    def claim(self) -> Lease | None:
        """Take the next sub-job of ours from the ledger."""
        wanted = {kind: self.routes[kind].name for kind in self.active if kind not in self.blocked}
        return self.ledger.claim(self.provider_name, wanted)

    def _window(self) -> int:
        """How many pages of one sub-job may be in flight: one less for comments while transcripts wait at the gate."""
        pressed = self.kind is Kind.COMMENTS and self.gate.waiting_for(Kind.TRANSCRIPT) > 0
        return max(self.config.window - pressed, 1)

    def _begin(self, walk: Walk) -> Iterator[Request]:
        lease = walk.lease
        if not lease.cursors and not lease.pages:
            known = already_read(self, lease)
            if known is not None:
                self.ledger.finish(lease, known, sort=self.options.sort)
                self.drop(walk)
                return
            route = self.routes[lease.kind]
            start = route.start(lease.video_id, self.options, self._session_of(walk))
            self.ledger.begin(lease, start)
            walk.add([start])
        yield from self.go_on(walk)  # which ends it if its last page was stored, but not its end

    def conclude(self, lease: Lease) -> Conclusion:
        """What a walk is worth whose chains have all ended."""
        return CONCLUDE[lease.kind](self.ledger.facts(lease, self.options))

    def _session_of(self, walk: Walk) -> ChainMap[str, str]:
        """What a route may know: of this sub-job, of its video, of the visit."""
        return ChainMap(walk.lease.session, walk.lease.facts, dict(self.visitor.facts))

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self._walks)

    @property
    def in_flight(self) -> int:
        """Requests under way."""
        return sum(walk.in_flight for walk in self._walks.values())

    # -- requests ------------------------------------------------------------------------------------------------

    def _requests(self, walk: Walk) -> Iterator[Request]:
        if self._stopping and self.failure:
            return
        for cursor in walk.take():
            if cursor.step in self.assisted_steps:
                self.assist(walk, cursor)
                continue
            kind = walk.lease.kind
            place = (self.provider, self.line_of(kind), kind)
            try:
                ask = self.routes[kind].ask(walk.lease.video_id, cursor, self._session_of(walk), self.options)
                request = request_of(ask, *place, priority=walk.lease.priority)
            except ResearchError as error:  # what cannot be asked for fails like what cannot be read
                link = Ask(self.provider.link(walk.lease.video_id))
                yield from self.failed(walk, cursor, link, request_of(link, *place), error, b"", tried=True)
                continue
            mark(request, walk.lease.id, ask, self.routes[kind], cursor)
            yield request.replace(
                callback=self.parse, errback=self.on_error, cb_kwargs={"walk": walk, "cursor": cursor, "ask": ask}
            )

    def assist(self, walk: Walk, cursor: Cursor) -> None:
        """Begin an assisted step; its page and what follows go out through ``_outbox``."""
        raise NotImplementedError

    async def fetch(self, ask: Ask) -> Answer:
        """The answer to a request that belongs to no sub-job (robots.txt, a site's keys), under the same limits."""
        assert self.crawler.engine is not None
        request = request_of(ask, self.provider, self.line, self.kind, priority=1000)
        try:
            answer = answer_of(await self.crawler.engine.download_async(request))
        except Exception as error:
            raise failure_of(error) or error from error
        if self.provider.judge(answer) is None:
            self.gate.breaker(self.line).served_well()
        return answer

    # -- answers -------------------------------------------------------------------------------------------------

    def parse(self, response: Response, walk: Walk, cursor: Cursor, ask: Ask) -> AsyncIterator[PageItem | Request]:
        """Read a page, store it, and only then go on."""
        return guarded(self, walk, self._read_and_go_on(response, walk, cursor, ask))

    async def _read_and_go_on(
        self, response: Response, walk: Walk, cursor: Cursor, ask: Ask
    ) -> AsyncIterator[PageItem | Request]:
        assert response.request is not None
        reading = reading_of(self, response)
        try:
            page = self._read(walk, cursor, reading)
        except ResearchError as error:
            failure = bare(error)
        except Exception as error:
            self.logger.exception("reading %s failed", response.url, extra={"sub_job": walk.lease.id})
            failure = LayoutChanged(f"{type(error).__name__}: {error}")
        else:
            if reading.sent:
                self.gate.served(response.request.meta["research_pace"])
            item = PageItem(page, walk.lease, ask.quota if reading.sent else 0, reading)
            yield item
            try:
                following = await self.stored(walk, item, response.request.meta["research_line"])
            except ResearchError as error:
                failure = bare(error)
            else:
                for request in following:
                    yield request
                return
        forget(self, response)
        for request in self.failed(walk, cursor, ask, response.request, failure, response.body):
            yield request

    async def stored(self, walk: Walk, item: PageItem, line: str = "") -> list[Request]:
        """Wait until a page is stored; returns what to ask for next."""
        if item.reading is None or item.reading.sent:
            self.gate.breaker(line or self.line).served_well()
            self.gate.nudge()
        receipt = await item.receipt
        if receipt.ended:
            chain = item.page.cursor.chain
            self.logger.debug("%s: chain %r ended: %s", walk.lease.video_id, chain, receipt.ended)
        walk.landed()
        walk.add(receipt.cursors)
        if receipt.full:
            walk.cut()
        return list(self.go_on(walk))

    def _read(self, walk: Walk, cursor: Cursor, reading: Reading) -> Page:
        if isinstance(refused := self.provider.judge(reading.answer), SourceError):
            raise refused
        route, session = self.routes[walk.lease.kind], self._session_of(walk)
        return route.read(walk.lease.video_id, cursor, reading.answer, reading.at, self.options, session)

    def on_error(self, failure: Failure) -> AsyncIterator[Request]:
        """The transport failed for good, or the run is stopping."""
        return guarded(self, failure.request.cb_kwargs["walk"], self._on_error(failure))  # type: ignore[attr-defined]

    async def _on_error(self, failure: Failure) -> AsyncIterator[Request]:
        request: Request = failure.request  # type: ignore[attr-defined]
        walk, cursor, ask = (request.cb_kwargs[name] for name in ("walk", "cursor", "ask"))
        cause = failure.value
        assert cause is not None
        if isinstance(cause, Stopping):
            self.halt(walk)
            return
        known = cause if isinstance(cause, ResearchError) else failure_of(cause)
        error = known or LayoutChanged(f"{type(cause).__name__}: {cause}")
        for again in self.failed(walk, cursor, ask, request, error, b"", tried=True):
            yield again

    def halt(self, walk: Walk) -> None:
        """A request of this walk was not sent: it goes on next time."""
        walk.halted = True
        walk.landed()
        give_back(self, walk)
        self.news.set()

    def is_blocked(self, kind: Kind) -> bool:
        """Whether nothing more of this kind is sent, because the run stops or the site refuses it."""
        return self.failure is not None or kind in self.blocked

    def holds(self, walk: Walk) -> bool:
        """Whether this walk is under way."""
        return self._walks.get(walk.lease.id) is walk

    def drop(self, walk: Walk) -> None:
        """This walk is over, for us."""
        if self.holds(walk):
            del self._walks[walk.lease.id]
            self.source.ended(self, walk.lease)
        self.news.set()

    def go_on(self, walk: Walk) -> Iterator[Request]:
        """What to ask for next; a walk with nothing left to ask for ends."""
        if walk.done:
            finish(self, walk)
            self.drop(walk)
        elif walk.halted and self.is_blocked(walk.lease.kind):
            give_back(self, walk)
        else:
            yield from self._requests(walk)
        self.news.set()

    def failed(
        self, walk: Walk, cursor: Cursor, ask: Ask, request: Request, failure: ResearchError, body: bytes, *,
        tried: bool = False,
    ) -> Iterator[Request]:  # fmt: skip
        """Obey the verdict on a failure."""
        try:
            again = consequence(self, walk, cursor, ask, request, failure, body, tried=tried)
        except LeaseLost as error:
            self.logger.warning("%s", error, extra={"sub_job": walk.lease.id})
            walk.cut()
            walk.landed()
            self.drop(walk)
        except StoreError as error:
            walk.landed()
            self.stop(error)
        else:
            if again is not None:
                yield again
            else:
                walk.landed()
                yield from self.go_on(walk)

    # -- stopping ------------------------------------------------------------------------------------------------

    def block(self, kind: Kind, error: ResearchError) -> None:
        """The site refuses one kind for good: the others go on."""
        block(self, kind, error)

    def stop(self, error: ResearchError) -> None:
        """End the run early, with its reason; everything unfinished stays resumable."""
        if self.failure is not None:
            return
        self.failure = error
        self._stopping = True
        self.gate.close(self.line)
        self.source.stopped(self, error)
        self.news.set()
        assert self.crawler.engine is not None
        asyncio.get_running_loop().create_task(self.crawler.engine.close_spider_async(reason=error.reason))

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped (Ctrl-C) with work left."""
        return self.left > 0 or (self.begun and not self.closed_well)

    def _close(self) -> None:
        end_given_up(self, self._walks.values())
        self.source.close(self)
