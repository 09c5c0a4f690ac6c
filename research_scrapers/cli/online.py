"""What ``research doctor --online`` asks the sites: robots.txt, the API key, the login, the time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote, urlsplit

import requests
from protego import Protego

from research_scrapers.config import Config
from research_scrapers.control.lines import SPIDERS
from research_scrapers.errors import KeyRefused, QuotaExhausted, ResearchError, RunError
from research_scrapers.models import Answer, Kind
from research_scrapers.providers import Provider, providers
from research_scrapers.store.health import Finding

_TIMEOUT_S = 15
_KNOWN_VIDEO = "jNQXAC9IVRw"
"""The first video on YouTube: any answer about it tells that the key is accepted."""
_SKEW_S = 60.0
_OK, _CLIENT_ERROR, _SERVER_ERROR = 200, 400, 500


def check_online(config: Config) -> Iterator[Finding]:
    """Ask, and say what came of it."""
    rules: dict[str, Protego | str | None] = {}
    for name, spider in SPIDERS.items():
        provider, options = providers()[spider.provider_name], config.options({}, spider.kinds)
        ways = [provider.route(kind, options, config.api_key) for kind in spider.kinds]
        yield from _robots(config, name, provider, [url for way in ways for url in way.probes()], rules)
    if config.api_key:
        yield from _key(config)
    for name, login in config.logins.items():
        yield _login(config, providers()[name], login)
    yield from _time(config)


def _robots(
    config: Config, line: str, provider: Provider, probes: list[str], rules: dict[str, Protego | str | None]
) -> Iterator[Finding]:
    closed = []
    for url in probes:
        host = urlsplit(url).netloc
        if host not in rules:
            rules[host] = _rules(config, host)
        rule = rules[host]
        if isinstance(rule, str):
            yield "bad", f"{line}: robots.txt of {host} could not be read: {rule}", "check the network and HTTPS_PROXY"
            return
        if rule is not None and not rule.can_fetch(url, config.robots_agent):
            closed.append(f"{host}{urlsplit(url).path}")
    if closed and config.obey_robots:
        ways = f"{provider.robots_help}leave it out with --skip {line}; or decide: RESEARCH_ROBOTS=ignore"
        yield "bad", f"{line} is closed: robots.txt disallows {', '.join(closed)}", ways
    elif probes:
        yield "ok", f"{line} is open" + (", for robots.txt is ignored" if closed else " to robots"), ""


def _rules(config: Config, host: str) -> Protego | str | None:
    try:
        answer = _get(config, f"https://{host}/robots.txt")
    except requests.RequestException as error:
        return type(error).__name__
    if answer.status == _OK:
        return Protego.parse(answer.body.decode("utf-8", "replace"))
    return None if _CLIENT_ERROR <= answer.status < _SERVER_ERROR else f"answered {answer.status}"


def _key(config: Config) -> Iterator[Finding]:
    provider = providers()["youtube"]
    options = config.options({})
    route = provider.route(Kind.COMMENTS, options, config.api_key)
    cursor = route.start(_KNOWN_VIDEO, options)
    url = route.ask(_KNOWN_VIDEO, cursor, {}, options).url
    try:
        answer = _get(config, f"{url}&{provider.key_parameter}={quote(config.api_key or '', safe='')}")
        route.read(_KNOWN_VIDEO, cursor, answer, datetime.now(UTC), options)
    except requests.RequestException as error:
        yield "bad", f"the API could not be reached: {type(error).__name__}", "check the network and HTTPS_PROXY"
    except KeyRefused as error:
        yield "bad", f"the API key is refused: {error.detail}", "see YOUTUBE_API_KEY"
    except QuotaExhausted as error:
        yield "warn", f"the API key is accepted, but its quota is used up until {error.until}", "wait"
    except ResearchError:
        yield "ok", "the API key is accepted", ""
    else:
        yield "ok", "the API key is accepted", ""


def _login(config: Config, provider: Provider, login: str) -> Finding:
    assert provider.visit is not None
    visit = provider.visit(login)
    try:
        for ask in visit.asks(time.time()):
            url, headers = visit.dress(ask.url, {}, time.time(), signed=ask.signed)
            visit.read(ask, _get(config, url, {**ask.headers, **headers}, ask.method))
    except RunError as error:
        return "bad", f"the {provider.name} login is not accepted: {error.detail}", "log in again and set it anew"
    except (requests.RequestException, ResearchError) as error:
        return "warn", f"the {provider.name} login could not be checked: {type(error).__name__}", "try again later"
    return "ok", f"the {provider.name} login is accepted", ""


def _time(config: Config) -> Iterator[Finding]:
    host = next(iter(providers()["youtube"].hosts))
    try:
        told = _get(config, f"https://{host}/robots.txt").headers.get("date")
        off = time.time() - parsedate_to_datetime(told).timestamp() if told else 0.0
    except (requests.RequestException, ValueError):
        return
    if abs(off) > _SKEW_S:
        yield "warn", f"the clock differs from {host}'s by {off:.0f} s", "set it: signed requests are refused otherwise"


def _get(config: Config, url: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
    """One request, to the replica if there is one."""
    parts = urlsplit(url)
    sent = {"User-Agent": "research-scrapers", **(headers or {})}
    session = requests.Session()
    if config.origin:
        session.trust_env = False
        sent["Host"] = parts.netloc
        url = f"{config.origin}{parts.path}{'?' + parts.query if parts.query else ''}"
    trusted = os.environ.get("SSL_CERT_FILE") or True
    with session:
        answer = session.request(
            method, url, headers=sent, timeout=_TIMEOUT_S, verify=trusted, allow_redirects=False
        )  # fmt: skip
    kept = {name.lower(): value for name, value in answer.headers.items()}
    return Answer(f"https://{parts.netloc}{parts.path}", answer.status_code, answer.content, kept)
