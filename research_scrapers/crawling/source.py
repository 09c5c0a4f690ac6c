"""Where a spider's work comes from. Alone, it opens its own run and claims for itself; a control centre assigns it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from research_scrapers.crawling.progress import close_run
from research_scrapers.crawling.session import Session, cancelled, keep_alive, open_session, take_in_links
from research_scrapers.errors import QuotaExhausted, ResearchError
from research_scrapers.links import open_links
from research_scrapers.models import Kind

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.store.pages import Lease


class Source(Protocol):
    """What a spider asks for work."""

    def open(self, spider: ResearchSpider) -> Session:
        """The run that it works for."""

    async def ready(self, spider: ResearchSpider) -> None:
        """It knows that it may begin, and what it must bring."""

    def next(self, spider: ResearchSpider) -> Lease | None:
        """A sub-job to begin now, if there is one and there is room for it."""

    def over(self, spider: ResearchSpider) -> bool:
        """Whether nothing more will come."""

    def look_again(self) -> None:
        """Something that could not be claimed before may be free now."""

    def ended(self, spider: ResearchSpider, lease: Lease) -> None:
        """A sub-job is over, for this spider."""
        return

    def stopped(self, spider: ResearchSpider, error: ResearchError) -> None:
        """It stops before its work is done."""
        return

    def shared(self, spider: ResearchSpider, kind: Kind) -> bool:
        """Whether another spider can bring what this one cannot."""
        return False

    def leave(self, spider: ResearchSpider) -> None:
        """Its feeding is over; pages may still be under way."""

    def close(self, spider: ResearchSpider) -> None:
        """Nothing of it is under way any more."""


class Alone(Source):
    """A spider by itself: ``scrapy crawl``."""

    def __init__(self, links: str | None) -> None:
        self._links = links
        self._dry = False
        """Nothing was left to claim when it was last tried."""
        self._heartbeat: asyncio.Task[None] | None = None

    def open(self, spider: ResearchSpider) -> Session:
        links = open_links(self._links)
        names = ", ".join(spider.routes[kind].name for kind in spider.active if kind is not Kind.METADATA)
        session = open_session(
            spider.config.db, spider.name, links.label, spider.config.snapshot(spider.options, names),
            jobdir=spider.config.jobdir, lease_s=spider.config.lease_s,
        )  # fmt: skip
        spider.session = session
        take_in_links(session, links, {spider.provider_name: spider.active}, spider.name)
        return session

    async def ready(self, spider: ResearchSpider) -> None:
        beat = keep_alive(spider.session, spider.config.lease_s / 3, spider.stop)
        self._heartbeat = asyncio.create_task(beat)

    def next(self, spider: ResearchSpider) -> Lease | None:
        if self._dry or spider.in_flight >= spider.config.in_flight(spider.provider) + spider.reserve:
            return None
        lease = spider.claim()
        self._dry = lease is None
        return lease

    def over(self, spider: ResearchSpider) -> bool:
        if not self._dry or spider.busy:
            return False
        if spider.session.runs.cancel_asked(spider.session.run.id):
            raise cancelled()
        if spider.blocked:
            raise next(iter(spider.blocked.values()))
        until = spider.ledger.parked_until()
        if until is not None:
            moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="minutes")
            raise QuotaExhausted(f"what is left waits until {moment}; run the same command then", until=moment)
        return True

    def look_again(self) -> None:
        self._dry = False

    def leave(self, spider: ResearchSpider) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()

    def close(self, spider: ResearchSpider) -> None:
        if hasattr(spider, "session"):
            close_run(spider, spider.session)
