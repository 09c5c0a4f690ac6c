"""The last things that went wrong, from events and from the log."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from research_scrapers.control.events import Event
from research_scrapers.control.watching import Watcher
from research_scrapers.seeing.words import harmless

if TYPE_CHECKING:
    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate


@dataclass(frozen=True, slots=True)
class Trouble:
    """One of them."""

    at: float
    text: str


class Troubles(Watcher, logging.Handler):
    """Keeps the last few."""

    def __init__(self, most: int = 4) -> None:
        super().__init__(logging.WARNING)
        self.last: deque[Trouble] = deque(maxlen=most)

    def begin(self, centre: Centre, gate: Gate) -> None:
        centre.listeners.add(self._heard)
        logging.getLogger().addHandler(self)

    def end(self) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.last.append(Trouble(record.created, harmless(record.getMessage())))

    def _heard(self, event: Event) -> None:
        if event.outcome == "failed" and event.what == "ended":
            self.last.append(Trouble(time.time(), f"{event.line}: {event.video}: {event.kind} failed: {event.reason}"))
