from __future__ import annotations

import os
import zlib

import pytest

from research_scrapers.store.bodies import BlobMissing, FolderBlobs, address_of


def test_a_body_is_kept_once_under_its_digest_and_for_its_owner_only(tmp_path):
    blobs = FolderBlobs(tmp_path / "kept")
    address = blobs.put(b"body" * 100)
    assert address == blobs.put(b"body" * 100) == address_of(b"body" * 100)
    assert blobs.get(address) == b"body" * 100
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert path == tmp_path / "kept" / address
    assert path.stat().st_mode & 0o077 == 0
    assert path.stat().st_size < 100


def test_what_is_missing_broken_or_something_else_is_told(tmp_path):
    blobs = FolderBlobs(tmp_path)
    with pytest.raises(BlobMissing):
        blobs.get(address_of(b"never put"))
    address = blobs.put(b"one")
    for broken in (b"", b"not compressed", zlib.compress(b"two")):
        (tmp_path / address).write_bytes(broken)
        with pytest.raises(BlobMissing):
            blobs.get(address)


def test_a_full_disk_leaves_nothing_half(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        FolderBlobs(tmp_path).put(b"body")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
