"""Every way in which a round can go wrong. A scenario is a function that is handed a round and does its worst."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from chaos import invariants
from chaos.rounds import CODES, Round, Skipped
from chaos.world import SEGMENT, SPIDERS, TARGETS
from research_scrapers.replica import faults

EXPORT = "export"
_MOST = {"claim": 3, "fetch": 24, "parse": 16, "commit": 12, "transaction": 12, "finish": 2, "feed": 12}
"""How often a command comes to a point at least, or nearly so. The n-th time is drawn from one to this, early ones more
often: a command that only has a few left to do does not come to late ones."""
_LONG = ("before-transaction", "before-feed")
_LEASE_S = 1.0
_HOUR = 3600.0
_STOPPED = (0, 130)


@dataclass(frozen=True)
class Scenario:
    """What is done, and to which commands it can be done."""

    name: str
    play: Callable[[Round], None]
    targets: tuple[str, ...] = tuple(TARGETS)
    point: str = ""
    """The kill point, which must be reached at least once."""
    quick: bool = True
    """Whether the short form plays it: not the single faults, nor what differs from another scenario by a hair."""


def finish(round_: Round) -> None:
    """The same command again, to the end, and then everything must hold."""
    round_.run(0)
    round_.check()


# -- kills -----------------------------------------------------------------------------------------------------------


def calm(round_: Round) -> None:
    began = time.monotonic()
    finish(round_)
    round_.durations.setdefault(round_.target.name, time.monotonic() - began)


def kill_at(point: str, when: str, round_: Round) -> None:
    for _ in range(round_.chance.randint(1, 3)):
        nth = round(_MOST[point] ** round_.chance.random())
        strike = round_.strike(point, when, nth, "SIGKILL")
        round_.killed(round_.run(-signal.SIGKILL, 0, strike=strike))
        round_.deeds.append(f"{'killed' if round_.struck else 'never came to'} {when} {point} {nth}")
        if not round_.struck:
            break
    finish(round_)


def kill_any_time(round_: Round) -> None:
    for _ in range(round_.chance.randint(1, 3)):
        moment = round_.moment()
        running = round_.begin()
        running.sleep(moment)
        running.child.send(signal.SIGKILL)
        round_.deeds.append(f"killed after {moment:.2f} s")
        round_.killed(round_.end(running, -signal.SIGKILL, 0))
    finish(round_)


# -- other signals ---------------------------------------------------------------------------------------------------


def zombie(round_: Round) -> None:
    """Frozen until its leases have run out and another process has ended the work; then it wakes up. In the middle of
    a transaction it still holds the database: then nobody can take over, and must be told so.
    """
    round_.settings["LEASE_S"] = str(_LEASE_S)
    point = round_.chance.choice(("claim", "fetch", "parse", "commit", "finish"))
    when, nth = round_.chance.choice(("before", "after")), round_.chance.randint(1, 3)
    round_.deeds.append(f"frozen {when} {point} {nth}")
    frozen = round_.begin(strike=round_.strike(point, when, nth, "SIGSTOP"))
    if not frozen.wait_until(lambda: frozen.state == "T"):
        round_.missed += 1
        round_.end(frozen, 0)
        finish(round_)
        return
    time.sleep(_LEASE_S + 0.1)
    other = ["research", "scrape", "--resume", "last", *(part for name, value in round_.settings.items()
                                                          for part in ("-s", f"{name}={value}"))]  # fmt: skip
    if _is_locked(round_.work / "research.db"):
        round_.deeds.append("in the middle of a transaction")
        round_.run(3, command=other, busy_timeout=0.5)
        frozen.child.send(signal.SIGCONT)
        round_.end(frozen, 0)
        finish(round_)
        return
    round_.deeds.append("another process ended the work")
    round_.run(0, command=other)
    before = invariants.digest(round_.work)
    frozen.child.send(signal.SIGCONT)
    round_.end(frozen, *_STOPPED)
    after = invariants.digest(round_.work)
    # Its feed is its own: what others stored is copied into it at its end, and checked with the rest.
    written = [name for name, digest in before.items() if after[name] != digest]
    if written:
        round_.broken.append(f"the zombie wrote into {', '.join(written)}")
    finish(round_)


def _is_locked(db: Path) -> bool:
    with closing(sqlite3.connect(db, timeout=0.2, isolation_level=None)) as conn:
        try:
            conn.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def signals(numbers: tuple[int, ...], round_: Round) -> None:
    """One or two signals, as a person or a system sends them."""
    running = round_.begin()
    moment = round_.moment()
    if round_.target.feeds:  # until it says that it has started, it is Python and Scrapy that are interrupted, not we
        running.wait_until(lambda: running.output.exists() and running.output.stat().st_size > 0)
    running.sleep(moment)
    names = " and ".join(signal.Signals(number).name for number in numbers)
    round_.deeds.append(f"{names} after {moment:.2f} s")
    for number in numbers:
        running.child.send(number)
        running.sleep(round_.chance.uniform(0.0, 0.15))
    # Before the command listens, and after it has ended its work, the system's own answer holds; a shell tells the
    # one to SIGINT as 130 too.
    round_.end(running, *_STOPPED, *(-number for number in numbers))
    finish(round_)


# -- disk, database, descriptors, clock ------------------------------------------------------------------------------


def disk_full(round_: Round) -> None:
    with round_.small_disk(32):
        running = round_.begin()
        moment = round_.moment() * 0.8
        running.sleep(moment)
        ballast = round_.work / "ballast"
        _fill(ballast)
        round_.deeds.append(f"disk full after {moment:.2f} s")
        round_.missed += round_.end(running, 0, 3) == 0
        ballast.unlink()
        finish(round_)


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2


def read_only(round_: Round) -> None:
    with round_.small_disk(32):
        strike = round_.strike("commit", "after", round_.chance.randint(1, 4), "SIGKILL")
        round_.killed(round_.run(-signal.SIGKILL, 0, strike=strike))
        round_.remount("ro")
        round_.deeds.append("killed, then a read-only disk")
        round_.run(3)
        round_.remount("rw")
        finish(round_)


def locked(long: bool, round_: Round) -> None:
    """Another program holds the database. SQLite's patience is cut to a second, or a round would take long."""
    patience = 1.0 if long else 15.0
    running = round_.begin(busy_timeout=patience)
    moment = round_.moment() * 0.6
    running.sleep(moment)
    if not running.wait_until((round_.work / "research.db").exists):
        round_.missed += 1
    with closing(sqlite3.connect(round_.work / "research.db", isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = round_.chance.uniform(0.1, 0.6)
        round_.deeds.append(f"locked after {moment:.2f} s {'to its end' if long else f'for {held:.2f} s'}")
        if long:
            round_.missed += round_.end(running, 0, 3) == 0
        else:
            time.sleep(held)
        other.execute("ROLLBACK")
    if not long:
        round_.end(running, 0)
    finish(round_)


def clock(direction: int, round_: Round) -> None:
    """The clock jumps by hours in mid-run, past every lease; then the command is killed, and its successor has the
    right time.
    """
    point, nth = round_.chance.choice(("claim", "fetch", "commit")), round_.chance.randint(1, 5)
    jump = direction * round_.chance.uniform(1, 30) * _HOUR
    round_.deeds.append(f"clock {jump / _HOUR:+.0f} h after {point} {nth}")
    running = round_.begin(strike=round_.strike(point, "after", nth, str(jump)), clock=True)
    if round_.chance.random() < 0.5:
        running.sleep(round_.moment())
        running.child.send(signal.SIGKILL)
        round_.deeds.append("killed")
        round_.kills += round_.end(running, -signal.SIGKILL, 0) != 0
    else:
        round_.end(running, 0)
    round_.missed += not round_.struck
    finish(round_)


def few_files(round_: Round) -> None:
    """Next to no file descriptors are left: from the beginning (Scrapy itself needs four to start), or suddenly."""
    if round_.chance.random() < 0.5:
        files = round_.chance.randint(4, 40)
        round_.deeds.append(f"{files} descriptors left")
        round_.run(2, files=files)
    else:
        point, nth = round_.chance.choice(("claim", "fetch", "commit")), round_.chance.randint(1, 5)
        round_.deeds.append(f"no descriptors left after {point} {nth}")
        round_.run(*CODES, strike=round_.strike(point, "after", nth, "files"))
        round_.missed += not round_.struck
    finish(round_)


# -- the network -----------------------------------------------------------------------------------------------------

FAULTS = (*faults.ACTIONS, *faults.SPECIAL, *faults.BILIBILI)


def _rule(round_: Round, action: str) -> dict[str, Any]:
    chance = round_.chance
    rule = {"action": action, "probability": chance.uniform(0.05, 0.5), "count": chance.randint(1, 12),
            "skip": chance.randint(0, 8), "seconds": chance.uniform(0.1, 4.0), "keep": chance.random(),
            "status": chance.choice((400, 403, 404, 429, 500, 502, 503, 504))}  # fmt: skip
    if action == "status" and chance.random() < 0.3:
        rule["retry_after"] = chance.choice((0.2, 1))
    # A page of one site means nothing to the other, and robots.txt has its own tests.
    if action in faults.SPECIAL:
        rule["host"] = "www.youtube.com"
    elif action in faults.BILIBILI:
        rule["host"] = "api.bilibili.com"
        rule["path"] = "/x/"
    return rule


def faulty(actions: Callable[[Round], list[str]], kills: bool, round_: Round) -> None:
    """The network misbehaves, perhaps under kills too; then it is mended, and a person tries again what failed."""
    names = actions(round_)
    round_.deeds.append(" + ".join(names))
    round_.world.replica.faults(*(_rule(round_, name) for name in names))
    for _ in range(round_.chance.randint(1, 3) if kills else 0):
        running = round_.begin()
        running.sleep(round_.moment())
        running.child.send(signal.SIGKILL)
        round_.kills += round_.end(running, -signal.SIGKILL, *CODES) < 0
    round_.run(*CODES)
    round_.world.replica.faults()
    round_.run(0)
    round_.run(0, command=["research", "retry", "--failed", "--partial"])
    finish(round_)


def _mixture(round_: Round) -> list[str]:
    return round_.chance.sample(FAULTS, round_.chance.randint(2, 5))


# -- research export -------------------------------------------------------------------------------------------------

_FORMS = ("csv", "jsonl", "csv.gz", "sqlite", "xlsx", "parquet")


def _export(form: str) -> list[str]:
    return ["research", "export", "--format", form, "--out", "out", "--quiet"]


def exporting(disturb: Callable[[Round, list[str]], None], round_: Round) -> None:
    """An export is disturbed, perhaps where an older one lies; run again, it is whole, and the database as it was."""
    form = round_.chance.choice(_FORMS)
    shutil.copy(_corpus(round_), round_.work / "research.db")
    if round_.chance.random() < 0.5:
        round_.run(0, command=_export(form))
        round_.deeds.append("over an older export")
    before = invariants.digest(round_.work)
    round_.deeds.append(form)
    disturb(round_, _export(form))
    _never_half(round_)
    round_.run(0, command=_export(form))
    round_.run(0, command=["research", "verify", "out", "--db", "research.db"])
    told = json.loads((round_.work / "out" / "job_metadata.json").read_text(encoding="utf-8"))
    truth = round_.world.truth(TARGETS["scrape"].parts)
    for kind, rows in truth.items():
        found = told["rows"].get(kind)
        wanted = len(rows)
        if kind == "transcripts" and form != "jsonl":  # a row for each segment
            wanted = sum(len(row[-1].split(SEGMENT)) for row in rows)
        if found != wanted:
            round_.broken.append(f"{found} {kind} were exported, not {wanted}")
    left = [path.name for path in (round_.work / "out").rglob("*.part")]
    if left:
        round_.broken.append(f"left behind: {', '.join(left)}")
    if invariants.digest(round_.work) != before:
        round_.broken.append("the export changed the database")
    with closing(sqlite3.connect(round_.work / "research.db")) as conn:
        round_.broken += invariants.sound(conn)


def _never_half(round_: Round) -> None:
    """What lies under its name after a blow is whole: a manifest that can be read names files that are as it says,
    or `research verify` says that they are not.
    """
    for part in (round_.work / "out").glob("*.csv"):
        if not part.read_bytes().endswith(b"\n"):
            round_.broken.append(f"half of {part.name}")
    round_.run(0, 2, command=["research", "verify", "out"])


def _corpus(round_: Round) -> Path:
    """A database to export from, made once."""
    path = round_.folder.parent / "corpus.db"
    if not path.exists():
        folder = round_.folder.parent / "corpus"
        maker = Round("corpus", TARGETS["scrape"], 0, folder, round_.world, round_.forks, round_.durations)
        maker.lay_out()
        finish(maker)
        assert not maker.broken, maker.broken
        with closing(sqlite3.connect(maker.work / "research.db")) as conn:
            conn.execute("VACUUM INTO ?", (str(path),))
        round_.world.replica.reset()
    return path


def _export_killed(point: str, when: str, round_: Round, command: list[str]) -> None:
    nth = 1 if point == "manifest" else round_.chance.randint(1, 3)
    round_.deeds.append(f"killed {when} {point} {nth}")
    round_.killed(round_.run(-signal.SIGKILL, 0, command=command, strike=round_.strike(point, when, nth, "SIGKILL")))


def _export_struck(number: int, round_: Round, command: list[str]) -> None:
    running = round_.begin(command)
    moment = round_.chance.uniform(0.0, 0.4)
    running.sleep(moment)
    running.child.send(number)
    round_.deeds.append(f"{signal.Signals(number).name} after {moment:.2f} s")
    code = round_.end(running, 0, -number, 130)
    round_.kills += code == -signal.SIGKILL


def _export_few_files(round_: Round, command: list[str]) -> None:
    files = round_.chance.randint(1, 8)
    round_.deeds.append(f"{files} descriptors left")
    round_.run(0, 3, command=command, files=files)


def export_disk_full(round_: Round) -> None:
    def disturb(round_: Round, command: list[str]) -> None:
        ballast = round_.work / "ballast"
        _fill(ballast)
        os.truncate(ballast, max(ballast.stat().st_size - round_.chance.choice((0, 4096, 20_000, 60_000)), 0))
        round_.deeds.append("disk full")
        round_.run(0, 3, command=command)
        ballast.unlink()

    with round_.small_disk(32):
        exporting(disturb, round_)


# -- all of them -----------------------------------------------------------------------------------------------------


def _all() -> list[Scenario]:
    spiders = tuple(SPIDERS)
    found = [Scenario("calm", calm)]
    for point in _MOST:
        targets = spiders if point == "feed" else tuple(TARGETS)
        found += [
            Scenario(
                f"kill-{when}-{point}", partial(kill_at, point, when), targets, point, f"{when}-{point}" not in _LONG
            )
            for when in ("before", "after")
        ]
    for point in ("export", "manifest"):
        found += [
            Scenario(f"kill-{when}-{point}", partial(exporting, partial(_export_killed, point, when)), (EXPORT,), point)
            for when in ("before", "after")
        ]
    found += [
        Scenario("kill-any-time", kill_any_time),
        Scenario("zombie", zombie),
        Scenario("sigterm", partial(signals, (signal.SIGTERM,))),
        Scenario("ctrl-c", partial(signals, (signal.SIGINT,)), quick=False),
        Scenario("double-ctrl-c", partial(signals, (signal.SIGINT, signal.SIGINT))),
        Scenario("disk-full", disk_full),
        Scenario("read-only", read_only),
        Scenario("locked-long", partial(locked, True)),
        Scenario("locked-shortly", partial(locked, False)),
        Scenario("clock-forwards", partial(clock, 1)),
        Scenario("clock-backwards", partial(clock, -1)),
        Scenario("few-files", few_files),
        Scenario("faults-mixed", partial(faulty, _mixture, False), quick=False),
        Scenario("faults-mixed-killed", partial(faulty, _mixture, True)),
        Scenario(
            "export-kill-any-time", partial(exporting, partial(_export_struck, signal.SIGKILL)), (EXPORT,), quick=False
        ),
        Scenario("export-ctrl-c", partial(exporting, partial(_export_struck, signal.SIGINT)), (EXPORT,)),
        Scenario("export-few-files", partial(exporting, _export_few_files), (EXPORT,)),
        Scenario("export-disk-full", export_disk_full, (EXPORT,)),
    ]
    for name in FAULTS:
        where = [one for one in TARGETS if name in faults.ACTIONS or _meets(name, one)]
        play = partial(faulty, partial(_only, name), False)
        found.append(Scenario(f"fault-{name}", play, tuple(where), quick=False))
    return found


def _meets(fault: str, target: str) -> bool:
    """Whether a site's own fault can hit a command."""
    site = "bilibili" if fault in faults.BILIBILI else "youtube"
    return target == "scrape" or dict(TARGETS[target].parts).get(site) is not None


def _only(name: str, round_: Round) -> list[str]:
    return [name]


SCENARIOS = {scenario.name: scenario for scenario in _all()}
__all__ = ["EXPORT", "SCENARIOS", "Scenario", "Skipped"]
