"""What every request to a site must bring along (keys, cookies, a login): learnt once, and again when it is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from research_scrapers.crawling.robots import preflight
from research_scrapers.errors import Blocked, NothingReached, ResearchError, RunError, SiteBlocked, SourceError
from research_scrapers.models import Answer, Ask
from research_scrapers.providers import NO_SESSION, Session, Visit

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider

Fetch = Callable[[Ask], Awaitable[Answer]]


class Visitor:
    """One site's visit as all requests of a process share it."""

    def __init__(self, visit: Visit | None, clock: Callable[[], float] = time.time) -> None:
        self._visit = visit
        self._clock = clock
        self._lock = asyncio.Lock()
        self.facts: Session = NO_SESSION
        self.version = 0
        """How often it was learnt; 0 = not yet."""
        self._stale = True

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._visit.secrets if self._visit else ()

    async def ready(self, fetch: Fetch) -> None:
        """Learn what is needed, unless it is known. Whoever comes meanwhile waits for the same answers."""
        if self._visit is None or not self._stale:
            return
        version = self.version
        async with self._lock:
            if self.version != version:
                return
            facts: dict[str, str] = dict(self.facts)  # what cannot be renewed stays as it was
            for ask in self._visit.asks(self._clock()):
                facts.update(await self._learn(ask, fetch))
            if not all(name in facts for name in self._visit.needs):
                raise self._out_of_reach()
            self.facts, self._stale = facts, False
            self.version += 1

    def _out_of_reach(self) -> RunError:
        if isinstance(self.trouble, Blocked):
            return SiteBlocked(f"{self.trouble}. Nothing was begun: wait (an hour or more), then run the same command")
        return NothingReached(f"{self.trouble}. Check the network (and HTTPS_PROXY), then run the same command again")

    async def _learn(self, ask: Ask, fetch: Fetch) -> Session:
        assert self._visit is not None
        try:
            return self._visit.read(ask, await fetch(ask))
        except RunError:
            raise
        except ResearchError as error:
            # What a request without it gets, the site will say; a missing key shows as a refusal of its own.
            self.trouble = error
            return NO_SESSION

    trouble: ResearchError | None = None
    """Why a part of it could not be learnt, if it could not."""

    def renew(self, failure: SourceError, version: int) -> bool:
        """Whether this refusal is a reason to learn anew: if so, the next request does. Refusals of requests that went
        out with what has been replaced since are no reason, but those requests may go again.
        """
        if self._visit is None or not isinstance(failure, self._visit.renewed_by):
            return False
        if version == self.version:
            self._stale = True
        return True

    def dress(self, url: str, *, signed: bool) -> tuple[str, Mapping[str, str]]:
        """The address and the headers that go out in the end."""
        if self._visit is None:
            return url, {}
        return self._visit.dress(url, self.facts, self._clock(), signed=signed)


async def prepare(spider: ResearchSpider) -> None:
    """Before any work: ask what robots.txt allows, and learn what the site wants a visitor to bring."""
    if spider.ledger.anything_to_do(spider.provider_name, spider.active):
        if spider.config.obey_robots:
            await preflight(spider, spider.config.robots_agent)
        await spider.visitor.ready(spider.fetch)
