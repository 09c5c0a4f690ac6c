"""Bodies by their content: each is kept once, compressed, under the digest of what it holds."""

from __future__ import annotations

import hashlib
import os
import secrets
import zlib
from pathlib import Path
from typing import Protocol


class BlobMissing(LookupError):
    """There is no such body, or it is not what its address says."""


class Blobs(Protocol):
    """A place for bodies. What is put must be there after a power cut, for a row is about to point at it."""

    def put(self, body: bytes) -> str:
        """Keep a body; returns its address."""

    def get(self, address: str) -> bytes:
        """The body at an address; raises `BlobMissing`."""


def address_of(body: bytes) -> str:
    """Where a body is kept, whatever keeps it: ``raw/ab/abcdef….z``."""
    digest = hashlib.sha256(body).hexdigest()
    return f"raw/{digest[:2]}/{digest}.z"


class FolderBlobs:
    """Bodies in a folder. A file has its name only once it is whole, so whoever finds it can trust it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, body: bytes) -> str:
        address = address_of(body)
        path = self.folder / address
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(zlib.compress(body))
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
            _settle(path.parent)
        return address

    def get(self, address: str) -> bytes:
        try:
            body = zlib.decompress((self.folder / address).read_bytes())
        except (OSError, zlib.error) as error:
            raise BlobMissing(f"{address}: {error}") from error
        if address_of(body) != address:
            raise BlobMissing(f"{address}: it holds something else")
        return body


def _settle(folder: Path) -> None:
    """A new name is safe once its folder is written too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
