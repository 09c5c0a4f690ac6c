"""Opening a run: which run this is, whose leases are dead, and that every link has its job."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import logging
import os
import platform
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from research_scrapers.errors import (
    JobdirInUse,
    LinksEmpty,
    ResearchError,
    RunCancelled,
    SettingInvalid,
    StoreError,
    StoreFull,
    StoreUnwritable,
)
from research_scrapers.links import Links
from research_scrapers.models import Kind, Options, counted
from research_scrapers.privacy import Veil
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.project import settle_policy
from research_scrapers.store.runs import Run, Runs, new_run_id

logger = logging.getLogger(__name__)

_NOTE = "run.json"
_LOOK_S = 1.0
STDIN = "-"
"""In place of a digest: all links are in, but came from standard input."""


@dataclass
class Session:
    """One process at work on one run."""

    store: Store
    runs: Runs
    run: Run
    ledger: Ledger
    resumed: bool
    jobdir: Jobdir | None
    veil: Veil = field(default_factory=lambda: Veil("keep"))
    """What is hidden of the records before they are stored."""

    def end(self, reason: str | None, *, park_until: float | None = None) -> int:
        """Give back what is unfinished, so that the next session can begin at once, or when its quota is back.
        Returns how many sub-jobs are left.
        """
        self.ledger.release()
        if park_until is not None:
            self.ledger.park_all(park_until, reason or "")
        return self.runs.close(self.run.id, reason)

    def close(self) -> None:
        """Let go of the database and of the JOBDIR."""
        self.store.close()
        if self.jobdir is not None:
            self.jobdir.unlock()


def open_session(
    db: Path, spider: str, links: str, config: Mapping[str, Any], *, jobdir: str | None, lease_s: float,
    run_id: str | None = None,
) -> Session:  # fmt: skip
    """Find or make the run that this command means: the one that is named, the JOBDIR's, or a new one."""
    with ExitStack() as undo:
        folder = Jobdir(Path(jobdir)) if jobdir else None
        if folder is not None:
            undo.callback(folder.unlock)
        store = Store(db)
        undo.callback(store.close)
        store.blobs = config.get("blobs")
        veil = settle_policy(store, config.get("privacy", "keep"))
        runs = Runs(store)
        run = folder.known_run(runs, spider) if folder else runs.find(run_id) if run_id else None
        resumed = run is not None
        if run is None:
            run = runs.create(
                new_run_id(datetime.now(UTC)), spider, config=config, jobdir=str(folder.path) if folder else None,
                links=links,
            )  # fmt: skip
        elif _whole(run.config.get("options", {})) != _whole(config["options"]):
            raise SettingInvalid(
                f"{run.id} was begun with {_told(run.config['options'])}, not with {_told(config['options'])}. Repeat "
                "the first command, or name another JOBDIR for a new run"
            )
        else:
            runs.update_config(run.id, config)
        if folder is not None:
            folder.remember(run.id)
        ledger = Ledger(store, run.id, owner_name(), lease_s=lease_s)
        if resumed:
            released = ledger.release(owners=[owner for owner in ledger.owners() if not is_alive(owner)])
            reopened = runs.reopen(run.id)
            logger.info(
                "resuming %s: %s left by a session that ended, %s to be tried again",
                run.id, counted(released, "video"), counted(reopened, "video"),
            )  # fmt: skip
        runs.tell(run.id, {"owner": ledger.owner, "at": time.time()})
        undo.pop_all()
    return Session(store, runs, run, ledger, resumed, folder, veil)


Work = Mapping[str, Sequence[Kind]]
"""Provider → what is wanted of its videos."""


def take_in_links(session: Session, links: Links, work: Work, who: str, *, shuffled: bool = False) -> None:
    """Make a job of every line, unless these very links were taken in before."""
    digest = links.digest()
    if not (session.resumed and digest is not None and digest == session.run.links_digest):
        _take_in(session, links, digest, work, who, shuffled=shuffled)
    if not session.runs.standing(session.run.id)[1]:
        raise LinksEmpty(
            f"no line of {links.label} names a video that {who} can work on; `research coverage` lists each line "
            "with its reason"
        )


