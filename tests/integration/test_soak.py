"""`make soak`, shortened: the sampler sees what a process holds, a leak is caught, and the command itself has none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from benchmarks import soak
from benchmarks.growth import Limit, judge
from benchmarks.held import held_by

LEAKY = """
import socket, sys, threading, time
port, kept = int(sys.argv[1]), []
for _ in range(30):
    kept.append((bytearray(b"x" * 2**20), socket.create_connection(("127.0.0.1", port))))
    kept.append(threading.Thread(target=time.sleep, args=(60,), daemon=True))
    kept[-1].start()
    print(len(kept), flush=True)
    sys.stdin.readline()
"""


STEADY = """
import socket, sys, threading
for _ in range(30):
    body = bytearray(b"x" * 2**20)
    socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
    thread = threading.Thread(target=bytes)
    thread.start()
    thread.join()
    print(flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def watched():
    """Run a script step by step, and see what it holds after each."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:

        def run(script):
            child = [sys.executable, "-c", script, str(server.getsockname()[1])]
            with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                for step, _ in enumerate(process.stdout):
                    yield float(step), held_by(process.pid)
                    process.stdin.write("\n")
                    process.stdin.flush()

        yield run


def test_a_process_that_leaks_is_caught_in_all_it_leaks(watched):
    seen = list(watched(LEAKY))
    assert len(seen) == 30
    grown = {
        name: judge(name, "", [(at, getattr(held, name)) for at, held in seen], limit)
        for name, limit in {
            "resident_mb": Limit(0.05), "anonymous_mb": Limit(0.05), "descriptors": soak.COUNT,
            "threads": soak.COUNT, "connections": soak.COUNT,
        }.items()
    }  # fmt: skip
    assert not any(verdict.flat for verdict in grown.values()), [verdict.line() for verdict in grown.values()]
    for name in ("descriptors", "threads", "connections"):
        assert grown[name].slope.middle == 1.0
    assert grown["anonymous_mb"].slope.middle == pytest.approx(1.0, abs=0.2)


def test_a_process_that_keeps_nothing_is_flat(watched):
    seen = list(watched(STEADY))
    assert len(seen) == 30
    for name, limit in (("descriptors", soak.COUNT), ("threads", soak.COUNT), ("resident_mb", Limit(0.05))):
        verdict = judge(name, "", [(at, getattr(held, name)) for at, held in seen], limit)
        assert verdict.flat, verdict.line()


def test_our_own_connection_to_a_process_is_not_counted_and_the_dead_hold_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        alone = held_by(os.getpid(), port)
        with socket.create_connection(("127.0.0.1", port)):
            there, _ = server.accept()
            with there:
                beside, all_of_it = held_by(os.getpid(), port), held_by(os.getpid())
    assert (beside.descriptors, beside.connections) == (alone.descriptors + 1, alone.connections + 1)
    assert (all_of_it.descriptors, all_of_it.connections) == (alone.descriptors + 2, alone.connections + 2)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        deadline = time.monotonic() + 10
        while held_by(process.pid) is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert held_by(process.pid) is None  # dead, but not buried
    assert held_by(process.pid) is None


def test_answers_that_come_ever_later_are_seen_whatever_the_mixture():
    def sample(at, fast, slow):
        held = soak.Held(100.0, 70.0, 9, 20, 8)
        return soak.Sample(float(at), held, 3.0, 0, 10, 0, {"a": 1.0}, 1.0, 1.0, {"fast": fast, "slow": slow})

    def samples(later):
        fast = slow = (0.0, 0.0)
        for at in range(60):
            each = 0.05 * (1 + later * at)
            fast = (fast[0] + each * (60 - at), fast[1] + 60 - at)  # ever fewer of these,
            slow = (slow[0] + each * 4 * at, slow[1] + at)  # ever more of those
            yield sample(at, fast, slow)

    steady, growing = (soak.verdicts(list(samples(later)))[-1] for later in (0.0, 0.01))
    assert (steady.flat, steady.growth) == (True, pytest.approx(0.0, abs=1e-9))
    assert not growing.flat


def test_the_warm_up_is_not_measured_and_connections_only_while_the_work_is_the_same():
    held = soak.Held(100.0, 70.0, 9, 20, 8)
    samples = [
        soak.Sample(float(at), held, 3.0, 0, 10, at, {"a": max(100 - at, 0), "b": max(60 - at, 0)}, 1.0, 1.0, {})
        for at in range(120)
    ]
    warm = soak.warmed_up(samples)
    assert (warm[0].at, warm[-1].at) == (25.0, 99.0)
    same = soak.steady(warm)
    assert (same[0].at, same[-1].at) == (70.0, 99.0)
    assert soak.verdicts(samples[100:]) == []


def test_a_short_soak_is_flat_and_exact(tmp_path):
    said = []
    result = soak.soak(0.35, 36, 7, tmp_path, said.append)
    told = result.told()
    assert result.exit_code == 0, said
    assert result.inexact == [], told
    found = {verdict.name: verdict for verdict in result.verdicts}
    assert len(found) == len(soak.NUMBERS) + len(soak.BY_WORK) + 1
    for name in ("descriptors", "threads", "connections", "write-ahead log"):
        assert found[name].growth <= 4, told
    # So soon after its start it still takes what it will keep; a page that stays would be 0.3 MB each.
    assert found["anonymous memory"].growth < 12, told
    assert 0.2 < result.minutes < 2, told
    assert json.loads(result.as_json())["samples"]
