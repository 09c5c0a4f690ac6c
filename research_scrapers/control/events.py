"""What happens in a run, told to whoever listens. A listener's own mistake never hurts the run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened."""

    what: str
    """``run_started``, ``line_ready``, ``line_closed``, ``assigned``, ``ended``, ``run_ended``."""
    run: str
    line: str | None = None
    worker: int | None = None
    stolen: bool = False
    job: int | None = None
    sub_job: int | None = None
    provider: str | None = None
    video: str | None = None
    kind: str | None = None
    outcome: str | None = None
    reason: str | None = None
    queue: int | None = None
    """How many sub-jobs wait behind this one on its line."""
    position: int | None = None
    """The how manieth this session takes from its line's queue: 1, 2, 3 …"""


Listener = Callable[[Event], object]


class Listeners:
    """Those who listen."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = list(listeners)

    def add(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Tell everyone; whoever raises is not told again."""
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                logger.exception("a listener failed and is not told any more; the run goes on")
                self._listeners.remove(listener)
