"""The one item that flows through Scrapy: a page. Feeds unfold it into a line per record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from research_scrapers.models import Answer, Page
from research_scrapers.store.pages import Lease, Receipt


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page was read from, and when."""

    answer: Answer
    at: datetime
    visit: Mapping[str, str] = field(default_factory=dict)
    """What the reading took from the visit."""
    sent: bool = True
    """Whether a request went out for it; a cache may have had it."""


@dataclass(eq=False)
class PageItem:
    """A parsed page on its way into the store."""

    page: Page
    lease: Lease
    quota: int = 0
    reading: Reading | None = None
    """``None`` where nothing was read: a step that only leads elsewhere."""
    receipt: asyncio.Future[Receipt] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """What the store made of it; the spider goes on only when it is there."""

    def __repr__(self) -> str:
        cursor = self.page.cursor
        return f"<page of {self.lease.video_id} chain={cursor.chain or 'main'!r} records={len(self.page.records)}>"
