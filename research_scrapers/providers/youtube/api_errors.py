"""The Data API's error envelope → the leaf behind it. Its reasons are codes: text is read only where none is given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from research_scrapers.errors import (
    AccessRefused,
    CommentsDisabled,
    CursorExpired,
    KeyRefused,
    LayoutChanged,
    QuotaExhausted,
    RateLimited,
    ServerTrouble,
    VideoPrivate,
    VideoUnavailable,
)
from research_scrapers.providers.youtube.times import iso
from research_scrapers.providers.youtube.tree import dict_at, int_at, list_at, str_at

QUOTA = {"quotaExceeded", "dailyLimitExceeded", "dailyLimitExceededUnreg"}
RATE = {"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED"}
KEY = {
    "keyInvalid",
    "keyExpired",
    "API_KEY_INVALID",
    "API_KEY_EXPIRED",
    "API_KEY_SERVICE_BLOCKED",
    "API_KEY_HTTP_REFERRER_BLOCKED",
    "API_KEY_IP_ADDRESS_BLOCKED",
    "API_KEY_ANDROID_APP_BLOCKED",
    "API_KEY_IOS_APP_BLOCKED",
    "CONSUMER_INVALID",
    "CONSUMER_SUSPENDED",
    "SERVICE_DISABLED",
    "accessNotConfigured",
    "ipRefererBlocked",
    "authError",
    "UNAUTHENTICATED",
    "CREDENTIALS_MISSING",
}
THREAD_GONE = {"commentNotFound", "commentThreadNotFound", "parentCommentNotFound"}
OLD_TOKEN = {"invalidPageToken", "pageTokenInvalid"}


def api_refusal(error: dict[str, Any], url: str, now: datetime | None, wait: float | None) -> Exception | None:
    """The leaf, or ``None`` if the answer is one that the route can read: a thread that vanished under our hands."""
    code = int_at(error, "code") or 0
    named = _reasons(error)
    reasons = set(named)
    detail = f"{named[0] if named else code}: {str_at(error, 'message') or ''}".rstrip(": ")[:300]
    if reasons & QUOTA or _per_day(error):
        return QuotaExhausted(detail, until=next_quota(now) if now else "")
    if reasons & RATE or code == 429:
        return RateLimited(detail, retry_after=wait)
    if reasons & KEY or code == 401 or _keyless(error):
        return KeyRefused(detail)
    if "commentsDisabled" in reasons:
        return CommentsDisabled(detail)
    if "videoNotFound" in reasons:
        return VideoUnavailable(detail)
    if reasons & THREAD_GONE:
        return None
    if (
        "forbidden" in reasons
        and "videoId=" in url
        and (str_at(error, "errors", 0, "domain") or "").startswith("youtube")
    ):
        return VideoPrivate(detail)
    return _by_code(code, reasons, detail, url, wait)


def thread_gone(data: Any) -> bool:
    """Whether a decoded answer says that the thread whose replies were asked for no longer exists."""
    return bool(THREAD_GONE.intersection(_reasons(dict_at(data, "error"))))


def _by_code(code: int, reasons: set[str], detail: str, url: str, wait: float | None) -> Exception:
    paged = "pageToken" in parse_qs(urlsplit(url).query)
    if reasons & OLD_TOKEN or ("processingFailure" in reasons and paged):
        return CursorExpired(detail)
    if code >= 500 or "processingFailure" in reasons:
        return ServerTrouble(detail, retry_after=wait)
    if code == 403:
        return AccessRefused(detail, retry_after=wait)
    if code == 404:
        return VideoUnavailable(detail) if "/commentThreads" in url or "/videos" in url else ServerTrouble(detail)
    return LayoutChanged(f"the API refuses our request: {detail}")


def next_quota(now: datetime) -> str:
    """The next midnight in Pacific time, when the daily quota begins anew."""
    local = (now.replace(tzinfo=UTC) if now.tzinfo is None else now).astimezone(_pacific())
    midnight = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return iso(midnight)


def _pacific() -> tzinfo:
    try:
        return ZoneInfo("America/Los_Angeles")
    except ZoneInfoNotFoundError:
        # A system without zone data: standard time is at most an hour too late, and late is the safe side.
        return timezone(timedelta(hours=-8))


def _reasons(error: dict[str, Any]) -> list[str]:
    found = [str_at(one, "reason") for one in list_at(error, "errors")]
    found += [str_at(one, "reason") for one in list_at(error, "details")]
    found.append(str_at(error, "status"))
    return [reason for reason in found if reason]


def _per_day(error: dict[str, Any]) -> bool:
    limits = (str_at(dict_at(one, "metadata"), "quota_limit") or "" for one in list_at(error, "details"))
    return any("PerDay" in limit for limit in limits)


def _keyless(error: dict[str, Any]) -> bool:
    message = (str_at(error, "message") or "").lower()
    return "api key not valid" in message or "unregistered callers" in message or "api key expired" in message
