"""One round: a folder, a command, what is done to it, and what was found wrong."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos import invariants
from chaos.forks import Child, Forks
from chaos.world import Target, World, environment

CODES = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 9, 130})
"""What docs/reference.md knows, without 1: nothing here may be unforeseen."""
_EACH_TIME = ("/robots.txt", "/x/web-interface/nav", "/x/frontend/finger/spi", "/bapis/", "/youtubei/v1/visitor_id")
"""What every process asks once for itself."""


class Skipped(Exception):
    """This machine cannot play the scenario."""


@dataclass
class Round:
    """What a scenario works with."""

    scenario: str
    target: Target
    seed: int
    folder: Path
    world: World
    forks: Forks
    durations: dict[str, float]
    """How long each target takes undisturbed."""
    deeds: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    kills: int = 0
    missed: int = 0
    """Kill points that the command never came to."""
    again: int = 0
    held: int = 0
    """Records in the database at the end."""
    settings: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.scenario} {self.target.name} {self.seed}")
        self.work = self.folder / "work"
        self.work.mkdir(parents=True)
        self._outputs = 0

    # -- commands ------------------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """Put the links where the command looks for them."""
        (self.work / "links.txt").write_text("".join(f"{line}\n" for line in self.world.links), encoding="utf-8")

    def begin(self, command: list[str] | None = None, **blows: Any) -> Running:
        """Start the command (again)."""
        self._outputs += 1
        output = self.folder / f"output-{self._outputs}.txt"
        command = command or self.target.command(self.work, self.settings)
        env = environment(self.world.replica.origin)
        return Running(self.forks.start(command, env, self.work, output=output, blows=blows), output, command)

    def end(self, running: Running, *codes: int) -> int:
        """Wait for the command's end. Its exit code must be one of these, and what it said must be sentences."""
        try:
            code = running.child.wait()
        except TimeoutError as error:
            self.broken.append(f"{error} ({running.output.name})")
            return -signal.SIGKILL
        text = running.output.read_text(encoding="utf-8", errors="replace")
        if code not in (codes or (0,)):
            self.broken.append(f"exit code {code} ({running.output.name}): {text.strip().splitlines()[-1:]}")
        self.broken += (f"{one} ({running.output.name})" for one in invariants.said_well(text, code))
        return code

    def run(self, *codes: int, command: list[str] | None = None, **blows: Any) -> int:
        return self.end(self.begin(command, **blows), *codes)

    def strike(self, point: str, when: str, nth: int, what: str) -> dict[str, Any]:
        """A blow from within, at the n-th time that the command comes to a point."""
        mark = self.folder / "struck"
        mark.unlink(missing_ok=True)
        return {"point": point, "when": when, "nth": nth, "what": what, "mark": str(mark)}

    def moment(self) -> float:
        """A moment at which the command is probably at work, or starts, or ends."""
        return self.chance.uniform(0.0, 1.1) * self.durations.get(self.target.name, 1.0)

    @property
    def struck(self) -> bool:
        return (self.folder / "struck").exists()

    def killed(self, code: int) -> None:
        """Count a kill that was meant to happen."""
        if code == -signal.SIGKILL:
            self.kills += 1
        else:
            self.missed += 1

    # -- what came of it -----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything that must hold after the last resume."""
        self.broken += invariants.whole(self.work, self.target, self.world)
        self.held = self.stored()

    def stored(self) -> int:
        """How many records the database has."""
        try:
            with closing(sqlite3.connect(self.work / "research.db")) as conn:
                tables = ("comments", "danmaku", "transcripts")
                return sum(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)
        except sqlite3.Error:
            return 0

    def fetched_again(self) -> int:
        """Requests for a page that had been asked for before in this round."""
        log = self.world.replica.counters(log=True)["log"]
        asked = Counter((host, key) for _, host, path, key, _ in log if not path.startswith(_EACH_TIME))
        return sum(count - 1 for count in asked.values())

    @contextmanager
    def small_disk(self, megabytes: int) -> Iterator[None]:
        """The folder of the command on a file system of its own."""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "chaos", str(self.work)],
                              capture_output=True, text=True, check=False)  # fmt: skip
        if done.returncode:
            raise Skipped(f"no file system can be mounted here: {(done.stderr or 'not root').strip()}")
        try:
            self.lay_out()
            yield
        finally:
            if self.broken:
                subprocess.run(["cp", "-a", f"{self.work}/.", str(self.folder / "kept")], check=False)
            subprocess.run(["umount", "--lazy", str(self.work)], check=True)

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(self.work)], check=True)


@dataclass
class Running:
    """A command under way, and where it writes."""

    child: Child
    output: Path
    command: list[str]

    def wait_until(self, condition: Callable[[], bool], patience_s: float = 60.0) -> bool:
        """Wait for something, or for the command's end; returns whether it came."""
        deadline = time.monotonic() + patience_s
        while self.child.poll() is None and time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.005)
        return False

    def sleep(self, seconds: float) -> bool:
        """Let it work for a while; returns whether it still does."""
        until = time.monotonic() + seconds
        self.wait_until(lambda: time.monotonic() >= until)
        return self.child.poll() is None

    @property
    def state(self) -> str:
        """One letter, as `ps` tells it: T is stopped."""
        return Path(f"/proc/{self.child.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def playground() -> Path:
    """A fresh folder for a series of rounds, in memory where that is possible."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="chaos-", dir=memory if os.access(memory, os.W_OK) else None))


def repeat_command(scenario: str, target: str, seed: int) -> str:
    return f"{Path(sys.executable).name} -m chaos --rounds 1 --seed {seed} --only {scenario}@{target}"
