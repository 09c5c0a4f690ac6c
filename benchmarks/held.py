"""What a process holds, seen from outside: Linux's /proc."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ESTABLISHED = "01"
_PROC = Path("/proc")


@dataclass(frozen=True)
class Held:
    """At one moment."""

    resident_mb: float
    anonymous_mb: float
    """Of these, what belongs to no file: heap and stacks."""
    threads: int
    descriptors: int
    connections: int
    """Established TCP connections."""


def held_by(process: int, beside: int = 0) -> Held | None:
    """What it holds; connections at the local port ``beside`` are ours and do not count. None: it has ended."""
    folder = _PROC / str(process)
    try:
        told = dict(line.split(":", 1) for line in (folder / "status").read_text(encoding="utf-8").splitlines())
        sockets = _established(folder, beside)
        names = [_target(path) for path in (folder / "fd").iterdir()]
        return Held(
            _mb(told["VmRSS"]), _mb(told["RssAnon"]), int(told["Threads"]),
            len(names) - sum(name in sockets.ours for name in names), sum(name in sockets.theirs for name in names),
        )  # fmt: skip
    except (FileNotFoundError, ProcessLookupError, KeyError):  # a process that is dead, but not buried, has no memory
        return None


@dataclass(frozen=True)
class _Sockets:
    ours: frozenset[str]
    theirs: frozenset[str]


def _established(folder: Path, beside: int) -> _Sockets:
    """The established connections of the machine, as descriptors name them."""
    ours, theirs = set(), set()
    for table in ("tcp", "tcp6"):
        for line in (folder / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            _, here, there, state, *rest = line.split()
            name = f"socket:[{rest[5]}]"
            if _port(here) == beside and _port(there):  # in whatever state; with nobody there it only listens
                ours.add(name)
            elif state == _ESTABLISHED:
                theirs.add(name)
    return _Sockets(frozenset(ours), frozenset(theirs))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except FileNotFoundError:  # closed meanwhile
        return ""


def _mb(told: str) -> float:
    return int(told.split(maxsplit=1)[0]) / 1024
