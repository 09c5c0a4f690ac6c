"""Commands in forks of a process that has imported everything: a start takes a tenth of the time, which counts where
one is started, and killed, fifty times.

Run as a script it reads a command a line, forks, tells the fork's id, waits for it, and tells its exit code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


class Forks:
    """The other end: one command at a time."""

    def __init__(self) -> None:
        # What is killed writes no coverage; measuring it would only slow it down.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        root = Path(__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=root, env={**kept, "PYTHONPATH": str(root)},
        )  # fmt: skip
        self._pid = 0

    def start(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        """Begin `python -m scrapy …` or `research …`."""
        arguments = command[2:] if command[1:3] == ["-m", "scrapy"] else command
        assert arguments[0] in ("scrapy", "research")
        self._tell({"arguments": arguments, "env": env, "cwd": str(cwd)})
        self._pid = int(self._hear())

    def kill(self) -> int:
        """Kill -9 what runs; returns its exit code."""
        os.kill(self._pid, signal.SIGKILL)  # it cannot have been reaped: its parent waits for us to ask
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of what runs; returns its exit code."""
        self._tell("reap")
        return int(self._hear())

    def close(self) -> None:
        self._process.communicate()

    def _tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(what)}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def _serve() -> None:
    import scrapy.cmdline
    import scrapy.commands.shell  # scrapy imports every command before it takes one
    import scrapy.core.downloader.handlers.http11
    import scrapy.core.engine
    import scrapy.crawler
    import scrapy.extensions.feedexport
    import youtube_transcript_api  # noqa: F401

    import research_scrapers.cli.main
    import research_scrapers.commands.crawl
    import research_scrapers.crawling.feeds
    import research_scrapers.spiders.yt_comments
    import research_scrapers.spiders.yt_transcripts

    assert "twisted.internet.reactor" not in sys.modules
    assert "research_scrapers.settings" not in sys.modules  # it reads the environment
    pid = 0
    while line := sys.stdin.readline():
        told = json.loads(line)
        if told == "reap":
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            continue
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        os.chdir(told["cwd"])
        os.environ.clear()
        os.environ.update(told["env"])
        sys.argv = told["arguments"]
        if sys.argv[0] == "research":
            research_scrapers.cli.main.main()
        else:
            scrapy.cmdline.execute(sys.argv)
        return


if __name__ == "__main__":
    _serve()
