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
from functools import cache
from typing import Protocol

from research_scrapers.models import Answer, Ask, Cursor, Options, Page


class Route(Protocol):
    """One way to collect one kind of record: which request comes first, and how each answer is read."""

    name: str

    def start(self, video_id: str, options: Options) -> Cursor:
        """The first cursor of a sub-job's main chain."""

    def ask(self, video_id: str, cursor: Cursor, session: Mapping[str, str], options: Options) -> Ask:
        """The request that this cursor stands for. ``session`` is what earlier pages handed on."""

    def read(self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options) -> Page:
        """The page that the answer holds; raises a `SourceError` leaf (or a `RunError`) for anything else."""

    def probes(self) -> tuple[str, ...]:
        """URLs that stand for all that this route requests, for the robots.txt check before a run."""


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
    key_parameter: str | None = None
    """Query parameter under which its official API takes the key."""
    robots_help: str = ""
    """What else a person can do where robots.txt closes the site; ends in ``; ``."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """Cookies that every request may carry (never a login)."""


@cache
def providers() -> Mapping[str, Provider]:
    """Every provider folder, by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg:
            provider = importlib.import_module(f"{__name__}.{module.name}").PROVIDER
            found[provider.name] = provider
    return found


__all__ = ["Provider", "Route", "providers"]
