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
        except LeaseLost as error:
            self._transaction.__exit__(type(error), error, None)
            raise
        return conn

    def __exit__(self, *failure: object) -> bool | None:
        return self._transaction.__exit__(*failure)  # type: ignore[arg-type]


def commit_together(store: Store, pages: Sequence[Handed], until: float) -> list[Receipt | Exception]:
    """Store pages in one transaction, for one wait for the disk. Each is stored whole or, where something is wrong
    with it, not at all, which harms no other; trouble with the database itself is raised, and nothing is stored.
    """
    try:
        return _commit(store, pages, until)
    except StoreError:
        raise
    except Exception as error:
        if len(pages) == 1:
            return [error]
    # Then each by itself, which is rare. Savepoints would not do: at each one the full-text index goes to the disk.
    return [result for one in pages for result in commit_together(store, [one], until)]


def _commit(store: Store, pages: Sequence[Handed], until: float) -> list[Receipt | Exception]:
    receipts: list[Receipt] = []
    try:
        with store.writing(durable=any(one.page.records for one in pages)) as conn:
            for one in pages:
                renew(conn, one.lease, until)
                receipt = commit(conn, one.lease, one.page, one.options, one.quota, one.raw)
                one.lease.collected += receipt.added  # limits count it already for the next page of this group
                receipts.append(receipt)
    except BaseException:
        for one, receipt in zip(pages, receipts, strict=False):
            one.lease.collected -= receipt.added
        raise
    for one in pages:
        one.lease.session.update(one.page.session)
        one.lease.pages += 1
    return [*receipts]
