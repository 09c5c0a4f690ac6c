"""Several processes on one database and one run: nothing is handed out twice, and nothing is forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from research_scrapers.models import Kind, Link
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.runs import Runs
from tests.factories import Bench

ROOT = Path(__file__).parents[3]
PROCESSES = 4
_CLAIMER = """
import json, random, sys, time
from pathlib import Path
from research_scrapers.coverage import Conclusion
from research_scrapers.errors import LeaseLost
from research_scrapers.models import Kind, Outcome
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.runs import Runs

db, owner, mode = sys.argv[1:]
store = Store(Path(db))
ledger, runs, claimed = Ledger(store, "run_1", owner, lease_s=30), Runs(store), []
print("ready", flush=True)
sys.stdin.readline()
while not (mode == "cancel" and runs.cancel_asked("run_1")):
    lease = ledger.claim("youtube", {Kind.COMMENTS: "web"})
    if lease is None:
        break
    claimed.append(lease.id)
    if mode == "cancel" and random.random() < 0.3:
        time.sleep(0.002)
        continue  # what is held when the run is cancelled is given back at the end
    if mode == "let_go" and random.random() < 0.3:
        ledger.let_go(lease)
        claimed.pop()
        continue
    ledger.finish(lease, Conclusion(Outcome.COMPLETE), sort="newest")
released = ledger.release()
print(json.dumps([claimed, released]))
"""


def run_with(folder: Path, videos: int, **of_link) -> Store:
    store = Store(folder / "research.db")
    Runs(store).create("run_1", "scrape", config={}, jobdir=None, links="test")
    links = [Link("youtube", f"video{n:06}", n, "x", **of_link) for n in range(1, videos + 1)]
    Runs(store).take_in("run_1", links, {"youtube": (Kind.COMMENTS,)}, "test", shuffled=True)
    return store


def claimers(db: Path, mode: str) -> list[subprocess.Popen[str]]:
    """Processes that begin to claim in the same instant."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _CLAIMER, str(db), f"owner{n}", mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, cwd=ROOT,
        )
        for n in range(PROCESSES)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes


def results(processes: list[subprocess.Popen[str]]) -> tuple[Counter[int], int]:
    claimed: Counter[int] = Counter()
    released = 0
    for process in processes:
        told, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        mine, back = json.loads(told)
        claimed.update(mine)
        released += back
    return claimed, released


@pytest.mark.parametrize("mode", ["finish", "let_go"])
def test_four_processes_claim_everything_and_nothing_twice(tmp_path, mode):
    store = run_with(tmp_path, 240)
    claimed, released = results(claimers(tmp_path / "research.db", mode))
    assert len(claimed) == 240
    assert set(claimed.values()) == {1}
    assert released == 0
    assert store.conn.execute("SELECT status, count(*) FROM sub_jobs GROUP BY 1").fetchall()[0][:] == ("success", 240)
    assert store.conn.execute("SELECT DISTINCT status FROM jobs").fetchall()[0][0] == "success"
    store.close()


def test_a_run_that_is_cancelled_while_four_processes_claim_loses_nothing(tmp_path):
    store = run_with(tmp_path, 1200)
    processes = claimers(tmp_path / "research.db", "cancel")
    time.sleep(0.3)
    Runs(store).ask_cancel("run_1")
    claimed, _ = results(processes)
    assert set(claimed.values()) == {1}
    assert 0 < len(claimed) < 1200
    rows = dict(map(tuple, store.conn.execute("SELECT status, count(*) FROM sub_jobs GROUP BY 1").fetchall()))
    assert set(rows) == {"success", "pending"}
    assert sum(rows.values()) == 1200
    assert Runs(store).close("run_1", "run_cancelled") == rows["pending"]
    Runs(store).reopen("run_1")
    claimed, _ = results(claimers(tmp_path / "research.db", "finish"))
    assert len(claimed) == rows["pending"]
    assert store.conn.execute("SELECT count(*) FROM sub_jobs WHERE status = 'success'").fetchone()[0] == 1200
    store.close()


