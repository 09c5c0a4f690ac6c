"""A transaction that only the owner of a lease can make."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from research_scrapers.errors import LeaseLost, StoreError
from research_scrapers.store.database import Store
from research_scrapers.store.pages import Handed, Lease, Receipt, commit


def renew(conn: sqlite3.Connection, lease: Lease, until: float) -> None:
    """Prove that a lease is still ours, and renew it."""
    renewed = conn.execute(
        "UPDATE sub_jobs SET lease_until = ? WHERE id = ? AND owner = ? AND attempt = ? AND status = 'in_progress'",
        (until, lease.id, lease.owner, lease.attempt),
    ).rowcount
    if not renewed:
        raise LeaseLost(f"{lease.kind} of {lease.video_id}, attempt {lease.attempt}")


class Fence:
    """A transaction that begins by proving that the lease is still ours, and renews it."""

    def __init__(self, store: Store, lease: Lease, until: float, *, durable: bool) -> None:
        self._transaction = store.writing(durable=durable)
        self._lease = lease
        self._until = until

    def __enter__(self) -> sqlite3.Connection:
        conn = self._transaction.__enter__()
        try:
            renew(conn, self._lease, self._until)
        except Exception as error:
            self._transaction.__exit__(type(error), error, error.__traceback__)
            raise
        return conn

    def __exit__(self, *failure: object) -> bool | None:
        return self._transaction.__exit__(*failure)  # type: ignore[arg-type]


class Group:
    """Pages that are stored in one transaction, for one wait for the disk. Each is stored whole or, where something is
    wrong with it, not at all, which harms no other; trouble with the database itself is raised, and nothing is stored.
    """

    def __init__(self, store: Store, pages: Sequence[Handed], until: float) -> None:
        self._store, self._pages, self._until = store, pages, until
        self._receipts: list[Receipt] = []
        self._results: list[Receipt | Exception] | None = None

    def write(self) -> None:
        """Everything but the wait; `settle` must follow."""
        try:
            with self._store.unsettled(durable=any(one.page.records for one in self._pages)) as conn:
                for one in self._pages:
                    renew(conn, one.lease, self._until)
                    receipt = commit(conn, one.lease, one.page, one.options, one.quota, one.raw)
                    one.lease.collected += receipt.added  # limits count it already for the next page of this group
                    self._receipts.append(receipt)
        except Exception as error:
            self._forget()
            if isinstance(error, StoreError):
                raise
            self._results = [error] if len(self._pages) == 1 else self._each_alone()

    def settle(self) -> list[Receipt | Exception]:
        """Wait for the disk, in whatever thread; returns for each page its receipt, or what was wrong with it."""
        if self._results is not None:
            return self._results
        try:
            self._store.settle()
        except BaseException:
            self._forget()
            raise
        for one in self._pages:
            one.lease.session.update(one.page.session)
            one.lease.pages += 1
        return [*self._receipts]

    def _each_alone(self) -> list[Receipt | Exception]:
        # It is rare. Savepoints would not do instead: at each one the full-text index goes to the disk.
        results = []
        for one in self._pages:
            alone = Group(self._store, [one], self._until)
            alone.write()
            results += alone.settle()
        return results

    def _forget(self) -> None:
        for one, receipt in zip(self._pages, self._receipts, strict=False):
            one.lease.collected -= receipt.added
