"""What YouTube's answers say of whoever asked: the watch page and the player echo the caller's address."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from research_scrapers.models import Answer

_HOST = re.compile(rb"(\"remoteHost\"\s*:\s*\")[^\"]*")
_IN_ADDRESS = re.compile(
    rb"((?:[?&;,]|\\u0026|\\x26|%26|%3F|%2C)ip(?:=|%3D))[0-9A-Fa-f.:]+(?:%(?:25)?3A[0-9A-Fa-f.]*)*"
)
"""In addresses of streams, escaped in whatever way they are."""


def scrub(answer: Answer) -> Answer:
    """The answer without its caller's address. Comments are left as they are: people write about addresses."""
    if urlsplit(answer.url).path not in ("/watch", "/youtubei/v1/player"):
        return answer
    body = _IN_ADDRESS.sub(rb"\g<1>0.0.0.0", _HOST.sub(rb"\g<1>", answer.body))
    return replace(answer, body=body)
