"""Bodies that nobody understood, kept beside the database so that a parser can be mended from them."""

from __future__ import annotations

import gzip
import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

from research_scrapers.store.database import Store
from research_scrapers.store.pages import Lease


def keep_body(store: Store, lease: Lease, body: bytes) -> Path:
    """Store a raw body as an artifact of its sub-job; returns where it is."""
    folder = store.path.with_suffix(".artifacts") / lease.run_id
    checksum = hashlib.blake2b(body, digest_size=16).hexdigest()
    path = folder / f"{lease.id}-{checksum}.gz"
    with store.explained():
        for part in (folder.parent, folder):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(gzip.compress(body))
    with store.writing() as conn:
        conn.execute(
            "INSERT INTO artifacts (run_id, sub_job_id, kind, location, checksum, version, size, created_at)"
            " VALUES (?, ?, 'raw_body', ?, ?, 1, ?, ?)",
            (lease.run_id, lease.id, str(path), checksum, len(body), datetime.now(UTC).isoformat()),
        )
    return path
