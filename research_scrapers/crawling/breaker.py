"""A breaker: after a refusal, many faults in a row or too large a share of them it lets nothing out for a while, then
one probe.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

_GROWTH = 1.6
_PROBE_S = 60.0
_LONGEST_S = 3600.0
"""A site that wants us away for longer than this is not worth waiting for in a running process."""
_MOST_ASKED = 50
_BAN_S = 600.0
"""A pause of this length is for a ban: one more try after it, and no other."""
NEVER = float("inf")
"""As a cool-down: once open, it stays so."""


@dataclass(slots=True)
class Breaker:
    """Closed: all go. Open: none go until the cool-down has passed. Half-open: one probe decides."""

    cooldown_s: float = 2.0
    cap_s: float = 900.0
    threshold: int = 8
    patience: int = 8
    clock: Callable[[], float] = time.monotonic
    share: float = 0.5
    """The part of the last results that, being faults, opens it; above 1 none does."""
    sample: int = 40
    """How many results that is measured over."""
    served: int = 0
    """How many requests were answered well: tells whether a refusal hit one request or everybody."""
    _open_until: float = 0.0
    _openings: int = 0
    _faults: int = 0
    _probe_until: float = 0.0
    _half_open: bool = False
    _refused: bool = False
    _banned: bool = False
    _asked: int = 0
    _victims: set[Hashable] = field(default_factory=set)
    _results: deque[bool] = field(default_factory=deque)
    """The last results since it was last opened: whether each was a fault."""

    @property
    def state(self) -> str:
        """``closed``, ``open`` or ``half-open``."""
        if self._open_until > self.clock():
            return "open"
        return "half-open" if self._half_open else "closed"

    @property
    def exhausted(self) -> bool:
        """Whether it has opened so often, with nothing served in between, that waiting here is pointless. Faults
        count only when they hit many sub-jobs: one bad thread retried at the end of a run is not an outage.
        """
        patience = min(self.patience, 1) if self._banned else self.patience
        many = self._openings > patience and (self._refused or len(self._victims) >= self.threshold)
        return many or self._asked > _MOST_ASKED or self.open_for() > _LONGEST_S

    def open_for(self) -> float:
        """Seconds until the cool-down has passed."""
        return max(self._open_until - self.clock(), 0.0)

    def wait(self) -> float:
        """Seconds until a request may go; while a probe is under way, until it is over."""
        return self.open_for() or (max(self._probe_until - self.clock(), 0.0) if self._half_open else 0.0)

    def probing(self) -> None:
        """A request goes out: if it is the probe, the others wait for its verdict (or for its disappearance)."""
        if self._half_open:
            self._probe_until = self.clock() + _PROBE_S

    def goes_again(self) -> None:
        """A request that may have been the probe goes out once more, without a verdict: it must not wait for itself."""
        self._probe_until = 0.0

    def served_well(self) -> None:
        """An answer was what we asked for."""
        self.served += 1
        self._note(fault=False)
        self._faults = self._openings = self._asked = 0
        self._half_open = self._refused = self._banned = False
        self._victims.clear()

    def refused(self, victim: Hashable, retry_after: float | None = None, least: float = 0.0) -> float:
        """The site refused us: open at once, for as long as it asked, or as is known to be needed (``least``). Returns
        the seconds until the next try.
        """
        self._victims.add(victim)
        if retry_after is not None:  # a site that says when to come back is not out of reach
            self._half_open = True
            self._asked += 1
            self._open_until = max(self._open_until, self.clock() + retry_after)
            self._probe_until = 0.0
            return self._open_until - self.clock()
        self._refused = True
        self._banned = self._banned or least >= _BAN_S
        return self._trip(least)

    def fault(self, victim: Hashable) -> None:
        """A passing fault: open when there were many in a row, or among the last results, or if it was the probe."""
        self._faults += 1
        self._victims.add(victim)
        self._probe_until = 0.0
        probe = self._half_open and self._open_until <= self.clock()
        if self._note(fault=True) or probe or self._faults >= self.threshold:
            self._trip()

    def _note(self, *, fault: bool) -> bool:
        """Remember a result; returns whether too many of the last ones are faults."""
        self._results.append(fault)
        if len(self._results) > self.sample:
            self._results.popleft()
        return len(self._results) == self.sample and sum(self._results) >= self.share * self.sample

    def _trip(self, least: float = 0.0) -> float:
        now = self.clock()
        self._probe_until = 0.0
        if self._open_until <= now:  # answers that were under way when it opened tell nothing new
            pause = max(self.cooldown_s, least) * _GROWTH**self._openings
            self._open_until = now + (pause if pause == NEVER else min(pause, max(self.cap_s, least)))
            self._results.clear()
            self._openings += 1
            self._faults = 0
            self._half_open = True
        return self._open_until - now
