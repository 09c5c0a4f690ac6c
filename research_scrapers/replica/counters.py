"""What clients did: the numbers by which politeness and exactness are judged."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from time import monotonic
from typing import Any

_LOG_SIZE = 200_000


@dataclass(slots=True)
class Entry:
    time: float
    host: str
    path: str
    key: str
    status: int = 0  # 0: unanswered (hung, reset or still running)


class Counters:
    """Plain dictionaries and one entry per request: cheap enough for benchmarks."""

    def __init__(self) -> None:
        self.in_flight: Counter[str] = Counter()
        self.in_flight_total = 0
        self.reset()

    def reset(self) -> None:
        """Forget the past; requests still running go on being counted as such."""
        self.total = 0
        self.by_path: Counter[tuple[str, str]] = Counter()
        self.by_status: Counter[int] = Counter()
        self.max_in_flight: Counter[str] = Counter()
        self.max_in_flight_total = 0
        self.min_gap: dict[str, float] = {}
        self.early = 0
        self.pages: Counter[tuple[str, str]] = Counter()
        self.log: deque[Entry] = deque(maxlen=_LOG_SIZE)
        self._last: dict[str, float] = {}
        self._not_before: dict[str, float] = {}

    @property
    def repeats(self) -> int:
        """Requests for a page that had been asked for before."""
        return sum(count - 1 for count in self.pages.values() if count > 1)

    def begin(self, host: str, path: str, key: str) -> Entry:
        now = monotonic()
        entry = Entry(now, host, path, key)
        self.log.append(entry)
        self.total += 1
        self.by_path[host, path] += 1
        self.pages[host, key] += 1
        self.in_flight[host] += 1
        self.in_flight_total += 1
        self.max_in_flight[host] = max(self.max_in_flight[host], self.in_flight[host])
        self.max_in_flight_total = max(self.max_in_flight_total, self.in_flight_total)
        last = self._last.get(host)
        if last is not None:
            self.min_gap[host] = min(self.min_gap.get(host, now - last), now - last)
        self._last[host] = now
        if now < self._not_before.get(host, 0.0):
            self.early += 1
        return entry

    def end(self, entry: Entry, status: int) -> None:
        entry.status = status
        self.by_status[status] += 1
        self.in_flight[entry.host] -= 1
        self.in_flight_total -= 1

    def told_to_wait(self, host: str, seconds: float) -> None:
        """A Retry-After was given: requests to this host before it has passed are early."""
        self._not_before[host] = max(self._not_before.get(host, 0.0), monotonic() + seconds)

    def snapshot(self, log: bool = False) -> dict[str, Any]:
        out: dict[str, Any] = {
            "total": self.total,
            "by_path": {f"{host}{path}": n for (host, path), n in self.by_path.items()},
            "by_status": {str(status): n for status, n in self.by_status.items()},
            "in_flight": {host: n for host, n in self.in_flight.items() if n},
            "in_flight_total": self.in_flight_total,
            "max_in_flight": dict(self.max_in_flight),
            "max_in_flight_total": self.max_in_flight_total,
            "repeats": self.repeats,
            "early": self.early,
            "min_gap": dict(self.min_gap),
        }
        if log:
            out["log"] = [[e.time, e.host, e.path, e.key, e.status] for e in self.log]
        return out
