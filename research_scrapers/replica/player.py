"""The player's answer, as each client gets it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .identity import video_id as invented_id
from .model import CAPTIONED
from .playability import playability
from .template import runs
from .tracklist import WEB_CLIENTS, track_list

if TYPE_CHECKING:
    from .video import Video

_BARE = frozenset(("private", "removed", "unknown", "bot_check", "captcha"))
_NOT_FOR_KIDS = frozenset(("VISIONOS", "ANDROID_VR"))


def thumbnails(video_id: str) -> dict[str, Any]:
    sizes = (("default", 120, 90), ("mqdefault", 320, 180), ("hqdefault", 480, 360))
    return {
        "thumbnails": [
            {"url": f"https://i.ytimg.com/vi/{video_id}/{name}.jpg", "width": w, "height": h} for name, w, h in sizes
        ]
    }


def iso(stamp: int) -> str:
    return datetime.fromtimestamp(stamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def player_state(video: Video | None, client: str, *, token: bool = False) -> str:
    """The state that this client is told; `token`: it does not have to prove itself."""
    if video is None:
        return "unknown"
    traits = video.traits
    refused = not traits.refusal_clients or client in traits.refusal_clients
    if traits.refusal and refused and not (token and traits.refusal == "page_reload"):
        return traits.refusal
    if traits.kids and client in _NOT_FOR_KIDS and video.state in CAPTIONED:
        return "kids"
    return video.state


def player_response(
    video: Video | None,
    video_id: str,
    now: int,
    *,
    client: str = "WEB",
    hl: str = "en",
    state: str = "",
    token: bool = False,
) -> dict[str, Any]:
    """The whole answer; no streams, since nobody downloads media here."""
    state = state or player_state(video, client, token=token)
    web = client in WEB_CLIENTS
    answer: dict[str, Any] = {
        "responseContext": {"mainAppWebResponseContext": {"loggedOut": True}},
        "playabilityStatus": playability(state, video_id, now, client),
        "trackingParams": "CAAQu2kiEwj",
    }
    if video is None or state in _BARE:
        return answer
    if state in CAPTIONED:
        captions = track_list(video, client, hl)
        if captions is not None:
            answer["captions"] = captions
    upcoming, live = state == "upcoming", state == "no_section"
    details: dict[str, Any] = {
        "videoId": video_id,
        "title": video.title,
        "lengthSeconds": "0" if upcoming or live else "401",
        "keywords": ["replica", "sample"],
        "channelId": video.channel.channel_id,
        "isOwnerViewing": False,
        "shortDescription": video.title + "\n\nInvented for tests. };</script> https://example.org/",
        "isCrawlable": True,
        "thumbnail": thumbnails(video_id),
        "allowRatings": True,
        "viewCount": str(video.views),
        "author": video.channel_title,
        "isPrivate": False,
        "isUnpluggedCorpus": False,
        "isLiveContent": upcoming or live,
    }
    if upcoming:
        details["isUpcoming"] = True
    if live:
        details["isLive"] = True
    if state == "other_video":
        details["videoId"] = invented_id("other", video_id)
    answer["videoDetails"] = details
    if video.traits.kids and web:
        notice = {"mealbarPromoRenderer": {"messageTexts": [runs("This video is made for kids")]}}
        answer["messages"] = [notice]
    if not web:
        return answer
    page = {
        "thumbnail": thumbnails(video_id),
        "embed": {"iframeUrl": f"https://www.youtube.com/embed/{video_id}", "width": 1280},
        "title": {"simpleText": video.title},
        "description": {"simpleText": details["shortDescription"]},
        "lengthSeconds": details["lengthSeconds"],
        "ownerProfileUrl": f"http://www.youtube.com/{video.channel.name}",
        "externalChannelId": video.channel.channel_id,
        "isFamilySafe": state != "age_gated",
        "availableCountries": ["AD", "AE", "DE", "FR", "GB", "JP", "US"],
        "isUnlisted": False,
        "hasYpcMetadata": False,
        "viewCount": str(video.views),
        "category": "Education",
        "publishDate": iso(video.published),
        "ownerChannelName": video.channel_title,
        "uploadDate": iso(video.published),
        "externalVideoId": video_id,
        "canonicalUrl": f"https://www.youtube.com/watch?v={video_id}",
    }
    if upcoming or live:
        start = now + 64_800 if upcoming else now - 3_600
        page["liveBroadcastDetails"] = {"isLiveNow": live, "startTimestamp": iso(start)}
    answer["microformat"] = {"playerMicroformatRenderer": page}
    return answer
