"""The control centre: a pool of workers kept busy over four lines, in one process and one reactor.

A worker is a slot. A free one takes the next sub-job of its home line, or, when there is none, of another line that
has some; a sub-job that ends is replaced at once. How much goes out, and how fast, is the gate's business, which all
lines share.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from research_scrapers.control.events import Event, Listeners
from research_scrapers.control.lines import POLICIES, Line, Worker
from research_scrapers.crawling.robots import refused_together
from research_scrapers.crawling.session import Session, keep_alive
from research_scrapers.crawling.source import Source
from research_scrapers.errors import ResearchError, RobotsRefused, RunError, StoreError

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.store.pages import Lease

logger = logging.getLogger(__name__)

_COUNT_S = 15.0
"""How often the queues are counted anew; in between, claims and ends are enough."""


class Centre(Source):
    """Hands out the work of one run."""

    def __init__(
        self, session: Session, lines: Sequence[Line], *, pool: int = 8, policy: str = "least", boost: float = 2.0,
        lease_s: float = 120.0, listeners: Listeners | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.session = session
        self.lines = {line.name: line for line in lines}
        self.workers = [Worker(number, lines[number % len(lines)]) for number in range(pool)]
        self.failure: ResearchError | None = None
        self.begun = False
        self.over_at: float | None = None
        self.started = clock()
        self.listeners = listeners or Listeners()
        self._policy = POLICIES[policy]
        self._boost = boost
        self._lease_s = lease_s
        self._clock = clock
        self._opened = asyncio.Event()
        self._counted = float("-inf")
        self._by_lease: dict[int, Worker] = {}
        self._heartbeat: asyncio.Task[None] | None = None
        self._stopping = False

    # -- what spiders ask ----------------------------------------------------------------------------------------

    def open(self, spider: ResearchSpider) -> Session:
        self.lines[spider.name].spider = spider
        return self.session

    async def ready(self, spider: ResearchSpider) -> None:
        """Wait until every line knows that it may begin: one that may not stops all, before any work is done."""
        self.lines[spider.name].ready = True
        self._tell("line_ready", self.lines[spider.name])
        self._begin_when_known()
        await self._opened.wait()

    def next(self, spider: ResearchSpider) -> Lease | None:
        assigned = self.lines[spider.name].assigned
        return assigned.popleft() if assigned else None

    def over(self, spider: ResearchSpider) -> bool:
        return self.over_at is not None

    def look_again(self) -> None:
        self._counted = float("-inf")
        self.assign()

    def ended(self, spider: ResearchSpider, lease: Lease) -> None:
        worker = self._by_lease.pop(lease.id, None)
        if worker is None:
            return
        self._free(worker)
        worker.done += 1
        self._tell("ended", self.lines[spider.name], worker, lease)
        self.assign()

    def stopped(self, spider: ResearchSpider, error: ResearchError) -> None:
        """A line's trouble is its own, unless the database, the login or robots.txt is what fails."""
        line = self.lines[spider.name]
        line.failure = error
        for lease in list(line.assigned):
            self.session.ledger.let_go(lease)
        line.assigned.clear()
        for lease_id, worker in list(self._by_lease.items()):
            if worker.line is line:
                del self._by_lease[lease_id]
                self._free(worker)
        self._tell("line_closed", line, reason=error.reason)
        if not self.begun and isinstance(error, RobotsRefused):
            self._begin_when_known()  # others may be closed too: they are told together
        elif not self.begun or isinstance(error, StoreError):
            self.stop(error)
        else:
            logger.error("%s stops: %s. The other lines go on", line.name, error)
            self.failure = self.failure or error
            self.assign()

    def leave(self, spider: ResearchSpider) -> None:
        return

    def close(self, spider: ResearchSpider) -> None:
        return

    # -- handing out ---------------------------------------------------------------------------------------------

    def _begin_when_known(self) -> None:
        if any(line.open and not line.ready for line in self.lines.values()):
            return
        closed = {line.name: line.failure for line in self.lines.values() if isinstance(line.failure, RobotsRefused)}
        if closed and not self.begun:
            self.stop(refused_together(closed, others=len(closed) < len(self.lines)))
        else:
            self._begin()

    def _begin(self) -> None:
        if self.begun or self._stopping:
            return
        self.begun = True
        self.started = self._clock()
        self._heartbeat = asyncio.create_task(keep_alive(self.session, self._lease_s / 3, self.stop))
        self._tell("run_started")
        self.assign()
        self._opened.set()

    def assign(self) -> None:
        """Give every free worker something to do, as far as there is something."""
        if not self.begun or self._stopping or self.over_at is not None:
            return
        self._count()
        for worker in self.workers:
            if worker.lease is None and not self._employ(worker):
                break
        if not self._by_lease:
            self._finish()

    def _employ(self, worker: Worker) -> bool:
        """Find work for a worker: at home first. ``False`` if there is none anywhere."""
        home = worker.home
        elsewhere = [line for line in self.lines.values() if line is not home and line.open and line.depth > 0]
        order = [home] if home.open else []
        order += self._policy(elsewhere, self._boost)
        if self._boost > 1 and not home.for_transcripts:
            order.sort(key=lambda line: not (line.for_transcripts and line.depth >= max(home.depth, 1)))
        for line in order:
            lease = self._claim(line)
            if lease is not None:
                self._give(worker, line, lease)
                return True
        return any(line.open and line.depth > 0 for line in self.lines.values())

    def _claim(self, line: Line) -> Lease | None:
        if line.spider is None or line.depth <= 0:
            return None
        try:
            lease = line.spider.claim()
        except StoreError as error:
            self.stop(error)
            return None
        line.depth = max(line.depth - 1, 0) if lease is not None else 0
        return lease

    def _give(self, worker: Worker, line: Line, lease: Lease) -> None:
        worker.line, worker.lease, worker.since = line, lease, self._clock()
        worker.stolen += line is not worker.home
        line.busy += 1
        line.taken += 1
        worker.position = line.taken
        line.assigned.append(lease)
        self._by_lease[lease.id] = worker
        assert line.spider is not None
        line.spider.news.set()
        self._tell("assigned", line, worker, lease)

    def _free(self, worker: Worker) -> None:
        worker.busy_s += self._clock() - worker.since
        if worker.line is not None:
            worker.line.busy -= 1
        worker.line = worker.lease = None

    def _count(self) -> None:
        """Count the queues anew from time to time, and whenever they seem to be empty."""
        now = self._clock()
        if now - self._counted < _COUNT_S and any(line.open and line.depth > 0 for line in self.lines.values()):
            return
        self._counted = now
        waiting = self.session.ledger.backlog()
        for line in self.lines.values():
            # Metadata is either line's to take; that a queue seems longer than it is does no harm.
            line.depth = sum(waiting.get((line.provider, kind), (0, 0))[0] for kind in line.kinds)

    def _finish(self) -> None:
        """Nothing is under way and nothing can be claimed: the run is over."""
        if any(line.open and line.depth > 0 for line in self.lines.values()):
            return
        self.over_at = self._clock()
        self._tell("run_ended")
        self._wake()

    # -- the end -------------------------------------------------------------------------------------------------

    def stop(self, error: ResearchError) -> None:
        """Stop every line; what is under way is stored, everything else is kept."""
        if self._stopping:
            return
        self._stopping = True
        if self.failure is None or isinstance(error, StoreError | RunError):
            self.failure = error
        for line in self.lines.values():
            if line.spider is not None and line.open:
                line.failure = error
                line.spider.stop(error)
        self.over_at = self._clock()
        self._opened.set()
        self._wake()

    def _wake(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        for line in self.lines.values():
            if line.spider is not None:
                line.spider.news.set()

    # -- seeing --------------------------------------------------------------------------------------------------

    @property
    def utilisation(self) -> float:
        """The share of the workers' time in which they had something to do."""
        until = self.over_at or self._clock()
        total = (until - self.started) * len(self.workers)
        busy = sum(worker.busy_s + (until - worker.since if worker.lease else 0.0) for worker in self.workers)
        return busy / total if total > 0 else 0.0

    def _tell(
        self, what: str, line: Line | None = None, worker: Worker | None = None, lease: Lease | None = None, *,
        reason: str | None = None,
    ) -> None:  # fmt: skip
        self.listeners.tell(
            Event(
                what, self.session.run.id, line.name if line else None, worker.number if worker else None,
                bool(worker and line and line is not worker.home), lease.job_id if lease else None,
                lease.id if lease else None, lease.provider if lease else None, lease.video_id if lease else None,
                str(lease.kind) if lease else None, lease.outcome if lease else None,
                reason or (lease.reason if lease else None), line.depth if line else None,
                worker.position if worker else None,
            )
        )  # fmt: skip
