"""How a run went: read from its samples and its sub-jobs, for text and for a page."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from research_scrapers.reporting.histogram import Histogram
from research_scrapers.store.samples import Ending, Sample, endings, read_samples, run_facts

_POINTS = 200
"""A picture has no use for more."""


@dataclass
class Moment:
    """What happened on one line, or on all, around one moment of the run."""

    second: float
    """Seconds of work since the run began; time between sessions does not count."""
    seconds: float = 0.0
    requests: int = 0
    pages: int = 0
    errors: int = 0
    busy: float = 0.0
    latency: Histogram = field(default_factory=Histogram)


@dataclass
class Line:
    """One line over the whole run."""

    name: str
    requests: int = 0
    retries: int = 0
    pages: int = 0
    records: int = 0
    ended: int = 0
    cached: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    latency: Histogram = field(default_factory=Histogram)
    moments: list[Moment] = field(default_factory=list)


@dataclass
class Endpoint:
    """One address, without what changes from request to request."""

    name: str
    latency: Histogram = field(default_factory=Histogram)


@dataclass
class RunReport:
    """A run."""

    facts: dict[str, str | int | None]
    seconds: float
    lines: list[Line]
    endpoints: list[Endpoint]
    endings: list[Ending]

    @property
    def reasons(self) -> Counter[str]:
        """Why sub-jobs ended as they did, where there is something to explain."""
        found: Counter[str] = Counter()
        for one in self.endings:
            if one.reason and one.ending in ("partial", "failed"):
                found[one.reason] += one.count
        return found

    @property
    def errors(self) -> Counter[str]:
        """Answers that were refusals or passing faults."""
        return sum((line.errors for line in self.lines), Counter())


def run_report(conn: sqlite3.Connection, run_id: str) -> RunReport:
    """Read everything that is to be told of a run."""
    lines: dict[str, Line] = {}
    endpoints: dict[str, Endpoint] = {}
    clock = _Clock()
    for sample in read_samples(conn, run_id):
        line = lines.setdefault(sample.line, Line(sample.line))
        _add(line, sample, clock.second(sample))
        for name, buckets in sample.latency.items():
            endpoints.setdefault(name, Endpoint(name)).latency.take(buckets)
    for line in lines.values():
        line.moments = _thinned(line.moments, clock.seconds)
    return RunReport(
        run_facts(conn, run_id), clock.seconds, list(lines.values()),
        sorted(endpoints.values(), key=lambda one: -one.latency.total), endings(conn, run_id),
    )  # fmt: skip


class _Clock:
    """Counts the seconds of work: each once, though every line has a row of it and processes may work side by side."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._at = 0.0

    def second(self, sample: Sample) -> float:
        if sample.at != self._at:
            self.seconds += min(sample.seconds, sample.at - self._at)
            self._at = sample.at
        return self.seconds


def _add(line: Line, sample: Sample, second: float) -> None:
    moment = Moment(
        second, sample.seconds, sample.requests, sample.pages, sum(sample.errors.values()), sample.busy * sample.seconds
    )
    line.errors.update(sample.errors)
    for buckets in sample.latency.values():
        moment.latency.take(buckets)
        line.latency.take(buckets)
    for name in ("requests", "retries", "pages", "records", "ended", "cached"):
        setattr(line, name, getattr(line, name) + getattr(sample, name))
    line.moments.append(moment)


def _thinned(moments: Sequence[Moment], seconds: float) -> list[Moment]:
    """At most so many moments as a picture has points, each the sum of its neighbours."""
    width = seconds / _POINTS
    found: dict[int, Moment] = {}
    for number, moment in enumerate(moments):
        place = int(moment.second / width) if len(moments) > _POINTS else number
        into = found.setdefault(place, Moment(moment.second))
        into.second = moment.second
        for name in ("seconds", "requests", "pages", "errors", "busy"):
            setattr(into, name, getattr(into, name) + getattr(moment, name))
        into.latency.take(moment.latency.counts)
    return list(found.values())


@dataclass
class Coverage:
    """How the sub-jobs of one provider and kind ended."""

    name: str
    ends: Counter[str]
    claimed: int
    held: int
    pages: int

    @property
    def total(self) -> int:
        return self.ends.total()


def coverage_by_line(found: Iterable[Ending]) -> list[Coverage]:
    """A row per provider and kind. What the site claims is only told where it can be compared with what is held."""
    rows: dict[str, Coverage] = {}
    for one in found:
        row = rows.setdefault(f"{one.provider} {one.kind}", Coverage(f"{one.provider} {one.kind}", Counter(), 0, 0, 0))
        row.ends[one.ending] += one.count
        row.claimed += one.claimed
        row.held += one.held
        row.pages += one.pages
    return list(rows.values())


def all_lines(lines: Iterable[Line]) -> list[Moment]:
    """The moments of all lines together."""
    found: dict[float, Moment] = defaultdict(lambda: Moment(0.0))
    for line in lines:
        for moment in line.moments:
            into = found[moment.second]
            into.second, into.seconds = moment.second, moment.seconds
            into.requests += moment.requests
            into.pages += moment.pages
            into.errors += moment.errors
            into.busy += moment.busy
            into.latency.take(moment.latency.counts)
    return [found[second] for second in sorted(found)]
