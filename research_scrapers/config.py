"""The knobs, read once and checked once: a wrong value is one clear error before anything happens."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from research_scrapers import __version__
from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Kind, Options
from research_scrapers.providers import Pace, Provider, providers
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
    Kind.DANMAKU: {
        "danmaku": "0 leaves danmaku out",
        "parts": "all (default) or first: of a video in several parts whose link names none",
        "history": "danmaku of these days too: 2024-01-01..2024-01-31, or all (needs a login; a request per day)",
    },
    Kind.METADATA: {},
    Kind.TRANSCRIPT: {
        "languages": "in order of preference: en,zh-Hans,* (default: the video's own)",
        "kinds": "manual,asr: which, and in which order",
        "translate": "also the machine translation into this language",
        "tracks": "all: every track that the site lists",
        "refresh": "stale, always or never: what to do about a video whose transcripts are here",
        "parts": "all (default) or first: of a video in several parts whose link names none",
    },
}
PARTS = ("all", "first")
_PROJECT = 20
"""Scrapy's priority of the project's settings: what stands above it, a person has decided."""


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
    unhurried: bool = True
    """Whether a refusal is met with the pause that people who know the site report, which may be half an hour."""
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """Domains with limits of their own."""

    def pace(self, domain: str) -> Pace:
        """The limits of one domain."""
        return self.paces.get(domain) or Pace(self.per_domain, self.rate, self.burst)


@dataclass(frozen=True, slots=True)
class Config:
    """What the settings say, checked."""

    db: Path
    jobdir: str | None
    obey_robots: bool
    robots_agent: str
    api_key: str | None
    logins: Mapping[str, str]
    """Provider → login cookie, where the person has set one."""
    origin: str | None
    limits: Limits
    retry: RetryPolicy
    window: int
    transcripts_boost: float
    lease_s: float
    transcript_age_days: float

    def in_flight(self, provider: Provider) -> int:
        """How many requests of one line can be in flight at all."""
        widest = max(self.limits.pace(domain).in_flight for domain in set(provider.hosts.values()))
        return min(self.limits.total, widest, self.limits.per_artifact)

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
            logins={"bilibili": login} if (login := _login(settings)) else {},
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
                unhurried=not _decided(settings, "BREAKER_COOLDOWN_S"),
                paces=_paces(settings),
            ),
            retry=RetryPolicy(
                attempts=number.whole("RETRY_TIMES", 0),
                base=number.real("RETRY_BACKOFF_BASE", 1),
                cap_s=number.real("RETRY_BACKOFF_CAP_S", 0),
            ),
            window=number.whole("COMMENTS_INFLIGHT_WINDOW", 1),
            transcripts_boost=number.real("TRANSCRIPTS_PRIORITY_BOOST", 0),
            lease_s=number.real("LEASE_S", 1),
            transcript_age_days=number.real("TRANSCRIPT_AGE_DAYS", 0),
        )

    def options(self, arguments: Mapping[str, Any], kinds: Sequence[Kind] = (Kind.COMMENTS,)) -> Options:
        """The spider arguments (``-a``), checked."""
        allowed = {name: told for kind in kinds for name, told in ARGUMENTS[kind].items()}
        kind = kinds[0]
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
            parts=_one_of("parts", known.get("parts", PARTS[0]), PARTS),
            danmaku=_one_of("danmaku", str(known.get("danmaku", "1")), ("1", "0")) == "1",
            history=_history(known.get("history")),
        )

    def snapshot(self, options: Options, route: str) -> dict[str, Any]:
        """What a run records of its configuration: everything but secrets."""
        return {
            "version": __version__, "route": route, "robots": "obey" if self.obey_robots else "ignore",
            "api_key": "set" if self.api_key else "not set",
            "logins": sorted(self.logins), "options": asdict(options), "limits": asdict(self.limits),
            "retry": asdict(self.retry), "comments_inflight_window": self.window,
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
        except (TypeError, ValueError, OverflowError):
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


def _history(value: str | None) -> str | None:
    if not value or value == "all":
        return value or None
    try:
        first, _, last = value.partition("..")
        if date.fromisoformat(first) <= date.fromisoformat(last or first):
            return f"{first}..{last or first}"
    except ValueError:
        pass
    raise SettingInvalid(f"-a history={value}: it must be days such as 2024-01-01..2024-01-31, or all")


def _decided(settings: BaseSettings, name: str) -> bool:
    """Whether a person set this, rather than the project."""
    return (settings.getpriority(name) or 0) > _PROJECT


def _paces(settings: BaseSettings) -> dict[str, Pace]:
    """The limits of domains that have their own: by the person, by the site's provider, in this order."""
    own = {domain: pace for provider in providers().values() for domain, pace in provider.paces.items()}
    in_flight = _by_domain(settings, "DOMAIN_CONCURRENCY", int, 1)
    rates = _by_domain(settings, "DOMAIN_RATES", float, 0)
    found = {}
    for domain in {*own, *in_flight, *rates}:
        pace = own.get(domain)
        general = Pace(
            settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"), settings.getfloat("DOMAIN_RATE"),
            settings.getint("DOMAIN_BURST"),
        )  # fmt: skip
        if pace is None:
            pace = general
        if _decided(settings, "CONCURRENT_REQUESTS_PER_DOMAIN"):
            pace = replace(pace, in_flight=general.in_flight)
        if _decided(settings, "DOMAIN_RATE"):
            pace = replace(pace, rate=general.rate)
        if _decided(settings, "DOMAIN_BURST"):
            pace = replace(pace, burst=general.burst)
        found[domain] = replace(
            pace, in_flight=int(in_flight.get(domain, pace.in_flight)), rate=rates.get(domain, pace.rate)
        )
    return found


