"""WBI signatures and tickets, checked as the site checks them."""

from __future__ import annotations

import hmac
from hashlib import md5
from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote

from research_scrapers.replica.identity import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

_ORDER = (
    46, 47, 18, 2, 53, 8, 23, 32, 15, 50, 10, 31, 58, 3, 45, 35, 27, 43, 5, 49, 33, 9, 42, 19, 29, 28, 14, 39, 12, 38,
    41, 13, 37, 48, 7, 16, 24, 55, 40, 61, 26, 17, 0, 1, 60, 51, 30, 4, 22, 25, 54, 21, 56, 59, 6, 63, 57, 62, 11, 36,
    20, 34, 44, 52,
)  # fmt: skip
_DROPPED = str.maketrans("", "", "!'()*")
_CLOCK = 600  # seconds by which wts may be off


def mixin_key(img_key: str, sub_key: str) -> str:
    raw = img_key + sub_key
    return "".join(raw[place] for place in _ORDER)[:32]


def signature(params: Mapping[str, str], mixin: str) -> str:
    """w_rid of all parameters, wts among them."""
    query = "&".join(
        f"{quote(key, safe='')}={quote(value.translate(_DROPPED), safe='')}"
        for key, value in sorted(params.items())
        if key != "w_rid"
    )
    return md5(f"{query}{mixin}".encode()).hexdigest()  # noqa: S324 - the site's choice


def ticket_sign(moment: str) -> str:
    return hmac.digest(b"XgwSnGZ1p", f"ts{moment}".encode(), "sha256").hex()


class Keys:
    """The pair of keys in force; a rotation makes every older signature wrong."""

    def __init__(self, seed: int) -> None:
        self._seed, self.turn = seed, 0

    def pair(self) -> tuple[str, str]:
        raw = digest("wbi", self._seed, self.turn)
        return raw[:16].hex(), raw[16:].hex()

    def addresses(self) -> tuple[str, str]:
        """As nav hands them out: dressed up as pictures."""
        img, sub = self.pair()
        return f"https://i0.hdslb.com/bfs/wbi/{img}.png", f"https://i0.hdslb.com/bfs/wbi/{sub}.png"

    def rotate(self) -> None:
        self.turn += 1

    def accept(self, params: Mapping[str, str]) -> bool:
        moment = params.get("wts", "")
        if not moment.isdecimal() or abs(int(moment) - time()) > _CLOCK:
            return False
        return hmac.compare_digest(params.get("w_rid", ""), signature(params, mixin_key(*self.pair())))
