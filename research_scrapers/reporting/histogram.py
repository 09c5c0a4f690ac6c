"""Latencies in few numbers: buckets that grow by a tenth, so that a quantile is right to one twentieth."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

_GROWTH = 1.1
_LOG = math.log(_GROWTH)


class Histogram:
    """Counts by bucket; two of them can be added, and the older subtracted from the newer."""

    __slots__ = ("counts", "seconds", "total")

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts: Counter[int] = Counter(counts or {})
        self.total = sum(self.counts.values())
        self.seconds = sum(_middle(bucket) * n for bucket, n in self.counts.items())

    def add(self, seconds: float) -> None:
        """One more answer, after so long."""
        self.counts[int(math.log(max(seconds * 1000, 1.0)) / _LOG)] += 1
        self.total += 1
        self.seconds += seconds

    def take(self, counts: Mapping[int, int]) -> None:
        """All that another one has."""
        for bucket, n in counts.items():
            self.counts[bucket] += n
            self.total += n
            self.seconds += _middle(bucket) * n

    def since(self, earlier: Mapping[int, int]) -> dict[int, int]:
        """What has come since its counts were ``earlier``."""
        return {bucket: more for bucket, n in self.counts.items() if (more := n - earlier.get(bucket, 0))}

    def quantile(self, share: float) -> float | None:
        """Seconds within which this share of the answers came."""
        wanted, seen = share * self.total, 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted and seen:
                return _middle(bucket)
        return None


def _middle(bucket: int) -> float:
    """Seconds that stand for a bucket."""
    return float(_GROWTH ** (bucket + 0.5) / 1000)
