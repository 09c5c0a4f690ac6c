"""The replica's port: ordinary HTTP and, after CONNECT, TLS for the hosts it plays."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from twisted.internet.protocol import Protocol, connectionDone
from twisted.web import http

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.python.failure import Failure

    from .authority import Authority

_LONGEST_HEAD = 65_536
_VERBS = b"CONNECT "


class ReplicaRequest(http.Request):
    """Hands every request to the replica; there is no resource tree."""

    def process(self) -> None:
        # An open http.Request is answered later, by Exchange.
        self.channel.factory.serve(self)


class Front(Protocol):
    """Looks at the first bytes of a connection, then gets out of the way."""

    def __init__(self, factory: FrontFactory, inner: Any) -> None:
        self.factory, self.inner = factory, inner
        self._head: bytes | None = b""  # None: the connection is decided

    def connectionMade(self) -> None:
        self.wire: Any = self.transport
        self.factory.connections.add(self)

    def dataReceived(self, data: bytes) -> None:
        if self._head is None:
            self.inner.dataReceived(data)
            return
        self._head += data
        start = self._head[: len(_VERBS)]
        if not _VERBS.startswith(start):
            head, self._head = self._head, None
            self.inner.makeConnection(self.wire)
            self.inner.dataReceived(head)
        elif b"\r\n\r\n" in self._head:
            self._tunnel(self._head.split(b" ", 2)[1].decode("latin-1"))
        elif len(self._head) > _LONGEST_HEAD:
            self.wire.loseConnection()

    def _tunnel(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        host = host.lower()
        if port != "443" or host not in self.factory.hosts():
            self.wire.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.wire.loseConnection()
            return
        self._head = None
        self.wire.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wire.startTLS(self.factory.authority.context_for(host))
        self.inner.makeConnection(self.wire)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.factory.connections.discard(self)
        if self._head is None:
            self.inner.connectionLost(reason)


class FrontFactory(http.HTTPFactory):
    """Builds a Front around each of Twisted's own HTTP channels."""

    def __init__(
        self,
        serve: Callable[[http.Request], None],
        hosts: Callable[[], frozenset[str]],
        authority: Authority,
        reactor: Any,
    ) -> None:
        super().__init__(timeout=300, reactor=reactor)
        self.serve, self.hosts, self.authority = serve, hosts, authority
        self.connections: set[Front] = set()
        self.noisy = False

    def buildProtocol(self, addr: Any) -> Any:
        channel: Any = super().buildProtocol(addr)
        channel.requestFactory = ReplicaRequest
        return Front(self, channel)

    def log(self, request: Any) -> None:
        """No access log: the counters are the log."""


def cut(transport: Any) -> None:
    """End a connection with a TCP reset, as a crashing server or a firewall does."""
    # Without lingering, the kernel answers unsent data with RST instead of an orderly FIN.
    transport.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abortConnection()
