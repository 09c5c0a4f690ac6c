"""Counts as the site prints them: "1,234", "19.689", "1.4K", "1,4 Mio.", and a blank for zero.

A shortened count is a rounded one. Whoever stores it must be able to say so, hence `Count.exact`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from research_scrapers.providers.tree import LARGEST

SCALES = {
    **dict.fromkeys(("k", "tsd", "mil", "тыс", "tys", "tis", "rb", "ribu", "천", "千", "bin"), 10**3),
    **dict.fromkeys(("万", "萬", "만"), 10**4),
    **dict.fromkeys(("lakh", "लाख"), 10**5),
    **dict.fromkeys(("m", "mio", "mln", "mn", "mi", "млн", "jt", "juta", "mill"), 10**6),
    **dict.fromkeys(("crore", "करोड़"), 10**7),
    **dict.fromkeys(("億", "亿", "억"), 10**8),
    **dict.fromkeys(("b", "bn", "mrd", "mld", "md", "bi", "млрд"), 10**9),
    **dict.fromkeys(("t", "bio"), 10**12),
}
"""Words for powers of ten, without their full stop, in the languages in which they are unambiguous."""

_GAP = "\u00a0\u202f\u2009 '\u2019"
_NUMBER = re.compile(rf"(?<![\w.,])(\d(?:[\d.,{_GAP}]*\d)?)[{_GAP}]*([^\W\d_]*)")
_GROUPED = re.compile(rf"\d{{1,3}}(?:([.,{_GAP}])\d{{2,3}}(?:\1\d{{2,3}})*)?")
_LONGEST = 40


class Count(NamedTuple):
    """A count and whether the site printed every digit of it."""

    value: int
    exact: bool


def parse_count(text: str | None) -> Count | None:
    """The first number of a text, or ``None`` if there is none that can be read without guessing."""
    match = _NUMBER.search(text[:_LONGEST]) if text else None
    if match is None:
        return None
    digits, word = match.groups()
    scale = SCALES.get(word.lower())
    if scale is None:
        whole = _whole(digits)
        return None if whole is None or whole > LARGEST else Count(whole, True)
    decimals = re.sub(rf"[{_GAP}]", "", digits).replace(",", ".")
    if decimals.count(".") > 1:
        decimals = decimals.replace(".", "")
    rounded = round(float(decimals) * scale)
    return Count(rounded, False) if rounded <= LARGEST else None


def _whole(digits: str) -> int | None:
    """``1,234`` or ``1.234`` or ``1 234``: a grouping sign is one only if three digits stand behind it at the end."""
    if digits.isdigit():
        return int(digits)
    if not _GROUPED.fullmatch(digits) or not digits[-3:].isdigit():
        return None
    return int("".join(sign for sign in digits if sign.isdigit()))


def parse_likes(text: object, spoken: object = None) -> Count | None:
    """Likes of a comment. A blank means none; the spoken label may hold the digits that the short form rounds away."""
    if not isinstance(text, str):
        return parse_count(spoken) if isinstance(spoken, str) else None
    if not text.strip():
        return Count(0, True)
    count = parse_count(text)
    if count is not None and not count.exact and isinstance(spoken, str):
        full = parse_count(spoken)
        if full is not None and full.exact and abs(full.value - count.value) <= 0.1 * count.value:
            return full
    return count
