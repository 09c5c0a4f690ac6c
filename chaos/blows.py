"""What can be done to a command from inside its own process, at named moments of its work.

The product has no hooks for this: in a fork that is about to become the command, the functions that stand for a moment
are wrapped. One that has been renamed is an error here, not a silence.
"""

from __future__ import annotations

import datetime as calendar
import functools
import importlib
import inspect
import itertools
import os
import pkgutil
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_NAMED = {
    "claim": ["research_scrapers.store.ledger:Ledger.claim"],
    "fetch": ["research_scrapers.crawling.handler:ProviderHandler.download_request"],
    "parse": [],
    "commit": ["research_scrapers.store.fence:Group.settle"],
    "transaction": ["research_scrapers.store.fence:commit"],
    "finish": ["research_scrapers.store.ledger:Ledger.finish"],
    "feed": ["research_scrapers.crawling.feeds:Feed.export_item"],
    "export": [],
    "manifest": ["research_scrapers.exports.export:write_manifest"],
}
POINTS = tuple(_NAMED)
"""After ``transaction``, and before ``commit``, the rows of a page are written and not committed."""


def functions(point: str) -> Iterator[tuple[Any, str]]:
    """The functions that stand for a point, as owner and name; raises where one does not exist."""
    named = [_found(name) for name in _NAMED[point]]
    if point == "parse":
        named = list(_methods("research_scrapers.providers", "read", "ask"))
    if point == "export":
        named = list(_methods("research_scrapers.exports", "write", "begin"))
    assert named, f"no function stands for {point}"
    for owner, name in named:
        assert callable(getattr(owner, name))
    yield from named


def _found(name: str) -> tuple[Any, str]:
    module, _, path = name.partition(":")
    owner: Any = importlib.import_module(module)
    *classes, last = path.split(".")
    for one in classes:
        owner = getattr(owner, one)
    return owner, last


def _methods(package: str, name: str, beside: str) -> Iterator[tuple[type, str]]:
    """Every class of a package that has both methods: its routes, its writers. A new one is included by itself."""
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        module = importlib.import_module(found.name)
        for thing in vars(module).values():
            if isinstance(thing, type) and thing.__module__ == found.name and {name, beside} <= vars(thing).keys():
                yield thing, name


def prepare(blows: dict[str, Any]) -> None:
    """Arm this process. ``strike``: at which point and the how manieth time, what is done (a signal, no more files, a
    jump of the clock in seconds) and which file is made as a proof; ``files``: how many it may still open;
    ``busy_timeout``: SQLite's patience; ``clock``: it can jump.
    """
    clock = _Clock()
    if "strike" in blows:
        _arm(clock, **blows["strike"])
    if "clock" in blows:
        clock.take_over()
    if "busy_timeout" in blows:
        owner, name = _found("research_scrapers.store.database:Store.__init__")
        defaults = getattr(owner, name).__kwdefaults__
        assert "busy_timeout" in defaults
        defaults["busy_timeout"] = blows["busy_timeout"]
    if "files" in blows:
        _leave_files(blows["files"])


def _leave_files(number: int) -> None:
    """Let this process open only so many more."""
    opened = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + number,) * 2)


def _arm(clock: _Clock, point: str, when: str, nth: int, what: str, mark: str) -> None:
    calls = itertools.count(1)

    def strike() -> None:
        if next(calls) != nth:
            return
        Path(mark).touch()
        if what.startswith("SIG"):
            os.kill(os.getpid(), signal.Signals[what])
        elif what == "files":
            _leave_files(0)
        else:
            clock.offset += float(what)

    for owner, name in list(functions(point)):
        setattr(owner, name, _struck(getattr(owner, name), when, strike))


def _struck(function: Callable[..., Any], when: str, strike: Callable[[], None]) -> Callable[..., Any]:
    before, after = when == "before", when == "after"

    @functools.wraps(function)
    def struck(*args: Any, **kwargs: Any) -> Any:
        if before:
            strike()
        result = function(*args, **kwargs)
        if after:
            strike()
        return result

    @functools.wraps(function)
    async def struck_later(*args: Any, **kwargs: Any) -> Any:
        if before:
            strike()
        result = await function(*args, **kwargs)
        if after:
            strike()
        return result

    return struck_later if inspect.iscoroutinefunction(function) else struck


class _Clock:
    """The time of day as this process sees it."""

    def __init__(self) -> None:
        self.offset = 0.0
        self._real = time.time

    def now(self) -> float:
        return self._real() + self.offset

    def take_over(self) -> None:
        """Replace it wherever the product asks for it: by name, as a default, as a date."""
        taken, real = self, calendar.datetime

        class Shifted(calendar.datetime):
            @classmethod
            def now(cls, tz: calendar.tzinfo | None = None) -> Any:
                return real.fromtimestamp(taken.now(), tz)

        old, time.time = time.time, self.now
        for name, module in list(sys.modules.items()):
            if not name.startswith("research_scrapers"):
                continue
            for attribute, value in list(vars(module).items()):
                if value is old:
                    setattr(module, attribute, self.now)
                elif value is real:
                    setattr(module, attribute, Shifted)
                elif isinstance(value, type):
                    _replace_defaults(value, old, self.now)


def _replace_defaults(owner: type, old: Any, new: Any) -> None:
    for function in vars(owner).values():
        if inspect.isfunction(function):
            function.__defaults__ = tuple(new if one is old else one for one in function.__defaults__ or ()) or None
            for name, one in (function.__kwdefaults__ or {}).items():
                if one is old:
                    function.__kwdefaults__[name] = new
