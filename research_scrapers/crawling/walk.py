"""A leased sub-job while it is being worked on: which chains are open, how many of its pages are in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from research_scrapers.errors import ResearchError
from research_scrapers.models import MAIN, Cursor
from research_scrapers.store.pages import Lease

BACKLOG = 200
"""With so many reply threads open, the main chain waits: memory stays flat on the largest video."""


class Walk:
    """The main chain goes first, reply threads fill the rest of the window."""

    def __init__(self, lease: Lease, window: Callable[[], int]) -> None:
        self.lease = lease
        self.failure: ResearchError | None = None
        """Why the main chain could not go on, if it could not."""
        self.in_flight = 0
        self.assisted = 0
        """How many of these a library is at."""
        self.halted = False
        """A chain was given back unread because the run is stopping: the walk must not be called finished."""
        self._window = window
        self._main: Cursor | None = None
        self._threads: deque[Cursor] = deque()
        self.add(lease.cursors)

    def add(self, cursors: Iterable[Cursor]) -> None:
        """Chains to go on with."""
        for cursor in cursors:
            if cursor.chain == MAIN:
                self._main = cursor
            else:
                self._threads.append(cursor)

    def take(self) -> list[Cursor]:
        """The cursors to request now; each counts as in flight until `landed`."""
        taken = []
        while self.in_flight < self._window():
            if self._main is not None and len(self._threads) < BACKLOG:
                taken.append(self._main)
                self._main = None
            elif self._threads:
                taken.append(self._threads.popleft())
            else:
                break
            self.in_flight += 1
        return taken

    def landed(self) -> None:
        """A request of this walk is over."""
        self.in_flight -= 1

    def cut(self) -> None:
        """Nothing more is wanted."""
        self._main = None
        self._threads.clear()

    @property
    def done(self) -> bool:
        return not self.halted and not self.in_flight and self._main is None and not self._threads
