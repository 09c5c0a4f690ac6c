"""The replica itself: one loopback port that plays all hosts, for demo, tests and benchmarks."""

from __future__ import annotations

import asyncio
import gzip
from email.utils import formatdate
from random import Random
from time import time
from typing import TYPE_CHECKING, Any, cast

from twisted.internet.defer import maybeDeferred

from .authority import Authority
from .control import CONTROL, Control
from .counters import Counters, Entry
from .faults import FaultPlan, Rule
from .front import FrontFactory, cut
from .wire import Hit, Reply, Site, google_error, html_reply
from .youtube import YouTube

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .world import World

_LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]", ""))
_DRIP_PARTS = 20
_PHRASES = {429: "Too Many Requests", 403: "Forbidden"}


# Twisted's http.Request is untyped; one alias says so instead of an ignore on every line.
Request = Any


def read_hit(request: Request) -> Hit:
    headers = {
        name.decode("latin-1").lower(): values[-1].decode("latin-1")
        for name, values in request.requestHeaders.getAllRawHeaders()
    }
    target = request.uri.decode("latin-1")
    host = headers.get("host", "")
    if target.startswith(("http://", "https://")):  # asked as a forward proxy
        host, _, rest = target.partition("://")[2].partition("/")
        target = f"/{rest}"
    name = host if host.endswith("]") else host.partition(":")[0]
    body = request.content.read() if request.content is not None else b""
    return Hit(request.method.decode("latin-1"), name.lower(), target, headers, body)


class Replica:
    """Answers for every host of its sites.

    `latency` is the time before each answer in seconds, or a (least, most) pair. With
    `compress`, answers are gzipped for clients that accept it (costs CPU, so off by default).
    `cache_pages` keeps that many finished comment pages (0.1 to 0.5 MB each) for benchmarks that
    read the same world several times.
    """

    def __init__(
        self,
        world: World,
        latency: float | tuple[float, float] = 0.0,
        *,
        robots: str = "real",
        api_key: str = "replica-key",
        quota: int = 10_000,
        compress: bool = False,
        cache_pages: int = 0,
        seed: int = 0,
        sites: Sequence[Site] = (),
    ) -> None:
        self.world, self.latency, self.compress = world, latency, compress
        self.youtube = YouTube(world, robots=robots, api_key=api_key, quota=quota, cache_pages=cache_pages)
        self.faults, self.counters = FaultPlan(seed), Counters()
        self.authority = Authority()
        self.origin = ""
        self._random = Random(seed)
        self._sites: dict[str, Site] = {}
        self.sites: list[Site] = []
        for site in (self.youtube, *sites):
            self.add_site(site)
        self._control = Control(self)
        self._port: Any = None
        self._factory: FrontFactory | None = None
        self._calls: set[Any] = set()

    def add_site(self, site: Site) -> None:
        self.sites.append(site)
        self._sites.update(dict.fromkeys(site.hosts, site))

    def hosts(self) -> frozenset[str]:
        return frozenset(self._sites)

    def write_ca(self, path: str | Path) -> None:
        """The certificate that a client must trust to use the replica as its https proxy."""
        self.authority.write(path)

    # -- life ------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> str:
        from twisted.internet import reactor

        self._reactor = cast("Any", reactor)
        self._factory = FrontFactory(self.serve, self.hosts, self.authority, reactor)
        self._port = self._reactor.listenTCP(port, self._factory, interface="127.0.0.1")
        self.origin = f"http://127.0.0.1:{self._port.getHost().port}"
        return self.origin

    async def stop(self) -> None:
        if self._port is None or self._factory is None:
            return
        port, self._port = self._port, None
        for call in [*self._calls]:
            if call.active():
                call.cancel()
        self._calls.clear()
        done = maybeDeferred(port.stopListening)
        for connection in [*self._factory.connections]:
            connection.wire.abortConnection()
        try:
            task = asyncio.current_task()
        except RuntimeError:
            task = None
        # A Deferred can be awaited by Twisted's coroutines, but not by an asyncio task.
        await (done.asFuture(asyncio.get_running_loop()) if task else done)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        def run() -> None:
            self._calls.discard(call)
            action()

        call = self._reactor.callLater(seconds, run)
        self._calls.add(call)

    # -- requests --------------------------------------------------------------------------

    def serve(self, request: Request) -> None:
        hit = read_hit(request)
        if hit.host in _LOOPBACK and hit.path.startswith(CONTROL):
            send(request, self._control.handle(hit), False)
            return
        site = self._sites.get(hit.host)
        if site is None:
            text = "<html>The replica does not play this host.</html>"
            send(request, html_reply(text, 502), False)
            return
        place = site.place(hit)
        entry = self.counters.begin(hit.host, hit.path, place.key)
        rule = self.faults.pick(hit.host, hit.path, hit.method, place.video, place.key)
        exchange = Exchange(self, request, hit, site, entry, rule)
        delay = self.latency
        if isinstance(delay, tuple):
            delay = self._random.uniform(*delay)
        if delay > 0:
            self.later(delay, exchange.answer)
        else:
            exchange.answer()


