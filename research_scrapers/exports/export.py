"""One export from beginning to end: what is read, how it is shaped, where it goes, and what lies beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from research_scrapers.errors import FeedUnwritable, SettingInvalid
from research_scrapers.exports.binaries import Parquet, Sqlite, Workbook
from research_scrapers.exports.dictionary import dictionary
from research_scrapers.exports.filters import columns_for, conditions_for, parse_columns, parse_conditions
from research_scrapers.exports.loose import LOOSE, TRACKS, write_loose
from research_scrapers.exports.manifest import write_manifest
from research_scrapers.exports.texts import Batch, Csv, JsonLines
from research_scrapers.models import counted
from research_scrapers.privacy import Veil
from research_scrapers.store.columns import COVERAGE, TABLES, WHOLE_TRANSCRIPTS, Column, Table
from research_scrapers.store.database import Store
from research_scrapers.store.selection import count, rows, snapshot
from research_scrapers.store.shapes import SHAPES

FORMATS = ("jsonl", "csv", "xlsx", "parquet", "sqlite")
ONE_FILE = {"xlsx": "xlsx", "sqlite": "db"}
"""Formats that hold every table in one file, and how that file is called."""
SHAPE_FORMATS = {"ytdt": "csv", "ycd": "jsonl", "ytdlp": "info.json"}
Progress = Callable[[str, int, int | None], None]
"""Called with a table's name, the rows written, and the rows in all, where that is known."""


