"""Politeness, shared: caps, token buckets, pauses and breakers that every crawler of a process obeys together.

Scrapy's crawlers in one process share nothing, so four spiders would each take the full limit. One gate is handed to
all of them. A request enters just before the download and leaves just after it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from research_scrapers.config import Limits
from research_scrapers.crawling.breaker import Breaker

_LEAST_RATE, _SPEED_UP, _FREE_RATE = 2.0, 1.05, 100.0
"""After «too many requests»: never below so many a second, faster by so much with each good answer, free above."""
_LONGEST_WAIT_S = 3600.0
_LOOK_S = 0.5
"""How often a request that is held back looks whether the run is stopping."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One request's way through the gate."""

    domain: str
    line: str
    artifact: str
    pace: str = ""
    """Whose bucket and pauses it obeys; by default the domain's."""
    not_before: float = 0.0
    priority: int = 0
    ready: asyncio.Future[None] | None = None

    def __post_init__(self) -> None:
        self.pace = self.pace or self.domain


@dataclass(slots=True)
class _Bucket:
    rate: float
    burst: int
    tokens: float
    filled: float = 0.0
    slowed: float = 0.0
    sent: deque[float] = field(default_factory=lambda: deque(maxlen=256))

    def wait(self, now: float) -> float:
        """Seconds until a token is there; takes nothing."""
        if not self.rate:
            return 0.0
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
        return 0.0 if self.tokens >= 1 else (1 - self.tokens) / self.rate

    def take(self, now: float) -> None:
        self.sent.append(now)
        if self.rate:
            self.tokens -= 1


class GateClosed(Exception):
    """The run is stopping: this request is not sent."""


