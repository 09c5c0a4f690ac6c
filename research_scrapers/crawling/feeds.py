"""``-o out.jsonl`` and ``-o out.csv``: one record a line, each once, also after a crash.

The database is the truth and a feed is a copy of it. While the run goes on, each stored page adds its new lines. When
a feed is opened, a line that broke off is cut away and whatever the run has stored but the file lacks is written, so
that a killed and resumed run leaves the same lines as one that was never killed.
"""

from __future__ import annotations

import csv
import io
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.feedexport import FileFeedStorage

from research_scrapers.errors import FeedUnwritable
from research_scrapers.models import Comment, Danmaku, Kind, Transcript
from research_scrapers.store.danmaku import danmaku_of_run
from research_scrapers.store.database import explain
from research_scrapers.store.records import comment_of, comments_of_run, note_comments_of_run
from research_scrapers.store.transcripts import transcripts_of_run

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.items import PageItem

Record = Comment | Transcript | Danmaku
TYPES: dict[Kind, type[Record]] = {Kind.COMMENTS: Comment, Kind.TRANSCRIPT: Transcript, Kind.DANMAKU: Danmaku}
FIELDS: dict[str, tuple[str, ...]] = {
    kind.__name__.lower(): ("type", *(field.name for field in fields(kind))) for kind in TYPES.values()
}
"""Type → its columns."""


class FileStorage(FileFeedStorage):
    """A feed file. One that cannot be written stops the run, with its reason; the database has everything."""

    def open(self, spider: Spider) -> IO[bytes]:
        try:
            return super().open(spider)
        except OSError as error:
            _unwritable(spider, self.path, error)
            return io.BytesIO()

    def store(self, file: IO[bytes]) -> None:
        # What could not be written has been told; closing would only fail for the same reason.
        with suppress(OSError):
            file.close()


def _unwritable(spider: Any, path: str, error: OSError) -> None:
    spider.stop(
        FeedUnwritable(
            f"{path}: {error.strerror or error}. Everything collected is in the database: the same command writes the "
            "whole file when it can"
        )
    )


