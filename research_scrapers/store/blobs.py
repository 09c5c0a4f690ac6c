"""Whole files that belong to a run, in a folder or in an S3 bucket: which of the two is told by a URL.

    research.artifacts                                  a folder (also file:///srv/blobs)
    s3://bucket/prefix                                  Amazon's S3, with the usual AWS_* variables
    s3://bucket/prefix?endpoint=https://minio:9000      any other server that speaks S3

Names look like ``{run}/items/{job}/…``. Both back ends do the same things and are tested by the same tests.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import parse_qs, quote, unquote, urlsplit

from research_scrapers.errors import ExtraMissing, SettingInvalid, StoreUnwritable


class Blobs(Protocol):
    """A place for whole files under names."""

    def put(self, name: str, body: bytes) -> str:
        """Store a body, whole or not at all; returns where it is, as `find` wants it."""
        ...

    def get(self, name: str) -> bytes | None: ...
    def delete(self, name: str) -> None:
        """Remove a body; one that is not there is no error."""
        ...

    def names(self, prefix: str = "") -> Iterator[str]:
        """Every name that begins so, in order."""
        ...


def item_name(run: str, job: int, file: str) -> str:
    """Where a file of a job lies."""
    return f"{run}/items/{job}/{file}"


def open_blobs(url: str) -> Blobs:
    """The back end that a URL names."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        if not parts.netloc:
            raise SettingInvalid(f"{url}: name a bucket, such as s3://bucket/prefix")
        endpoint = parse_qs(parts.query).get("endpoint", [None])[0]
        return S3(parts.netloc, parts.path.strip("/"), endpoint)
    if parts.scheme == "file":
        return Folder(Path(unquote(parts.path)))
    if len(parts.scheme) > 1:
        raise SettingInvalid(f"{url}: blobs lie in a folder or at s3://…")
    return Folder(Path(url))


def find(location: str) -> tuple[Blobs, str]:
    """The back end and the name of a body, from what `put` returned."""
    parts = urlsplit(location)
    if parts.scheme == "s3":
        query = f"?{parts.query}" if parts.query else ""
        return open_blobs(f"s3://{parts.netloc}{query}"), unquote(parts.path.lstrip("/"))
    path = Path(location)
    return Folder(path.parent), path.name


def _checked(name: str) -> str:
    """A name that cannot lead out of its place."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\0" in name or path.as_posix() != name:
        raise SettingInvalid(f"{name!r} cannot be the name of a file")
    return name


class Folder:
    """Files below a folder, readable by their owner only."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, name: str, body: bytes) -> str:
        path = self._root / _checked(name)
        part = path.with_name(f"{path.name}.part")
        try:
            for folder in reversed([one for one in path.parents if not one.exists()]):
                folder.mkdir(exist_ok=True, mode=0o700)  # each of them: parents=True would leave those above to all
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(body)
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise StoreUnwritable(f"{path}: {error.strerror}") from error
        return str(path)

    def get(self, name: str) -> bytes | None:
        try:
            return (self._root / _checked(name)).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def delete(self, name: str) -> None:
        (self._root / _checked(name)).unlink(missing_ok=True)

    def names(self, prefix: str = "") -> Iterator[str]:
        found = (path.relative_to(self._root).as_posix() for path in self._root.rglob("*") if path.is_file())
        yield from sorted(name for name in found if name.startswith(prefix) and not name.endswith(".part"))


class S3:
    """Objects in a bucket of any server that speaks S3."""

    def __init__(self, bucket: str, prefix: str, endpoint: str | None) -> None:
        try:
            library = importlib.import_module("boto3")
        except ImportError:
            raise ExtraMissing("boto3 is not installed. `pip install 'research-scrapers[s3]'` brings it") from None
        self._bucket, self._prefix, self._endpoint = bucket, prefix, endpoint
        with self._explained():
            self._client: Any = library.client("s3", endpoint_url=endpoint)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{_checked(name)}" if self._prefix else _checked(name)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        failures = importlib.import_module("botocore.exceptions")
        try:
            yield
        except (failures.BotoCoreError, failures.ClientError) as error:
            raise StoreUnwritable(f"s3://{self._bucket}: {error}") from error

    def put(self, name: str, body: bytes) -> str:
        key = self._key(name)
        with self._explained():
            self._client.put_object(Bucket=self._bucket, Key=key, Body=body)
        endpoint = f"?endpoint={quote(self._endpoint, safe='')}" if self._endpoint else ""
        return f"s3://{self._bucket}/{quote(key)}{endpoint}"

    def get(self, name: str) -> bytes | None:
        with self._explained():
            try:
                body: bytes = self._client.get_object(Bucket=self._bucket, Key=self._key(name))["Body"].read()
            except self._client.exceptions.NoSuchKey:
                return None
        return body

    def delete(self, name: str) -> None:
        with self._explained():
            self._client.delete_object(Bucket=self._bucket, Key=self._key(name))

    def names(self, prefix: str = "") -> Iterator[str]:
        begin = f"{self._prefix}/" if self._prefix else ""
        with self._explained():
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=begin + prefix)
            for page in pages:
                for one in page.get("Contents", ()):
                    yield str(one["Key"])[len(begin) :]
