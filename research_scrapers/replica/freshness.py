"""Pages that may be kept: Cache-Control, ETag, and 304 for whoever has the page already."""

from __future__ import annotations

import hashlib
import re

from .wire import Hit, Reply

_PASSING = re.compile(
    rb'"(?:now_time|visitorData|VISITOR_DATA)"\s*:\s*(?:"[^"]*"|\d+)|(?:[?&]|\\u0026)(?:ei|expire|signature)=[^"&\\]*'
)
"""What differs from one answer to the next although the page is the same."""


def labelled(hit: Hit, reply: Reply, control: str) -> Reply:
    """The reply with what a cache needs, or the news that the client's own copy still holds."""
    if not control or hit.method != "GET" or reply.status != 200:
        return reply
    tag = f'"{hashlib.sha256(_PASSING.sub(b"", reply.body)).hexdigest()[:20]}"'
    headers = [("Cache-Control", control), ("ETag", tag)]
    if hit.headers.get("if-none-match") == tag:
        return Reply(304, b"", headers)
    kept = [(name, value) for name, value in reply.headers if name.lower() not in ("cache-control", "etag", "expires")]
    return Reply(reply.status, reply.body, [*kept, *headers, ("Set-Cookie", "VISITOR=replica-canary; Path=/")])
