"""Those who look on while a run goes on: displays, metrics, samples. What goes wrong with them never hurts the run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import signals

from research_scrapers.errors import ResearchError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate

logger = logging.getLogger(__name__)

_TALKATIVE = ("scrapy.addons", "scrapy.middleware", "scrapy.crawler", "scrapy.core.engine")
"""They list what every crawler is made of, four times over."""


class Watcher:
    """Looks on. Every step may be left out."""

    def begin(self, centre: Centre, gate: Gate) -> None:
        """The run is open; nothing has been asked yet."""
        return

    def crawler(self, line: str, crawler: Crawler) -> None:
        """A line's crawler is made."""
        return

    def start(self) -> None:
        """The event loop runs."""
        return

    def end(self) -> None:
        """The event loop has ended; the run is still open."""
        return


class Watchers:
    """All of them. One that raises is not asked again, except to end."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = list(watchers)
        self._all = tuple(watchers)
        self._started = False

    def begin(self, centre: Centre, gate: Gate) -> None:
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._each(lambda watcher: watcher.begin(centre, gate))

    def crawler(self, line: str, crawler: Crawler) -> None:
        self._each(lambda watcher: watcher.crawler(line, crawler))
        crawler.signals.connect(self._start, signal=signals.engine_started)

    def end(self) -> None:
        self._watchers = list(reversed(self._all))
        self._each(lambda watcher: watcher.end())

    def _start(self) -> None:
        if not self._started:
            self._started = True
            self._each(lambda watcher: watcher.start())

    def _each(self, step: Callable[[Watcher], None]) -> None:
        for watcher in list(self._watchers):
            try:
                step(watcher)
            except Exception as error:
                _left_out(type(watcher).__name__, error)
                self._watchers.remove(watcher)


def _left_out(who: str, error: Exception) -> None:
    """What has a name is a sentence; a mistake of ours is shown with where it happened."""
    if isinstance(error, ResearchError):
        logger.warning("%s is left out: %s", who, error)
    else:
        logger.error("%s failed and is left out; the run goes on", who, exc_info=error)


class Ticking:
    """Does something again and again in the running loop. What raises is told once and not done any more."""

    def __init__(self, every_s: Callable[[], float], what: Callable[[], None]) -> None:
        self._every_s = every_s
        self._what = what
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every_s(), self._tick)

    def _tick(self) -> None:
        try:
            self._what()
        except Exception as error:
            _left_out("Looking on", error)
            self._timer = None
        else:
            self.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
