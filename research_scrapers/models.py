"""The words of the project as plain dataclasses, so that every room means the same by them.

Nothing here knows a site, a database or Scrapy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MAIN = ""
"""The chain id of a sub-job's main chain; every other chain is named by its thread's root id."""


class Status(StrEnum):
    """Where a job or a sub-job stands. ``invalid`` is a line of a links file that names no video."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INVALID = "invalid"


class Outcome(StrEnum):
    """What a ``success`` is worth. ``empty`` is proved empty; ``partial`` always comes with a reason."""

    COMPLETE = "complete"
    EMPTY = "empty"
    PARTIAL = "partial"


class Kind(StrEnum):
    """A piece of a job's work: what a sub-job collects."""

    METADATA = "metadata"
    TRANSCRIPT = "transcript"
    COMMENTS = "comments"
    DANMAKU = "danmaku"


@dataclass(frozen=True, slots=True)
class Link:
    """One video that a line of text names."""

    provider: str
    video_id: str
    line: int
    text: str
    priority: int = 0
    part: int | None = None
    """The part of the video that the link names, if it names one."""
    deadline: float | None = None
    """After this moment (seconds since 1970) it is not worth beginning."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of a links file that names no video, and why."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a chain of pages stands: which endpoint to ask next, and with what token."""

    chain: str
    step: str
    token: str = ""
    claimed: int | None = None
    """How many records the site says this chain holds, where it says so."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as a plain description: what to send, not how."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    official: bool = False
    """An official API, governed by its terms and its key rather than by robots.txt."""
    quota: int = 0
    """What the request costs of a daily quota."""
    signed: bool = False
    """The site wants it signed; `providers.Visit.dress` does that at the moment of sending."""
    budget: str = ""
    """A name for requests that have a pace and a breaker of their own, because the site throttles them harder."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, reduced to what a provider may look at."""

    url: str
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for, as far as a provider or a walk needs to know it."""

    sort: str = "newest"
    max_comments: int | None = None
    max_replies: int | None = None
    refresh: str = "all"
    language: str = "en"
    languages: str | None = None
    kinds: str | None = None
    translate: str | None = None
    tracks: str | None = None
    parts: str = "all"
    """Of a video in several parts, where its link names none: ``all`` or the ``first``."""
    danmaku: bool = True
    history: str | None = None
    """Danmaku of these days too: ``2024-01-01..2024-01-31``, or ``all``."""


@dataclass(slots=True)
class Comment:
    """One comment or reply, in the columns that exports and the database share."""

    provider: str
    video_id: str
    comment_id: str
    parent_id: str | None
    root_id: str
    depth: int
    text: str
    author_id: str | None
    author_name: str | None
    author_is_uploader: bool
    like_count: int | None
    reply_count: int | None
    published_text: str | None
    published_after: str | None
    published_before: str | None
    is_pinned: bool
    is_hearted: bool
    is_edited: bool
    paid_amount: str | None
    pictures: list[str]
    position: int | None
    content_hash: str
    fetched_at: str
    extras: dict[str, Any] = field(default_factory=dict)
    """What only some sites tell: badges, approximate counts, avatar, voice replies, style runs."""


@dataclass(slots=True)
class Segment:
    """One line of a transcript: seconds, and the words with their own times where the site tells them."""

    start: float
    duration: float | None
    text: str
    words: list[tuple[float, str]] | None = None
    """Absolute start in seconds and text of each word."""


@dataclass(slots=True)
class Transcript:
    """One caption track, read."""

    provider: str
    video_id: str
    part: int
    language: str
    kind: str
    """``manual``, ``asr`` or ``translated``."""
    name: str
    segments: list[Segment]
    content_hash: str
    fetched_at: str
    extras: dict[str, Any] = field(default_factory=dict)
    """Track id, route, format, source language of a translation …"""


@dataclass(frozen=True, slots=True)
class Track:
    """One caption track that a site lists."""

    track_id: str
    """YouTube's ``vssId``: unique where the language is not."""
    language: str
    kind: str
    name: str
    url: str
    translatable: bool = False
    is_own: bool = False
    """In the video's own language, as far as the site tells."""


@dataclass(slots=True)
class Danmaku:
    """One comment that flies over a part of a video at its moment."""

    provider: str
    video_id: str
    part: int
    cid: str
    danmaku_id: str
    progress_ms: int
    text: str
    mode: int
    color: int
    font_size: int
    pool: int
    weight: int | None
    sent_at: str | None
    author_hash: str | None
    content_hash: str
    fetched_at: str
    extras: dict[str, Any] = field(default_factory=dict)
    """Likes, action, animation, and from which source it came."""


@dataclass(slots=True)
class Video:
    """One video's own facts."""

    provider: str
    video_id: str
    title: str | None
    channel_id: str | None
    channel_name: str | None
    published_at: str | None
    duration_s: int | None
    view_count: int | None
    like_count: int | None
    comment_count: int | None
    language: str | None
    parts: int | None
    fetched_at: str
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """What one parsed response yields. It is stored as one transaction, or not at all."""

    cursor: Cursor
    """The cursor that this page answers."""
    records: tuple[Comment | Transcript | Danmaku, ...] = ()
    next: Cursor | None = None
    """Where its chain goes on; ``None`` ends the chain."""
    found: tuple[Cursor, ...] = ()
    """Chains that this page discovered (reply threads)."""
    claimed: int | None = None
    """How many records the site claims for the whole sub-job."""
    claimed_exact: bool = True
    video: Video | None = None
    session: Mapping[str, str] = field(default_factory=dict)
    """What later requests of this sub-job need from this answer."""
    resolved: tuple[str, ...] | None = None
    """The videos that a short link, an episode or a season turned out to be."""
    note: str | None = None
    """A reason why even a finished walk is not the whole truth, such as ``top_order_only``."""


def counted(number: int, thing: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def content_hash(*parts: str) -> str:
    """Digest of what makes a record's content; like counts and positions are not content."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
