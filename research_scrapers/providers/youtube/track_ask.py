"""What the cursor of a track carries from page to page, as compact JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from research_scrapers.errors import CursorExpired

FORMATS = ("json3", "srv3", "srv1", "vtt")
"""Best first: words with times and no double escaping, down to rolling repeats."""


@dataclass(frozen=True, slots=True)
class TrackAsk:
    """What a track's cursor carries: all that is needed to ask for it, and what has been tried."""

    url: str
    language: str
    kind: str
    name: str
    step: str = "watch"
    """The step whose client gave the address."""
    fmt: str = FORMATS[0]
    into: str = ""
    renewed: bool = False

    @property
    def token(self) -> str:
        """Compact JSON; what has its default is left out."""
        told = {key: value for key, value in asdict(self).items() if value != getattr(_PLAIN, key)}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of(cls, token: str) -> TrackAsk:
        """The inverse of `token`."""
        try:
            told = json.loads(token)
            read = replace(_PLAIN, **told)
        except (ValueError, TypeError, RecursionError):
            raise CursorExpired("the cursor of a track cannot be read") from None
        if any(type(value) is not type(getattr(_PLAIN, key)) for key, value in asdict(read).items()):
            raise CursorExpired("the cursor of a track cannot be read")
        return read


_PLAIN = TrackAsk("", "", "", "")