def _by_domain(settings: BaseSettings, name: str, kind: type[int] | type[float], least: float) -> dict[str, float]:
    """A setting such as ``{"bilibili.com": 4}`` or ``bilibili.com=4,youtube.com=16``."""
    value = settings.get(name) or {}
    known = sorted({domain for provider in providers().values() for domain in provider.hosts.values()})
    found: dict[str, float] = {}
    try:
        if isinstance(value, str) and not value.lstrip().startswith("{"):
            value = dict(part.split("=") for part in value.split(","))
        elif isinstance(value, str):
            value = json.loads(value)
        for domain, number in dict(value).items():
            found[domain.strip()] = kind(number)
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise SettingInvalid(f"{name}={value}: write it as bilibili.com=2,youtube.com=16") from None
    for domain, amount in found.items():
        if domain not in known:
            nearest = difflib.get_close_matches(domain, known, n=1)
            raise SettingInvalid(f"{name}: {domain} is no domain of ours. There are: {', '.join(nearest or known)}")
        if not least <= amount < float("inf"):
            raise SettingInvalid(f"{name}: {domain}={amount} must be at least {least}")
    return found


def _login(settings: BaseSettings) -> str | None:
    """The Bilibili login: the cookie's value itself, or taken out of a cookies file."""
    value = str(settings.get("BILIBILI_SESSDATA") or "").strip()
    file = settings.get("BILIBILI_COOKIES")
    if value or not file:
        return value.removeprefix("SESSDATA=").rstrip(";") or None
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError) as error:  # among them: no text, no such person's home
        raise SettingInvalid(f"BILIBILI_COOKIES={file}: {getattr(error, 'strerror', None) or error}") from error
    found = re.search(r"(?:^|[\s;\"'])SESSDATA(?:=|\t|\"\s*:\s*\")([^\s;\"',]+)", text)
    listed = re.search(r'"name"\s*:\s*"SESSDATA"[^{}]*?"value"\s*:\s*"([^"]+)"', text)
    if found is None and listed is None:
        raise SettingInvalid(f"BILIBILI_COOKIES={file}: there is no SESSDATA cookie in it. Export the cookies of a "
                             "browser that is logged in")  # fmt: skip
    return (found or listed)[1]  # type: ignore[index]


def _origin(origin: str | None) -> str | None:
    """The replica's address, which must be on this machine: nobody is to be pointed at a stranger's server."""
    if not origin:
        return None
    try:
        parts = urlsplit(origin)
        loopback = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        parts, loopback = urlsplit(""), False
    if parts.scheme != "http" or not loopback or parts.path.strip("/"):
        raise SettingInvalid(f"ORIGIN={origin}: it must be a loopback address such as http://127.0.0.1:8000")
    return origin.rstrip("/")


def _jobdir(value: str | None) -> str | None:
    if not value:
        return None
    try:
        Path(value).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise SettingInvalid(
            f"JOBDIR={value}: {getattr(error, 'strerror', None) or error}. Name a folder that can be made"
        ) from error
    return value
