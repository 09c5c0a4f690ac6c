"""Who looks on: chosen by what a person asks for, and by whether there is a terminal."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from research_scrapers.config import Config
from research_scrapers.control.watching import Watcher, Watchers
from research_scrapers.seeing.live import Display
from research_scrapers.seeing.logs import JsonLog
from research_scrapers.seeing.metrics import Metrics
from research_scrapers.seeing.plain import Plain
from research_scrapers.seeing.prometheus import Exposed
from research_scrapers.seeing.samples import Sampler
from research_scrapers.seeing.troubles import Troubles
from research_scrapers.seeing.view import Observer

if TYPE_CHECKING:
    from scrapy.settings import Settings

_PROJECT = 20
"""Scrapy's priority of the project's settings: what stands above it, a person has decided."""


@dataclass(frozen=True)
class Wanted:
    """What a person wants to see."""

    plain: bool = False
    log_json: Path | None = None
    metrics_port: int | None = None
    otel: bool = False


def watchers_for(wanted: Wanted, settings: Settings, console: Console | None = None) -> Watchers:
    """Those who look on. With a display, Scrapy's own log on the terminal is turned off: errors go above it."""
    metrics = Metrics()
    observer = Observer(metrics)
    chosen: list[Watcher] = [metrics, Sampler(metrics, observer)]
    if wanted.log_json is not None:
        config = Config.from_settings(settings)
        secrets = [secret for secret in (config.api_key, *config.logins.values()) if secret]
        chosen.append(JsonLog(wanted.log_json, secrets))
    if wanted.metrics_port is not None:
        chosen.append(Exposed(metrics, observer, wanted.metrics_port))
    if wanted.otel:
        from research_scrapers.seeing.tracing import Tracing  # noqa: PLC0415 - an optional extra

        chosen.append(Tracing())
    console = console or Console(stderr=True)
    if wanted.plain or not console.is_terminal or console.is_dumb_terminal:
        chosen.append(Plain(observer))
    else:
        troubles = Troubles()
        level = logging.ERROR
        if (settings.getpriority("LOG_LEVEL") or 0) > _PROJECT:
            level = logging.getLevelNamesMapping().get(str(settings["LOG_LEVEL"]).upper(), level)
        if not settings.get("LOG_FILE"):
            settings.set("LOG_ENABLED", False, priority="cmdline")
        chosen += [troubles, Display(observer, troubles, console, level)]
    return Watchers(*chosen)
