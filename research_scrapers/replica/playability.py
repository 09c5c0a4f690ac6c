"""`playabilityStatus`: whether a video can be played, in the words of each client."""

from __future__ import annotations

from typing import Any

from .template import runs
from .tracklist import WEB_CLIENTS

_ICON = {
    "thumbnail": {"thumbnails": [{"url": "//s.ytimg.com/yts/img/meh7-vflGevej7.png", "width": 140, "height": 100}]},
    "icon": {"iconType": "ERROR_OUTLINE"},
}
_BOT_HELP = "https://support.google.com/youtube/answer/3037019#zippy=%2Ccheck-that-youre-signed-into-youtube"


def _screen(reason: str, subreason: dict[str, Any] | str = "", *, web: bool = True) -> dict[str, Any]:
    error: dict[str, Any] = {"reason": {"simpleText": reason} if web else runs(reason), **_ICON}
    if subreason:
        error["subreason"] = runs(subreason) if isinstance(subreason, str) else subreason
    return {"playerErrorMessageRenderer": error}


def _bot_check(web: bool) -> dict[str, Any]:
    reason = "Sign in to confirm you’re not a bot"
    more = {"text": "Learn more", "navigationEndpoint": {"urlEndpoint": {"url": _BOT_HELP}}}
    sub = {"runs": [{"text": "This helps protect our community. "}, more]}
    return {"status": "LOGIN_REQUIRED", "reason": reason, "errorScreen": _screen(reason, sub, web=web)}


def _age_gate(web: bool) -> dict[str, Any]:
    reason, sub = "Sign in to confirm your age", "This video may be inappropriate for some users."
    answer: dict[str, Any] = {"status": "LOGIN_REQUIRED", "desktopLegacyAgeGateReason": 1}
    if web:
        return {**answer, "reason": reason, "errorScreen": _screen(reason, sub)}
    title = "You must sign in to view this video"
    dialog = {"confirmDialogRenderer": {"title": runs(title), "dialogMessages": [runs(sub)]}}
    return {**answer, "reason": sub, "errorScreen": dialog, "reasonTitle": title}


def _private(web: bool) -> dict[str, Any]:
    text = "This is a private video. Please sign in to verify that you may see it."
    answer: dict[str, Any] = {"status": "LOGIN_REQUIRED", "messages": [text]}
    if web:
        return answer
    screen = {"playerErrorMessageRenderer": {"subreason": runs("If the owner of this video has granted you access, …")}}
    return {**answer, "reason": "This video is private", "errorScreen": screen}


def _members(web: bool) -> dict[str, Any]:
    reason = (
        "This video is available to this channel's members on level: Patron "
        "(or any higher level). Join this channel to get access to members-only content."
    )
    answer: dict[str, Any] = {"status": "UNPLAYABLE", "reason": reason}
    if not web:
        return {**answer, "errorScreen": _screen(reason, web=False)}
    return {
        **answer,
        "errorScreen": {"playerLegacyDesktopYpcOfferRenderer": {"itemTitle": "Members-only content"}},
    }


def _region(web: bool) -> dict[str, Any]:
    text = "The uploader has not made this video available in your country"
    if web:
        screen = _screen("Video unavailable", text)
        return {"status": "UNPLAYABLE", "reason": "Video unavailable", "errorScreen": screen}
    return {"status": "UNPLAYABLE", "reason": text, "errorScreen": _screen(text, web=False)}


def _unplayable(reason: str, web: bool) -> dict[str, Any]:
    return {"status": "UNPLAYABLE", "reason": reason, "errorScreen": _screen(reason, web=web)}


def _live(video_id: str, **more: Any) -> dict[str, Any]:
    stream = {"videoId": video_id, **more, "pollDelayMs": "15000"}
    return {"playableInEmbed": True, "liveStreamability": {"liveStreamabilityRenderer": stream}}


def playability(state: str, video_id: str, now: int, client: str = "WEB") -> dict[str, Any]:
    """The same state wears different words on the web and in the apps."""
    web = client in WEB_CLIENTS
    match state:
        case "bot_check":
            return _bot_check(web)
        case "captcha":
            screen = {"playerCaptchaViewModel": {"title": {"content": "Confirm that you’re not a robot"}}}
            return {"status": "LOGIN_REQUIRED", "reason": "Complete the check to go on", "errorScreen": screen}
        case "session_limit":
            return _unplayable("This content isn't available, try again later.", web)
        case "page_reload":
            screen = _screen("The page needs to be reloaded.")
            return {"status": "UNPLAYABLE", "reason": "Video unavailable", "errorScreen": screen}
        case "music_premium":
            return _unplayable("This video is only available to Music Premium members", web)
        case "processing":
            return _unplayable("We're processing this video. Check back later.", web)
        case "kids":
            return {"status": "UNPLAYABLE", "reason": "This video is not available"}
        case "age_gated":
            return _age_gate(web)
        case "private":
            return _private(web)
        case "removed" | "unknown":
            reason = "Video unavailable" if web else "This video is unavailable"
            return {"status": "ERROR", "reason": reason, "errorScreen": _screen(reason, web=web)}
        case "members_only":
            return _members(web)
        case "region_blocked":
            return _region(web)
        case "upcoming":
            slate = {"scheduledStartTime": str(now + 64_800), "mainText": runs("Live in 18 hours")}
            return {
                "status": "LIVE_STREAM_OFFLINE",
                "reason": "This live event will begin in 18 hours.",
                **_live(video_id, offlineSlate={"liveStreamOfflineSlateRenderer": slate}),
            }
        case "no_section":  # a stream that is on
            return {"status": "OK", **_live(video_id, broadcastId="1")}
    return {
        "status": "OK",
        "playableInEmbed": True,
        "miniplayer": {"miniplayerRenderer": {"playbackMode": "PLAYBACK_MODE_ALLOW"}},
        "contextParams": "Q0FFU0FnZ0M=",
    }
