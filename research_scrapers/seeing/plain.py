"""Where there is no terminal: a few plain lines every few seconds, through the log."""

from __future__ import annotations

import logging

from research_scrapers.control.watching import Ticking, Watcher
from research_scrapers.seeing.view import LineView, Observer, View
from research_scrapers.seeing.words import lasting, state_of

logger = logging.getLogger(__name__)

_EVERY_S = 5.0


def told(view: View) -> list[str]:
    """A line for the run, and one for each production line that has something to do."""
    left = "time left unknown" if view.eta_s is None else f"{lasting(view.eta_s)} left"
    head = (
        f"{view.done:,} of {view.total:,} done, {view.rate:.1f} pages/s, {view.in_flight} in flight, {view.waiting} "
        f"waiting, {view.busy} of {view.workers} workers busy, {view.stolen:,} stolen, {left}"
    )
    return [head, *(_told(line) for line in view.lines if line.done < line.total)]


def _told(line: LineView) -> str:
    left = "time left unknown" if line.eta_s is None else f"{lasting(line.eta_s)} left"
    return (
        f"  {line.name}: {line.done:,} of {line.total:,} done, {line.records:,} records, {line.rate:.1f} pages/s, "
        f"{line.in_flight} in flight, {line.waiting} waiting, breaker {state_of(line)}, {left}"
    )


class Plain(Watcher):
    """Tells at once, and then every few seconds."""

    def __init__(self, observer: Observer, every_s: float = _EVERY_S) -> None:
        self._observer = observer
        self._ticking = Ticking(lambda: every_s, self._tell)

    def start(self) -> None:
        self._tell()
        self._ticking.start()

    def _tell(self) -> None:
        for line in told(self._observer.look()):
            logger.info("%s", line)

    def end(self) -> None:
        self._ticking.stop()
