"""From a provider's plain description to a Scrapy request that the gate and the handler understand."""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy import Request

from research_scrapers.crawling.handler import KEY_PARAMETER, SIGNED
from research_scrapers.errors import LayoutChanged
from research_scrapers.models import Ask, Kind
from research_scrapers.providers import Provider

_PRIORITY = {Kind.METADATA: 300, Kind.TRANSCRIPT: 200, Kind.DANMAKU: 100, Kind.COMMENTS: 0}
"""Transcripts are short and their links expire, so they go before comments."""


def request_of(ask: Ask, provider: Provider, line: str, kind: Kind, *, priority: int = 0) -> Request:
    """The request, with the names under which its limits are counted."""
    try:
        domain = provider.hosts[urlsplit(ask.url).netloc]
    except (KeyError, ValueError):
        raise LayoutChanged(f"the site leads to {ask.url[:200]}, which is not its own") from None
    headers = dict(ask.headers)
    if provider.cookies and not ask.official:
        own = [headers["Cookie"]] if "Cookie" in headers else []
        headers["Cookie"] = "; ".join([*own, *(f"{name}={value}" for name, value in provider.cookies.items())])
    meta = {
        "research_domain": domain,
        "research_pace": f"{domain} {ask.budget}".strip(),
        "research_line": f"{line}:{ask.budget}" if ask.budget else line,
        "research_artifact": kind.value,
        "download_slot": f"{domain} {ask.budget}".strip(),
        "handle_httpstatus_all": True,
    }
    if ask.official and provider.key_parameter:
        meta[KEY_PARAMETER] = provider.key_parameter
    if ask.signed:
        meta[SIGNED] = True
    return Request(
        ask.url,
        method=ask.method,
        headers=headers,
        body=ask.body,
        meta=meta,
        priority=_PRIORITY[kind] + priority,
        dont_filter=True,
    )
