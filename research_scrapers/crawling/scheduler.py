"""A scheduler that keeps nothing on disk: what is still to do is in the ledger, and nowhere else."""

from __future__ import annotations

from scrapy.core.scheduler import Scheduler


class MemoryScheduler(Scheduler):
    """Scrapy's scheduler without its JOBDIR queue, which loses requests when the process is killed."""

    def _dqdir(self, jobdir: str | None) -> None:
        return None