def send(request: Request, reply: Reply, compress: bool) -> None:
    body = reply.body
    request.setResponseCode(reply.status)
    for name, value in reply.headers:
        request.responseHeaders.addRawHeader(name.encode(), value.encode("latin-1", "replace"))
    if compress and len(body) > 1000 and not reply.header("Content-Encoding"):
        body = gzip.compress(body, 1)
        request.responseHeaders.addRawHeader(b"Content-Encoding", b"gzip")
    request.responseHeaders.setRawHeaders(b"Content-Length", [str(len(body)).encode()])
    request.write(body)
    request.finish()


class Exchange:
    """One request on its way to an answer, or to the fault that takes its place."""

    def __init__(
        self,
        replica: Replica,
        request: Request,
        hit: Hit,
        site: Site,
        entry: Entry,
        rule: Rule | None,
    ) -> None:
        self.replica, self.request, self.hit, self.site = replica, request, hit, site
        self.entry, self.rule = entry, rule
        self.status, self.gone = 0, False
        request.notifyFinish().addBoth(self._over)

    def _over(self, result: object) -> None:
        self.gone = True
        self.replica.counters.end(self.entry, self.status)

    def answer(self) -> None:
        if self.gone:
            return
        rule = self.rule
        if rule is None:
            self._send(self._page())
            return
        match rule.action:
            case "status":
                if rule.retry_after is not None:
                    self.replica.counters.told_to_wait(self.hit.host, rule.retry_after)
                self._send(_failure(rule, self.hit))
            case "reset":
                cut(self.request.channel.transport)
            case "hang":
                self.replica.later(rule.seconds, self._hang_up)
            case "truncate":
                self._truncate(rule.keep)
            case "empty":
                self._send(Reply(200, b"", [("Content-Type", "application/json; charset=UTF-8")]))
            case "html":
                text = "<!DOCTYPE html><html><body>Something went wrong.</body></html>"
                self._send(html_reply(text))
            case "garbage":
                junk = Random(rule.fired).randbytes(4096)
                self._send(Reply(200, junk, [("Content-Type", "application/json; charset=UTF-8")]))
            case "drip":
                self._drip(rule.seconds)
            case special:
                self._send(self.site.special(special, self.hit))

    def _page(self) -> Reply:
        try:
            return self.site.handle(self.hit)
        except Exception as exc:
            # A mistake of the replica must not look like one of YouTube's errors.
            return html_reply(f"<html>replica failed: {exc!r}</html>", 599)

    def _send(self, reply: Reply) -> None:
        self.status = reply.status
        accepts = "gzip" in self.hit.headers.get("accept-encoding", "")
        send(self.request, reply, self.replica.compress and accepts)

    def _hang_up(self) -> None:
        if not self.gone:
            cut(self.request.channel.transport)

    def _head(self) -> bytes:
        reply = self._page()
        self.status = reply.status
        request = self.request
        request.setResponseCode(reply.status)
        for name, value in reply.headers:
            request.responseHeaders.addRawHeader(name.encode(), value.encode("latin-1", "replace"))
        request.responseHeaders.setRawHeaders(b"Content-Length", [str(len(reply.body)).encode()])
        return reply.body

    def _truncate(self, keep: float) -> None:
        body = self._head()
        self.request.write(body[: int(len(body) * keep)])
        # Closed in good order, but before the promised length.
        self.request.channel.loseConnection()

    def _drip(self, seconds: float) -> None:
        body = self._head()
        step = max(len(body) // _DRIP_PARTS, 1)
        parts = [body[at : at + step] for at in range(0, len(body), step)]

        def drop() -> None:
            if self.gone:
                return
            if parts:
                self.request.write(parts.pop(0))
                self.replica.later(seconds / _DRIP_PARTS, drop)
            else:
                self.request.finish()

        drop()


def _failure(rule: Rule, hit: Hit) -> Reply:
    text = _PHRASES.get(rule.status, "Server Error")
    if hit.path.startswith(("/youtubei/", "/youtube/v3/")):
        code, reason = ("INTERNAL", "backendError") if rule.status >= 500 else ("ABORTED", text)
        reply = google_error(rule.status, text, reason, code)
    else:
        reply = html_reply(f"<html><title>Error {rule.status}</title>{text}</html>", rule.status)
    wait = rule.retry_after
    if wait is not None:
        shown = str(int(wait)) if wait == int(wait) else str(wait)
        if rule.retry_date:
            shown = formatdate(time() + wait, usegmt=True)
        reply.headers.append(("Retry-After", shown))
    return reply
