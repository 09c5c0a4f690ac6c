"""OpenTelemetry spans: one per sub-job, and one per request within it. Only imported when asked for."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import signals

from research_scrapers import __version__
from research_scrapers.control.events import Event
from research_scrapers.control.watching import Watcher
from research_scrapers.errors import SettingInvalid
from research_scrapers.seeing.metrics import endpoint_of

try:
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode
except ImportError as error:
    raise SettingInvalid("--otel needs OpenTelemetry: pip install 'research-scrapers[otel]'") from error

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate

_EXPORTERS = {"otlp": "otlp_proto_http"}


def provider_from_environment() -> TracerProvider:
    """A provider with the exporter that OTEL_TRACES_EXPORTER names (default: OTLP over HTTP)."""
    name = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    found = list(entry_points(group="opentelemetry_traces_exporter", name=_EXPORTERS.get(name, name)))
    if not found:
        raise SettingInvalid(f"OTEL_TRACES_EXPORTER={name}: there is no such exporter. Try otlp or console")
    provider = TracerProvider(resource=Resource.create({"service.name": "research-scrapers"}))
    provider.add_span_processor(BatchSpanProcessor(found[0].load()()))
    return provider


class Tracing(Watcher):
    """Spans are opened and closed by what the centre and the downloader tell."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._own = provider is None
        self._provider = provider or provider_from_environment()
        self._tracer = self._provider.get_tracer("research_scrapers", __version__)
        self._work: dict[int, Span] = {}
        self._requests: dict[int, Span] = {}

    def begin(self, centre: Centre, gate: Gate) -> None:
        centre.listeners.add(self._heard)

    def crawler(self, line: str, crawler: Crawler) -> None:
        crawler.signals.connect(self._out, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._answered, signal=signals.response_downloaded)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)

    def end(self) -> None:
        for span in [*self._requests.values(), *self._work.values()]:
            span.end()
        if self._own:
            self._provider.shutdown()

    def _heard(self, event: Event) -> None:
        if event.sub_job is None:
            return
        if event.what == "assigned":
            told = {"run": event.run, "line": event.line, "worker": event.worker, "stolen": event.stolen,
                    "job": event.job, "sub_job": event.sub_job, "provider": event.provider, "video": event.video,
                    "kind": event.kind}  # fmt: skip
            attributes = {f"research.{name}": value for name, value in told.items() if value is not None}
            self._work[event.sub_job] = self._tracer.start_span(f"{event.line} {event.kind}", attributes=attributes)
        elif event.what == "ended" and (span := self._work.pop(event.sub_job, None)) is not None:
            span.set_attribute("research.outcome", event.outcome or "given back")
            if event.reason:
                span.set_attribute("research.reason", event.reason)
            if event.outcome == "failed":
                span.set_status(Status(StatusCode.ERROR, event.reason))
            span.end()

    def _out(self, request: Request) -> None:
        parent = self._work.get(request.meta.get("research_sub_job", -1))
        context = trace.set_span_in_context(parent) if parent is not None else None
        endpoint = endpoint_of(request.url)
        host, _, path = endpoint.partition("/")
        attributes = {"http.request.method": request.method, "server.address": host, "url.path": f"/{path}",
                      "url.scheme": urlsplit(request.url).scheme,
                      "http.request.resend_count": request.meta.get("research_tried", 0)}  # fmt: skip
        self._requests[id(request)] = self._tracer.start_span(
            f"{request.method} {endpoint}", context, SpanKind.CLIENT, attributes
        )

    def _answered(self, response: Response, request: Request) -> None:
        if (span := self._requests.get(id(request))) is not None:
            span.set_attribute("http.response.status_code", response.status)
            span.set_attribute("http.response.body.size", len(response.body))
            if response.status >= 400:
                span.set_status(Status(StatusCode.ERROR))

    def _left(self, request: Request) -> None:
        if (span := self._requests.pop(id(request), None)) is not None:
            if "http.response.status_code" not in (getattr(span, "attributes", None) or {}):
                span.set_status(Status(StatusCode.ERROR, "no answer"))
            span.end()
