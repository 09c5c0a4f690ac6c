"""Small records for tests."""

from __future__ import annotations

from pathlib import Path

from research_scrapers.models import BadLine, Comment, Cursor, Kind, Link, Page, content_hash
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.runs import Runs

VIDEO = "dQw4w9WgXcQ"


def comment(name: str, *, text: str | None = None, parent: str | None = None, video: str = VIDEO, **changes) -> Comment:
    text = f"text of {name}" if text is None else text
    values = {
        "provider": "youtube", "video_id": video, "comment_id": name, "parent_id": parent, "root_id": parent or name,
        "depth": 0 if parent is None else 1, "text": text, "author_id": "UC1", "author_name": "@a",
        "author_is_uploader": False, "like_count": 1, "reply_count": 0, "published_text": "1 day ago",
        "published_after": "2026-11-14T00:00:00Z", "published_before": "2026-11-15T00:00:00Z", "is_pinned": False,
        "is_hearted": False, "is_edited": False, "paid_amount": None, "pictures": [], "position": None,
        "content_hash": content_hash(text), "fetched_at": "2026-11-16T00:00:00Z", "extras": {},
    }  # fmt: skip
    return Comment(**(values | changes))


def page(
    token: str, names: list[str], *, next_token: str | None = None, chain: str = "", step: str = "page", **more
) -> Page:
    """A page of top-level comments, or of replies when it answers a thread's chain."""
    records = tuple(comment(name, parent=chain or None) for name in names)
    following = Cursor(chain, step, next_token) if next_token else None
    return Page(Cursor(chain, step, token), records=records, next=following, **more)


class Clock:
    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Bench:
    """A store with one run and a ledger for it."""

    def __init__(self, folder: Path, *videos: str, run: str = "run_1", owner: str = "me") -> None:
        self.store = Store(folder / "research.db")
        self.runs = Runs(self.store)
        self.clock = Clock()
        self.begin(run, *(videos or (VIDEO,)), owner=owner)

    def begin(self, run: str, *videos: str, owner: str = "me") -> None:
        self.run = run
        self.runs.create(run, "yt_comments", config={}, jobdir=None, links="test")
        lines: list[Link | BadLine] = [
            Link("youtube", video, n, video) for n, video in enumerate(videos or (VIDEO,), 1)
        ]
        self.runs.take_in(run, lines, {"youtube": (Kind.COMMENTS,)}, "yt_comments")
        self.ledger = self.ledger_of(owner)

    def ledger_of(self, owner: str) -> Ledger:
        return Ledger(self.store, self.run, owner, lease_s=60, clock=self.clock)

    def claim(self, token: str = "1", step: str = "page"):
        lease = self.ledger.claim("youtube", {Kind.COMMENTS: "web"})
        if lease is not None and not lease.cursors:
            self.ledger.begin(lease, Cursor("", step, token))
        return lease

    def rows(self, sql: str, *values):
        return [tuple(row) for row in self.store.conn.execute(sql, values)]
