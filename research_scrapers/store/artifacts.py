"""Bodies that nobody understood, kept beside the database so that a parser can be mended from them."""

from __future__ import annotations

import gzip
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

from research_scrapers.store.database import Store
from research_scrapers.store.pages import Lease
from research_scrapers.store.project import held_policy


def keep_body(store: Store, lease: Lease, body: bytes) -> Path | str:
    """Store a raw body as an artifact of its sub-job; returns where it is. Where persons are hidden, a body that nobody
    understood cannot be rid of them, so it is not kept.
    """
    if held_policy(store) != "keep":
        return "nothing, for the sake of PRIVACY"
    folder = store.path.with_suffix(".artifacts") / lease.run_id
    checksum = hashlib.blake2b(body, digest_size=16).hexdigest()
    path = folder / f"{lease.id}-{checksum}.gz"
    with store.explained():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(gzip.compress(body))
    with store.writing() as conn:
        conn.execute(
            "INSERT INTO artifacts (run_id, sub_job_id, kind, location, checksum, version, size, created_at)"
            " VALUES (?, ?, 'raw_body', ?, ?, 1, ?, ?)",
            (lease.run_id, lease.id, str(path), checksum, len(body), datetime.now(UTC).isoformat()),
        )
    return path
