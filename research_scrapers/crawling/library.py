"""A blocking library's requests, carried by Scrapy: caps, bucket, retries, breaker, proxies and statistics apply.

The library runs in a thread. Its `requests` session has one adapter, which hands every request to the engine on the
reactor's loop, waits for the answer, and keeps the last whole answer of each path for whoever wants to read it too. The
library may be given less of a body than came, as long as it decides the same: what it computes holds up the reactor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from research_scrapers.models import Ask

if TYPE_CHECKING:
    from requests import PreparedRequest
    from scrapy.http import Response

Download = Callable[[Ask], Coroutine[Any, Any, "Response"]]

_OURS = frozenset({"user-agent", "accept-encoding", "connection", "content-length"})
"""Headers that the downloader sets itself."""
_LOOK_S = 1.0


class EngineAdapter(BaseAdapter):
    """Sends by Scrapy's engine instead of a socket of its own."""

    def __init__(
        self, download: Download, loop: asyncio.AbstractEventLoop, shorten: Callable[[bytes], bytes] = bytes
    ) -> None:
        super().__init__()
        self._shorten = shorten
        self._download = download
        self._loop = loop
        self.answers: dict[str, Response] = {}

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Wait, in the library's thread, for what the engine downloads."""
        assert request.url is not None
        body = request.body or b""
        assert isinstance(body, str | bytes)
        headers = {name: str(value) for name, value in request.headers.items() if name.lower() not in _OURS}
        ask = Ask(request.url, request.method or "GET", headers, body.encode() if isinstance(body, str) else body)
        answer = self._wait(asyncio.run_coroutine_threadsafe(self._download(ask), self._loop))
        told = self._shorten(answer.body)
        if told is answer.body:  # a page of which a line was of use is not kept
            self.answers[urlsplit(request.url).path] = answer
        return _as_requests(request, answer, told)

    def _wait(self, coming: Future[Response]) -> Response:
        """Not for ever: a loop that was stopped by force brings no answer, and this thread would outlive it."""
        while True:
            try:
                return coming.result(_LOOK_S)
            except TimeoutError:
                if coming.done():  # perhaps only now: its own error, if it has one, comes from it
                    return coming.result()
                if not self._loop.is_running():
                    raise requests.ConnectionError("the program is ending") from None

    def close(self) -> None:
        """Nothing is held open."""


def _as_requests(request: PreparedRequest, answer: Response, body: bytes) -> requests.Response:
    response = requests.Response()
    response.status_code = answer.status
    response.headers = CaseInsensitiveDict(
        {name.decode("latin-1"): b", ".join(values).decode("latin-1") for name, values in answer.headers.items()}
    )
    response.url = answer.url
    response.request = request
    response.encoding = "utf-8"
    response._content = body
    return response


def carried_session(adapter: EngineAdapter) -> requests.Session:
    """A session all of whose requests go through the engine. It follows no redirect: the provider reads those."""
    session = requests.Session()
    session.trust_env = False
    session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session
