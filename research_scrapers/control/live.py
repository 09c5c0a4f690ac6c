"""What a running process tells of itself, every two seconds, for ``research status`` in another terminal."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import StoreError
from research_scrapers.providers import providers

if TYPE_CHECKING:
    from research_scrapers.control.centre import Centre
    from research_scrapers.control.events import Event
    from research_scrapers.control.lines import Line
    from research_scrapers.crawling.gate import Gate

logger = logging.getLogger(__name__)

EVERY_S = 2.0
_WINDOW_S = 60.0
"""Rates are those of the last minute."""


class Live:
    """A listener that leaves word in the database."""

    def __init__(self, centre: Centre, gate: Gate, clock: Callable[[], float] = time.time) -> None:
        self._centre = centre
        self._gate = gate
        self._clock = clock
        self._began = clock()
        self._ends: defaultdict[str, deque[float]] = defaultdict(deque)

    def __call__(self, event: Event) -> None:
        if event.what == "run_started":
            self._began = self._clock()
            self._tell()
        elif event.what == "ended" and event.line is not None:
            self._ends[event.line].append(self._clock())

    def _tell(self) -> None:
        centre = self._centre
        try:
            centre.session.runs.tell(centre.session.run.id, self.word())
        except StoreError as error:  # whoever works will meet it too, and stop the run
            logger.debug("no word could be left: %s", error)
        if centre.over_at is None:
            asyncio.get_running_loop().call_later(EVERY_S, self._tell)

    def word(self) -> dict[str, Any]:
        """How it stands now."""
        centre = self._centre
        return {
            "owner": centre.session.ledger.owner, "at": self._clock(), "since": self._began,
            "in_flight": self._gate.in_flight, "waiting": self._gate.waiting,
            "workers": len(centre.workers), "utilisation": round(centre.utilisation, 3),
            "lines": {line.name: self._word_of(line) for line in centre.lines.values()},
        }  # fmt: skip

    def _word_of(self, line: Line) -> dict[str, Any]:
        now = self._clock()
        ends = self._ends[line.name]
        while ends and ends[0] < now - _WINDOW_S:
            ends.popleft()
        spider = line.spider
        pauses = []
        if spider is not None and hasattr(spider, "gate"):
            domains = set(providers()[line.provider].hosts.values())
            for kind in line.kinds:
                name = spider.line_of(kind)
                wait = max(self._gate.paused_for(domain, name) for domain in domains)
                if wait > 0 or self._gate.breaker(name).state != "closed":
                    state = self._gate.breaker(name).state
                    pauses.append({"kind": str(kind), "state": state, "until": now + wait})
        return {
            "workers": line.busy, "in_flight": spider.in_flight if spider is not None else 0,
            "per_minute": round(60 * len(ends) / max(min(now - self._began, _WINDOW_S), 1.0), 2),
            "closed": line.failure.reason if line.failure is not None else None, "pauses": pauses,
        }  # fmt: skip
