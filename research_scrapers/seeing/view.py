"""How a run stands, at one moment: what the display, the plain lines and the samples are made of."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from research_scrapers.models import Kind
from research_scrapers.seeing.metrics import Metrics
from research_scrapers.store.samples import standing_by_kind

if TYPE_CHECKING:
    from research_scrapers.control.lines import Line

_WINDOW_S = 30.0
_LOOK_S = 0.25
_SPARING = 200
"""Counting sub-jobs may take one part in so many of the time."""


@dataclass(frozen=True, slots=True)
class LineView:
    """One line."""

    name: str
    done: int
    total: int
    pages: int
    records: int
    rate: float
    """Pages a second, of late."""
    in_flight: int
    waiting: int
    queue: int
    busy: int
    state: str
    """``closed`` (all is well), ``open``, ``half-open``, ``paused`` (the site named a time) or ``stopped``."""
    wait_s: float
    """Until when, from now."""
    reason: str
    """Why it is stopped, if it is."""
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class View:
    """The whole run."""

    run: str
    elapsed_s: float
    lines: tuple[LineView, ...]
    busy: int
    workers: int
    stolen: int
    utilisation: float
    in_flight: int
    most: int
    waiting: int
    rate: float
    eta_s: float | None

    @property
    def done(self) -> int:
        return sum(line.done for line in self.lines)

    @property
    def total(self) -> int:
        return sum(line.total for line in self.lines)


class Observer:
    """Looks at a run; remembers the last half minute, for the rates."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._standing: dict[tuple[str, Kind], tuple[int, int]] = {}
        self._counted: dict[str, int] = {}
        """How many had ended here when the ledger was last asked; what ends later is added."""
        self._count_at = float("-inf")
        self._past: deque[tuple[float, dict[str, tuple[int, int]]]] = deque()
        self._last: View | None = None
        self._looked = float("-inf")

    def look(self) -> View:
        """How it stands now."""
        now = self._clock()
        if self._last is None or now - self._looked >= _LOOK_S:
            self._last, self._looked = self._view(now), now
        return self._last

    def _view(self, now: float) -> View:
        self._count(now)
        centre, gate = self._metrics.centre, self._metrics.gate
        marks = {name: (numbers.stat("research/pages"), self._done(centre.lines[name])[0])
                 for name, numbers in self._metrics.lines.items()}  # fmt: skip
        self._past.append((now, marks))
        while len(self._past) > 2 and self._past[0][0] < now - _WINDOW_S:
            self._past.popleft()
        lines = tuple(self._line(line, now) for line in centre.lines.values())
        left = sum(line.total - line.done for line in lines)
        together = _eta(left, sum(self._pace(name, 1, now) for name in self._metrics.lines))
        alone = [line.eta_s for line in lines if line.eta_s is not None]
        return View(
            run=centre.session.run.id, elapsed_s=now - centre.started, lines=lines,
            busy=sum(worker.lease is not None for worker in centre.workers), workers=len(centre.workers),
            stolen=sum(worker.stolen for worker in centre.workers), utilisation=centre.utilisation,
            in_flight=gate.in_flight, most=gate.limits.total, waiting=gate.waiting,
            rate=sum(line.rate for line in lines),
            eta_s=None if together is None else max([together, *alone]),
        )  # fmt: skip

    def _line(self, line: Line, now: float) -> LineView:
        numbers, gate, spider = self._metrics.lines[line.name], self._metrics.gate, line.spider
        done, total = self._done(line)
        state, wait = "closed", 0.0
        if line.failure is not None:
            state = "stopped"
        elif spider is not None:
            names = [spider.line_of(kind) for kind in spider.active]
            wait, state = max((gate.breaker(name).open_for(), gate.breaker(name).state) for name in names)
            pause = max(gate.paused_for(domain, spider.line) for domain in set(spider.provider.hosts.values()))
            if pause > wait:
                state, wait = ("paused" if state == "closed" else state), pause
        return LineView(
            name=line.name, done=done, total=total, pages=numbers.stat("research/pages"),
            records=numbers.stat("research/records"), rate=self._pace(line.name, 0, now),
            in_flight=numbers.in_flight, waiting=gate.waiting_on(spider.line) if spider is not None else 0,
            queue=line.depth, busy=line.busy, state=state, wait_s=wait,
            reason=line.failure.reason if line.failure is not None else "",
            eta_s=None if line.failure is not None else _eta(total - done, self._pace(line.name, 1, now)),
        )  # fmt: skip

    def _done(self, line: Line) -> tuple[int, int]:
        """Metadata is only a means, and either line's to take: it is not counted where there is something else."""
        kinds = tuple(kind for kind in line.kinds if kind is not Kind.METADATA)
        counts = [self._standing.get((line.provider, kind), (0, 0)) for kind in kinds]
        since = self._metrics.lines[line.name].done - self._counted.get(line.name, 0)
        total = sum(total for _, total in counts)
        return min(sum(ended for ended, _ in counts) + since, total), total

    def _pace(self, line: str, which: int, now: float) -> float:
        then, marks = self._past[0]
        if now - then < 0.5 or line not in marks:
            return 0.0
        return max(self._past[-1][1][line][which] - marks[line][which], 0) / (now - then)

    def _count(self, now: float) -> None:
        if now < self._count_at:
            return
        session = self._metrics.centre.session
        self._standing = standing_by_kind(session.store, session.run.id)
        self._counted = {name: numbers.done for name, numbers in self._metrics.lines.items()}
        took = self._clock() - now
        self._count_at = now + max(took * _SPARING, _LOOK_S)


def _eta(left: int, rate: float) -> float | None:
    return 0.0 if left <= 0 else left / rate if rate > 0 else None
