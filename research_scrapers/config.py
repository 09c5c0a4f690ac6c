"""The knobs, read once and checked once: a wrong value is one clear error before anything happens."""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.settings import default_settings

from research_scrapers import __version__, knobs
from research_scrapers.arguments import ARGUMENTS, read_options
from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Kind, Options
from research_scrapers.providers import Pace, Provider, providers
from research_scrapers.verdicts import RetryPolicy

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["ARGUMENTS", "Config", "Limits", "restore", "take_names"]

SCRAPYS = (
    "DOWNLOAD_TIMEOUT", "DOWNLOAD_DELAY", "DOWNLOAD_MAXSIZE", "DOWNLOAD_WARNSIZE", "CONCURRENT_ITEMS",
    "AUTOTHROTTLE_START_DELAY", "AUTOTHROTTLE_MAX_DELAY", "AUTOTHROTTLE_TARGET_CONCURRENCY",
)  # fmt: skip
"""Scrapy's own numbers, checked here so that a slip of the pen is told in a sentence."""
_COOKIE = re.compile(r"[!#-:<-\[\]-~]+")
"""What a cookie's value may consist of."""
MOST_WORKERS = 10_000
"""Each is a place in memory that is looked at whenever one is free; the caps let far fewer do something."""
_PROJECT, _RUN, FLAG, _COMMAND = 20, 30, 35, 40
"""Scrapy's priorities: the project's settings, and above them what a person has decided: in an earlier session of the
run, by a flag of ours, by ``-s``."""


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
    """``inf``: a breaker that opened stays open, and what is left of its line fails."""
    cooldown_cap_s: float = 900.0
    threshold: int = 8
    share: float = 0.5
    sample: int = 40
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
    workers: int
    policy: str
    transcripts_boost: float
    lease_s: float
    transcript_age_days: float
    knobs: Mapping[str, Any] = field(default_factory=dict)
    """Every knob as it stands, without secrets."""
    decided: Mapping[str, str] = field(default_factory=dict)
    """Those settings that a person has decided, and where."""
    privacy: str = "keep"
    blobs: str | None = None

    def in_flight(self, provider: Provider) -> int:
        """How many requests of one line can be in flight at all."""
        widest = max(self.limits.pace(domain).in_flight for domain in set(provider.hosts.values()))
        return min(self.limits.total, widest, self.limits.per_artifact)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Config:
        check(settings)
        number = _Numbers(settings)
        for name in SCRAPYS:
            number.real(name, 0)
        for name in ("MAX_BROWSERS", "MAX_PAGES_PER_BROWSER"):
            if number.whole(name, 0):
                raise SettingInvalid(f"{_told(settings, name)}: this version has no browser route. Leave it at 0")
        return cls(
            db=Path(settings.get("RESEARCH_DB") or "research.db"),
            jobdir=_jobdir(settings.get("JOBDIR")),
            obey_robots=_switch(settings, "ROBOTSTXT_OBEY"),
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
                cooldown_s=number.seconds("BREAKER_COOLDOWN_S"),
                threshold=number.whole("BREAKER_THRESHOLD", 1),
                share=number.real("BREAKER_SHARE", 0.01),
                sample=number.whole("BREAKER_SAMPLE", 1),
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
            workers=number.whole("WORKER_POOL_SIZE", 1, MOST_WORKERS),
            policy=settings["STEAL_POLICY"],
            transcripts_boost=number.real("TRANSCRIPTS_PRIORITY_BOOST", 0.01),
            lease_s=number.real("LEASE_S", 1),
            transcript_age_days=number.real("TRANSCRIPT_AGE_DAYS", 0),
            knobs=knobs.in_force(settings),
            decided={name: _where(settings, name) for name in knobs.OF_SETTING if _decided(settings, name)},
            privacy=settings.get("PRIVACY") or "keep",
            blobs=settings.get("BLOBS") or None,
        )

    def options(self, arguments: Mapping[str, Any], kinds: Sequence[Kind] = (Kind.COMMENTS,)) -> Options:
        """The spider arguments (``-a``), checked."""
        options = read_options(arguments, kinds)
        if options.history and not self.logins.get("bilibili"):
            raise SettingInvalid("-a history: the site shows earlier days only to those who are logged in. Set "
                                 "BILIBILI_SESSDATA, or leave it out")  # fmt: skip
        return options

    def snapshot(self, options: Options, route: str) -> dict[str, Any]:
        """What a run records of its configuration: everything but secrets."""
        limits = {name: "never" if value == float("inf") else value for name, value in asdict(self.limits).items()}
        return {
            "version": __version__, "route": route, "robots": "obey" if self.obey_robots else "ignore",
            "api_key": "set" if self.api_key else "not set",
            "logins": sorted(self.logins), "options": asdict(options), "limits": limits,
            "retry": asdict(self.retry), "knobs": dict(self.knobs), "decided": sorted(self.decided),
            "privacy": self.privacy, "blobs": self.blobs,
        }  # fmt: skip


