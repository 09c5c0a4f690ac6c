"""What a site must tell about itself. A provider is one folder here; nothing else lists the providers.

Providers are pure: no clock, no settings, no network, no Scrapy. They describe requests (`Ask`), read answers
(`Answer` → `Page`), and raise a leaf of ``errors`` for anything else that they saw.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from types import MappingProxyType
from typing import Protocol

from research_scrapers.errors import SourceError
from research_scrapers.models import Answer, Ask, Cursor, Kind, Options, Page

Session = Mapping[str, str]
"""What is known before a request: of the visit (who we are to the site), of the video (its metadata sub-job) and of
this sub-job (its earlier pages)."""
NO_SESSION: Session = MappingProxyType({})


class Route(Protocol):
    """One way to collect one kind of record: which request comes first, and how each answer is read."""

    name: str

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The first cursor of a sub-job's main chain."""

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request that this cursor stands for."""

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page that the answer holds; raises a `SourceError` leaf (or a `RunError`) for anything else."""

    def probes(self) -> tuple[str, ...]:
        """URLs that stand for all that this route requests, for the robots.txt check before a run."""

    def fallback(self, cursor: Cursor, failure: Exception) -> Cursor | None:
        """Another way for a chain that has failed for good, if the site has one."""
        return None


class Visit(Protocol):
    """What a site wants every visitor to bring (keys, cookies, a login): learnt once before the work begins, and again
    when the site refuses it.
    """

    secrets: tuple[str, ...]
    """What must never be seen in a log."""
    renewed_by: tuple[type[SourceError], ...]
    """Refusals after which learning it anew may help."""

    def asks(self, now: float) -> tuple[Ask, ...]:
        """The requests that teach it, in order."""

    def read(self, ask: Ask, answer: Answer) -> Session:
        """What one answer teaches; raises a `RunError` if the login is dead. What is optional is left out."""

    def dress(self, url: str, facts: Session, now: float, *, signed: bool) -> tuple[str, Mapping[str, str]]:
        """A request's address, signed if it wants that, and the headers that go with it (the cookies)."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one domain may be asked unless the person decides otherwise."""

    in_flight: int
    rate: float
    burst: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A site: how its links look, which hosts it has, and how it refuses."""

    name: str
    hosts: Mapping[str, str]
    """Every host that may ever be requested → the domain under which its limits are counted."""
    recognise: Callable[[str], str | None]
    """Link or bare id → video id; ``None`` if it is not this site's; raises LinkNotRecognised with the reason
    if it is this site's but names no video."""
    judge: Callable[[Answer], Exception | None]
    """The failure that an answer's status, headers or outer form show without parsing it, if any."""
    link: Callable[[str], str]
    """Video id → canonical link."""
    examples: tuple[str, ...] = ()
    """Links that ``recognise`` must take; tests hold it to them."""
    comments: Callable[[str | None], Route] | None = None
    """Route for comments, given the API key if there is one."""
    transcripts: Callable[[Options], Route] | None = None
    """Route for transcripts, given what is wanted."""
    danmaku: Callable[[Options], Route] | None = None
    metadata: Callable[[], Route] | None = None
    """Route for what every other route of the site must know first; what its pages hand on, they all get."""
    part: Callable[[str], int | None] | None = None
    """The part of a video that a link names."""
    visit: Callable[[str | None], Visit] | None = None
    """What to bring, given the login cookie if there is one."""
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """Domain → its default pace, where the general one would be rude."""
    key_parameter: str | None = None
    """Query parameter under which its official API takes the key."""
    robots_help: str = ""
    """What else a person can do where robots.txt closes the site; ends in ``; ``."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """Cookies that every request may carry (never a login)."""

    def route(self, kind: Kind, options: Options, api_key: str | None) -> Route:
        """The way in which a kind of record is collected here."""
        ways = {
            Kind.COMMENTS: self.comments and partial(self.comments, api_key),
            Kind.TRANSCRIPT: self.transcripts and partial(self.transcripts, options),
            Kind.DANMAKU: self.danmaku and partial(self.danmaku, options),
            Kind.METADATA: self.metadata,
        }
        way = ways[kind]
        assert way is not None, f"{self.name} has no route for {kind}"
        return way()


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider folder, by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            provider = importlib.import_module(f"{__name__}.{module.name}").PROVIDER
            found[provider.name] = provider
    return found


__all__ = ["NO_SESSION", "Pace", "Provider", "Route", "Session", "Visit", "providers"]
