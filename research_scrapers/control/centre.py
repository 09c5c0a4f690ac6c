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
from research_scrapers.crawling.session import Session, cancelled, keep_alive
from research_scrapers.crawling.source import Source
from research_scrapers.errors import LeaseLost, ResearchError, RobotsRefused, RunError, StoreError
from research_scrapers.models import Kind

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.store.pages import Lease

logger = logging.getLogger(__name__)

_COUNT_S, _LOOK_S = 15.0, 1.0
"""How often the queues are counted anew, and how often at most; in between, claims and ends are enough."""


class Centre(Source):
    """Hands out the work of one run."""

    def __init__(
        self, session: Session, lines: Sequence[Line], *, pool: int = 8, policy: str = "least", boost: float = 2.0,
        lease_s: float = 120.0, listeners: Listeners | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.session = session
        self.lines = {line.name: line for line in lines}
        self.workers = [Worker(number, lines[number % len(lines)]) for number in range(pool)]
        for worker in self.workers:
            worker.home.homes += 1
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
        self._seen = self.started
        self._worked_s = self._idle_s = 0.0
        """Workers' seconds while work remained: all of them, and those that were spent idle."""
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
        if self.over_at is not None and spider.blocked:
            self.failure = self.failure or next(iter(spider.blocked.values()))
        return self.over_at is not None

    def shared(self, spider: ResearchSpider, kind: Kind) -> bool:
        mine = self.lines[spider.name]
        return any(
            kind in line.kinds
            for line in self.lines.values()
            if line is not mine and line.provider == mine.provider and line.open
        )

    def look_again(self) -> None:
        if self._clock() - self._counted >= _LOOK_S:
            self._counted = float("-inf")
        self.assign()

    def ended(self, spider: ResearchSpider, lease: Lease) -> None:
        self._lapse()
        worker = self._by_lease.pop(lease.id, None)
        if worker is None:
            return
        self._free(worker)
        if lease.kind is Kind.METADATA and lease.outcome not in (None, "failed"):
            self._add_dependants(lease)
        worker.done += 1
        self._tell("ended", self.lines[spider.name], worker, lease)
        self.assign()

    def stopped(self, spider: ResearchSpider, error: ResearchError) -> None:
        """A line's trouble is its own, unless the database fails, or it shows before any work is done."""
        self.close_line(self.lines[spider.name], error)

    def close_line(self, line: Line, error: ResearchError) -> None:
        """Take no more of a line; its workers go elsewhere."""
        self._lapse()
        line.failure = error
        self._give_back(line)
        for lease_id, worker in list(self._by_lease.items()):
            if worker.line is line:
                del self._by_lease[lease_id]
                self._free(worker)
        self._tell("line_closed", line, reason=error.reason)
        if self._stopping:
            return
        if not self.begun and isinstance(error, RobotsRefused):
            self._begin_when_known()  # others may be closed too: they are told together
            return
        if not self.begun or isinstance(error, StoreError):
            self.stop(error)
            return
        others = any(other.open for other in self.lines.values())
        logger.error("%s stops: %s%s", line.name, error, ". The other lines go on" if others else "")
        self.failure = self.failure or error
        self._counted = float("-inf")
        self.assign()

    def _give_back(self, line: Line) -> None:
        """What was assigned, but not begun, is free again."""
        while line.assigned:
            try:
                self.session.ledger.let_go(line.assigned.popleft())
            except LeaseLost as error:
                logger.warning("%s", error)
            except StoreError as error:
                self.stop(error)
                return

    def leave(self, spider: ResearchSpider) -> None:
        """A line that leaves although it is open and work remains was told to from outside: all stop."""
        if self.over_at is None and self.lines[spider.name].open:
            self._stopping = True
            self._end("interrupted")

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
        self.started = self._seen = self._clock()
        self._heartbeat = asyncio.create_task(keep_alive(self.session, self._lease_s / 3, self.stop))
        self._tell("run_started")
        self.assign()
        self._opened.set()

    def assign(self) -> None:
        """Give every free worker something to do, as far as there is something."""
        if not self.begun or self._stopping or self.over_at is not None:
            return
        self._lapse()
        self._count()
        free = [worker for worker in self.workers if worker.lease is None]
        for worker in sorted(free, key=lambda worker: not worker.home.waiting):  # thieves take what is left
            if self._stopping or not self._work_left:
                break
            self._employ(worker)
        if not self._by_lease and not self._stopping:
            self._finish()

    def _employ(self, worker: Worker) -> None:
        """Find work for a worker, if there is some for it."""
        for line in self._order(worker.home):
            lease = self._claim(line)
            if lease is not None:
                self._give(worker, line, lease)
                return
            if self._stopping:
                return

    def _order(self, home: Line) -> list[Line]:
        """The lines that a worker may take from, best first: its home, then as the policy says; lines whose site is
        as busy as it may be come later, and one whose breaker is open keeps those that it has, but gets no more.
        Transcripts go before other work at home as long as their queue is not much shorter.
        """
        others = [line for line in self.lines.values() if line is not home and line.waiting]
        elsewhere = [line for line in others if not (line.paused and line.busy)]
        order = sorted(self._policy(elsewhere, self._boost), key=self._crowded)
        if not home.waiting:
            return order
        if home.paused:
            return [*order, home]
        if self._boost > 1 and not home.for_transcripts:
            first = [line for line in order if line.for_transcripts and line.depth * self._boost >= home.depth]
            return [*first, home, *(line for line in order if line not in first)]
        return [home, *order]

    def _crowded(self, line: Line) -> bool:
        """Whether as many workers are on this line's site as it may have requests in flight."""
        return sum(other.busy for other in self.lines.values() if other.provider == line.provider) >= line.places

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
        if now - self._counted < _COUNT_S and self._work_left:
            return
        try:
            waiting = self.session.ledger.backlog()
        except StoreError as error:
            self.stop(error)
            return
        self._counted = now
        for line in self.lines.values():
            # Metadata is either line's to take; that a queue seems longer than it is does no harm.
            refused = line.spider.blocked if line.spider is not None else {}
            line.depth = sum(
                waiting.get((line.provider, kind), (0, 0))[0] for kind in line.kinds if kind not in refused
            )

    def _add_dependants(self, lease: Lease) -> None:
        """A video's metadata is here: what waited for it can be claimed."""
        for line in self.lines.values():
            if line.provider == lease.provider:
                line.depth += sum(kind is not Kind.METADATA for kind in line.kinds)

    @property
    def _work_left(self) -> bool:
        return any(line.waiting for line in self.lines.values())

    def _finish(self) -> None:
        """Nothing is under way and nothing can be claimed: the run is over."""
        if self._work_left:
            return
        try:
            asked = self.session.runs.cancel_asked(self.session.run.id)
        except StoreError as error:
            self.stop(error)
            return
        if asked:
            self.stop(cancelled())
        else:
            self._end(None)

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
        self._end(error.reason)

    def _end(self, reason: str | None) -> None:
        self._lapse()
        self.over_at = self._clock()
        self._opened.set()
        self._tell("run_ended", reason=reason)
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        for line in self.lines.values():
            if line.spider is not None:
                line.spider.news.set()

    @property
    def all_taken(self) -> bool:
        """Whether it ended of itself: all that there is to do has ended, or is in the hands of other processes."""
        return self.over_at is not None and not self._stopping

    # -- seeing --------------------------------------------------------------------------------------------------

    @property
    def utilisation(self) -> float:
        """The share of the workers' time in which they had a sub-job, while any line had one to give."""
        self._lapse()
        return 1 - self._idle_s / self._worked_s if self._worked_s else 1.0

    def _lapse(self) -> None:
        """Account for the time since something last changed."""
        now = self._clock()
        if self.begun and self.over_at is None and self._work_left:
            self._worked_s += (now - self._seen) * len(self.workers)
            self._idle_s += (now - self._seen) * (len(self.workers) - len(self._by_lease))
        self._seen = now

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