class _Numbers:
    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings

    def whole(self, name: str, least: int, most: float = float("inf")) -> int:
        return int(self._checked(name, least, int, "a whole number", most))

    def real(self, name: str, least: float) -> float:
        return float(self._checked(name, least, float, "a number"))

    def seconds(self, name: str) -> float:
        """A number of seconds, or ``never``."""
        if self._settings.get(name) == "never":
            return float("inf")
        return float(self._checked(name, 0, float, "a number, or never,"))

    def _checked(
        self, name: str, least: float, kind: type[int] | type[float], what: str, most: float = float("inf")
    ) -> float:
        value = self._settings.get(name)
        try:
            number = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise SettingInvalid(f"{_told(self._settings, name)}: it must be {what.rstrip(',')}") from None
        if number > most:
            raise SettingInvalid(f"{_told(self._settings, name)}: it must be {what} of at most {most:,}")
        if not least <= number < float("inf"):
            raise SettingInvalid(f"{_told(self._settings, name)}: it must be {what} of at least {least}")
        return number


def take_names(settings: BaseSettings) -> None:
    """Let settings that were given by the name of their knob (``-s max_concurrency_global=8``) count as such."""
    try:
        settings.setdict(knobs.named(settings.items()), priority="cmdline")
    except knobs.KnobWrong as error:
        settings.set(knobs.WRONG, str(error), priority="cmdline")


def restore(settings: BaseSettings, snapshot: Mapping[str, Any], domains: Mapping[str, Any] | None = None) -> None:
    """Go on with the limits that a run was begun with; flags (those of single domains: ``domains``) and ``-s`` are
    stronger. Whether robots.txt is obeyed is
    the run's decision too, unless the person has decided it anew.
    """
    decided, others = knobs.of_run(snapshot.get("knobs", {}), snapshot.get("decided", ()))
    for values in (decided, others):
        if _decided(settings, "ROBOTSTXT_OBEY"):
            values.pop("ROBOTSTXT_OBEY", None)
    now = {name: where for name, where in (settings.get(knobs.DECIDED) or {}).items() if name not in others}
    settings.set(knobs.DECIDED, now, priority="cmdline")
    settings.setdict(others, priority="project")
    settings.setdict(decided, priority=_RUN)
    if domains:
        had = (others | decided).get("DOMAIN_CONCURRENCY", {})
        settings.set("DOMAIN_CONCURRENCY", {**had, **domains}, priority=FLAG)


def check(settings: BaseSettings) -> None:
    """Refuse names that nobody knows, and values that Scrapy itself would meet with a traceback."""
    if wrong := settings.get(knobs.WRONG):
        raise SettingInvalid(wrong)
    for name in settings:
        if (settings.getpriority(name) or 0) >= _COMMAND and (near := knobs.misspelt(name, dir(default_settings))):
            raise SettingInvalid(f"-s {name}: no setting is called so. Did you mean {near}?")
    for knob in knobs.KNOBS.values():
        if knob.kind == "switch":
            _switch(settings, knob.setting)
    if settings.get("LOG_LEVEL") not in logging.getLevelNamesMapping():
        levels = ", ".join(knobs.KNOBS["log_level"].choices)
        raise SettingInvalid(f"{_told(settings, 'LOG_LEVEL')}: there is no such level. There are: {levels}")


