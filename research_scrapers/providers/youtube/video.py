"""A video's own facts, out of the player answer and the watch-next data, whichever of them is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_scrapers.models import Video
from research_scrapers.providers.youtube.counts import Count, parse_count
from research_scrapers.providers.youtube.states import scheduled_start
from research_scrapers.providers.youtube.times import exact
from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label_at, list_at, str_at

if TYPE_CHECKING:
    from research_scrapers.providers.youtube.records import Frame


def read_video(results: list[Any], player: dict[str, Any] | None, comments: Count | None, frame: Frame) -> Video:
    """Exact where the player tells; what only the page prints is read from the page."""
    details = dict_at(player, "videoDetails")
    micro = dict_at(player, "microformat", "playerMicroformatRenderer")
    primary = _renderer(results, "videoPrimaryInfoRenderer")
    owner = dict_at(_renderer(results, "videoSecondaryInfoRenderer"), "owner", "videoOwnerRenderer")
    live = details.get("isLive") is True
    duration = int_at(details, "lengthSeconds") or int_at(micro, "lengthSeconds")
    return Video(
        provider="youtube",
        video_id=frame.video_id,
        title=str_at(details, "title") or label_at(primary, "title") or label_at(micro, "title"),
        channel_id=str_at(details, "channelId")
        or str_at(micro, "externalChannelId")
        or str_at(owner, "title", "runs", 0, "navigationEndpoint", "browseEndpoint", "browseId"),
        channel_name=str_at(details, "author") or str_at(micro, "ownerChannelName") or label_at(owner, "title"),
        published_at=exact(micro.get("publishDate")) or exact(micro.get("uploadDate")),
        duration_s=None if live else duration,
        view_count=_views(details, micro, primary),
        like_count=int_at(micro, "likeCount"),
        comment_count=comments.value if comments and comments.exact else None,
        language=None,
        parts=None,
        fetched_at=frame.fetched_at,
        extras=_extras(details, micro, primary, player, comments),
    )


def _renderer(results: list[Any], kind: str) -> dict[str, Any]:
    return next((found for item in results if (found := dict_at(item, kind))), {})


def _views(details: dict[str, Any], micro: dict[str, Any], primary: dict[str, Any]) -> int | None:
    told = int_at(details, "viewCount")
    if told is None:
        told = int_at(micro, "viewCount")
    if told is not None:
        return told
    renderer = dict_at(primary, "viewCount", "videoViewCountRenderer")
    if renderer.get("isLive") is True:
        return None  # that number is of those watching now
    printed = parse_count(label_at(renderer, "viewCount"))
    return printed.value if printed and printed.exact else None


def _extras(
    details: dict[str, Any],
    micro: dict[str, Any],
    primary: dict[str, Any],
    player: dict[str, Any] | None,
    comments: Count | None,
) -> dict[str, Any]:
    told = {
        "description": str_at(details, "shortDescription"),
        "tags": [tag for tag in list_at(details, "keywords") if isinstance(tag, str)],
        "category": str_at(micro, "category"),
        "published_text": label_at(primary, "dateText"),
        "is_live": details.get("isLive") is True,
        "is_live_content": details.get("isLiveContent") is True,
        "is_upcoming": details.get("isUpcoming") is True,
        "is_unlisted": micro.get("isUnlisted") is True,
        "not_family_safe": micro.get("isFamilySafe") is False,
        "scheduled_start": scheduled_start(player),
        "live_start": exact(dig(micro, "liveBroadcastDetails", "startTimestamp")),
        "comment_count_approximate": comments.value if comments and not comments.exact else None,
    }
    return {name: value for name, value in told.items() if value}
