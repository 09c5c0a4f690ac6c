"""Comments by the official Data API v3: exact times and counts, one unit of quota a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import LayoutChanged, NotStartedYet, VideoPrivate, VideoUnavailable
from research_scrapers.models import MAIN, Answer, Ask, Comment, Cursor, Options, Page, Video, content_hash
from research_scrapers.providers import NO_SESSION, Route, Session
from research_scrapers.providers.tree import LARGEST
from research_scrapers.providers.youtube.api_errors import thread_gone
from research_scrapers.providers.youtube.endpoints import api_replies, api_threads, api_video
from research_scrapers.providers.youtube.records import Frame
from research_scrapers.providers.youtube.refusals import error_in
from research_scrapers.providers.youtube.times import exact
from research_scrapers.providers.youtube.tree import decode_object, dict_at, dig, int_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII)
_DEAD_UPLOADS = ("deleted", "failed", "rejected")


class ApiRoute(Route):
    """Steps: ``video`` → ``threads`` …, and ``replies`` only for threads whose replies did not all come along."""

    name = "api"

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The video first: it tells whether there is one, and how many comments it claims."""
        return Cursor(MAIN, "video")

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor. The key is not ours to know: it is added where the request leaves."""
        match cursor.step:
            case "video":
                return api_video(video_id)
            case "replies":
                return api_replies(cursor.chain, cursor.token)
            case _:
                return api_threads(video_id, cursor.token, options.sort)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        frame = Frame.of(video_id, cursor, fetched_at)
        data = decode_object(answer.body)
        if cursor.step == "replies" and thread_gone(data):
            return Page(cursor=cursor, note="thread_gone")
        refused = error_in(data, answer, frame.now)
        if refused is not None:
            raise refused
        if type(data.get("items")) is not list and ("items" in data or "kind" not in data):
            raise LayoutChanged("an answer without items")
        match cursor.step:
            case "video":
                return _read_video(data, frame)
            case "replies":
                return _read_replies(data, frame)
            case _:
                return _read_threads(data, frame)

    def probes(self) -> tuple[str, ...]:
        """None: the API is governed by its terms and its key, not by robots.txt."""
        return ()


def _read_video(data: dict[str, Any], frame: Frame) -> Page:
    item = next((one for one in list_at(data, "items") if str_at(one, "id") == frame.video_id), None)
    if item is None:
        raise VideoUnavailable("the API does not know the video")
    snippet, statistics, status = (dict_at(item, part) for part in ("snippet", "statistics", "status"))
    if status.get("uploadStatus") in _DEAD_UPLOADS:
        raise VideoUnavailable(f"the upload is {status['uploadStatus']}")
    if status.get("privacyStatus") == "private":
        raise VideoPrivate
    claimed = int_at(statistics, "commentCount")
    if snippet.get("liveBroadcastContent") == "upcoming" and not claimed:
        raise NotStartedYet(str_at(item, "liveStreamingDetails", "scheduledStartTime") or "")
    return Page(
        cursor=frame.cursor,
        next=Cursor(MAIN, "threads", "", claimed),
        claimed=claimed,
        video=_video(item, snippet, statistics, frame),
    )


def _video(item: Any, snippet: dict[str, Any], statistics: dict[str, Any], frame: Frame) -> Video:
    details, status = dict_at(item, "contentDetails"), dict_at(item, "status")
    told = {
        "description": str_at(snippet, "description"),
        "tags": [tag for tag in list_at(snippet, "tags") if isinstance(tag, str)],
        "category_id": str_at(snippet, "categoryId"),
        "made_for_kids": status.get("madeForKids") is True,
        "privacy": str_at(status, "privacyStatus"),
        "age_restricted": dig(details, "contentRating", "ytRating") == "ytAgeRestricted",
        "is_live": snippet.get("liveBroadcastContent") == "live",
        "live_start": exact(dig(item, "liveStreamingDetails", "actualStartTime")),
    }
    return Video(
        provider="youtube",
        video_id=frame.video_id,
        title=str_at(snippet, "title"),
        channel_id=str_at(snippet, "channelId"),
        channel_name=str_at(snippet, "channelTitle"),
        published_at=exact(snippet.get("publishedAt")),
        duration_s=_seconds(str_at(details, "duration")),
        view_count=int_at(statistics, "viewCount"),
        like_count=int_at(statistics, "likeCount"),
        comment_count=int_at(statistics, "commentCount"),
        language=str_at(snippet, "defaultAudioLanguage") or str_at(snippet, "defaultLanguage"),
        parts=None,
        fetched_at=frame.fetched_at,
        extras={name: value for name, value in told.items() if value},
    )


def _seconds(duration: str | None) -> int | None:
    match = _DURATION.fullmatch(duration[:40]) if duration else None
    if match is None:
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    length = (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds
    return length if length <= LARGEST else None


def _read_threads(data: dict[str, Any], frame: Frame) -> Page:
    records: list[Comment] = []
    found: list[Cursor] = []
    for thread in list_at(data, "items"):
        snippet = dict_at(thread, "snippet")
        total = int_at(snippet, "totalReplyCount") or 0
        root = _comment(snippet.get("topLevelComment"), frame, None, str_at(snippet, "channelId"), total)
        inline = [
            _comment(reply, frame, root.comment_id, str_at(snippet, "channelId"), None)
            for reply in list_at(thread, "replies", "comments")
        ]
        records += [root, *inline]
        if len(inline) < total:
            found.append(Cursor(root.comment_id, "replies", "", total))
    return Page(frame.cursor, tuple(records), _onward(data, frame.cursor), tuple(found), note=_loop(data, frame.cursor))


def _read_replies(data: dict[str, Any], frame: Frame) -> Page:
    records = tuple(_comment(reply, frame, frame.cursor.chain, None, None) for reply in list_at(data, "items"))
    return Page(frame.cursor, records, _onward(data, frame.cursor), note=_loop(data, frame.cursor))


def _onward(data: dict[str, Any], cursor: Cursor) -> Cursor | None:
    token = str_at(data, "nextPageToken")
    return None if token in (None, cursor.token) else Cursor(cursor.chain, cursor.step, token or "", cursor.claimed)


def _loop(data: dict[str, Any], cursor: Cursor) -> str | None:
    token = str_at(data, "nextPageToken")
    return "token_loop" if token and token == cursor.token else None


def _comment(node: Any, frame: Frame, parent: str | None, channel: str | None, replies: int | None) -> Comment:
    comment_id, snippet = str_at(node, "id"), dict_at(node, "snippet")
    text = snippet.get("textOriginal", snippet.get("textDisplay"))
    if comment_id is None or not isinstance(text, str):
        raise LayoutChanged("a comment without an id or a text")
    if parent is not None:
        parent = str_at(snippet, "parentId") or parent
    published, updated = exact(snippet.get("publishedAt")), exact(snippet.get("updatedAt"))
    author = str_at(snippet, "authorChannelId", "value")
    uploader = str_at(snippet, "channelId") or channel
    return Comment(
        provider="youtube",
        video_id=frame.video_id,
        comment_id=comment_id,
        parent_id=parent,
        root_id=parent or comment_id,
        depth=0 if parent is None else 1,
        text=text,
        author_id=author,
        author_name=str_at(snippet, "authorDisplayName"),
        author_is_uploader=author is not None and author == uploader,
        like_count=int_at(snippet, "likeCount"),
        reply_count=replies,
        published_text=str_at(snippet, "publishedAt"),
        published_after=published,
        published_before=published,
        is_pinned=False,
        is_hearted=False,
        is_edited=updated is not None and updated != published,
        paid_amount=None,
        pictures=[],
        position=None,
        content_hash=content_hash(text, ""),
        fetched_at=frame.fetched_at,
        extras=dict(_notes(snippet, updated if updated != published else None)),
    )


def _notes(snippet: dict[str, Any], updated: str | None) -> Iterator[tuple[str, Any]]:
    name = str_at(snippet, "authorDisplayName") or ""
    told = {
        "handle": name if name.startswith("@") else None,
        "avatar": str_at(snippet, "authorProfileImageUrl"),
        "updated_at": updated,
        "moderation": str_at(snippet, "moderationStatus"),
    }
    yield from ((key, value) for key, value in told.items() if value)