class Feed(BaseItemExporter):
    """What both formats share: which records go into the file."""

    def __init__(self, file: IO[bytes], crawler: Crawler, **kwargs: Any) -> None:
        super().__init__(dont_fail=True, **kwargs)
        self.file = file
        self._spider: ResearchSpider = crawler.spider  # type: ignore[assignment]
        active = getattr(self._spider, "active", (Kind.COMMENTS,))
        self._types = [TYPES[kind].__name__.lower() for kind in active if kind in TYPES]
        known = list(dict.fromkeys(name for kind in self._types for name in FIELDS[kind]))
        self._columns = [name for name in self.fields_to_export or known if name in known]
        self._table = f"feed_lines_{id(self)}"

    @classmethod
    def from_crawler(cls, crawler: Crawler, file: IO[bytes], *args: Any, **kwargs: Any) -> Self:
        return cls(file, crawler, *args, **kwargs)

    def start_exporting(self) -> None:
        if not hasattr(self._spider, "session"):
            return  # the run never opened: there is nothing to copy
        with self._told():
            self._copy(self._spider.session.store.conn)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Stop the run, in one sentence, when the file cannot be written, or the list of its lines not be kept."""
        try:
            yield
        except OSError as error:
            _unwritable(self._spider, str(getattr(self.file, "name", "the feed")), error)
        except sqlite3.Error as error:
            self._spider.stop(explain(error, self._spider.session.store.path))

    def _copy(self, conn: sqlite3.Connection) -> None:
        """Write what the run has stored and the file lacks."""
        # A temporary table rather than a set: a feed of ten million lines must not fill the memory.
        conn.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {self._table} (comment_id TEXT PRIMARY KEY, content_hash TEXT)"
            " WITHOUT ROWID"
        )
        conn.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", self._existing())  # noqa: S608
        self._begin()
        run_id = self._spider.session.run.id
        if "transcript" in self._types:
            for transcript in transcripts_of_run(conn, run_id):
                self._add(conn, transcript)
        if "comment" in self._types:
            for row in comments_of_run(conn, run_id, self._table):
                self._write(comment_of(row))
            note_comments_of_run(conn, run_id, self._table)
        if "danmaku" in self._types:
            for danmaku in danmaku_of_run(conn, run_id):
                self._add(conn, danmaku)
        self.file.flush()

    def export_item(self, item: PageItem) -> None:
        conn = self._spider.session.store.conn
        with self._told():
            for record in item.receipt.result().fresh:
                self._add(conn, record)
            self.file.flush()

    def _add(self, conn: sqlite3.Connection, record: Record) -> None:
        added = conn.execute(
            f"INSERT INTO {self._table} VALUES (?1, ?2) ON CONFLICT DO UPDATE SET content_hash = ?2"  # noqa: S608
            " WHERE content_hash <> ?2",
            (_name(record), record.content_hash),
        ).rowcount
        if added:
            self._write(record)

    def _existing(self) -> Iterator[tuple[str, str]]:
        """Ids and hashes of the records that the file holds, after cutting away a record that broke off."""
        name = getattr(self.file, "name", None)
        if not isinstance(name, str | os.PathLike) or not Path(name).is_file():
            return
        path = Path(name)
        with path.open("r+b") as file:
            end = 0
            for record in self._records(file):
                end += len(record)
                found = self._key(record)
                if found is not None:
                    yield found
            if end != path.stat().st_size:
                file.truncate(end)

    def _begin(self) -> None:
        """Write what comes before the first record."""

    def _records(self, file: IO[bytes]) -> Iterable[bytes]:
        """The complete records of a file, as bytes."""
        raise NotImplementedError

    def _key(self, record: bytes) -> tuple[str, str] | None:
        raise NotImplementedError

    def _write(self, record: Record) -> None:
        raise NotImplementedError


class _Key(msgspec.Struct):
    video_id: str = ""
    comment_id: str = ""
    danmaku_id: str = ""
    cid: str = ""
    part: int | str = 1
    language: str = ""
    kind: str = ""
    name: str = ""
    content_hash: str = ""


def _name(record: Record | _Key) -> str:
    """What makes a record itself, whatever its content."""
    if isinstance(record, Comment) or (isinstance(record, _Key) and record.comment_id):
        return record.comment_id
    if isinstance(record, Danmaku) or (isinstance(record, _Key) and record.danmaku_id):
        return f"danmaku\x1f{record.cid}\x1f{record.danmaku_id}"
    return "\x1f".join((record.video_id, str(record.part), record.language, record.kind, record.name))


class JsonLinesFeed(Feed):
    """JSON Lines: a record is a line."""

    def _records(self, file: IO[bytes]) -> Iterable[bytes]:
        return (line for line in file if line.endswith(b"\n"))

    def _key(self, record: bytes) -> tuple[str, str] | None:
        try:
            key = msgspec.json.decode(record, type=_Key)
        except msgspec.DecodeError:
            return None
        return _name(key), key.content_hash

    def _write(self, record: Record) -> None:
        kind = type(record).__name__.lower()
        line = {
            name: kind if name == "type" else getattr(record, name) for name in self._columns if name in FIELDS[kind]
        }
        self.file.write(_one_line(msgspec.json.encode(line)) + b"\n")


def _one_line(encoded: bytes) -> bytes:
    """Escape what Unicode calls line ends: many programs that read lines would break a record at them."""
    for raw, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085")):
        encoded = encoded.replace(raw, escaped)
    return encoded


class CsvFeed(Feed):
    """CSV with a header: a record ends at a line end outside quotes."""

    _header: list[str] | None = None

    def _begin(self) -> None:
        if self._header is None:
            self._row(self._columns)
            self._header = self._columns
        self._columns = self._header

    def _records(self, file: IO[bytes]) -> Iterable[bytes]:
        record = b""
        for line in file:
            record += line
            if record.endswith(b"\n") and record.count(b'"') % 2 == 0:
                yield record
                record = b""

    def _key(self, record: bytes) -> tuple[str, str] | None:
        row = next(csv.reader(io.StringIO(record.decode("utf-8", "replace"), newline="")), [])
        if self._header is None:
            self._header = [name.lstrip("\ufeff") for name in row]
            return None
        values = dict(zip(self._header, row, strict=False))
        key = _Key(**{name: values[name] for name in _Key.__struct_fields__ if name in values})
        return _name(key), key.content_hash

    def _write(self, record: Record) -> None:
        kind = type(record).__name__.lower()
        self._row([kind if name == "type" else _cell(getattr(record, name, None)) for name in self._columns])

    def _row(self, values: list[Any]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text).writerow(values)
        self.file.write(text.getvalue().encode("utf-8"))


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode() if value else ""
    return value
