"""The player's answer: whether a video can be played, in the words of each client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .template import runs

if TYPE_CHECKING:
    from .video import Video

_ICON = {
    "thumbnail": {"thumbnails": [{"url": "//s.ytimg.com/yts/img/meh7-vflGevej7.png", "width": 140, "height": 100}]},
    "icon": {"iconType": "ERROR_OUTLINE"},
}
_REMOVED = frozenset(("private", "removed", "unknown"))


def _screen(reason: str, subreason: str = "") -> dict[str, Any]:
    error: dict[str, Any] = {"reason": {"simpleText": reason}, **_ICON}
    if subreason:
        error["subreason"] = runs(subreason)
    return {"playerErrorMessageRenderer": error}


def playability(state: str, video_id: str, now: int, web: bool) -> dict[str, Any]:
    """`playabilityStatus`. The web and the app clients word the same state differently."""
    match state:
        case "bot_check":
            reason = "Sign in to confirm you’re not a bot"
            screen = _screen(reason, "This helps protect our community. Learn more")
            return {"status": "LOGIN_REQUIRED", "reason": reason, "errorScreen": screen}
        case "age_gated":
            reason, sub = (
                "Sign in to confirm your age",
                "This video may be inappropriate for some users.",
            )
            if not web:
                return {"status": "LOGIN_REQUIRED", "reason": sub}
            return {
                "status": "LOGIN_REQUIRED",
                "reason": reason,
                "errorScreen": _screen(reason, sub),
                "desktopLegacyAgeGateReason": 1,
            }
        case "private":
            text = "This is a private video. Please sign in to verify that you may see it."
            answer = {"status": "LOGIN_REQUIRED", "messages": [text]}
            return answer if web else {**answer, "reason": "This video is private"}
        case "removed" | "unknown":
            reason = "Video unavailable" if web else "This video is unavailable"
            return {"status": "ERROR", "reason": reason, "errorScreen": _screen(reason)}
        case "members_only":
            reason = (
                "This video is available to this channel's members on level: Patron "
                "(or any higher level). Join this channel to get access to members-only content."
            )
            offer = {"playerLegacyDesktopYpcOfferRenderer": {"itemTitle": "Members-only content"}}
            answer2: dict[str, Any] = {"status": "UNPLAYABLE", "reason": reason}
            return {**answer2, "errorScreen": offer} if web else answer2
        case "region_blocked":
            text = "The uploader has not made this video available in your country"
            if web:
                screen = _screen("Video unavailable", text)
                return {
                    "status": "UNPLAYABLE",
                    "reason": "Video unavailable",
                    "errorScreen": screen,
                }
            return {"status": "UNPLAYABLE", "reason": text, "errorScreen": _screen(text)}
        case "upcoming":
            slate = {"scheduledStartTime": str(now + 64_800), "mainText": runs("Live in 18 hours")}
            return {
                "status": "LIVE_STREAM_OFFLINE",
                "reason": "This live event will begin in 18 hours.",
                "playableInEmbed": True,
                "liveStreamability": {
                    "liveStreamabilityRenderer": {
                        "videoId": video_id,
                        "offlineSlate": {"liveStreamOfflineSlateRenderer": slate},
                        "pollDelayMs": "15000",
                    }
                },
            }
    return {
        "status": "OK",
        "playableInEmbed": True,
        "miniplayer": {"miniplayerRenderer": {"playbackMode": "PLAYBACK_MODE_ALLOW"}},
        "contextParams": "Q0FFU0FnZ0M=",
    }


def thumbnails(video_id: str) -> dict[str, Any]:
    sizes = (("default", 120, 90), ("mqdefault", 320, 180), ("hqdefault", 480, 360))
    return {
        "thumbnails": [
            {"url": f"https://i.ytimg.com/vi/{video_id}/{name}.jpg", "width": w, "height": h} for name, w, h in sizes
        ]
    }


def iso(stamp: int) -> str:
    return datetime.fromtimestamp(stamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def player_response(video: Video | None, video_id: str, now: int, *, web: bool, state: str = "") -> dict[str, Any]:
    """The whole answer; no streams, since nobody downloads media here."""
    state = state or (video.state if video else "unknown")
    answer: dict[str, Any] = {
        "responseContext": {"mainAppWebResponseContext": {"loggedOut": True}},
        "playabilityStatus": playability(state, video_id, now, web),
        "trackingParams": "CAAQu2kiEwj",
    }
    if video is None or state in _REMOVED or state == "bot_check":
        return answer
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
    answer["videoDetails"] = details
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
