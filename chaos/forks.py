"""Commands in forks of a process that has imported everything: a start takes a tenth of the time, which counts where
one is started, and killed, hundreds of times; and in a fork a blow can be prepared without a hook in the product.

Run as a script it reads what to do, a line each: fork a command and tell its id, or tell how one ended.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_PATIENCE_S = 120.0


class Child:
    """One command under way."""

    def __init__(self, forks: Forks, pid: int) -> None:
        self._forks = forks
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        if self.code is None:
            self.code = self._forks.ask({"poll": self.pid})
        return self.code

    def send(self, number: int) -> None:
        """A signal. Its number cannot belong to another process yet: nobody has asked how it ended."""
        if self.code is None:
            os.kill(self.pid, number)

    def kill(self) -> int:
        """Kill -9; returns the exit code."""
        self.send(signal.SIGKILL)
        return self.wait()

    def wait(self, patience_s: float = _PATIENCE_S) -> int:
        """The exit code. One that does not end writes where it is, and is killed."""
        deadline = time.monotonic() + patience_s
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                self.send(signal.SIGUSR1)
                time.sleep(0.5)
                self.kill()
                raise TimeoutError(f"it did not end in {patience_s:.0f} s")
            time.sleep(0.01)
        return code


class Forks:
    """The other end."""

    def __init__(self) -> None:
        # What is killed writes no coverage; measuring it would only slow it down.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "chaos.forks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=ROOT, env={**kept, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def start(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, *, output: Path | None = None,
        blows: Mapping[str, Any] | None = None,
    ) -> Child:  # fmt: skip
        """Begin `python -m scrapy …` or `research …`, with the blows of `chaos.blows` prepared."""
        arguments = list(command[2:] if list(command[1:3]) == ["-m", "scrapy"] else command)
        assert arguments[0] in ("scrapy", "research")
        told = {"arguments": arguments, "env": dict(env), "cwd": str(cwd), "blows": dict(blows or {}),
                "output": str(output or os.devnull)}  # fmt: skip
        return Child(self, self.ask({"start": told}))

    def ask(self, what: Any) -> Any:
        """Tell it what to do; returns what it says."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(what)}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


_NEEDED = (
    "scrapy.cmdline", "scrapy.commands.shell", "scrapy.core.downloader.handlers.http11", "scrapy.core.engine",
    "scrapy.crawler", "scrapy.extensions.feedexport", "youtube_transcript_api", "research_scrapers.cli.main",
    "research_scrapers.commands.crawl", "research_scrapers.crawling.cache", "research_scrapers.crawling.feeds",
    "research_scrapers.crawling.handler", "chaos.blows",
)  # fmt: skip


def _import_everything() -> None:
    for name in _NEEDED:
        importlib.import_module(name)
    importlib.import_module("research_scrapers.providers").providers()
    assert "twisted.internet.reactor" not in sys.modules
    assert "research_scrapers.settings" not in sys.modules  # it reads the environment


def _serve() -> None:
    _import_everything()
    while line := sys.stdin.readline():
        told = json.loads(line)
        if "poll" in told:
            pid, status = os.waitpid(told["poll"], os.WNOHANG)
            print(json.dumps(os.waitstatus_to_exitcode(status) if pid else None), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            _become(**told["start"])
            return
        print(pid, flush=True)


def _become(arguments: list[str], env: dict[str, str], cwd: str, blows: dict[str, Any], output: str) -> None:
    import scrapy.cmdline

    import research_scrapers.cli.main
    from chaos.blows import prepare

    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.closerange(3, written + 1)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = arguments
    prepare(blows)
    if sys.argv[0] == "research":
        research_scrapers.cli.main.main()
    else:
        scrapy.cmdline.execute(sys.argv)


if __name__ == "__main__":
    _serve()
