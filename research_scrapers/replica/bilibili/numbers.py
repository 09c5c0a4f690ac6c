"""Bilibili's numbers: av and BV ids, comment, danmaku and member numbers, sender hashes."""

from __future__ import annotations

import re
from zlib import crc32

from research_scrapers.replica.identity import digest

_XOR = 23442827791579
_MASK = (1 << 51) - 1
_ALPHABET = "FcwAPNKTMug3GV5Lj7EJnHpWsx4tb8haYeviqBz6rkCy12mUSDQX9RdoZf"
_DIGITS = {char: value for value, char in enumerate(_ALPHABET)}
_BVID = re.compile(r"BV1[1-9A-HJ-NP-Za-km-z]{9}")
_ODD = 0x9E3779B97F4A7C15  # odd, therefore a permutation of every power of two


def bvid_of(aid: int) -> str:
    chars = list("BV1000000000")
    rest, at = (1 << 51 | aid) ^ _XOR, 11
    while rest:
        rest, digit = divmod(rest, 58)
        chars[at] = _ALPHABET[digit]
        at -= 1
    return "".join(_swapped(chars))


def aid_of(bvid: str) -> int | None:
    """None when the text is no BV id."""
    if not _BVID.fullmatch(bvid):
        return None
    value = 0
    for char in _swapped(list(bvid))[3:]:
        value = value * 58 + _DIGITS[char]
    return (value & _MASK) ^ _XOR


def _swapped(chars: list[str]) -> list[str]:
    chars[3], chars[9] = chars[9], chars[3]
    chars[4], chars[7] = chars[7], chars[4]
    return chars


def mid_hash(mid: int) -> str:
    """How danmaku name their sender: no leading zeros."""
    return f"{crc32(str(mid).encode()):x}"


def scatter(kind: str, seed: int, number: int, first: int, bits: int) -> int:
    """The number-th id of a kind: unique, and in no order that tells anything."""
    salt = int.from_bytes(digest("scatter", kind, seed, size=8))
    return first + (number * _ODD + salt) % (1 << bits)
