"""``research doctor``: whether everything is in place, and what to do where it is not."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from research_scrapers import __version__, knobs
from research_scrapers.cli.online import check_online
from research_scrapers.cli.scrape import CONFIG, SETS, settings_with
from research_scrapers.config import Config
from research_scrapers.control.lines import SPIDERS
from research_scrapers.errors import ResearchError
from research_scrapers.models import Kind
from research_scrapers.providers import providers
from research_scrapers.store.health import Finding, check

if TYPE_CHECKING:
    from scrapy.settings import Settings

_LIBRARIES = ("Scrapy", "Twisted", "youtube-transcript-api", "requests", "sqlite-utils", "msgspec", "protobuf")
_EXTRAS = {"delta": "scrapy-deltafetch", "browser": "scrapy-playwright"}
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")
_OLDEST = (3, 11)


@click.command("doctor")
@click.option("--online", is_flag=True, help="Also ask: robots.txt of every host, the API key, the login, the clock.")
@click.option("--db", type=click.Path(path_type=Path), help="The database.")
@CONFIG
@SETS
def doctor_command(online: bool, db: Path | None, config: Path | None, sets: tuple[str, ...]) -> None:
    """Say which routes are open and whether all that is needed is in place; asks nobody unless --online."""
    findings = list(examine(settings_with(config, sets, {"RESEARCH_DB": str(db) if db else None}), online=online))
    for state, told, advice in findings:
        click.echo(f"{state:4}  {told}" + (f". {advice[0].upper()}{advice[1:]}" if advice else ""))
    bad = sum(state == "bad" for state, *_ in findings)
    click.echo(f"\n{bad} to mend" if bad else "\nNothing stands in the way")
    sys.exit(1 if bad else 0)


def examine(settings: Settings, *, online: bool) -> Iterator[Finding]:
    """Everything that is worth looking at."""
    yield from _versions()
    try:
        config = Config.from_settings(settings)
    except ResearchError as error:
        yield "bad", f"the settings: {error.detail}", "mend it; what depends on settings was not looked at"
        return
    yield _file()
    yield from check(config.db)
    yield from _secrets(config)
    yield from _network(config)
    yield from _routes(config)
    yield _clock()
    if online:
        yield from check_online(config)


def _versions() -> Iterator[Finding]:
    python = platform.python_version()
    told = f"research-scrapers {__version__}, Python {python}, SQLite {sqlite3.sqlite_version}"
    if sys.version_info < _OLDEST:
        yield "bad", told, "Python 3.11 or newer is needed"
    else:
        yield "ok", told, ""
    found = {name: _version(name) for name in _LIBRARIES}
    missing = [name for name, version in found.items() if version is None]
    yield "ok", ", ".join(f"{name} {version}" for name, version in found.items() if version), ""
    if missing:
        yield "bad", f"not installed: {', '.join(missing)}", "pip install -c constraints.txt ."
    elif not (found["Scrapy"] or "").startswith("2.19."):
        yield "warn", f"Scrapy {found['Scrapy']} was not tried with this version", "use 2.19"
    for extra, name in _EXTRAS.items():
        version = _version(name)
        yield "ok", f"extra «{extra}»: {f'{name} {version}' if version else 'not installed (nothing needs it)'}", ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _file() -> Finding:
    path = knobs.find_file(os.environ, Path.cwd())
    return "ok", f"{path} is valid" if path else f"no {knobs.FILE} here; the defaults and the environment hold", ""


def _secrets(config: Config) -> Iterator[Finding]:
    yield "ok", f"YouTube API key: {'set' if config.api_key else 'not set; comments come from the web pages'}", ""
    for name in sorted(providers()):
        if providers()[name].visit is not None:
            yield "ok", f"{name} login: {'set' if name in config.logins else 'not set; what needs one is told so'}", ""


def _network(config: Config) -> Iterator[Finding]:
    if config.origin:
        yield "warn", f"a replica at {config.origin} plays the sites", "unset RESEARCH_ORIGIN for the real ones"
    for name in _PROXIES:
        if value := os.environ.get(name):
            parts = urlsplit(value)
            shown = f"{parts.scheme}://{parts.hostname}:{parts.port}" if parts.hostname else value.rpartition("@")[2]
            yield "ok", f"{name} is {shown}", ""
    if certificate := os.environ.get("SSL_CERT_FILE"):
        if Path(certificate).is_file():
            yield "ok", f"certificates are read from {certificate}", ""
        else:
            yield "bad", f"SSL_CERT_FILE names {certificate}, which is not there", "mend or unset it"


def _routes(config: Config) -> Iterator[Finding]:
    for name, spider in SPIDERS.items():
        options = config.options({}, spider.kinds)
        provider = providers()[spider.provider_name]
        for kind in spider.kinds:
            if kind is Kind.METADATA:
                continue
            route = provider.route(kind, options, config.api_key)
            told = f"{name}: {kind} by {route.name}"
            if not route.probes():
                yield "ok", f"{told}, which robots.txt does not concern", ""
            elif not config.obey_robots:
                yield "ok", f"{told}, robots.txt ignored by your decision", ""
            else:
                yield (
                    "warn", f"{told}, unless robots.txt closes it",
                    "ask it with --online, or decide for yourself: RESEARCH_ROBOTS=ignore",
                )  # fmt: skip


def _clock() -> Finding:
    now, built = time.time(), Path(__file__).stat().st_mtime
    told = f"the clock says {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(now))} UTC"
    if now < built - 86_400:
        return "bad", f"{told}, before this program was installed", "set it"
    return "ok", told, ""
