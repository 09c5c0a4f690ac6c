"""Opening the database, and saying in one sentence what is wrong when it cannot be used."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlite_utils import Database

from research_scrapers.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreTooNew, StoreUnwritable
from research_scrapers.store.schema import known_migrations, migrations
from research_scrapers.store.search import segmented

BUSY_TIMEOUT_S = 15.0


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time makes or renews the tables of a database. The folder is locked, for closing a second
    descriptor of the file itself would undo SQLite's own locks.
    """
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # file systems that know no such locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def to_read(path: Path) -> str:
    """The address by which SQLite only reads a database. Where it cannot make files beside it, and there is no log of a
    writer, it need not: nobody writes to it.
    """
    still = not os.access(path.absolute().parent, os.W_OK) and not Path(f"{path}-wal").exists()
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if still else ''}"


class Store:
    """One SQLite file with one writing connection. Readers may open the file at the same time (WAL)."""

    def __init__(self, path: Path, *, busy_timeout: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self.busy_timeout = busy_timeout
        self._turn = threading.Lock()
        """Held from the beginning of a transaction until it is settled, which another thread may do."""
        self._settled = threading.Event()
        """Not set while a transaction is written and waits for the disk."""
        self._settled.set()
        self.blobs: str | None = None
        """Where whole files go: see `store.blobs`. None: a folder beside the database."""
        with self.explained():
            self._conn = self._connect(path)
            try:
                self._prepare()
            except BaseException:
                self._conn.close()
                raise

    @property
    def conn(self) -> sqlite3.Connection:
        """The connection, to read by, once nothing waits for the disk on it. What is written but not stored is no truth
        yet; and SQLite keeps the last error for a whole connection, so that whoever reads while another thread stores
        can take its error away: what failed would seem to be stored.
        """
        self._settled.wait()
        return self._conn

    def _connect(self, path: Path) -> sqlite3.Connection:
        """A database that lies where nothing can be written (an archive, somebody else's folder) can still be read."""
        places = (path, path.absolute().parent)
        self.only_read = path.is_file() and not all(os.access(place, os.W_OK) for place in places)
        if not self.only_read:
            self._create_private(path)
            return sqlite3.connect(path, timeout=self.busy_timeout, isolation_level=None, check_same_thread=False)
        return sqlite3.connect(
            to_read(path), uri=True, timeout=self.busy_timeout, isolation_level=None, check_same_thread=False
        )

    @staticmethod
    def _create_private(path: Path) -> None:
        # SQLite gives its -wal and -shm files the mode of the database: making that 0600 first covers all three.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_mode & 0o077 and os.fstat(descriptor).st_uid == os.geteuid():
                os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)

    def _prepare(self) -> None:
        conn = self.conn
        conn.row_factory = sqlite3.Row
        if not self.only_read:
            self._patiently(lambda: conn.execute("PRAGMA journal_mode = WAL"))
            # FULL: what is stored survives a power cut too, not only a kill. Each such commit waits for the disk.
            conn.execute("PRAGMA synchronous = FULL")
            conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA temp_store = FILE")
        conn.create_function("segmented", 1, segmented, deterministic=True)
        db = Database(conn)
        applied = {migration.name for migration in migrations.applied(db)}
        if applied - known_migrations():
            raise StoreTooNew(
                f"{self.path} was written by a newer version. Update research-scrapers, or name another file with "
                "RESEARCH_DB"
            )
        if pending := migrations.pending(db):
            if self.only_read:
                raise StoreUnwritable(
                    f"{self.path} is of an older version ({len(pending)} changes behind) and cannot be written here. "
                    "Copy it to a folder of your own"
                )
            with _alone(self.path):
                self._patiently(lambda: self._migrate(db))

    def _patiently(self, action: Callable[[], object]) -> None:
        """Do it when nobody else holds the file. SQLite itself waits before a transaction, but neither to change a new
        file to WAL nor in the middle of one, which is where tables are made.
        """
        deadline = time.monotonic() + self.busy_timeout
        while True:
            try:
                action()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def _migrate(self, db: Database) -> None:
        if migrations.pending(db):  # still: another process may have done it meanwhile
            applied = list(migrations.applied(db))
            tables = {row[0] for row in self.conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not applied and tables - {"_sqlite_migrations"}:
                raise StoreCorrupt(f"{self.path} is another program's database. Name another file with RESEARCH_DB")
            migrations.apply(db)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is stored, or none. What is not ``durable`` does not wait for the disk: a power
        cut may undo it, until the next durable one is stored. For what would be done again then, and nothing else.
        """
        with self.unsettled(durable=durable) as conn:
            yield conn
        self.settle()

    @contextmanager
    def unsettled(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        """Likewise, but it is stored only by `settle`, which must follow. Until then nobody else is let in here."""
        self._turn.acquire()
        try:
            with self.explained():
                self._conn.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._conn.execute("BEGIN IMMEDIATE")
                yield self._conn
            self._settled.clear()
        except BaseException:
            self._undo()
            raise

    def settle(self) -> None:
        """Store what was written and wait for the disk. May run in a thread; others wait for it."""
        try:
            with self.explained():
                self._conn.execute("COMMIT")
        except BaseException:
            self._undo()
            raise
        self._over()

    def _undo(self) -> None:
        try:
            with self.explained():
                if self._conn.in_transaction:
                    self._conn.execute("ROLLBACK")
        finally:
            self._over()

    def _over(self) -> None:
        self._settled.set()
        self._turn.release()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite and the operating system say into the errors that we document."""
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path) from error
        except BrokenPipeError:  # whoever reads what we print has enough
            raise
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise StoreFull(_full(self.path)) from error
            raise StoreUnwritable(
                f"{self.path}: {error.strerror}. Name a file that can be written with RESEARCH_DB"
            ) from error

    def close(self) -> None:
        with self._turn:
            self._conn.close()


def _full(path: Path) -> str:
    return f"{path} could not grow. Nothing that was stored is lost: free some space and run the same command again"


def explain(error: sqlite3.Error, path: Path) -> StoreError:
    """The store error that stands for an SQLite error."""
    text = str(error).lower()
    if "full" in text or "disk i/o" in text:
        return StoreFull(_full(path) if "full" in text else f"{path}: {error}. Check the disk, then run again")
    if "locked" in text or "busy" in text:
        return StoreLocked(
            f"{path} is held by another program. Close it (a database browser with unsaved changes, "
            "another run), then run the same command again; nothing is lost"
        )
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return StoreCorrupt(
            f"{path}: {error}. Move the file away or restore a copy; `sqlite3 {path} .recover` may "
            "save its rows. It was not changed"
        )
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return StoreUnwritable(
            f"{path}: {error}. Check the folder's permissions, or name another file with RESEARCH_DB"
        )
    return StoreError(f"{path}: {error}")