class Writer(Protocol):
    """What every format does. A table is begun, written in batches and ended; the file appears when it is whole."""

    def begin(self, table: Table, columns: Sequence[Column]) -> None: ...
    def write(self, batch: Batch) -> None: ...
    def end(self) -> None: ...
    def close(self, error: BaseException | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person asked for."""

    run: str | None
    out: Path | None
    """A folder, a file (it has a suffix), or None for standard output."""
    form: str
    packed: str = ""
    what: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    columns: str | None = None
    shape: str = ""
    excel: bool = False
    plain: bool = False
    is_file: bool = False
    veil: Veil = field(default_factory=lambda: Veil("keep"))


@dataclass(slots=True)
class Result:
    """What was written."""

    counts: dict[str, int] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    cut: int = 0
    """Texts that did not fit into a cell of a workbook."""


def export(store: Store, wish: Wish, progress: Progress | None = None) -> Result:
    """Write it. Nothing appears under its name before it is whole."""
    tables = _tables(wish)
    conditions = parse_conditions(wish.where, tables)
    wanted = parse_columns(wish.columns, tables)
    result = Result()
    with snapshot(store, wish.run) as conn:
        chosen = []
        for table in tables:
            total = count(conn, table, wish.run, conditions_for(table, conditions))
            if total != 0 or wish.what or table is COVERAGE:
                chosen.append((table, columns_for(table, wanted), total))
        if wish.form in LOOSE:
            loose = write_loose(conn, wish.form, wish.run, conditions, wish.out, wish.veil)
            result.files += loose.files
            result.counts.update(loose.counts)
            chosen = [one for one in chosen if one[0] is COVERAGE]
        form = "csv" if wish.form in LOOSE else wish.form
        if wish.out is None and wish.form != "jsonl":
            chosen = [one for one in chosen if one[0] is not COVERAGE or len(chosen) == 1]
            if len(chosen) > 1:
                raise SettingInvalid("standard output holds one table: name it with --what, or a folder with --out")
        places = Places(wish, form, [table for table, _, _ in chosen])
        writer = _writer(wish, form, places)
        try:
            for table, columns, total in chosen:
                done = 0
                writer.begin(table, columns)
                for batch in _veiled(conn, table, wish, columns, conditions):
                    writer.write(batch)
                    done += len(batch)
                    if progress:
                        progress(table.name, done, total)
                writer.end()
                result.counts[table.name] = done
        except BaseException as error:
            writer.close(error)
            if isinstance(error, OSError):
                raise FeedUnwritable(f"{wish.out or 'standard output'}: {error.strerror or error}") from error
            raise
        writer.close()
        result.cut = getattr(writer, "cut", 0)
        result.files += places.used
        if wish.out is not None:
            told = [(table, columns, result.counts[table.name]) for table, columns, _ in chosen]
            words = places.about("DICTIONARY.md")
            words.write_text(dictionary(told, selection(wish), form), encoding="utf-8")
            result.files.append(words)
            result.files += write_manifest(conn, wish.run, places.about("job_metadata.json"), result.files,
                                           result.counts, selection(wish))  # fmt: skip
    return result


def selection(wish: Wish) -> str:
    """What was chosen, in a sentence."""
    text = f"Run {wish.run}" if wish.run else "Every run of the database"
    text += f"; only where {' and '.join(wish.where)}" if wish.where else ""
    return text + (f"; privacy: {wish.veil.policy}" if not wish.veil.keeps else "") + "."


def _tables(wish: Wish) -> list[Table]:
    shaped = SHAPES.get(wish.shape, {})
    if wish.form in LOOSE and not shaped:
        shaped = {"transcripts": WHOLE_TRANSCRIPTS} if wish.form in TRACKS else {"danmaku": TABLES["danmaku"]}
    if wish.form in LOOSE and wish.columns:
        raise SettingInvalid(f"--columns: {wish.form} has no columns to choose from")
    names = [*(wish.what or (tuple(shaped) if shaped else tuple(TABLES)))]
    for name in names:
        if name not in TABLES:
            raise SettingInvalid(f"--what {name}: there is {', '.join(TABLES)}")
        if shaped and name not in (*shaped, "coverage"):
            option = f"--shape {wish.shape}" if wish.shape else f"--format {wish.form}"
            raise SettingInvalid(f"{option} has {', '.join(shaped)}, not {name}")
    tables = {**TABLES, **({"transcripts": WHOLE_TRANSCRIPTS} if wish.form == "jsonl" else {}), **shaped}
    return [tables[name] for name in dict.fromkeys([*names, "coverage"])]


def _veiled(
    conn: sqlite3.Connection, table: Table, wish: Wish, columns: Sequence[Column], conditions: Sequence[Any]
) -> Iterator[Batch]:
    batches = rows(conn, table, wish.run, columns, conditions_for(table, conditions))
    if wish.veil.keeps:
        return batches
    return (veiled(batch, columns, wish.veil) for batch in batches)


def veiled(batch: Batch, columns: Sequence[Column], veil: Veil) -> Batch:
    """A batch without persons."""
    sorts = [column.person for column in columns]
    named = [place for place, sort in enumerate(sorts) if sort == "name"]
    names = {row[place] for row in batch for place in named if row[place]}
    return [[veil.cell(sort, value, names) for sort, value in zip(sorts, row, strict=True)] for row in batch]


class Places:
    """Which table goes to which file."""

    def __init__(self, wish: Wish, form: str, tables: Sequence[Table]) -> None:
        self._wish = wish
        self._suffix = ONE_FILE.get(form, form) + (f".{wish.packed}" if wish.packed else "")
        self.used: list[Path] = []
        records = [table for table in tables if table is not COVERAGE] or list(tables)
        self._main = records[0] if records else COVERAGE
        if wish.is_file and form in ("csv", "parquet") and len(records) > 1:
            names = ", ".join(table.name for table in records)
            raise SettingInvalid(f"one {form} file holds one table, not {names}: choose with --what, or name a folder")

    def of(self, table: Table) -> Path | None:
        """The file of a table."""
        out = self._wish.out
        if out is None:
            return None
        if not self._wish.is_file:
            stamp = "ytdt_" if self._wish.shape == "ytdt" and table is not COVERAGE else ""
            return self._note(out / f"{stamp}{table.name}.{self._suffix}")
        if table is self._main or (self._suffix.startswith("jsonl") and not self._wish.shape):
            return self._note(out)
        stem = out.name.removesuffix(f".{self._wish.packed}").rpartition(".")[0]
        return self._note(out.with_name(f"{stem or out.name}.{table.name}.{self._suffix}"))

    def whole(self) -> Path:
        """The one file of a format that holds every table."""
        out = self._wish.out
        if out is None:
            raise SettingInvalid(f"{self._wish.form} cannot go to standard output: name a file with --out")
        return self._note(out if self._wish.is_file else out / f"export.{self._suffix}")

    def about(self, name: str) -> Path:
        """A file that tells of the export; beside a single file, it bears that file's name too."""
        out = self._wish.out
        assert out is not None
        return out.with_name(f"{out.name}.{name}") if self._wish.is_file else out / name

    def _note(self, path: Path) -> Path:
        if path not in self.used:
            self.used.append(path)
        return path


def _writer(wish: Wish, form: str, places: Places) -> Writer:
    if wish.packed and wish.out is None:
        raise SettingInvalid(f"standard output is not compressed: write {form}, and pipe it through a compressor")
    if wish.packed and form in (*ONE_FILE, "parquet"):
        raise SettingInvalid(f"{form} is compressed by itself; .{wish.packed} is for csv and jsonl")
    if form == "jsonl":
        return JsonLines(places.of)
    if form == "csv":
        shaped = wish.shape == "ytdt"
        return Csv(places.of, excel=wish.excel, plain=wish.plain or shaped, backslash=shaped)
    if form == "parquet":
        if wish.out is None:
            places.whole()
        return Parquet(places.of)
    return Workbook(places.whole()) if form == "xlsx" else Sqlite(places.whole())


def told(result: Result, out: Path | None) -> str:
    """One line for the person."""
    counts = ", ".join(f"{number:,} {name}" for name, number in result.counts.items())
    text = f"{counts} in {counted(len(result.files), 'file')}" + (f" in {out}" if out else "")
    if result.cut:
        text += f"; {counted(result.cut, 'text')} did not fit into a cell of Excel and are cut there"
    return text
