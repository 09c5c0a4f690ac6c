"""A request and a reply, free of any web framework, so that sites can be tested without one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

Headers = list[tuple[str, str]]


@dataclass(slots=True)
class Hit:
    """One request as a site sees it."""

    method: str
    host: str  # lower case, without port
    target: str  # path and query
    headers: dict[str, str]  # names in lower case
    body: bytes = b""
    path: str = ""
    query: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = urlsplit(self.target)
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))

    def cookie(self, name: str) -> str:
        for part in self.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return ""

    def json(self) -> dict[str, Any]:
        """The body as an object; {} when it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Headers = field(default_factory=list)

    def header(self, name: str) -> str:
        return next((v for k, v in self.headers if k.lower() == name.lower()), "")


def json_reply(value: Any, status: int = 200) -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return Reply(status, body, [("Content-Type", "application/json; charset=UTF-8")])


def html_reply(text: str, status: int = 200, headers: Headers | None = None) -> Reply:
    first = ("Content-Type", "text/html; charset=utf-8")
    return Reply(status, text.encode("utf-8", "surrogatepass"), [first, *(headers or [])])


def redirect(url: str, status: int = 302, headers: Headers | None = None) -> Reply:
    return Reply(status, b"", [("Location", url), *(headers or [])])


def google_error(status: int, message: str, reason: str, code: str, **extra: Any) -> Reply:
    """The error envelope of innertube."""
    detail = {"message": message, "domain": "global", "reason": reason, **extra}
    error = {"code": status, "message": message, "errors": [detail], "status": code}
    return json_reply({"error": error}, status)


@dataclass(frozen=True, slots=True)
class Place:
    """What a request is about, for counters and faults."""

    key: str  # names the logical page; the same page asked twice has the same key
    video: str = ""


class Site(Protocol):
    """One group of hosts. Further platforms are added as further sites."""

    hosts: frozenset[str]

    def place(self, hit: Hit) -> Place: ...

    def handle(self, hit: Hit) -> Reply: ...

    def special(self, name: str, hit: Hit) -> Reply:
        """A page only this site has, asked for by a fault rule ("bot_check", "consent", …)."""
        ...

    def truth(self, only: str = "", texts: bool = True) -> dict[str, Any]:
        """What can be collected, per video (or of one video)."""
        ...

    def mutate(self, change: dict[str, Any]) -> Any: ...

    def reset(self) -> None: ...
