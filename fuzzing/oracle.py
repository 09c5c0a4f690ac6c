"""What must hold for any input: a page that can be stored and followed, or a failure that has a name; and soon."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from research_scrapers.crawling.pipelines import _problem
from research_scrapers.crawling.requests import request_of
from research_scrapers.errors import ResearchError
from research_scrapers.models import Cursor, Kind, Link, Options, Page
from research_scrapers.providers import Provider, Route, Session, providers
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.pages import Lease, commit
from research_scrapers.store.runs import Runs

SLOWEST_S = 1.0
"""So much time of the processor one call may take."""
KINDS = {"comments": Kind.COMMENTS, "transcript": Kind.TRANSCRIPT, "danmaku": Kind.DANMAKU, "metadata": Kind.METADATA}


class Broken(AssertionError):
    """Something that must hold does not."""


@contextmanager
def in_time(what: str, limit: float = SLOWEST_S) -> Iterator[None]:
    """Fail if the block takes long."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    if took > limit:
        raise Broken(f"{what} took {took:.1f} s")


def named(call: Callable[[], Any], *, told: str = "strict") -> Any:
    """What the call returns; ``None`` if it raised a failure that has a name. Anything else goes up.

    ``told``: how its sentence is encoded. What a site caused is stored; what a person typed is only shown to them.
    """
    with in_time("a call"):
        try:
            return call()
        except ResearchError as error:
            str(error).encode("utf-8", told)
            return None


class _Shelf:
    """A store in which a page is stored for a moment."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="fuzzing-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.store = Store(Path(folder) / "research.db")
        self.store.conn.execute("PRAGMA synchronous = OFF")
        self._leases: dict[tuple[str, Kind, str], Lease] = {}

    def lease(self, provider: str, kind: Kind, video_id: str) -> Lease:
        key = (provider, kind, video_id)
        if key not in self._leases:
            run = f"run_{len(self._leases)}"
            runs = Runs(self.store)
            runs.create(run, "fuzzing", config={}, jobdir=None, links="")
            runs.take_in(run, [Link(provider, video_id, 1, video_id)], {provider: (kind,)}, "fuzzing")
            lease = Ledger(self.store, run, "fuzzing").claim(provider, {kind: "route"})
            assert lease is not None
            self._leases[key] = lease
        return self._leases[key]

    def holds(self, provider: str, kind: Kind, video_id: str, page: Page) -> None:
        """Store the page, and forget it."""
        lease = self.lease(provider, kind, video_id)
        item = SimpleNamespace(page=page, lease=lease)
        if any(_problem(record, item) for record in page.records):  # type: ignore[arg-type]
            return  # the pipeline refuses it by name
        conn = self.store.conn
        conn.execute("BEGIN")
        try:
            conn.execute(
                "INSERT INTO checkpoints (sub_job_id, chain, step, token, first_step, first_token, state)"
                " VALUES (?1, ?2, ?3, ?4, ?3, ?4, 'open')",
                (lease.id, page.cursor.chain, page.cursor.step, page.cursor.token),
            )
            commit(conn, lease, page, Options(), 0)
        finally:
            conn.execute("ROLLBACK")


@cache
def _shelf() -> _Shelf:
    return _Shelf()


def _followed(
    provider: Provider, kind: Kind, route: Route, video_id: str, cursor: Cursor, options: Options, session: Session
) -> None:
    """A cursor that a page gave can be asked for, and only at the site."""
    if cursor.step.startswith("library"):
        return  # a library asks for it, by its own address
    ask = route.ask(video_id, cursor, session, options)
    parts = urlsplit(ask.url)
    if parts.scheme != "https" or parts.netloc not in provider.hosts:
        raise Broken(f"a page leads to {ask.url[:200]}")
    request = request_of(ask, provider, f"{provider.name}:{kind}", kind)
    for name, values in request.headers.items():
        if any(sign in value for value in values for sign in (b"\r", b"\n", b"\0")):
            raise Broken(f"the header {name!r} has more than one line")


def page_holds(
    provider: str, kind: Kind, route: Route, video_id: str, page: Page, options: Options, session: Session
) -> None:
    """The page can be stored, and every cursor of it can be followed."""
    with in_time("storing a page"):
        _shelf().holds(provider, kind, video_id, page)
    site = providers()[provider]
    known = {**session, **page.session}
    for cursor in (*page.found[:20], *([page.next] if page.next else [])):
        _followed(site, kind, route, video_id, cursor, options, known)
