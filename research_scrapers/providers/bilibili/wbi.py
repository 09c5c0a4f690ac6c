"""The signature that Bilibili's web player puts under its requests, and the one under its request for a ticket.

Keys and clock are arguments: the same arguments always give the same signature.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDER = (
    46, 47, 18, 2, 53, 8, 23, 32, 15, 50, 10, 31, 58, 3, 45, 35, 27, 43, 5, 49, 33, 9, 42, 19, 29, 28, 14, 39, 12, 38,
    41, 13, 37, 48, 7, 16, 24, 55, 40, 61, 26, 17, 0, 1, 60, 51, 30, 4, 22, 25, 54, 21, 56, 59, 6, 63, 57, 62, 11, 36,
    20, 34, 44, 52,
)  # fmt: skip
_DROPPED = str.maketrans("", "", "!'()*")
_TICKET_KEY = b"XgwSnGZ1p"


def mixin(img_key: str, sub_key: str) -> str:
    """The secret of the day, mixed from the two keys that the site hands to every visitor."""
    raw = img_key + sub_key
    return "".join(raw[place] for place in _ORDER if place < len(raw))[:32]


def encoded(parameters: Mapping[str, str]) -> str:
    """A query as the site's own script writes it: a space is ``%20``, and only letters, digits and ``-_.~`` stay."""
    return urlencode(parameters, safe="", quote_via=quote)


def sign(parameters: Mapping[str, str], img_key: str, sub_key: str, now: float) -> str:
    """The query with its signature. What is signed is what is sent."""
    told = {name: value.translate(_DROPPED) for name, value in parameters.items() if name not in ("w_rid", "wts")}
    query = encoded(dict(sorted({**told, "wts": str(int(now))}.items())))
    digest = hashlib.md5((query + mixin(img_key, sub_key)).encode(), usedforsecurity=False).hexdigest()
    return f"{query}&w_rid={digest}"


def signed_url(url: str, img_key: str, sub_key: str, now: float) -> str:
    """The address with its query signed; nothing in it is encoded twice, and nothing empty is lost."""
    parts = urlsplit(url)
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    return parts._replace(query=sign(parameters, img_key, sub_key, now)).geturl()


def hexsign(now: float) -> str:
    """The signature under a request for a ticket."""
    return hmac.new(_TICKET_KEY, f"ts{int(now)}".encode(), hashlib.sha256).hexdigest()
