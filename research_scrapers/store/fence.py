"""A transaction that only the owner of a lease can make."""

from __future__ import annotations

import sqlite3

from research_scrapers.errors import LeaseLost
from research_scrapers.store.database import Store
from research_scrapers.store.pages import Lease


class Fence:
    """A transaction that begins by proving that the lease is still ours, and renews it."""

    def __init__(self, store: Store, lease: Lease, until: float, *, durable: bool) -> None:
        self._transaction = store.writing(durable=durable)
        self._lease = lease
        self._until = until

    def __enter__(self) -> sqlite3.Connection:
        conn = self._transaction.__enter__()
        renewed = conn.execute(
            "UPDATE sub_jobs SET lease_until = ? WHERE id = ? AND owner = ? AND attempt = ? AND status = 'in_progress'",
            (self._until, self._lease.id, self._lease.owner, self._lease.attempt),
        ).rowcount
        if not renewed:
            error = LeaseLost(f"{self._lease.kind} of {self._lease.video_id}, attempt {self._lease.attempt}")
            self._transaction.__exit__(type(error), error, None)
            raise error
        return conn

    def __exit__(self, *failure: object) -> bool | None:
        return self._transaction.__exit__(*failure)  # type: ignore[arg-type]
