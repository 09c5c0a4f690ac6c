"""What to do about each failure. The parser says what it saw; these pure functions decide."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from research_scrapers import errors


class Verdict(StrEnum):
    """What a failure means for the sub-job that met it."""

    EMPTY = "empty"
    """Nothing to collect, and the site says so: a success."""
    GIVE_UP = "give_up"
    """It cannot be had by anyone: failed, and not worth another try."""
    PARK = "park"
    """It cannot be had by us as we are: failed, with what would be needed."""
    WAIT = "wait"
    """The site refuses us for now: costs no attempt, opens the breaker."""
    RETRY = "retry"
    """A passing fault: try again with backoff, a few times."""
    RESTART = "restart"
    """The page token died: begin that chain anew, once."""
    STOP = "stop"
    """The whole run cannot go on."""


_VERDICTS: tuple[tuple[type[BaseException], Verdict], ...] = (
    (errors.NothingThere, Verdict.EMPTY),
    (errors.Gone, Verdict.GIVE_UP),
    (errors.AccessNeeded, Verdict.PARK),
    (errors.Blocked, Verdict.WAIT),
    (errors.Transient, Verdict.RETRY),
    (errors.CursorExpired, Verdict.RESTART),
    (errors.LayoutChanged, Verdict.PARK),
    (errors.RunError, Verdict.STOP),
    (errors.StoreError, Verdict.STOP),
)


def verdict(failure: BaseException) -> Verdict:
    """The verdict of a failure; what nobody has a name for is parked, loudly, rather than guessed at."""
    for kind, decided in _VERDICTS:
        if isinstance(failure, kind):
            return decided
    return Verdict.PARK


_PAUSES: dict[type[errors.Blocked], float] = {
    errors.OverLimit: 30.0,
    errors.TooFrequent: 30.0,
    errors.SignatureRefused: 60.0,
    errors.SilentRefusal: 60.0,
    errors.RiskControl: 1800.0,
    errors.AddressBanned: 1800.0,
    errors.RequestBanned: 1800.0,
    errors.VoucherOnly: 1800.0,
}


def pause_s(failure: BaseException) -> float:
    """The pause that people who know the site report as needed after a refusal that names no time; 0: none is known."""
    return next((pause for kind, pause in _PAUSES.items() if isinstance(failure, kind)), 0.0)


def retriable(failure: BaseException) -> bool:
    """Whether running again later may help without anything else changing."""
    return verdict(failure) in (Verdict.WAIT, Verdict.RETRY, Verdict.RESTART)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after how long, a request is sent again."""

    attempts: int = 3
    base: float = 1.5
    cap_s: float = 60.0
    blame: int = 2
    """How often one request may be refused while others are served, before the refusal is its own."""

    def delay(self, tried: int, jitter: Callable[[], float] = random.random) -> float:
        """Seconds before try number ``tried + 1``: base ** tried, up to half of it more by chance, capped."""
        try:
            grown = self.base**tried
        except OverflowError:
            grown = self.cap_s
        return min(grown * (1 + 0.5 * jitter()), self.cap_s)