def test_a_deadline_that_passes_while_it_waits_ends_a_sub_job_with_its_reason(tmp_path):
    bench = Bench(tmp_path, "first", "second", "third")
    bench.store.conn.execute("UPDATE sub_jobs SET deadline = 1050 WHERE video_id = 'second'")
    assert bench.claim().video_id == "second"  # the nearest deadline goes first
    bench.ledger.release()
    bench.clock.now = 1051
    assert [bench.claim().video_id, bench.claim().video_id, bench.claim()] == ["first", "third", None]
    assert bench.rows("SELECT status, reason, retriable FROM sub_jobs WHERE video_id = 'second'") == [
        ("failed", "deadline_passed", 0)
    ]
    assert bench.rows("SELECT status, reason FROM jobs WHERE video_id = 'second'") == [("failed", "deadline_passed")]
    bench.store.close()


def test_four_processes_pass_a_deadline_over_once(tmp_path):
    store = run_with(tmp_path, 100, deadline=time.time() - 1)
    claimed, _ = results(claimers(tmp_path / "research.db", "finish"))
    assert not claimed
    assert store.conn.execute("SELECT DISTINCT status, reason, attempt FROM sub_jobs").fetchall()[0][:] == (
        "failed", "deadline_passed", 1,
    )  # fmt: skip
    store.close()


def test_priority_goes_first_and_within_it_chance_decides(tmp_path):
    orders = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        store = Store(tmp_path / name / "research.db")
        Runs(store).create("run_1", "scrape", config={}, jobdir=None, links="test")
        links = [Link("youtube", f"video{n:03}", n, "x", priority=n % 3) for n in range(1, 91)]
        Runs(store).take_in("run_1", links, {"youtube": (Kind.COMMENTS,)}, "test", shuffled=True)
        ledger = Ledger(store, "run_1", "me")
        leases = [ledger.claim("youtube", {Kind.COMMENTS: "web"}) for _ in range(90)]
        assert [lease.priority for lease in leases] == [2] * 30 + [1] * 30 + [0] * 30
        orders.append([lease.video_id for lease in leases])
        store.close()
    assert orders[0] != orders[1]
    for order in orders:
        assert order[:30] != sorted(order[:30])


def test_what_waits_of_a_line_fails_at_once_and_can_be_tried_again(tmp_path):
    store = Store(tmp_path / "research.db")
    runs = Runs(store)
    runs.create("run_1", "scrape", config={}, jobdir=None, links="test")
    kinds = (Kind.COMMENTS, Kind.TRANSCRIPT, Kind.METADATA)
    runs.take_in("run_1", [Link("bilibili", f"BV{n}", n, "x") for n in (1, 2)], {"bilibili": kinds}, "test")
    runs.take_in("run_1", [Link("youtube", "v", 3, "x")], {"youtube": (Kind.COMMENTS,)}, "test")
    ledger = Ledger(store, "run_1", "me")
    held = ledger.claim("bilibili", {Kind.METADATA: "r"})

    def states():
        return sorted(tuple(r) for r in store.conn.execute("SELECT provider, kind, status, count(*) FROM sub_jobs"
                                                           " GROUP BY 1, 2, 3"))  # fmt: skip

    assert ledger.fail_waiting("bilibili", [Kind.COMMENTS], "breaker_open", "x") == 2
    assert states() == [
        ("bilibili", "comments", "failed", 2), ("bilibili", "metadata", "in_progress", 1),
        ("bilibili", "metadata", "pending", 1), ("bilibili", "transcript", "pending", 2),
        ("youtube", "comments", "pending", 1),
    ]  # fmt: skip
    assert ledger.fail_waiting("bilibili", [Kind.METADATA], "breaker_open", "x") == 3  # and what waits for it
    ledger.fail(held, "breaker_open", "x", retriable=True)
    assert store.conn.execute("SELECT count(*) FROM jobs WHERE status = 'failed'").fetchone()[0] == 2
    assert runs.reopen("run_1") == 6
    assert {state[2] for state in states()} == {"pending"}
    assert sum(w for (w,) in store.conn.execute("SELECT waits FROM sub_jobs")) == 4
    store.close()
