"""Writes down how the run goes, every few seconds: the run report is drawn from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from research_scrapers.control.watching import Ticking, Watcher
from research_scrapers.seeing.metrics import Metrics, Numbers
from research_scrapers.seeing.view import LineView, Observer
from research_scrapers.store.samples import Sample, write_samples

_LEAST_S = 2.0
_SPARING = 200
"""The longer a run, the farther apart: a day has some thousand samples, not fifty thousand."""


@dataclass
class _Mark:
    """Where a line's counters stood when it was last written down."""

    counters: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    latency: dict[str, dict[int, int]] = field(default_factory=dict)


class Sampler(Watcher):
    """One row per line and interval."""

    def __init__(self, metrics: Metrics, observer: Observer, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._observer = observer
        self._clock = clock
        self._marks: dict[str, _Mark] = {}
        self._since = self._began = clock()
        self._ticking = Ticking(lambda: max(_LEAST_S, (clock() - self._began) / _SPARING), self.write)

    def start(self) -> None:
        self._since = self._began = self._clock()
        self._ticking.start()

    def end(self) -> None:
        self._ticking.stop()
        self.write()

    def write(self) -> None:
        """Write down what has happened since the last time."""
        now = self._clock()
        seconds, self._since = max(now - self._since, 0.001), now
        session = self._metrics.centre.session
        at = time.time()
        write_samples(
            session.store,
            [
                self._sample(view, self._metrics.lines[view.name], session.run.id, at, seconds)
                for view in self._observer.look().lines
            ],
        )

    def _sample(self, view: LineView, numbers: Numbers, run: str, at: float, seconds: float) -> Sample:
        mark = self._marks.setdefault(view.name, _Mark())
        counters = {
            "requests": numbers.requests, "retries": numbers.retries, "pages": numbers.stat("research/pages"),
            "records": numbers.stat("research/records"), "ended": numbers.ended.total(),
            "cached": numbers.stat("httpcache/hit"),
        }  # fmt: skip
        errors = numbers.errors
        latency = {name: histogram.since(mark.latency.get(name, {})) for name, histogram in numbers.latencies.items()}
        sample = Sample(
            run, view.name, at, seconds,
            **{name: n - mark.counters.get(name, 0) for name, n in counters.items()},
            in_flight=view.in_flight, waiting=view.waiting, queue=view.queue, busy=view.busy, breaker=view.state,
            errors={name: more for name, n in errors.items() if (more := n - mark.errors.get(name, 0))},
            latency={name: buckets for name, buckets in latency.items() if buckets},
        )  # fmt: skip
        mark.counters, mark.errors = counters, errors
        mark.latency = {name: dict(histogram.counts) for name, histogram in numbers.latencies.items()}
        return sample