def _take_in(session: Session, links: Links, digest: str | None, work: Work, who: str, *, shuffled: bool) -> None:
    lines = links if session.veil.keeps else (replace(line, text=session.veil.link(line.text)) for line in links)
    intake = session.runs.take_in(session.run.id, lines, work, who, shuffled=shuffled)
    session.runs.links_taken_in(session.run.id, digest or STDIN)
    parts = [counted(intake.added, "video") + (" added" if session.resumed else "")]
    if intake.repeated:
        parts.append(f"{counted(intake.repeated, 'link')} to a video that is named already")
    if intake.invalid:
        parts.append(f"{counted(intake.invalid, 'line')} without a video")
    if intake.elsewhere:
        parts.append(f"{counted(intake.elsewhere, 'link')} for another spider")
    logger.info("%s: %s", links.label, ", ".join(parts))


def cancelled() -> RunCancelled:
    return RunCancelled("what was on its way is stored; `research scrape --resume` goes on from here")


async def keep_alive(session: Session, every_s: float, give_up: Callable[[ResearchError], None]) -> None:
    """Renew this process's leases until cancelled, and obey when somebody asks the run to stop."""
    renewed = time.monotonic()
    while True:
        await asyncio.sleep(min(every_s, _LOOK_S))
        try:
            if session.runs.cancel_asked(session.run.id):
                give_up(cancelled())
            if time.monotonic() - renewed >= every_s:
                session.ledger.heartbeat()
                renewed = time.monotonic()
        except StoreError as error:
            give_up(error)


def _whole(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with those that a run of an older version did not know yet."""
    return {**asdict(Options()), **options}


def _told(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items() if value is not None)


class Jobdir:
    """The folder that names a run. One process at a time works in it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        with _usable(path):
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock: IO[str] | None = (self.path / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            self._lock.close()
            raise JobdirInUse(f"{path} is in use by {holder}. Wait for it, or name another JOBDIR") from None
        with _usable(path):
            self._lock.truncate(0)
            self._lock.write(f"process {os.getpid()}")
            self._lock.flush()

    def known_run(self, runs: Runs, spider: str) -> Run | None:
        """The run that this folder names, if the database has it."""
        note = self.path / _NOTE
        try:
            run_id = json.loads(note.read_text(encoding="utf-8"))["run"]
        except (OSError, ValueError, KeyError, TypeError):
            return runs.of_jobdir(str(self.path), spider)
        run = runs.find(run_id)
        if run is None:
            logger.warning("%s names %s, which is not in this database: a new run begins", note, run_id)
        elif run.spider != spider:
            raise JobdirInUse(f"{self.path} belongs to a run of {run.spider}. Name another JOBDIR for {spider}")
        return run

    def remember(self, run_id: str) -> None:
        """Write the note; complete or not at all."""
        draft = self.path / f"{_NOTE}.new"
        with _usable(self.path):
            draft.write_text(json.dumps({"run": run_id}) + "\n", encoding="utf-8")
            draft.replace(self.path / _NOTE)

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Say in one sentence why a JOBDIR cannot be written."""
    try:
        yield
    except OSError as error:
        raise (StoreFull if error.errno == errno.ENOSPC else StoreUnwritable)(
            f"JOBDIR {path}: {error.strerror}"
        ) from error


def owner_name() -> str:
    """Who we are, so that others can tell whether we still live: host, process, when it began, a random part."""
    return f"{platform.node()}/{os.getpid()}/{_began(os.getpid())}/{secrets.token_hex(4)}"


def is_alive(owner: str) -> bool:
    """Whether the process that calls itself so still runs. Of another machine's we cannot know: its lease decides."""
    try:
        host, pid, began, _ = owner.rsplit("/", 3)
        process = int(pid)
    except ValueError:
        return True
    if host != platform.node():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _began(process) == began


def _began(process: int) -> str:
    """When a process began, in the kernel's ticks; tells a reused number from the process that had it before. A
    process that is dead but not yet buried (a zombie) has no beginning any more.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        state, *rest = stat.rpartition(")")[2].split()
        return "dead" if state in "ZX" else rest[18]
    except (OSError, IndexError, ValueError):
        return "0"
