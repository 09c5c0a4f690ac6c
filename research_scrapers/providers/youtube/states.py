"""Why a video does not play: ``playabilityStatus`` → the leaf that names the reality behind it.

One state has many faces, by client and by language. So codes and structure are asked first, help-page numbers next
(they are the same in every language), and English words last. What nobody knows is `Unplayable`, never «gone».
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_scrapers.errors import (
    AgeRestricted,
    BotCheck,
    LoginRequired,
    MembersOnly,
    NotStartedYet,
    PremiumOnly,
    RateLimited,
    RegionLocked,
    ServerTrouble,
    SourceError,
    Unplayable,
    VideoPrivate,
    VideoUnavailable,
)
from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label, label_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator

BOT_HELP = "answer/3037019"
"""The help page that the bot check links."""

_AGE_STATUSES = ("AGE_VERIFICATION_REQUIRED", "AGE_CHECK_REQUIRED")

_WORDS: tuple[tuple[type[SourceError], tuple[str, ...]], ...] = (
    (BotCheck, ("not a bot", "page needs to be reloaded")),
    (RateLimited, ("try again later",)),
    (AgeRestricted, ("confirm your age", "inappropriate for some users", "age-restricted", "age restricted")),
    (VideoPrivate, ("private video", "video is private")),
    (PremiumOnly, ("premium", "requires payment", "purchase", "rent ")),
    (MembersOnly, ("channel's members", "members-only", "members only", "join this channel")),
    (RegionLocked, ("country", "your region", "your location")),
    (NotStartedYet, ("will begin in", "premieres in", "live in ")),
    (VideoUnavailable, ("no longer available", "been removed", "been terminated", "removed by the uploader")),
)
"""In this order: «Music Premium members» are not a channel's members."""


def player_state(data: dict[str, Any], video_id: str | None = None) -> SourceError | None:
    """The state that a player answer tells, bare or wrapped as ``reel_item_watch`` wraps it.

    ``reel_item_watch`` says «no such video» by an empty object.
    """
    if not data:
        return VideoUnavailable("the site answered an empty object")
    return playability(dict_at(data, "playerResponse") or data, video_id)


def playability(player: dict[str, Any], video_id: str | None = None) -> SourceError | None:
    """``None`` if the video plays, else what keeps it from playing."""
    given = str_at(player, "videoDetails", "videoId")
    if video_id and given and given != video_id:
        # A distrusted address can be handed another video's player.
        return BotCheck(f"the site answered with video {given}")
    status = dict_at(player, "playabilityStatus")
    code = str_at(status, "status")
    texts = list(_texts(status))
    detail = " · ".join(texts)[:300] or code or "no status"
    if dig(status, "errorScreen", "playerCaptchaViewModel") is not None:
        return BotCheck("a captcha before the video")
    if code == "OK":
        return None
    by_structure = _by_structure(player, status, code)
    if by_structure is not None:
        return by_structure(detail)
    words = " · ".join(texts).lower().replace("\u2019", "'")
    by_words = next((leaf for leaf, signs in _WORDS if any(sign in words for sign in signs)), None)
    if by_words is RateLimited and "content isn't available" not in words:
        # "An error occurred. Please try again later." is the server's trouble, not ours.
        return ServerTrouble(detail)
    if by_words is not None:
        return by_words(detail)
    return _by_code(status, code)(detail)


def scheduled_start(player: Any) -> int | None:
    """When a live stream or premiere is to begin (epoch seconds)."""
    slate = dig(player, "playabilityStatus", "liveStreamability", "liveStreamabilityRenderer", "offlineSlate")
    return int_at(slate, "liveStreamOfflineSlateRenderer", "scheduledStartTime")


def _by_structure(player: dict[str, Any], status: dict[str, Any], code: str | None) -> type[SourceError] | None:
    if code in _AGE_STATUSES or dig(status, "desktopLegacyAgeGateReason"):
        return AgeRestricted
    if code == "LIVE_STREAM_OFFLINE":
        return NotStartedYet
    if any(BOT_HELP in link for link in _links(status)):
        return BotCheck
    if code == "LOGIN_REQUIRED" and dig(player, "videoDetails", "isPrivate") is True:
        return VideoPrivate
    if code == "UNPLAYABLE" and scheduled_start(player):
        return NotStartedYet
    return None


def _by_code(status: dict[str, Any], code: str | None) -> type[SourceError]:
    screen = dict_at(status, "errorScreen")
    if code == "ERROR":
        return VideoUnavailable
    if code == "LOGIN_REQUIRED":
        if "confirmDialogRenderer" in screen:
            return AgeRestricted
        # The web client gives a private video no reason, only a message.
        return VideoPrivate if not str_at(status, "reason") and list_at(status, "messages") else LoginRequired
    if "playerLegacyDesktopYpcOfferRenderer" in screen:
        return MembersOnly
    return Unplayable


def _texts(status: dict[str, Any]) -> Iterator[str]:
    """Every text that explains the state, the most telling first. Screens repeat the reason: once will do."""
    screen = dict_at(status, "errorScreen")
    message = dict_at(screen, "playerErrorMessageRenderer")
    model = dig(screen, "playerInterstitialRenderer", "content", "interstitialViewModel")
    offer = dict_at(screen, "playerLegacyDesktopYpcOfferRenderer")
    found = [
        label_at(status, "reason"),
        *(label(text) for text in list_at(status, "messages")),
        label_at(message, "reason"),
        label_at(message, "subreason"),
        label_at(model, "title"),
        label_at(model, "description"),
        label_at(offer, "itemTitle"),
        label_at(offer, "offerDescription"),
        label_at(screen, "confirmDialogRenderer", "title"),
        label_at(status, "reasonTitle"),
    ]
    yield from dict.fromkeys(text for text in found if text)


def _links(status: dict[str, Any]) -> Iterator[str]:
    runs = list_at(status, "errorScreen", "playerErrorMessageRenderer", "subreason", "runs")
    for run in runs:
        yield str_at(run, "navigationEndpoint", "urlEndpoint", "url") or ""
