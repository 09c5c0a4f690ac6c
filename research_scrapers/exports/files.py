"""Where an export goes: files that appear whole or not at all, compressed where their name says so."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

from research_scrapers.errors import ExtraMissing, FeedUnwritable

COMPRESSIONS = ("gz", "zst")
_BUFFER = 1 << 20


def needed(module: str) -> ModuleType:
    """An optional library, or one sentence about how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ExtraMissing(
            f"{module} is not installed. `pip install 'research-scrapers[export]'` brings it; csv, jsonl and sqlite "
            "need nothing more"
        ) from None


def zstd() -> ModuleType:
    """The standard library's, or its twin for older Pythons."""
    return needed("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A place to write beside ``path``, which takes its name when all went well and vanishes otherwise."""
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        yield part
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FeedUnwritable(f"{path}: {error.strerror or error}") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def opened(path: Path | None) -> Iterator[IO[bytes]]:
    """The file to write bytes to; standard output where there is no path."""
    if path is None:
        with guarded_stdout() as out:
            yield out
        return
    with written(path) as part, part.open("wb", buffering=_BUFFER) as raw, compressed(raw, path.suffix) as file:
        yield file


@contextmanager
def guarded_stdout() -> Iterator[IO[bytes]]:
    """Standard output. Whoever closes it early (``| head``) has what they want."""
    out = sys.stdout.buffer
    try:
        yield out
        out.flush()
    except BrokenPipeError:
        sys.stdout = io.TextIOWrapper(io.BytesIO())  # or Python complains once more at its end
        raise SystemExit(0) from None


@contextmanager
def compressed(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    """``.gz`` and ``.zst`` by name. The same content always gives the same bytes."""
    if suffix == ".gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
            yield cast("IO[bytes]", packed)
    elif suffix == ".zst":
        with zstd().open(raw, "wb") as packed:
            yield packed
    else:
        yield raw


def reading(path: Path) -> IO[Any]:
    """A file of an export, unpacked where its name says that it is packed."""
    if path.suffix == ".gz":
        return cast("IO[Any]", gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast("IO[Any]", zstd().open(path, "rb"))
    return path.open("rb")


def checksum(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
