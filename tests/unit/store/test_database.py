import os
import sqlite3
import stat
import subprocess
import threading
import time

import pytest

from research_scrapers.errors import StoreCorrupt, StoreError, StoreFull, StoreLocked, StoreTooNew, StoreUnwritable
from research_scrapers.models import Options
from research_scrapers.store.database import Store, explain
from tests.factories import Bench, page


def test_only_the_owner_can_read_it(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), page("1", ["a"]), Options())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"research.db": 0o600, "research.db-wal": 0o600, "research.db-shm": 0o600}


def test_a_file_that_was_open_to_others_is_closed_to_them(tmp_path):
    path = tmp_path / "research.db"
    path.touch(mode=0o644)
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_opening_again_changes_nothing(tmp_path):
    Bench(tmp_path).store.close()
    before = sqlite3.connect(tmp_path / "research.db").execute("SELECT sql FROM sqlite_master").fetchall()
    Store(tmp_path / "research.db").close()
    assert sqlite3.connect(tmp_path / "research.db").execute("SELECT sql FROM sqlite_master").fetchall() == before


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_new_file_that_another_program_holds_for_a_moment_is_waited_for(tmp_path, mode):
    path = tmp_path / "research.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute(f"PRAGMA journal_mode = {mode}")
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.close).start()
    Store(path, busy_timeout=5.0).close()


def test_a_new_file_that_another_program_keeps_is_not_waited_for_for_ever(tmp_path):
    path = tmp_path / "research.db"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked):
        Store(path, busy_timeout=0.2)
    other.close()


def test_a_newer_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "research.db"
    Store(path).close()
    with sqlite3.connect(path) as conn:
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('research_scrapers', 'm9', '')"
        )
    conn.close()
    with pytest.raises(StoreTooNew, match="newer version"):
        Store(path)


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "research.db"
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE recipes (name)")
    conn.close()
    with pytest.raises(StoreCorrupt, match="another program"):
        Store(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_garbage_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "research.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreCorrupt, match="not a database"):
        Store(path)
    assert path.read_bytes() == b"not a database at all" * 100


def test_a_damaged_database_is_told(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    for number in range(30):
        bench.ledger.commit_page(
            lease, page(str(number + 1), [f"c{number}-{n}" for n in range(50)], next_token=str(number + 2)), Options()
        )
    bench.store.close()
    path = tmp_path / "research.db"
    body = bytearray(path.read_bytes())
    body[8192 : len(body) - 4096] = b"\xff" * (len(body) - 12288)
    path.write_bytes(body)
    with pytest.raises(StoreCorrupt):
        store = Store(path)
        try:
            with store.writing() as conn:
                conn.execute("DELETE FROM comments")
        finally:
            store.close()


def test_a_locked_database_is_told(tmp_path):
    path = tmp_path / "research.db"
    Store(path).close()
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    store = Store(path, busy_timeout=0.1)
    with pytest.raises(StoreLocked, match="another program"), store.writing():
        pass
    store.close()
    other.close()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreUnwritable, match="No such file"):
        Store(tmp_path / "nowhere" / "research.db")


def test_a_folder_in_its_place(tmp_path):
    with pytest.raises(StoreUnwritable, match="directory"):
        Store(tmp_path)


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_loses_nothing_that_was_stored(small_disk):
    bench = Bench(small_disk)
    lease = bench.claim()
    number = 0
    with pytest.raises(StoreFull, match="free some space"):
        while number < 10_000:
            number += 1
            bench.ledger.commit_page(
                lease, page(str(number), [f"c{number}-{n}" for n in range(20)], next_token=str(number + 1)), Options()
            )
    stored = bench.rows("SELECT count(*) FROM comments")[0][0]
    assert stored == (number - 1) * 20
    assert bench.rows("SELECT token FROM checkpoints") == [(str(number),)]
    bench.store.conn.close()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("database or disk is full", StoreFull),
        ("disk I/O error", StoreFull),
        ("database is locked", StoreLocked),
        ("database disk image is malformed", StoreCorrupt),
        ("attempt to write a readonly database", StoreUnwritable),
        ("no such table: x", StoreError),
    ],
)
def test_what_sqlite_says_has_a_name(tmp_path, text, kind):
    assert type(explain(sqlite3.OperationalError(text), tmp_path)) is kind


def test_root_or_not(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    path = tmp_path / "research.db"
    path.touch(mode=0o400)
    with pytest.raises(StoreUnwritable):
        Store(path)


def test_only_what_is_durable_waits_for_the_disk(tmp_path):
    store = Store(tmp_path / "r.db")
    levels = []
    for durable in (True, False, True):
        with store.writing(durable=durable) as conn:
            levels.append(conn.execute("PRAGMA synchronous").fetchone()[0])
    store.close()
    assert levels == [2, 1, 2]


def test_nobody_reads_what_waits_for_the_disk(tmp_path):
    store = Store(tmp_path / "r.db")
    with store.unsettled(durable=True) as conn:
        conn.execute("PRAGMA defer_foreign_keys = ON")  # so that storing it fails, and not the statement
        conn.execute("INSERT INTO jobs (run_id, link, line, status) VALUES ('nobody', '', 1, 'pending')")
    told = []

    def settle():
        time.sleep(0.1)
        try:
            store.settle()
        except StoreError as error:
            told.append(str(error))

    disk = threading.Thread(target=settle)
    disk.start()
    assert store.conn.execute("SELECT count(*) FROM jobs").fetchone()[0] == 0
    disk.join()
    store.close()
    assert "FOREIGN KEY constraint failed" in told[0]


def test_what_lies_on_a_read_only_disk_can_be_read(tmp_path, monkeypatch):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), page("1", ["a"]), Options())
    bench.store.close()
    path = tmp_path / "research.db"
    before = path.read_bytes()
    monkeypatch.setattr("os.access", lambda *_: False)
    store = Store(path)
    assert [row[0] for row in store.conn.execute("SELECT comment_id FROM comments")] == ["a"]
    with pytest.raises(StoreUnwritable), store.writing() as conn:
        conn.execute("DELETE FROM comments")
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == ["research.db"]
    assert path.read_bytes() == before


def test_an_older_database_on_a_read_only_disk_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "research.db"
    Store(path).close()
    with sqlite3.connect(path) as conn:
        conn.execute("DELETE FROM _sqlite_migrations WHERE name = (SELECT max(name) FROM _sqlite_migrations)")
    conn.close()
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(StoreUnwritable, match="older version"):
        Store(path)
