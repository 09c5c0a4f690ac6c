"""Trying again, politely: one object that the middleware and the spider both ask.

The middleware sees what the transport and the status show; the spider sees what only a parser can tell. Both hand the
failure to `Retrier.again`, so attempts, backoff, Retry-After and the breaker are counted in one place.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Self

from scrapy.core.downloader.handlers.http11 import TunnelError
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from twisted.internet.error import ConnectError, ConnectionClosed

from research_scrapers.errors import (
    Blocked,
    CertificateRefused,
    ConnectionLost,
    PartialResponse,
    RateLimited,
    RunError,
    SignatureRefused,
    SourceError,
    Timeout,
    Transient,
    WrongContent,
)
from research_scrapers.models import Answer, Ask, Cursor
from research_scrapers.verdicts import RetryPolicy, Verdict, pause_s, verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from research_scrapers.crawling.gate import Gate
    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.crawling.visit import Visitor
    from research_scrapers.providers import Route

logger = logging.getLogger(__name__)

_PLAIN = (400, 401, 403, 404, 410)
VISIT = "research_visit"
"""Meta key: with which version of the visit the request went out."""
UNSIGNED_WAY = "research_unsigned_way"
"""Meta key: where this request's signature stays refused, its route knows a way without one."""
FINAL = "research_final"
"""Meta key: the middleware gave up on this failure; the spider must not try it again."""


def mark(request: Request, sub_job: int, ask: Ask, route: Route, cursor: Cursor) -> None:
    """Note whose request it is, and whether its route knows another way should its signature stay refused."""
    request.meta["research_sub_job"] = sub_job
    if ask.signed and route.fallback(cursor, SignatureRefused()) is not None:
        request.meta[UNSIGNED_WAY] = True


def answer_of(response: Response) -> Answer:
    """A response as providers see it."""
    headers = {name.decode("latin-1").lower(): b",".join(values).decode("latin-1") for name, values in
               response.headers.items()}  # fmt: skip
    # A Retry-After may be a date; providers have no clock, so an answer without one gets ours.
    headers.setdefault("date", format_datetime(datetime.now(UTC), usegmt=True))
    return Answer(response.url, response.status, response.body, headers)


def failure_of(exception: BaseException) -> SourceError | RunError | None:
    """The leaf that a transport failure stands for, if it is one. What has stopped the run already stands for itself:
    learning the visit anew may end so, before a request is sent.
    """
    if isinstance(exception, RunError):
        return exception
    if "certificate" in str(exception):
        return CertificateRefused(
            "the connection is not safe, so nothing was sent. If a proxy of yours opens TLS, name its certificate with "
            "SSL_CERT_FILE"
        )
    if isinstance(exception, DownloadTimeoutError | TimeoutError):
        return Timeout(str(exception) or "the connection timed out")
    if isinstance(exception, ResponseDataLossError):
        return PartialResponse("the body broke off")
    if isinstance(exception, DownloadCancelledError):
        return PartialResponse(f"the download was cancelled: {exception}")
    if isinstance(exception, IgnoreRequest) and "DOWNLOAD_MAXSIZE" in str(exception):
        return WrongContent("the answer is larger than DOWNLOAD_MAXSIZE once it is unpacked")
    if isinstance(
        exception,
        DownloadConnectionRefusedError | CannotResolveHostError | DownloadFailedError | TunnelError | OSError
        | ConnectError | ConnectionClosed,  # of Twisted, which Scrapy does not translate: no free port or descriptor
    ):  # fmt: skip
        return ConnectionLost(str(exception) or type(exception).__name__)
    return None


class Retrier:
    """Decides whether a failed request goes out again, and when."""

    def __init__(
        self, policy: RetryPolicy, gate: Gate, line: str, visitor: Visitor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.policy = policy
        self._gate = gate
        self._line = line
        self._visitor = visitor
        self._clock = clock

    def again(self, request: Request, failure: SourceError) -> Request | None:
        """The request to send instead, or ``None`` when the failure is final for it."""
        breaker = self._gate.breaker(request.meta.get("research_line", self._line))
        victim = request.meta.get("research_sub_job")
        about = {"sub_job": victim}
        meta = dict(request.meta)
        decided = verdict(failure)
        if (
            victim is not None
            and not meta.get("research_renewed")
            and self._visitor is not None
            and self._visitor.renew(failure, meta.get(VISIT, 0))
        ):
            logger.info("%s; asking for new keys, then trying once more", failure, extra=about)
            meta["research_renewed"] = True
            breaker.goes_again()
            return request.replace(meta=meta, dont_filter=True)
        if isinstance(failure, SignatureRefused) and meta.get(UNSIGNED_WAY):
            breaker.goes_again()  # with new keys too: that is no block, and waiting for better keys would be in vain
            return None
        if isinstance(failure, Blocked):
            # A refusal costs no attempt. It is this request's own only if others are served between its refusals.
            if not isinstance(failure, RateLimited) and breaker.served > meta.get("research_served", breaker.served):
                meta["research_blame"] = meta.get("research_blame", 0) + 1
            meta["research_served"] = breaker.served
            if isinstance(failure, RateLimited):
                self._gate.slow_down(meta["research_pace"])
            if failure.retry_after is not None:
                self._gate.pause(meta["research_pace"], failure.retry_after)
            least = pause_s(failure) if self._gate.limits.unhurried else 0.0
            wait = breaker.refused(victim, failure.retry_after, least)
            self._gate.nudge()  # whoever waited for this verdict waits for another moment now
            if meta.get("research_blame", 0) >= self.policy.blame or breaker.exhausted:
                return None
            logger.warning("%s; waiting %.0f s. Nothing is lost.", failure, wait, extra=about)
        elif decided is Verdict.RETRY:
            breaker.fault(victim)
            self._gate.nudge()
            tried = meta.get("research_tried", 0)
            if tried >= self.policy.attempts or breaker.exhausted:
                return None
            meta["research_tried"] = tried + 1
            wait = self.policy.delay(tried + 1)
            if failure.retry_after is not None:
                wait = max(wait, failure.retry_after)
                self._gate.pause(meta["research_pace"], failure.retry_after)
            logger.info(
                "%s; try %d of %d in %.1f s: %s", failure, tried + 2, self.policy.attempts + 1, wait, request,
                extra=about,
            )  # fmt: skip
        else:
            return None
        meta["research_not_before"] = self._clock() + wait
        meta.pop("download_latency", None)
        return request.replace(meta=meta, dont_filter=True)


class RetryMiddleware:
    """Sends a request again when the transport or the status says that it failed for a passing reason."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if "research_sub_job" not in request.meta and response.status in _PLAIN:
            return response  # robots.txt: that there is none is an answer
        failure = self._spider.provider.judge(answer_of(response))
        if isinstance(failure, Blocked | Transient):
            self._count(failure)
            again = self._spider.retrier.again(request, failure)
            if again is not None:
                return again
            request.meta[FINAL] = failure.reason
        return response

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        failure = failure_of(exception)
        if not isinstance(failure, SourceError):
            return None
        self._count(failure)
        return self._spider.retrier.again(request, failure)

    @property
    def _spider(self) -> ResearchSpider:
        return self._crawler.spider  # type: ignore[return-value]

    def _count(self, failure: SourceError) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"research/refused/{failure.reason}")
