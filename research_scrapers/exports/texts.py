"""JSON Lines and CSV: streams of text that every tool reads."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec

from research_scrapers.exports.files import opened
from research_scrapers.store.columns import Column, Table

Batch = Sequence[Sequence[Any]]
Place = Callable[[Table], Path | None]
"""Which file a table goes to; None is standard output."""
_FORMULA = re.compile(r"\s*[=+\-@|%'＝＋－＠]")
_LONG_NUMBER = re.compile(r"\s*\d{16,}\s*", re.ASCII)
_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def guard(text: str, *, digits: bool = False) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula, and, with ``digits``, before a long
    number that it would round. `unguard` takes exactly these away again.
    """
    return f"'{text}" if _FORMULA.match(text) or (digits and _LONG_NUMBER.fullmatch(text)) else text


def unguard(text: str) -> str:
    """What `guard` was given."""
    rest = text[1:]
    return rest if text.startswith("'") and (_FORMULA.match(rest) or _LONG_NUMBER.fullmatch(rest)) else text


class JsonLines:
    """One JSON object a line, which says of what ``type`` it is. Tables that share a file follow each other."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._stack = ExitStack()
        self._files: dict[Path | None, IO[bytes]] = {}
        self._encode = msgspec.json.Encoder().encode

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        path = self._place(table)
        if path not in self._files:
            self._files[path] = self._stack.enter_context(opened(path))
        self._file = self._files[path]
        self._head = {"type": table.type} if table.type else {}
        self._names = [column.name for column in columns]
        self._turned = [
            (place, bool if column.kind == "boolean" else _raw)
            for place, column in enumerate(columns) if column.kind in ("boolean", "json")
        ]  # fmt: skip

    def write(self, batch: Batch) -> None:
        lines = []
        for row in batch:
            values = list(row)
            for place, turn in self._turned:
                if values[place] is not None:
                    values[place] = turn(values[place])
            lines.append(self._encode({**self._head, **dict(zip(self._names, values, strict=True))}))
        text = b"\n".join(lines) + b"\n"
        for raw, escaped in _LINE_ENDS:  # many programs that read lines would break a record at them
            text = text.replace(raw, escaped)
        self._file.write(text)

    def end(self) -> None:
        """A table is complete."""

    def close(self, error: BaseException | None = None) -> None:
        self._stack.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)


def _raw(stored: str) -> msgspec.Raw:
    return msgspec.Raw(stored.encode())


class Csv:
    """RFC 4180, UTF-8, one file a table. Cells are safe to open in a spreadsheet unless ``plain``."""

    def __init__(self, place: Place, *, excel: bool = False, plain: bool = False, backslash: bool = False) -> None:
        self._place = place
        self._excel = excel
        self._plain = plain
        self._more: dict[str, Any] = {"escapechar": "\\"} if backslash else {}
        self._stack = ExitStack()
        self._lines = io.StringIO(newline="")

    def begin(self, table: Table, columns: Sequence[Column]) -> None:
        self._stack = ExitStack()
        self._file = self._stack.enter_context(opened(self._place(table)))
        if self._excel:
            self._file.write(_BOM)
        self._writer = csv.writer(self._lines, **self._more)
        self._cells = [self._cell(column) for column in columns]
        self._writer.writerow([column.name for column in columns])

    def _cell(self, column: Column) -> Callable[[Any], Any]:
        if column.kind == "boolean":
            return lambda value: None if value is None else "true" if value else "false"
        if column.kind == "json":
            return lambda value: None if value in ("[]", "{}") else value
        if column.kind == "text" and not self._plain:
            return lambda value: value if value is None else guard(value, digits=self._excel)
        return lambda value: value

    def write(self, batch: Batch) -> None:
        self._writer.writerows([[turn(value) for turn, value in zip(self._cells, row, strict=True)] for row in batch])
        self._flush()

    def _flush(self) -> None:
        self._file.write(self._lines.getvalue().encode())
        self._lines.seek(0)
        self._lines.truncate()

    def end(self) -> None:
        """A table, and with it its file, is complete."""
        self._flush()
        self._stack.close()

    def close(self, error: BaseException | None = None) -> None:
        self._stack.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