def _where(settings: BaseSettings, name: str) -> str:
    """Where a person has decided a setting."""
    if (settings.getpriority(name) or 0) > _PROJECT:
        return {_RUN: "the run", FLAG: "a flag"}.get(settings.getpriority(name) or 0, "-s")
    return str((settings.get(knobs.DECIDED) or {}).get(name, ""))


def _told(settings: BaseSettings, name: str) -> str:
    """A setting and its value, under the name and at the place where a person wrote it."""
    where = (settings.get(knobs.DECIDED) or {}).get(name)
    if where is None or (settings.getpriority(name) or 0) > _PROJECT:
        return f"{name}={settings.get(name)}"
    return f"{knobs.OF_SETTING[name].name}={settings.get(name)} ({where})"


def _switch(settings: BaseSettings, name: str) -> bool:
    try:
        return settings.getbool(name)
    except ValueError:
        raise SettingInvalid(f"{_told(settings, name)}: it must be True or False") from None


def _decided(settings: BaseSettings, name: str) -> bool:
    """Whether a person set this, rather than the project."""
    return (settings.getpriority(name) or 0) > _PROJECT or name in (settings.get(knobs.DECIDED) or {})


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
        if _decided(settings, "DOWNLOAD_DELAY"):  # Scrapy's own way to say how fast: it takes the bucket's place
            pace = replace(pace, rate=general.rate, burst=general.burst)
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
    try:
        found = {domain: kind(number) for domain, number in knobs.split(value).items()}
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise SettingInvalid(f"{_told(settings, name)}: write it as bilibili.com=2,youtube.com=16") from None
    for domain, amount in found.items():
        if domain not in known:
            nearest = difflib.get_close_matches(domain, known, n=1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(known)}"
            raise SettingInvalid(f"{_told(settings, name)}: {domain} is no domain of ours. {hint}")
        if not least <= amount < float("inf"):
            raise SettingInvalid(f"{_told(settings, name)}: {domain}={amount} must be at least {least}")
    return found


def _login(settings: BaseSettings) -> str | None:
    """The Bilibili login: the cookie's value itself, or taken out of a cookies file."""
    value = str(settings.get("BILIBILI_SESSDATA") or "").strip()
    file = settings.get("BILIBILI_COOKIES")
    if value:
        login = _in_header(value) if "SESSDATA" in value else value.rstrip(";").strip("\"'")
        if not login or not _COOKIE.fullmatch(login):  # the value itself is a secret, also where it is a wrong one
            raise SettingInvalid("BILIBILI_SESSDATA: this is no cookie. Copy the value of the cookie SESSDATA alone")
        return login
    if not file:
        return None
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:  # among them: no text, no such person's home
        raise SettingInvalid(f"BILIBILI_COOKIES={file}: {getattr(error, 'strerror', None) or error}") from error
    found = _in_export(text) or _in_table(text) or _in_header(text)
    if not found or not _COOKIE.fullmatch(found):
        raise SettingInvalid(f"BILIBILI_COOKIES={file}: there is no SESSDATA cookie in it. Export the cookies of a "
                             "browser that is logged in")  # fmt: skip
    return found


def _in_header(text: str) -> str | None:
    """Of ``SESSDATA=…; bili_jct=…``."""
    found = re.search(r"(?:^|[\s;\"'])SESSDATA=([^\s;\"',]+)", text)
    return found[1] if found else None


def _in_table(text: str) -> str | None:
    """Of a cookies.txt: seven columns, the first of which is the domain."""
    rows = [line.removeprefix("#HttpOnly_").split("\t") for line in text.splitlines()]
    return next((row[6].strip() for row in rows if len(row) > 6 and row[5] == "SESSDATA" and _ours(row[0])), None)


def _in_export(text: str) -> str | None:
    """Of JSON: a list of cookies with name and value, or one object with a cookie's name as its key."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if isinstance(data, dict) and isinstance(data.get("cookies"), list):
        data = data["cookies"]
    if isinstance(data, dict):
        value = data.get("SESSDATA")
        return value if isinstance(value, str) else None
    listed = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    mine = (one for one in listed if one.get("name") == "SESSDATA" and _ours(str(one.get("domain", ""))))
    return next((str(one.get("value")) for one in mine), None)


def _ours(domain: str) -> bool:
    return domain.lstrip(".") in ("", "bilibili.com") or domain.endswith(".bilibili.com")


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
