"""The knobs, read once and checked once: a wrong value is one clear error before anything happens."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from research_scrapers import __version__
from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Kind, Options
from research_scrapers.verdicts import RetryPolicy

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

SORTS = ("newest", "top")
REFRESHES = {Kind.COMMENTS: ("all", "new"), Kind.TRANSCRIPT: ("stale", "always", "never")}
"""The first is the default."""
SCRAPYS = (
    "DOWNLOAD_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_MAXSIZE", "DOWNLOAD_WARNSIZE", "CONCURRENT_ITEMS",
    "AUTOTHROTTLE_START_DELAY", "AUTOTHROTTLE_MAX_DELAY", "AUTOTHROTTLE_TARGET_CONCURRENCY",
)  # fmt: skip
"""Scrapy's own numbers, checked here so that a slip of the pen is told in a sentence."""
ARGUMENTS = {
    Kind.COMMENTS: {
        "sort": "newest (complete) or top",
        "max_comments": "at most so many comments and replies per video",
        "max_replies": "at most so many replies per thread (0 = none)",
        "refresh": "all, or new: stop where an earlier run's unbroken range begins",
    },
    Kind.TRANSCRIPT: {
        "languages": "in order of preference: en,zh-Hans,* (default: the video's own)",
        "kinds": "manual,asr: which, and in which order",
        "translate": "also the machine translation into this language",
        "tracks": "all: every track that the site lists",
        "refresh": "stale, always or never: what to do about a video whose transcripts are here",
    },
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be in flight, and how fast it may go out."""

    total: int = 64
    per_domain: int = 16
    per_artifact: int = 24
    rate: float = 5.0
    """Requests a second to one domain once the burst is used up; 0 = no bucket."""
    burst: int = 3000
    budget_rate: float = 0.5
    """Requests a second of those that have a budget of their own (translations)."""
    cooldown_s: float = 2.0
    cooldown_cap_s: float = 900.0
    threshold: int = 8
    patience: int = 8


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings say, checked."""

    db: Path
    jobdir: str | None
    obey_robots: bool
    robots_agent: str
    api_key: str | None
    origin: str | None
    limits: Limits
    retry: RetryPolicy
    window: int
    lease_s: float
    transcript_age_days: float
    privacy: str = "keep"
    blobs: str | None = None

    @property
    def in_flight(self) -> int:
        """How many requests of one line can be in flight at all."""
        return min(self.limits.total, self.limits.per_domain, self.limits.per_artifact)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        number = _Numbers(settings)
        for name in SCRAPYS:
            number.real(name, 0)
        return cls(
            db=Path(settings.get("RESEARCH_DB") or "research.db"),
            jobdir=_jobdir(settings.get("JOBDIR")),
            obey_robots=settings.getbool("ROBOTSTXT_OBEY"),
            robots_agent=settings.get("ROBOTSTXT_USER_AGENT") or settings.get("USER_AGENT") or "*",
            api_key=settings.get("YOUTUBE_API_KEY") or None,
            origin=_origin(settings.get("ORIGIN")),
            limits=Limits(
                total=number.whole("CONCURRENT_REQUESTS", 1),
                per_domain=number.whole("CONCURRENT_REQUESTS_PER_DOMAIN", 1),
                per_artifact=number.whole("CONCURRENT_REQUESTS_PER_ARTIFACT", 1),
                rate=number.real("DOMAIN_RATE", 0),
                burst=number.whole("DOMAIN_BURST", 1),
                budget_rate=number.real("TRANSLATION_RATE", 0),
                cooldown_s=number.real("BREAKER_COOLDOWN_S", 0),
                threshold=number.whole("BREAKER_THRESHOLD", 1),
                patience=number.whole("BREAKER_PATIENCE", 0),
            ),
            retry=RetryPolicy(
                attempts=number.whole("RETRY_TIMES", 0),
                base=number.real("RETRY_BACKOFF_BASE", 1),
                cap_s=number.real("RETRY_BACKOFF_CAP_S", 0),
            ),
            window=number.whole("COMMENTS_INFLIGHT_WINDOW", 1),
            lease_s=number.real("LEASE_S", 1),
            transcript_age_days=number.real("TRANSCRIPT_AGE_DAYS", 0),
            privacy=settings.get("PRIVACY") or "keep",
            blobs=settings.get("BLOBS") or None,
        )

    def options(self, arguments: Mapping[str, Any], kind: Kind = Kind.COMMENTS) -> Options:
        """The spider arguments (``-a``), checked."""
        allowed = ARGUMENTS[kind]
        known = {name: value for name, value in arguments.items() if not name.startswith("_")}  # Scrapyd adds _job
        for name in known.keys() - allowed.keys():
            nearest = difflib.get_close_matches(name, ["links", *allowed], n=1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: links, {', '.join(allowed)}"
            raise SettingInvalid(f"-a {name}={known[name]}: no such argument. {hint}")
        return Options(
            sort=_one_of("sort", known.get("sort", "newest"), SORTS),
            refresh=_one_of("refresh", known.get("refresh", REFRESHES[kind][0]), REFRESHES[kind]),
            max_comments=_count("max_comments", known.get("max_comments")),
            max_replies=_count("max_replies", known.get("max_replies")),
            languages=known.get("languages") or None,
            kinds=known.get("kinds") or None,
            translate=known.get("translate") or None,
            tracks=known.get("tracks") or None,
        )

    def snapshot(self, options: Options, route: str) -> dict[str, Any]:
        """What a run records of its configuration: everything but secrets."""
        return {
            "version": __version__, "route": route, "robots": "obey" if self.obey_robots else "ignore",
            "api_key": "set" if self.api_key else "not set", "options": asdict(options), "limits": asdict(self.limits),
            "retry": asdict(self.retry), "comments_inflight_window": self.window, "privacy": self.privacy,
            "blobs": self.blobs,
        }  # fmt: skip


class _Numbers:
    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def whole(self, name: str, least: int) -> int:
        return int(self._checked(name, least, int, "a whole number"))

    def real(self, name: str, least: float) -> float:
        return float(self._checked(name, least, float, "a number"))

    def _checked(self, name: str, least: float, kind: type[int] | type[float], what: str) -> float:
        value = self._settings.get(name)
        try:
            number = kind(value)
        except (TypeError, ValueError):
            raise SettingInvalid(f"{name}={value}: it must be {what}") from None
        if not least <= number < float("inf"):
            raise SettingInvalid(f"{name}={value}: it must be {what} of at least {least}")
        return number


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        nearest = difflib.get_close_matches(str(value), allowed, n=1)
        hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(allowed)}"
        raise SettingInvalid(f"-a {name}={value}: no such choice. {hint}")
    return value


def _count(name: str, value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise SettingInvalid(f"-a {name}={value}: it must be a whole number") from None
    if number < 0:
        raise SettingInvalid(f"-a {name}={value}: it must not be negative")
    return number


def _origin(origin: str | None) -> str | None:
    """The replica's address, which must be on this machine: nobody is to be pointed at a stranger's server."""
    if not origin:
        return None
    parts = urlsplit(origin)
    try:
        loopback = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        loopback = False
    if parts.scheme != "http" or not loopback or parts.path.strip("/"):
        raise SettingInvalid(f"ORIGIN={origin}: it must be a loopback address such as http://127.0.0.1:8000")
    return origin.rstrip("/")


def _jobdir(value: str | None) -> str | None:
    if not value:
        return None
    try:
        Path(value).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingInvalid(f"JOBDIR={value}: {error.strerror}. Name a folder that can be made") from error
    return value
