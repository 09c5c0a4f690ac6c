"""Whether the system lets this process open as many files and connections as a run needs.

Asked once, before anything is opened: where the last one is missing in the middle of a run, every part of the program
fails in its own way.
"""

from __future__ import annotations

import os
import resource

from research_scrapers.errors import TooFewFiles

_RESERVE = 32
"""Database, feeds, logs, the reactor's own, and what is opened for a moment."""


def ensure_files(connections: int) -> None:
    """Raise the limit as far as the system lets us; say it in one sentence if that is not enough."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        needed = len(os.listdir("/dev/fd")) + connections + _RESERVE  # noqa: PTH208 -- with pathlib it is no shorter
    except OSError:  # not even one is left to count the others
        needed = allowed + connections + _RESERVE
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        if most != resource.RLIM_INFINITY and most < needed:
            raise TooFewFiles(
                f"{most} at a time, and {needed} are needed. Raise the limit (ulimit -n {needed}), or lower "
                "CONCURRENT_REQUESTS"
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
