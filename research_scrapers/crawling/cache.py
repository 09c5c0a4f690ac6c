"""The optional HTTP cache: Scrapy's, by the rules of RFC 2616, and with care for what must not be kept.

It stands above the gate, so that an answer that needs no request takes no place and no token, and below the retries,
so that it sees what each single request brought. It keeps answers to GET requests of sub-jobs only: never a refusal,
never what a login was sent for, and of the head only what caching needs. The addresses that it sees carry neither key
nor signature. An answer that could not be read is thrown away again.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Self

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.extensions.httpcache import RFC2616Policy
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes
from scrapy.utils.project import data_path

from research_scrapers.crawling.reading import FORGET, REVALIDATED
from research_scrapers.crawling.retry import answer_of
from research_scrapers.errors import SettingInvalid, SourceError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from research_scrapers.crawling.spider import ResearchSpider

_HEAD = ("Content-Type", "Date", "ETag", "Last-Modified", "Cache-Control", "Expires", "Age")
_CONDITIONS = ("If-None-Match", "If-Modified-Since")


def keeps_everything(settings: BaseSettings, name: str) -> bool:
    """Whether a setting that keeps whole answers is on; it cannot be where a privacy policy says what is kept."""
    if not settings.getbool(name):
        return False
    policy = settings.get("PRIVACY") or "keep"
    if policy != "keep":
        raise SettingInvalid(f"{name} keeps whole answers, with everybody's names: it cannot go with PRIVACY={policy}")
    return True


class CachePolicy(RFC2616Policy):
    """Only the site itself can say that an old answer still holds; that it is in trouble does not make it so."""

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        if b"no-cache" in self._parse_cachecontrol(cachedresponse):  # keep it, but ask each time: Scrapy would not ask
            self._set_conditional_validators(request, cachedresponse)
            return False
        return super().is_cached_response_fresh(cachedresponse, request)

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:
        return response.status == 304


class CacheMiddleware(HttpCacheMiddleware):
    """Decides what goes into the cache and what may come out of it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        keeps_everything(crawler.settings, "HTTPCACHE_ENABLED")
        cache = super().from_crawler(crawler)
        crawler.signals.connect(cache.forget, signal=FORGET)
        return cache

    def process_request(self, request: Request) -> Request | Response | None:  # type: ignore[override]
        for name in _CONDITIONS:  # of an earlier try
            request.headers.pop(name, None)
        return super().process_request(request) if self._may_keep(request) else None

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        if not self._may_keep(request):
            return response
        given = super().process_response(request, response)
        if given is not response:  # the site says that what was kept still holds
            given.flags.append(REVALIDATED)
        return given

    def process_exception(self, request: Request, exception: Exception) -> None:  # type: ignore[override]
        """A stale answer does not stand in for one that did not come: the request is tried again."""
        request.meta.pop("cached_response", None)

    def forget(self, request: Request) -> None:
        """Throw away what is kept for a request."""
        if self._may_keep(request):
            self.storage.forget(self._spider, request)

    def _may_keep(self, request: Request) -> bool:
        if request.method != "GET" or "research_sub_job" not in request.meta:
            return False
        visitor = self._spider.visitor
        _, headers = visitor.dress(request.url, signed=False)
        return not any(secret in value for secret in visitor.secrets for value in headers.values())

    def _cache_response(self, response: Response, request: Request) -> None:
        if response.status == 200 and self._spider.provider.judge(answer_of(response)) is None:
            super()._cache_response(response, request)

    @property
    def _spider(self) -> ResearchSpider:
        return self.crawler.spider  # type: ignore[return-value]


class CacheStorage:
    """A file for each answer. It has its name only once it is whole, and only its owner can read it."""

    def __init__(self, settings: BaseSettings) -> None:
        self._folder = Path(data_path(settings["HTTPCACHE_DIR"]))
        self._expires_after = settings.getint("HTTPCACHE_EXPIRATION_SECS")

    def open_spider(self, spider: Spider) -> None:
        self._fingerprinter: Any = spider.crawler.request_fingerprinter

    def close_spider(self, spider: Spider) -> None:
        """Nothing is held open."""

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        """What is kept for a request, if anything."""
        try:
            packed = self._path(spider, request).read_bytes()
        except FileNotFoundError:
            return None
        head, _, body = zlib.decompress(packed).partition(b"\n")
        told = json.loads(head)
        if 0 < self._expires_after < time() - told["at"]:
            return None
        request.meta["cache_timestamp"] = told["at"]
        headers = Headers({name: value.encode("latin-1") for name, value in told["headers"].items()})
        kind = responsetypes.from_args(headers=headers, url=told["url"], body=body)
        return kind(told["url"], status=told["status"], headers=headers, body=body)

    def store_response(self, spider: ResearchSpider, request: Request, response: Response) -> None:
        """Keep an answer, without what the site says of whoever asked."""
        try:
            body = spider.provider.scrub(answer_of(response)).body
        except SourceError:
            return
        headers = {name: value.decode("latin-1") for name in _HEAD if (value := response.headers.get(name)) is not None}
        told = {"url": response.url, "status": response.status, "headers": headers, "at": time()}
        path = self._path(spider, request)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(zlib.compress(json.dumps(told).encode() + b"\n" + body))
        draft.replace(path)

    def forget(self, spider: Spider, request: Request) -> None:
        """Throw away what is kept for a request."""
        self._path(spider, request).unlink(missing_ok=True)

    def _path(self, spider: Spider, request: Request) -> Path:
        key: str = self._fingerprinter.fingerprint(request).hex()
        return self._folder / spider.name / key[:2] / key
