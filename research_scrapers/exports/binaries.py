"""Excel workbooks, Parquet and SQLite: files with kinds of values, by libraries that are installed on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from research_scrapers.exports.files import needed, written
from research_scrapers.exports.texts import Batch, Place
from research_scrapers.store.columns import Column, Table
from research_scrapers.store.copy import Copy

_SHEET_ROWS = 1_048_576
_CELL = 32_767
_CUT = "… [cut: the cell is full]"
_NOT_XML = re.compile("[\ufffe\uffff]")
_GROUP = 20_000


class Workbook:
    """One workbook, a sheet a table; a table that is too long goes on in another sheet. Texts are never formulas."""

    def __init__(self, path: Path) -> None:
        library = needed("xlsxwriter")
        self._stack = ExitStack()
        part = self._stack.enter_context(written(path))
        # Constant memory: a row goes to disk as soon as the next one begins, beside the workbook, where there is room.
        rows = self._stack.enter_context(TemporaryDirectory(dir=path.parent, prefix=f".{path.name}."))
        self._book = library.Workbook(str(part), {"constant_memory": True, "tmpdir": rows})
        self._bold = self._book.add_format({"bold": True})
        self.cut = 0
        """How many texts did not fit into a cell."""

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        self._table, self._columns, self._part = table, columns, 0
        self._sheet_begins()

    def _sheet_begins(self) -> None:
        self._part += 1
        self._sheet = self._book.add_worksheet(self._table.name + (f" {self._part}" if self._part > 1 else ""))
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(self._columns):
            self._sheet.write_string(0, place, column.name, self._bold)
        self._row = 1

    def write(self, batch: Batch) -> None:
        for row in batch:
            if self._row == _SHEET_ROWS:
                self._sheet_begins()
            for place, (column, value) in enumerate(zip(self._columns, row, strict=True)):
                self._write(place, column.kind, value)
            self._row += 1

    def _write(self, place: int, kind: str, value: Any) -> None:
        if value is None or value == "":
            return
        if kind == "boolean":
            self._sheet.write_boolean(self._row, place, bool(value))
        elif kind in ("integer", "real") and abs(value) < 10**15:
            self._sheet.write_number(self._row, place, value)
        else:
            self._sheet.write_string(self._row, place, self._fitting(str(value)))

    def _fitting(self, text: str) -> str:
        text = _NOT_XML.sub("\ufffd", text)
        if len(text) * 2 > _CELL and len(text.encode("utf-16-le")) // 2 > _CELL:
            self.cut += 1
            kept = text.encode("utf-16-le")[: 2 * (_CELL - len(_CUT))]
            text = kept.decode("utf-16-le", "ignore") + _CUT
        return text

    def end(self) -> None:
        """A table is complete."""

    def close(self, error: BaseException | None = None) -> None:
        if error is not None:
            self._let_go()
            self._stack.__exit__(type(error), error, error.__traceback__)
            return
        with self._stack:
            try:
                self._book.close()
            except needed("xlsxwriter.exceptions").FileCreateError as failure:
                self._let_go()
                raise failure.args[0] from None  # what the system said, which the library wraps

    def _let_go(self) -> None:
        """Close the files that rows wait in."""
        for sheet in self._book.worksheets():
            sheet.row_data_fh.close()


class Parquet:
    """One Parquet file a table, in groups of rows, so that the memory stays flat."""

    def __init__(self, place: Place) -> None:
        self._arrow: Any = needed("pyarrow")
        self._parquet: Any = needed("pyarrow.parquet")
        self._place = place
        self._stack = ExitStack()

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        path = self._place(table)
        assert path is not None
        arrow = self._arrow
        kinds = {"integer": arrow.int64(), "real": arrow.float64(), "boolean": arrow.bool_()}
        self._schema = arrow.schema(
            [
                arrow.field(column.name, kinds.get(column.kind, arrow.string()), metadata={"meaning": column.meaning})
                for column in columns
            ]
        )
        self._booleans = {place for place, column in enumerate(columns) if column.kind == "boolean"}
        self._held: list[Sequence[Any]] = []
        self._stack = ExitStack()
        part = self._stack.enter_context(written(path))
        self._writer = self._stack.enter_context(
            self._parquet.ParquetWriter(str(part), self._schema, compression="zstd")
        )

    def write(self, batch: Batch) -> None:
        self._held.extend(batch)
        if len(self._held) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        arrays = []
        for place, (field, values) in enumerate(zip(self._schema, zip(*self._held, strict=True), strict=True)):
            told = [None if value is None else bool(value) for value in values] if place in self._booleans else values
            arrays.append(self._arrow.array(told, type=field.type))
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._held = []

    def end(self) -> None:
        """A table, and with it its file, is complete."""
        if self._held:
            self._flush()
        self._stack.close()

    def close(self, error: BaseException | None = None) -> None:
        self._stack.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)


class Sqlite:
    """One database with plain tables, for whoever wants to query without our ledger."""

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        self._copy = Copy(self._stack.enter_context(written(path)))

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        self._copy.begin(table, columns)

    def write(self, batch: Batch) -> None:
        self._copy.write(batch)

    def end(self) -> None:
        """A table is complete."""
        self._copy.commit()

    def close(self, error: BaseException | None = None) -> None:
        self._copy.close()
        self._stack.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