@dataclass
class Gate:
    """Where every request waits for its turn."""

    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._inside: Counter[str] = Counter()
        self._waiting: list[Ticket] = []
        self._buckets: dict[str, _Bucket] = {}
        self._slower: dict[str, _Bucket] = {}
        """After «too many requests», on top of the usual pace."""
        self._paused: dict[str, float] = {}
        self._breakers: dict[str, Breaker] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed: set[str] = set()

    # -- asking for a turn ---------------------------------------------------------------------------------------

    async def enter(self, ticket: Ticket) -> None:
        """Wait until this request may go out. Every `enter` needs its `leave`."""
        if self._is_closed(ticket.line):
            raise GateClosed
        if not self._waiting and not self._hindrance(ticket):
            self._admit(ticket)
            return
        ticket.ready = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        self._pump()
        try:
            await ticket.ready
        except asyncio.CancelledError:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
            elif ticket.ready.cancelled() or ticket.ready.exception() is None:
                self.leave(ticket)
            raise

    async def hold(self, domain: str, line: str, pace: str = "") -> None:
        """Hold back a request that was let in, but not sent, before a pause was declared (Scrapy's own delay lies
        between the two).
        """
        while (left := max(self._pause(domain), self._pause(pace), self.breaker(line).open_for())) > 0:
            if self._is_closed(line):
                raise GateClosed
            await asyncio.sleep(min(left, _LOOK_S))

    def _is_closed(self, line: str) -> bool:
        return any(line == closed or line.startswith(f"{closed}:") for closed in self._closed)

    def _pause(self, name: str) -> float:
        return self._paused.get(name, 0.0) - self.clock()

    def leave(self, ticket: Ticket) -> None:
        """The download is over, well or badly."""
        for key in self._keys(ticket):
            self._inside[key] -= 1
        self._pump()

    def close(self, line: str) -> None:
        """Let nothing more of this line out, nor of its budgets: whoever waits gets `GateClosed`."""
        self._closed.add(line)
        for ticket in [ticket for ticket in self._waiting if self._is_closed(ticket.line)]:
            self._waiting.remove(ticket)
            if ticket.ready is not None and not ticket.ready.done():
                ticket.ready.set_exception(GateClosed())
        if not self._waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- what the answers teach ----------------------------------------------------------------------------------

    def pause(self, domain: str, seconds: float) -> None:
        """The site named a time (Retry-After): nothing goes to this domain before it has passed."""
        self._paused[domain] = max(self._paused.get(domain, 0.0), self.clock() + seconds)
        self._pump()

    def slow_down(self, domain: str) -> None:
        """The site says that we are too fast: go on at half the pace. Good answers bring the pace back, bit by bit."""
        now, bucket = self.clock(), self._bucket(domain)
        slower = self._slower.get(domain)
        if slower is not None and now - slower.slowed < 1.0:
            return  # one lesson for all the refusals that come together
        recent = sum(moment > now - 1.0 for moment in bucket.sent)
        usual = bucket.rate or _LEAST_RATE
        rate = max(min(slower.rate if slower else recent, recent) / 2, min(_LEAST_RATE, usual / 2))
        self._slower[domain] = _Bucket(rate, 1, 0.0, now, slowed=now)

    def served(self, domain: str) -> None:
        """An answer was what we asked for."""
        slower = self._slower.get(domain)
        if slower is not None:
            slower.rate *= _SPEED_UP
            if slower.rate > _FREE_RATE:
                del self._slower[domain]

    def breaker(self, line: str) -> Breaker:
        """The breaker of a line; one line's troubles never stop another."""
        if line not in self._breakers:
            limits = self.limits
            self._breakers[line] = Breaker(
                limits.cooldown_s, limits.cooldown_cap_s, limits.threshold, limits.patience, self.clock,
                limits.share, limits.sample,
            )  # fmt: skip
        return self._breakers[line]

    def nudge(self) -> None:
        """Something outside changed (a breaker closed): look again at who may go."""
        self._pump()

    # -- seeing --------------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        return self._inside["all"]

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def waiting_for(self, artifact: str) -> int:
        """How many requests of one kind wait."""
        return sum(ticket.artifact == artifact for ticket in self._waiting)

    def waiting_on(self, line: str) -> int:
        """How many requests of one line wait, its budgets included."""
        return sum(ticket.line == line or ticket.line.startswith(f"{line}:") for ticket in self._waiting)

    def slots(self) -> dict[str, tuple[int, int]]:
        """Every cap that has been touched (``all``, ``domain …``, ``artifact …``): how many are inside, and the cap."""
        caps = {"all": self.limits.total}
        for key in self._inside:
            what, _, name = key.partition(" ")
            if name:
                caps[key] = self.limits.pace(name).in_flight if what == "domain" else self.limits.per_artifact
        return {key: (self._inside[key], cap) for key, cap in caps.items()}

    def paused_for(self, domain: str, line: str) -> float:
        """Seconds until anything may go to this domain on this line."""
        return max(self._paused.get(domain, 0.0) - self.clock(), self.breaker(line).wait(), 0.0)

    # -- inside --------------------------------------------------------------------------------------------------

    def _keys(self, ticket: Ticket) -> tuple[str, str, str]:
        return "all", f"domain {ticket.domain}", f"artifact {ticket.artifact}"

    def _hindrance(self, ticket: Ticket) -> float:
        """0 if the request may go now, else in how many seconds to look again (a cap: when someone leaves)."""
        now = self.clock()
        caps = (self.limits.total, self.limits.pace(ticket.domain).in_flight, self.limits.per_artifact)
        if any(self._inside[key] >= cap for key, cap in zip(self._keys(ticket), caps, strict=True)):
            return float("inf")
        return max(
            ticket.not_before - now,
            self._paused.get(ticket.domain, 0.0) - now,
            self._paused.get(ticket.pace, 0.0) - now,
            min(self.breaker(ticket.line).wait(), _LONGEST_WAIT_S),  # one that stays open is no cap that others share
            self._bucket(ticket.pace).wait(now),
            self._slower[ticket.pace].wait(now) if ticket.pace in self._slower else 0.0,
            0.0,
        )

    def _bucket(self, pace: str) -> _Bucket:
        if pace not in self._buckets:
            own = " " in pace  # a budget of its own within a domain
            allowed = self.limits.pace(pace)
            rate, burst = (self.limits.budget_rate, 1) if own else (allowed.rate, allowed.burst)
            self._buckets[pace] = _Bucket(rate, burst, float(burst), self.clock())
        return self._buckets[pace]

    def _admit(self, ticket: Ticket) -> None:
        for key in self._keys(ticket):
            self._inside[key] += 1
        now = self.clock()
        self._bucket(ticket.pace).take(now)
        if ticket.pace in self._slower:
            self._slower[ticket.pace].take(now)
        self.breaker(ticket.line).probing()
        if ticket.ready is not None and not ticket.ready.done():
            ticket.ready.set_result(None)

    def _pump(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        soonest = float("inf")
        self._waiting.sort(key=lambda ticket: -ticket.priority)  # stable: first come, first served within a priority
        full: set[tuple[str, str]] = set()  # nobody else with the same domain and artifact can go either
        for ticket in list(self._waiting):
            if (ticket.domain, ticket.artifact) in full:
                continue
            hindrance = self._hindrance(ticket)
            if hindrance == float("inf"):
                full.add((ticket.domain, ticket.artifact))
            elif hindrance:
                soonest = min(soonest, hindrance)
            else:
                self._waiting.remove(ticket)
                self._admit(ticket)
        if soonest < float("inf"):
            # Never busy-wait on clock rounding: at least a millisecond.
            self._timer = asyncio.get_running_loop().call_later(max(soonest, 0.001), self._pump)
