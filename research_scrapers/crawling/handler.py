"""The last step before the network: the only place that decides which host is really reached.

Everything above sees the providers' real URLs, without secrets. Here a foreign host is refused, the API key is added,
and, for the demo, tests and benchmarks, requests are turned to a local replica (the ``ORIGIN`` setting).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import build_from_crawler

from research_scrapers.config import Config
from research_scrapers.crawling.gate import GateClosed
from research_scrapers.crawling.politeness import Stopping
from research_scrapers.crawling.retry import VISIT
from research_scrapers.providers import providers

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from research_scrapers.crawling.spider import ResearchSpider

KEY_PARAMETER = "research_key_parameter"
"""Meta key: the query parameter under which this request wants the API key."""

SIGNED = "research_signed"
"""Meta key: the site wants this request signed."""


_TALKATIVE = logging.getLogger("scrapy.core.downloader.handlers.http11")
"""Warns of broken bodies with the whole address."""


class _Discreet(logging.Filter):
    """Takes a secret out of what is logged."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secrets = (secret, quote(secret, safe=""))

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        for secret in self._secrets:
            message = message.replace(secret, "…")
        record.msg, record.args = message, ()
        return True


class OffsiteRefused(IgnoreRequest):
    """A request for a host that belongs to no provider; it was not sent."""


class ProviderHandler(BaseDownloadHandler):
    """Downloads from provider hosts only."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._inner = build_from_crawler(HTTP11DownloadHandler, crawler)
        self._hosts = {host for provider in providers().values() for host in provider.hosts}
        config = Config.from_settings(crawler.settings)
        self._origin, self._key = config.origin, config.api_key
        for secret in (self._key, *config.logins.values()):
            if secret:
                _TALKATIVE.addFilter(_Discreet(secret))

    async def download_request(self, request: Request) -> Response:
        parts = urlsplit(request.url)
        # The whole of it must be a host that we know: no name before an @, no other port, no other way to write it.
        if parts.scheme != "https" or parts.netloc.lower().removesuffix(":443") not in self._hosts:
            raise OffsiteRefused(f"{parts.scheme}://{parts.netloc} belongs to no provider; the request was not sent")
        spider: ResearchSpider = self.crawler.spider  # type: ignore[assignment]
        meta = request.meta
        try:
            await spider.gate.hold(meta["research_domain"], meta["research_line"], meta.get("research_pace", ""))
        except GateClosed:
            raise Stopping("the run is stopping") from None
        meta[VISIT] = spider.visitor.version
        url, headers = spider.visitor.dress(request.url, signed=bool(meta.get(SIGNED)))
        parameter = request.meta.get(KEY_PARAMETER)
        if parameter and self._key:
            url += f"{'&' if parts.query else '?'}{parameter}={quote(self._key, safe='')}"
        if not self._origin and url == request.url and not headers:
            return await self._inner.download_request(request)
        sent = request.replace(url=self._turned(url))
        for name, value in headers.items():
            sent.headers[name] = value
        if self._origin:
            sent.headers["Host"] = parts.hostname
            sent.meta.pop("proxy", None)
        try:
            response = await self._inner.download_request(sent)
        except Exception as error:  # its message names the address that was really used, perhaps with the key
            error.args = tuple(
                part.replace(sent.url, request.url) if isinstance(part, str) else part for part in error.args
            )
            raise
        request.meta["download_latency"] = sent.meta.get("download_latency")
        return response.replace(url=request.url)

    def _turned(self, url: str) -> str:
        if not self._origin:
            return url
        parts = urlsplit(url)
        return f"{self._origin}{parts.path}{'?' + parts.query if parts.query else ''}"

    async def close(self) -> None:
        await self._inner.close()
