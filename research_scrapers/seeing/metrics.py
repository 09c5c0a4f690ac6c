"""Numbers of a running process, collected where they arise: a few additions per request, nothing else."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import signals

from research_scrapers.control.events import Event
from research_scrapers.control.watching import Watcher
from research_scrapers.models import Kind
from research_scrapers.reporting.histogram import Histogram

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate

_PLAIN = re.compile(r"[a-z][a-z_.-]{0,23}|v\d", re.IGNORECASE)
_MOST_ENDPOINTS = 50
_OTHER = "other"
_REFUSED = "research/refused/"


def endpoint_of(url: str) -> str:
    """Host and path, with a star for whatever looks like an id: ``api.bilibili.com/x/v2/reply``."""
    parts = urlsplit(url)
    path = "/".join(part if _PLAIN.fullmatch(part) else "*" for part in parts.path.split("/") if part)
    return f"{parts.hostname}/{path}"


class Numbers:
    """Those of one line."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.in_flight = 0
        self.requests = 0
        self.retries = 0
        self.statuses: Counter[int] = Counter()
        self.latencies: dict[str, Histogram] = defaultdict(Histogram)
        self.ended: Counter[tuple[str, str]] = Counter()
        """(outcome, reason) → sub-jobs that ended so."""
        self.done = 0
        """Sub-jobs that ended, but for a video's own facts."""
        crawler.signals.connect(self._out, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._answered, signal=signals.response_downloaded)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)

    def _out(self, request: Request) -> None:
        self.in_flight += 1
        self.requests += 1
        self.retries += "research_not_before" in request.meta or "research_renewed" in request.meta

    def _answered(self, response: Response, request: Request) -> None:
        self.statuses[response.status] += 1
        endpoint = endpoint_of(request.url)
        if endpoint not in self.latencies and len(self.latencies) >= _MOST_ENDPOINTS:
            endpoint = _OTHER
        self.latencies[endpoint].add(request.meta.get("download_latency", 0.0))

    def _left(self, request: Request) -> None:
        self.in_flight -= 1

    def stat(self, name: str) -> int:
        """One of Scrapy's own counters."""
        return int(self._stats.get(name, 0))

    @property
    def errors(self) -> dict[str, int]:
        """Answers that were refusals or passing faults, by reason."""
        return {name.removeprefix(_REFUSED): n for name, n in self._stats.items() if name.startswith(_REFUSED)}

    @property
    def _stats(self) -> Mapping[str, int]:
        try:
            stats = self._crawler.stats
        except RuntimeError:  # the crawl never began
            return {}
        return stats.get_stats() if stats is not None else {}


class Metrics(Watcher):
    """Those of all lines."""

    centre: Centre
    gate: Gate

    def __init__(self) -> None:
        self.lines: dict[str, Numbers] = {}

    def begin(self, centre: Centre, gate: Gate) -> None:
        self.centre, self.gate = centre, gate
        centre.listeners.add(self._heard)

    def crawler(self, line: str, crawler: Crawler) -> None:
        self.lines[line] = Numbers(crawler)

    def _heard(self, event: Event) -> None:
        if event.what == "ended" and event.outcome and event.line in self.lines:
            numbers = self.lines[event.line]
            numbers.ended[event.outcome, event.reason or ""] += 1
            numbers.done += event.kind != Kind.METADATA
