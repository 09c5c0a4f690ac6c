"""Metrics as Prometheus reads them, served on this machine only."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable, Iterator, Mapping

from research_scrapers.control.watching import Watcher
from research_scrapers.errors import SettingInvalid
from research_scrapers.seeing.metrics import Metrics
from research_scrapers.seeing.view import Observer

logger = logging.getLogger(__name__)

_HOST = "127.0.0.1"
_PATIENCE_S = 10.0
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATES = ("closed", "open", "half-open", "paused", "stopped")
Rows = Iterable[tuple[Mapping[str, object], float]]


def exposition(metrics: Metrics, observer: Observer) -> str:
    """Everything that is counted, in Prometheus's text format."""
    view, lines = observer.look(), metrics.lines
    run = view.run
    text: list[str] = []

    def family(name: str, kind: str, told: str, rows: Rows) -> None:
        text.append(f"# HELP research_{name} {told}\n# TYPE research_{name} {kind}\n")
        text.extend(f"research_{name}{_labels(run, labels)} {_number(value)}\n" for labels, value in rows)

    def by_line(attribute: str) -> Iterator[tuple[Mapping[str, object], float]]:
        return (({"line": line.name}, getattr(line, attribute)) for line in view.lines)

    family(
        "requests_total", "counter", "Requests that went out.", (({"line": n}, m.requests) for n, m in lines.items())
    )
    family("retries_total", "counter", "Of these, sent again.", (({"line": n}, m.retries) for n, m in lines.items()))
    family(
        "answers_total",
        "counter",
        "Answers by HTTP status.",
        (({"line": n, "status": status}, count) for n, m in lines.items() for status, count in m.statuses.items()),
    )
    family(
        "refusals_total",
        "counter",
        "Answers that were refusals or passing faults, by reason.",
        (({"line": n, "reason": reason}, count) for n, m in lines.items() for reason, count in m.errors.items()),
    )
    family(
        "cache_hits_total",
        "counter",
        "Answers from the HTTP cache.",
        (({"line": n}, m.stat("httpcache/hit")) for n, m in lines.items()),
    )
    family("pages_total", "counter", "Pages stored.", by_line("pages"))
    family("records_total", "counter", "New records stored.", by_line("records"))
    family(
        "ended_total",
        "counter",
        "Sub-jobs ended, by outcome and reason.",
        (
            ({"line": n, "outcome": outcome, "reason": reason}, count)
            for n, m in lines.items()
            for (outcome, reason), count in m.ended.items()
        ),
    )
    text.append("# HELP research_latency_seconds Time to an answer, by endpoint.\n"
                "# TYPE research_latency_seconds summary\n")  # fmt: skip
    for name, numbers in lines.items():
        for endpoint, histogram in numbers.latencies.items():
            labels = {"line": name, "endpoint": endpoint}
            for share in (0.5, 0.95):
                value = histogram.quantile(share) or 0.0
                text.append(f"research_latency_seconds{_labels(run, {**labels, 'quantile': share})} {value:g}\n")
            text.append(f"research_latency_seconds_sum{_labels(run, labels)} {_number(histogram.seconds)}\n"
                        f"research_latency_seconds_count{_labels(run, labels)} {histogram.total}\n")  # fmt: skip
    slots = metrics.gate.slots()
    family("slots_active", "gauge", "Requests in flight, by cap.", (({"cap": key}, n) for key, (n, _) in slots.items()))
    family("slots_limit", "gauge", "The caps.", (({"cap": key}, cap) for key, (_, cap) in slots.items()))
    family("pages_per_second", "gauge", "Of late.", by_line("rate"))
    family("in_flight", "gauge", "Requests under way.", by_line("in_flight"))
    family("waiting", "gauge", "Requests that wait at the gate.", by_line("waiting"))
    family("queue", "gauge", "Sub-jobs that can be claimed.", by_line("queue"))
    family("sub_jobs", "gauge", "All of them.", by_line("total"))
    family("sub_jobs_done", "gauge", "Of these, ended.", by_line("done"))
    family(
        "breaker",
        "gauge",
        "1 for the state that the line's breaker is in.",
        (({"line": line.name, "state": state}, line.state == state) for line in view.lines for state in _STATES),
    )
    family("pause_seconds", "gauge", "Until the line may go on.", by_line("wait_s"))
    family("workers", "gauge", "Size of the pool.", [({}, view.workers)])
    family("workers_busy", "gauge", "Of these, at work.", [({}, view.busy)])
    family("workers_utilisation", "gauge", "Share of their time at work.", [({}, view.utilisation)])
    family("stolen_total", "counter", "Sub-jobs taken by workers of another line.", [({}, view.stolen)])
    return "".join(text)  # fmt: skip


def _labels(run: str, labels: Mapping[str, object]) -> str:
    pairs = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in {"run": run, **labels}.items())
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    """All its digits: of a rounded counter, the increase over a minute would be steps."""
    return f"{value:.15g}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Exposed(Watcher):
    """Answers ``GET /metrics`` on the loopback address."""

    def __init__(self, metrics: Metrics, observer: Observer, port: int) -> None:
        self._metrics = metrics
        self._observer = observer
        try:  # before the run begins, so that a port that is taken is one clear error
            self._socket = socket.create_server((_HOST, port))
        except OSError as error:
            raise SettingInvalid(f"--metrics-port {port}: {error.strerror}") from error
        self.port = int(self._socket.getsockname()[1])
        self._task: asyncio.Task[asyncio.Server] | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(asyncio.start_server(self._serve, sock=self._socket))
        logger.info("metrics: http://%s:%d/metrics", _HOST, self.port)

    def end(self) -> None:
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result().close()
        self._socket.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE_S)
            writer.write(self._answer(head))
            await asyncio.wait_for(writer.drain(), _PATIENCE_S)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, path = (*head.split(maxsplit=2), b"", b"")[:2]
        status, body = "404 Not Found", "GET /metrics\n"
        if path.split(b"?")[0] == b"/metrics" and method in (b"GET", b"HEAD"):
            status = "200 OK"
            try:
                body = exposition(self._metrics, self._observer)
            except Exception:
                logger.exception("the metrics could not be told; the run goes on")
                status, body = "500 Internal Server Error", ""
        content = body.encode()
        return (
            f"HTTP/1.1 {status}\r\nContent-Type: {_TYPE}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        ).encode() + (b"" if method == b"HEAD" else content)
