"""The base spider: feeds itself from the ledger, walks each sub-job's pages, and stores a page before it goes on.

A subclass says its name, provider and kind. What a page looks like is the provider's business.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request, Spider, signals

from research_scrapers.config import Config
from research_scrapers.coverage import Conclusion, Facts, conclude
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.politeness import Stopping
from research_scrapers.crawling.progress import close_run
from research_scrapers.crawling.requests import request_of
from research_scrapers.crawling.retry import FINAL, Retrier, answer_of, failure_of
from research_scrapers.crawling.robots import preflight
from research_scrapers.crawling.session import Session, keep_alive, open_session, take_in_links
from research_scrapers.crawling.walk import Walk
from research_scrapers.errors import (
    EmptyPage,
    LayoutChanged,
    LeaseLost,
    QuotaExhausted,
    ResearchError,
    SiteBlocked,
    SourceError,
    StoreError,
)
from research_scrapers.items import PageItem
from research_scrapers.links import open_links
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Kind, Options, Outcome, Page
from research_scrapers.providers import Provider, Route, providers
from research_scrapers.store.artifacts import keep_body
from research_scrapers.verdicts import Verdict, retriable, verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from research_scrapers.store.ledger import Ledger
    from research_scrapers.store.pages import Lease

_LOOK_AGAIN_S = 10.0
_PRIORITY = {Kind.METADATA: 300, Kind.TRANSCRIPT: 200, Kind.DANMAKU: 100, Kind.COMMENTS: 0}
"""Transcripts are short and their links expire, so they go before comments."""


class ResearchSpider(Spider):
    """One production line."""

    provider_name: ClassVar[str]
    kind: ClassVar[Kind]
    assisted_steps: ClassVar[frozenset[str]] = frozenset()
    """Steps that `assist` takes, with a library's help, instead of a request and the route."""
    reserve: ClassVar[int] = 8
    """Requests kept waiting at the gate, so that a free place is taken at once."""

    session: Session
    ledger: Ledger
    retrier: Retrier

    def __init__(self, links: str | None = None, gate: Gate | None = None, **arguments: Any) -> None:
        super().__init__()
        self.arguments = arguments
        self.provider: Provider = providers()[self.provider_name]
        self.line = f"{self.provider_name}:{self.kind}"
        self.failure: ResearchError | None = None
        """Why the run stopped before its work was done."""
        self._links = links
        self._given_gate = gate
        self._walks: dict[int, Walk] = {}
        self._outbox: deque[PageItem | Request] = deque()
        """What assisted steps have for Scrapy; `start` hands it over."""
        self._room = asyncio.Event()
        self._stopping = False
        self.left = 0
        """Sub-jobs that were not ended when the run was closed."""
        self.begun = self.closed_well = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.config = Config.from_settings(crawler.settings)
        spider.options = spider.config.options(spider.arguments, spider.kind)
        spider.gate = spider._given_gate or Gate(spider.config.limits)
        spider.retrier = Retrier(spider.config.retry, spider.gate, spider.line)
        spider.route = spider._route()
        crawler.signals.connect(spider._close, signal=signals.engine_stopped)
        return spider

    config: Config
    options: Options
    gate: Gate
    route: Route

    def _route(self) -> Route:
        """The way in which this spider's kind of record is collected."""
        raise NotImplementedError

    # -- feeding -------------------------------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Request | PageItem]:
        heartbeat: asyncio.Task[None] | None = None
        try:
            self._open()
            if self.config.obey_robots and self.ledger.anything_to_do():
                await preflight(self, self.route.probes(), self.config.robots_agent)
            self.begun = True
            heartbeat = asyncio.create_task(keep_alive(self.ledger, self.config.lease_s / 3, self.stop))
            async for request in self._feed():
                yield request
        except ResearchError as error:
            self.stop(error)
        finally:
            # Also on Ctrl-C, which cancels start(): whoever waits at the gate must not hold up the shutdown.
            self._stopping = True
            if heartbeat is not None:
                heartbeat.cancel()
            if self.failure is not None or self._walks:
                self.gate.close(self.line)

    def _open(self) -> None:
        links = open_links(self._links)
        self.session = open_session(
            self.config.db, self.name, links, self.config.snapshot(self.options, self.route.name),
            jobdir=self.config.jobdir, lease_s=self.config.lease_s,
        )  # fmt: skip
        self.ledger = self.session.ledger
        take_in_links(self.session, links, self.provider_name, (self.kind,), self.name)

    async def _feed(self) -> AsyncIterator[Request | PageItem]:
        """Claim sub-jobs while there is room, until nothing is left to claim and nothing is under way."""
        room = self.config.in_flight + self.reserve
        dry = False
        while not self._stopping:
            self._room.clear()
            while self._outbox:
                yield self._outbox.popleft()
            if not dry and self._in_flight < room:
                lease = self.ledger.claim((self.kind,), self.route.name)
                if lease is None:
                    dry = True
                else:
                    for request in self._begin(Walk(lease, self.config.window)):
                        yield request
                continue
            if self._outbox:
                continue
            if dry and not self._walks:
                break
            try:
                await asyncio.wait_for(self._room.wait(), _LOOK_AGAIN_S)
            except TimeoutError:
                dry = False  # somebody else's lease may have run out
        until = self.ledger.parked_until()
        if until is not None and not self.failure:
            moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="minutes")
            raise QuotaExhausted(f"what is left waits until {moment}; run the same command then", until=moment)

    def _begin(self, walk: Walk) -> Iterator[Request]:
        lease = walk.lease
        if not lease.cursors and not lease.pages:
            known = self.known(lease)
            if known is not None:
                self.ledger.finish(lease, known, sort=self.options.sort)
                return
            start = self.route.start(lease.video_id, self.options)
            self.ledger.begin(lease, start)
            walk.add([start])
        self._walks[lease.id] = walk
        if walk.done:  # its last page was stored, but not its end
            self._finish(walk)
            return
        yield from self._requests(walk)

    def known(self, lease: Lease) -> Conclusion | None:
        """How a sub-job ends that need not be begun, because what it would collect is here."""
        return None

    @property
    def _in_flight(self) -> int:
        return sum(walk.in_flight for walk in self._walks.values())

    # -- requests ------------------------------------------------------------------------------------------------

    def _requests(self, walk: Walk) -> Iterator[Request]:
        if self._stopping and self.failure:
            return
        for cursor in walk.take():
            if cursor.step in self.assisted_steps:
                self.assist(walk, cursor)
                continue
            ask = self.route.ask(walk.lease.video_id, cursor, walk.lease.session, self.options)
            request = request_of(
                ask, self.provider, self.line, self.kind, priority=_PRIORITY[self.kind] + walk.lease.priority
            )
            request.meta["research_sub_job"] = walk.lease.id
            yield request.replace(
                callback=self.parse, errback=self.on_error, cb_kwargs={"walk": walk, "cursor": cursor, "ask": ask}
            )

    def assist(self, walk: Walk, cursor: Cursor) -> None:
        """Begin an assisted step; its page and what follows go out through ``_outbox``."""
        raise NotImplementedError

    def bare_request(self, url: str) -> Request:
        """A request that belongs to no sub-job (robots.txt), under the same limits."""
        return request_of(Ask(url), self.provider, self.line, self.kind, priority=1000)

    # -- answers -------------------------------------------------------------------------------------------------

    async def parse(
        self, response: Response, walk: Walk, cursor: Cursor, ask: Ask
    ) -> AsyncIterator[PageItem | Request]:
        """Read a page, store it, and only then go on."""
        assert response.request is not None
        try:
            page = self._read(walk, cursor, answer_of(response))
        except ResearchError as error:
            failure = error
        except Exception as error:
            self.logger.exception("reading %s failed", response.url)
            failure = LayoutChanged(f"{type(error).__name__}: {error}")
        else:
            self.gate.served(response.request.meta["research_pace"])
            item = PageItem(page, walk.lease, ask.quota)
            yield item
            try:
                following = await self._stored(walk, item, response.request.meta["research_line"])
            except ResearchError as error:
                failure = error
            else:
                for request in following:
                    yield request
                return
        for request in self._failed(walk, cursor, ask, response.request, failure, response.body):
            yield request

    async def _stored(self, walk: Walk, item: PageItem, line: str = "") -> list[Request]:
        """Wait until a page is stored; returns what to ask for next."""
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
        return list(self._go_on(walk))

    def _read(self, walk: Walk, cursor: Cursor, answer: Answer) -> Page:
        if isinstance(refused := self.provider.judge(answer), SourceError):
            raise refused
        return self.route.read(walk.lease.video_id, cursor, answer, datetime.now(UTC), self.options)

    async def on_error(self, failure: Failure) -> AsyncIterator[Request]:
        """The transport failed for good, or the run is stopping."""
        request: Request = failure.request  # type: ignore[attr-defined]
        walk, cursor, ask = (request.cb_kwargs[name] for name in ("walk", "cursor", "ask"))
        cause = failure.value
        assert cause is not None
        if isinstance(cause, Stopping):
            walk.halted = True
            walk.landed()
            self._room.set()
            return
        error = failure_of(cause) or LayoutChanged(f"{type(cause).__name__}: {cause}")
        for again in self._failed(walk, cursor, ask, request, error, b"", tried=True):
            yield again

    def _go_on(self, walk: Walk) -> Iterator[Request]:
        if walk.done:
            self._finish(walk)
        else:
            yield from self._requests(walk)
        self._room.set()

    def _failed(
        self, walk: Walk, cursor: Cursor, ask: Ask, request: Request, failure: ResearchError, body: bytes, *,
        tried: bool = False,
    ) -> Iterator[Request]:  # fmt: skip
        """Obey the verdict on a failure."""
        try:
            again = self._judge(walk, cursor, ask, request, failure, body, tried=tried)
        except LeaseLost as error:
            self.logger.warning("%s", error)
            walk.cut()
            walk.landed()
            if self._walks.get(walk.lease.id) is walk:
                del self._walks[walk.lease.id]
            self._room.set()
        except StoreError as error:
            walk.landed()
            self.stop(error)
        else:
            if again is not None:
                yield again
            else:
                walk.landed()
                yield from self._go_on(walk)

    def _judge(
        self, walk: Walk, cursor: Cursor, ask: Ask, request: Request, failure: ResearchError, body: bytes, *,
        tried: bool,
    ) -> Request | None:  # fmt: skip
        """What to send again, if anything; else the failure's consequence is on record when this returns."""
        if isinstance(failure, LeaseLost | StoreError):
            raise failure
        lease, decided = walk.lease, verdict(failure)
        breaker = self.gate.breaker(request.meta["research_line"])
        if ask.quota:
            self.ledger.spend(lease, ask.quota)
        if isinstance(failure, SourceError) and decided in (Verdict.WAIT, Verdict.RETRY):
            # The middleware has already tried again what it could see; what only the parser sees is tried here.
            final = tried or request.meta.get(FINAL) == failure.reason
            again = None if final else self.retrier.again(request, failure)
            if again is not None:
                return again
            if breaker.exhausted and request.meta["research_line"] == self.line:  # a budget's end is its own
                self.stop(SiteBlocked(f"{failure}. What is left is kept: wait (an hour or more after a block), "
                                      "then run the same command"))  # fmt: skip
        else:  # whatever the answer says, the site is serving us
            breaker.served_well()
            self.gate.nudge()
        if decided is Verdict.STOP:
            walk.failure = failure
            self.stop(failure)
        elif decided is Verdict.RESTART and (restarted := self.ledger.restart_chain(lease, cursor.chain)) is not None:
            self.logger.info("%s: %s; beginning that chain anew", lease.video_id, failure)
            walk.add([restarted])
        elif cursor.chain != MAIN and self.failure:
            walk.halted = True  # the run is stopping for what hit this thread: it stays open for the next session
        elif cursor.chain != MAIN:
            if self.ledger.fail_chain(lease, cursor.chain, failure.reason, failure.detail):
                self.logger.warning("%s: %s is left out: %s", lease.video_id, cursor.chain, failure)
        elif isinstance(failure, EmptyPage):
            self.ledger.end_empty(lease, failure.detail)
        else:
            walk.failure = failure
        if isinstance(failure, LayoutChanged):
            where = keep_body(self.session.store, lease, body) if body else "no body"
            self.logger.error("LAYOUT CHANGED at %s: %s. Kept: %s", ask.url, failure.detail, where)
        return None

    def _finish(self, walk: Walk) -> None:
        """Every chain has ended: say what the sub-job is worth."""
        lease, failure = walk.lease, walk.failure
        self._walks.pop(lease.id, None)
        try:
            if failure is None:
                conclusion = self.conclude(self.ledger.facts(lease, self.options))
                self.ledger.finish(lease, conclusion, sort=self.options.sort)
            elif verdict(failure) is Verdict.EMPTY and not lease.collected:
                self.ledger.finish(
                    lease, Conclusion(Outcome.EMPTY, failure.reason, failure.detail), sort=self.options.sort
                )
            elif verdict(failure) is not Verdict.STOP:
                self.ledger.fail(lease, failure.reason, failure.detail, retriable=retriable(failure))
            assert self.crawler.stats is not None
            self.crawler.stats.inc_value("research/ended")
        except LeaseLost as error:
            self.logger.warning("%s", error)
        except StoreError as error:
            self.stop(error)

    def conclude(self, facts: Facts) -> Conclusion:
        """What a walk is worth whose chains have all ended."""
        return conclude(facts)

    # -- stopping ------------------------------------------------------------------------------------------------

    def stop(self, error: ResearchError) -> None:
        """End the run early, with its reason; everything unfinished stays resumable."""
        if self.failure is not None:
            return
        self.failure = error
        self._stopping = True
        self.gate.close(self.line)
        self._room.set()
        assert self.crawler.engine is not None
        asyncio.get_running_loop().create_task(self.crawler.engine.close_spider_async(reason=error.reason))

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped (Ctrl-C) with work left."""
        return self.left > 0 or (self.begun and not self.closed_well)

    def _close(self) -> None:
        if hasattr(self, "session"):
            close_run(self, self.session)
