"""Memory that does not grow with the list: what the C library keeps of what was freed is given back to the system."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_EVERY_S = 10.0
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # of malloc.h
_LARGE = 128 * 1024


class SteadyMemory:
    """Answers are large, and die soon; what is allocated between two of them lives longer. glibc keeps the holes, and a
    long run grows by them (measured: 10 kB a video with a heap for each thread, 6 kB with one). So all threads share
    one heap, whole answers stay outside of it, and its holes are given back every few seconds, which takes about a
    millisecond. Where the C library has no such functions, it has no such habits.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.opened, signals.spider_opened)
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def opened(self) -> None:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(_ARENA_MAX, 1)
            library.mallopt(_MMAP_THRESHOLD, _LARGE)
            self._give_back(asyncio.get_running_loop(), library.malloc_trim)

    def _give_back(self, loop: asyncio.AbstractEventLoop, trim: Callable[[int], int]) -> None:
        trim(0)
        self._timer = loop.call_later(_EVERY_S, self._give_back, loop, trim)

    def closed(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
