"""Bodies that nobody understood, kept beside the database so that a parser can be mended from them."""

from __future__ import annotations

import gzip
import hashlib
from datetime import UTC, datetime

from research_scrapers.store.blobs import item_name, open_blobs
from research_scrapers.store.database import Store
from research_scrapers.store.pages import Lease
from research_scrapers.store.project import held_policy


def keep_body(store: Store, lease: Lease, body: bytes) -> str:
    """Store a raw body as an artifact of its sub-job; returns where it is. Where persons are hidden, a body that nobody
    understood cannot be rid of them, so it is not kept.
    """
    if held_policy(store) != "keep":
        return "nothing, for the sake of PRIVACY"
    blobs = open_blobs(store.blobs or str(store.path.with_suffix(".artifacts")))
    checksum = hashlib.blake2b(body, digest_size=16).hexdigest()
    where = blobs.put(item_name(lease.run_id, lease.job_id, f"{lease.kind}-{checksum}.gz"), gzip.compress(body))
    with store.writing() as conn:
        conn.execute(
            "INSERT INTO artifacts (run_id, sub_job_id, kind, location, checksum, version, size, created_at)"
            " VALUES (?, ?, 'raw_body', ?, ?, 1, ?, ?)",
            (lease.run_id, lease.id, where, checksum, len(body), datetime.now(UTC).isoformat()),
        )
    return where
