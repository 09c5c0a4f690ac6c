"""The same as ``research scrape``, for a program: ``from research_scrapers import scrape``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from research_scrapers.control.events import Event, Listener, Listeners
from research_scrapers.control.lines import SPIDERS
from research_scrapers.control.scrape import Order, Result
from research_scrapers.control.scrape import scrape as _scrape
from research_scrapers.control.watching import Watcher, Watchers
from research_scrapers.links import Links, open_links

__all__ = ["Event", "Result", "scrape"]


def scrape(
    links: str | os.PathLike[str] | Iterable[str] | None = None,
    *,
    db: str | os.PathLike[str] | None = None,
    on_event: Listener | None = None,
    lines: Iterable[str] = tuple(SPIDERS),
    workers: int | None = None,
    policy: str | None = None,
    resume: str | None = None,
    settings: Mapping[str, Any] | None = None,
    watchers: Iterable[Watcher] = (),
    **arguments: str,
) -> Result:
    """Collect everything that ``links`` name (a file, or links themselves), and say what it came to.

    ``on_event`` is called with an `Event` whenever something happens; an exception of its own never hurts the run.
    ``arguments`` are those of the spiders (``languages="en,*"``, ``max_comments="500"``), ``settings`` any of Scrapy's
    or ours. It runs Twisted's reactor, so it can be called once in a process.
    """
    known = Settings()
    known.setmodule("research_scrapers.settings", priority="project")
    # `research scrape` tells of the whole run; each spider's own lines would say it four times.
    known["EXTENSIONS"]["research_scrapers.crawling.progress.Progress"] = None
    known.setdict({**(settings or {}), **({"RESEARCH_DB": os.fspath(db)} if db else {})}, priority="cmdline")
    order = Order(_links(links), tuple(lines), arguments, policy, workers, resume)
    return _scrape(known, order, Listeners(*([on_event] if on_event else [])), Watchers(*watchers))


def _links(links: str | os.PathLike[str] | Iterable[str] | None) -> Links | None:
    if links is None:
        return None
    if isinstance(links, str | Path | os.PathLike):
        return open_links(os.fspath(links))
    return Links("a program", texts=tuple(links))
