"""The manifest of an export: what it holds, how each link ended, and a checksum of every file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from research_scrapers import __version__
from research_scrapers.errors import ChecksumWrong, FeedUnwritable, InputError
from research_scrapers.exports.files import checksum
from research_scrapers.store.inventory import items, totals

PART = 1000
FOLDER = "manifests"
NAME = "job_metadata.json"


class _Parts:
    """JSON files of a thousand items each, written as the items come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[str] | None = None
        self.files: list[Path] = []
        self.items = 0

    def add(self, item: dict[str, Any]) -> None:
        if self.items % PART == 0:
            self.close()
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"part-{self.items // PART + 1}.json"
            self._file = path.open("w", encoding="utf-8")
            self.files.append(path)
        assert self._file is not None
        self._file.write(("[\n" if self.items % PART == 0 else ",\n") + json.dumps(item, ensure_ascii=False))
        self.items += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.write("\n]\n")
            self._file.close()
            self._file = None


def write_manifest(
    conn: sqlite3.Connection, run: str | None, path: Path, files: Sequence[Path], counts: dict[str, int], selection: str
) -> list[Path]:
    """``job_metadata.json`` and the parts ``manifests/full|success|errors/part-N.json`` beside it."""
    base = path.parent
    folder = base / FOLDER if path.name == NAME else base / path.name.replace(NAME, FOLDER)
    parts = {name: _Parts(folder / name) for name in ("full", "success", "errors")}
    try:
        for old in folder.glob("*/part-*.json"):
            old.unlink()
        for item in items(conn, run):
            parts["full"].add(item)
            if item["status"] == "success":
                parts["success"].add(item)
            elif item["status"] in ("failed", "invalid", "cancelled"):
                parts["errors"].add(item)
        for one in parts.values():
            one.close()
        written = [*files, *(file for one in parts.values() for file in one.files)]
        told = {
            "version": __version__,
            "written_at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "selection": selection,
            **totals(conn, run),
            "rows": counts,
            "items": {name: one.items for name, one in parts.items()},
            "files": {
                file.relative_to(base).as_posix(): {"size": file.stat().st_size, "sha256": checksum(file)}
                for file in written
            },
        }
        path.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise FeedUnwritable(f"{path}: {error.strerror or error}") from error
    return [*(file for one in parts.values() for file in one.files), path]


def verify_files(path: Path) -> tuple[Path, int]:
    """Check every file that a manifest names; returns the manifest and how many files it names."""
    manifest = path
    if not path.name.endswith(NAME):
        manifest = path / NAME if path.is_dir() else path.with_name(f"{path.name}.{NAME}")
    try:
        told = json.loads(manifest.read_text(encoding="utf-8"))
        named = {name: (facts["size"], facts["sha256"]) for name, facts in told["files"].items()}
    except OSError as error:
        raise InputError(f"{manifest}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{manifest} is not a manifest of an export") from None
    wrong = []
    for name, (size, digest) in named.items():
        file = manifest.parent / name
        if not file.resolve().is_relative_to(manifest.parent.resolve()):
            wrong.append(f"{name} lies outside the export")
        elif not file.is_file():
            wrong.append(f"{name} is missing")
        elif file.stat().st_size != size or checksum(file) != digest:
            wrong.append(f"{name} was changed")
    if wrong:
        raise ChecksumWrong("; ".join(wrong))
    return manifest, len(named)


def verify_database(conn: sqlite3.Connection, manifest: Path) -> int:
    """Check that the database still holds what the manifest lists; returns how many jobs that is."""
    told = json.loads(manifest.read_text(encoding="utf-8"))
    runs = [one["id"] for one in told["runs"]]
    held = (item for run in sorted(runs) for item in items(conn, run))
    number = 0
    for listed in _listed(manifest):
        number += 1
        item = next(held, None)
        if item is None:
            raise ChecksumWrong(f"the database has no job {listed['id']} of {listed['run_id']}")
        if item != listed:
            raise ChecksumWrong(
                f"{listed['run_id']}, {listed['video_id'] or listed['link']}: {_difference(listed, item)}"
            )
    if next(held, None) is not None:
        raise ChecksumWrong("the database has jobs that the manifest does not list")
    return number


def _listed(manifest: Path) -> Iterator[dict[str, Any]]:
    folder = manifest.parent / (FOLDER if manifest.name == NAME else manifest.name.replace(NAME, FOLDER))
    number = 1
    while (part := folder / "full" / f"part-{number}.json").is_file():
        yield from json.loads(part.read_text(encoding="utf-8"))
        number += 1


def _difference(listed: dict[str, Any], held: dict[str, Any]) -> str:
    for name, value in listed.items():
        if name == "work":
            for one, other in zip(value, held["work"], strict=False):
                for key in one:
                    if one[key] != other.get(key):
                        return f"{one['kind']}: {key} was {one[key]}, is {other.get(key)}"
        elif held.get(name) != value:
            return f"{name} was {value}, is {held.get(name)}"
    return "it is not the same"
