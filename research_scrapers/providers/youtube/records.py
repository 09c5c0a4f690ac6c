"""What both generations of comments have in common: where a comment stands, and how a record is put together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from research_scrapers.models import MAIN, Comment, Cursor, Segment, Transcript, content_hash
from research_scrapers.providers.youtube.times import edited, interval, iso

if TYPE_CHECKING:
    from research_scrapers.providers.youtube.counts import Count


@dataclass(frozen=True, slots=True)
class Frame:
    """What is the same for every record of a page."""

    video_id: str
    cursor: Cursor
    now: datetime
    fetched_at: str

    @classmethod
    def of(cls, video_id: str, cursor: Cursor, fetched_at: datetime) -> Frame:
        """A fetch time without a zone is taken to be UTC."""
        now = fetched_at.replace(tzinfo=UTC) if fetched_at.tzinfo is None else fetched_at.astimezone(UTC)
        return cls(video_id, cursor, now, iso(now))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a comment stands in its thread."""

    parent_id: str | None
    root_id: str
    depth: int


def place(frame: Frame, comment_id: str, inside: Comment | None, level: int | None) -> Place:
    """A reply's root is the part of its id before the dot; its parent is what encloses it, as far as the page shows.

    Flat reply pages show the root only. A page of a nested chain (named by a reply) does not tell how deep it hangs:
    there the site's own ``level`` does, where it is given.
    """
    root_id = comment_id.partition(".")[0]
    if inside is not None:
        return Place(inside.comment_id, inside.root_id, inside.depth + 1)
    chain = frame.cursor.chain
    if chain in (MAIN, comment_id):
        return Place(None, root_id, 0) if root_id == comment_id else Place(root_id, root_id, 1)
    chain_root = chain.partition(".")[0]
    if root_id not in (comment_id, chain_root):
        return Place(root_id, root_id, 1)
    return Place(chain, chain_root, 1 if chain == chain_root else max(2, level or 2))


def build(
    frame: Frame,
    where: Place,
    *,
    comment_id: str,
    text: str,
    author_id: str | None,
    author_name: str | None,
    by_uploader: bool,
    likes: Count | None,
    likes_text: str | None,
    replies: Count | None,
    published_text: str | None,
    pinned: bool,
    hearted: bool,
    paid: str | None,
    extras: dict[str, Any],
) -> Comment:
    """One record. The site's comments have no pictures; a channel's emojis are in ``extras``."""
    after, before = interval(published_text, frame.now)
    if likes is not None and not likes.exact:
        extras["like_count_approximate"] = True
        extras["like_count_text"] = likes_text
    if replies is not None and not replies.exact:
        extras["reply_count_approximate"] = True
    return Comment(
        provider="youtube",
        video_id=frame.video_id,
        comment_id=comment_id,
        parent_id=where.parent_id,
        root_id=where.root_id,
        depth=where.depth,
        text=text,
        author_id=author_id,
        author_name=author_name,
        author_is_uploader=by_uploader,
        like_count=likes.value if likes else None,
        reply_count=replies.value if replies else None,
        published_text=published_text,
        published_after=after,
        published_before=before,
        is_pinned=pinned,
        is_hearted=hearted,
        is_edited=edited(published_text),
        paid_amount=paid,
        pictures=[],
        position=None,
        content_hash=content_hash(text, paid or ""),
        fetched_at=frame.fetched_at,
        extras=extras,
    )


def build_transcript(
    video_id: str,
    fetched_at: str,
    segments: list[Segment],
    *,
    language: str,
    kind: str,
    name: str,
    extras: dict[str, Any],
) -> Transcript:
    """One track, read. Its content is its lines and their times to the millisecond; the site's videos have one part."""
    return Transcript(
        provider="youtube",
        video_id=video_id,
        part=1,
        language=language,
        kind=kind,
        name=name,
        segments=segments,
        content_hash=content_hash(*(part for one in segments for part in _content(one))),
        fetched_at=fetched_at,
        extras={key: value for key, value in extras.items() if value},
    )


def _content(one: Segment) -> tuple[str, str, str]:
    duration = "" if one.duration is None else str(round(one.duration * 1000))
    return str(round(one.start * 1000)), duration, one.text
