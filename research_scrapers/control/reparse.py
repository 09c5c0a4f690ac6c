"""A run's records once more, from the bodies that it kept (RAW_CAPTURE): no request goes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from research_scrapers.arguments import read_options
from research_scrapers.control.lines import SPIDERS
from research_scrapers.control.scrape import NAME, arguments_of
from research_scrapers.errors import InputError, LayoutChanged, ResearchError
from research_scrapers.models import Comment, Kind, Options, Page
from research_scrapers.providers import Route, providers
from research_scrapers.store.bodies import BlobMissing
from research_scrapers.store.pages import within_limits
from research_scrapers.store.raw import Kept, blobs_of, kept_bodies
from research_scrapers.store.restore import Tally, copy_ledger, restore

if TYPE_CHECKING:
    from research_scrapers.store.database import Store
    from research_scrapers.store.runs import Run


@dataclass
class Reparsed:
    """What came of it."""

    bodies: int = 0
    tally: Tally = field(default_factory=Counter)
    unread: list[str] = field(default_factory=list)
    """Bodies that are gone or that cannot be read, each with its reason."""


def reparse(store: Store, run: Run, into: Store | None = None) -> Reparsed:
    """Read the bodies of a run again, in their order, and store what is not stored yet: in the same database, or in
    a new one.
    """
    if not kept_bodies(store.conn, run.id, most=1):
        raise InputError(f"{run.id} kept no bodies: they are kept with -s RAW_CAPTURE=True")
    if into is not None:
        copy_ledger(store, into, run.id)
    reader, result = _Reader(store, run), Reparsed()
    for batch in _batches(store, run.id):
        pages = [(kept, reader.read(kept, result)) for kept in batch]
        with (into or store).writing() as conn:
            for kept, page in pages:
                if page is not None:
                    result.tally += restore(conn, kept, page.video, _wanted(kept, page, reader.options(kept)))
        result.bodies += len(batch)
    return result


def _batches(store: Store, run_id: str) -> Iterator[list[Kept]]:
    last = 0
    while batch := kept_bodies(store.conn, run_id, last):
        yield batch
        last = batch[-1].id


def _wanted(kept: Kept, page: Page, options: Options) -> list[object]:
    """The records of a page, as far as the limits of then allow."""
    if kept.kind is not Kind.COMMENTS:
        return list(page.records)
    comments = [record for record in page.records if isinstance(record, Comment)]
    return [*within_limits(comments, page.cursor, kept.held, kept.collected, options)]


class _Reader:
    """Reads bodies as the run did, with the parsers of today."""

    def __init__(self, store: Store, run: Run) -> None:
        self._blobs = blobs_of(store)
        self._run = run
        self._routes: dict[tuple[str, Kind, str], Route] = {}
        self._options: dict[tuple[str, Kind], Options] = {}
        self._learnt: dict[tuple[int, Kind], dict[str, str]] = {}
        """What pages that were read again hand on: (job, kind) → facts."""

    def read(self, kept: Kept, result: Reparsed) -> Page | None:
        try:
            body = self._blobs.get(kept.address)
            learnt = {**self._learnt.get((kept.job, Kind.METADATA), {}), **self._learnt.get((kept.job, kept.kind), {})}
            page = self._route(kept).read(
                kept.video_id, kept.cursor, kept.answer(body), kept.fetched_at, self.options(kept),
                {**kept.session, **learnt},
            )  # fmt: skip
        except (BlobMissing, ResearchError) as error:
            reason = str(error)
        except Exception as error:  # a parser that stumbles over one body must not hide the others
            reason = str(LayoutChanged(f"{type(error).__name__}: {error}"))
        else:
            self._learnt.setdefault((kept.job, kept.kind), {}).update(page.session)
            return page
        result.unread.append(f"{kept.video_id} {kept.kind} {kept.cursor.step}: {reason}")
        return None

    def options(self, kept: Kept) -> Options:
        key = (kept.provider, kept.kind)
        if key not in self._options:
            told = self._run.config.get("options", {})
            if self._run.spider == NAME:
                line = next(name for name, spider in SPIDERS.items()
                            if spider.provider_name == kept.provider and kept.kind in spider.kinds)  # fmt: skip
                typed = {name: str(int(value)) if isinstance(value, bool) else value  # as a person types it
                         for name, value in told.items() if value is not None}  # fmt: skip
                self._options[key] = read_options(arguments_of(line, typed), SPIDERS[line].kinds)
            else:
                known = {one.name for one in fields(Options)}
                self._options[key] = Options(**{name: value for name, value in told.items() if name in known})
        return self._options[key]

    def _route(self, kept: Kept) -> Route:
        """The route by which the run went: with or without a key, which is not needed to read."""
        key = (kept.provider, kept.kind, kept.route)
        if key not in self._routes:
            provider, options = providers()[kept.provider], self.options(kept)
            ways = [provider.route(kept.kind, options, with_key) for with_key in (None, "-")]
            self._routes[key] = next((way for way in ways if way.name == kept.route), ways[0])
        return self._routes[key]


__all__ = ["Reparsed", "reparse"]
