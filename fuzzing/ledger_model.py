"""What the model of the ledger remembers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from research_scrapers.models import Cursor
from research_scrapers.store.database import Store
from research_scrapers.store.pages import Lease


@dataclass
class Held:
    """A lease as its owner remembers it, whether or not it still holds."""

    lease: Lease
    chains: dict[str, Cursor] = field(default_factory=dict)
    """Where this owner believes its chains to stand."""


@dataclass
class Sub:
    """What the model knows of a sub-job."""

    owner: str | None = None
    attempt: int = 0
    until: float = 0.0
    seen: set[str] = field(default_factory=set)
    chains: dict[str, tuple[str, Cursor]] = field(default_factory=dict)
    """Chain → state, and where it stands while it is open."""
    first: dict[str, Cursor] = field(default_factory=dict)
    restarted: set[str] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    """Threads whose token the site has forgotten."""
    status: str = "pending"

    def open(self) -> set[str]:
        return {name for name, (state, _) in self.chains.items() if state == "open"}


@cache
def fresh() -> bytes:
    """A database in which nothing has happened yet; to make one takes longer than to copy one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "research.db"
        Store(path).close()
        return path.read_bytes()
