"""Ids in YouTube's own alphabet.

Comments are never stored, so an id must tell which comment it names: the running number is
scrambled into the id and can be read back. To a client the ids look as random as real ones.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from hashlib import blake2b

_VIDEO_LAST = "AEIMQUYcgkosw048"
_CHANNEL_LAST = "AQgw"
_NEW_TAIL = "4AaABAg"
_OLD_TAIL = "HgCoAEC"
_BITS = 48
_MASK = (1 << _BITS) - 1
_MULTIPLIER = 0x9E3779B97F4B  # odd, therefore invertible modulo 2**48
_INVERSE = pow(_MULTIPLIER, -1, 1 << _BITS)


def digest(*parts: object, size: int = 32) -> bytes:
    """Deterministic bytes for a place in the world."""
    return blake2b("\x1f".join(map(str, parts)).encode(), digest_size=size).digest()


def chars(raw: bytes, count: int) -> str:
    """At most `count` characters of the id alphabet drawn from `raw`."""
    return urlsafe_b64encode(raw)[:count].decode()


def video_id(*parts: object) -> str:
    raw = digest("video", *parts)
    return chars(raw, 10) + _VIDEO_LAST[raw[31] % 16]


def channel_id(*parts: object) -> str:
    raw = digest("channel", *parts)
    return "UC" + chars(raw, 21) + _CHANNEL_LAST[raw[31] % 4]


def _pack(number: int, salt: int) -> str:
    value = (number * _MULTIPLIER + salt) & _MASK
    return urlsafe_b64encode(value.to_bytes(6)).decode()


def _unpack(text: str, salt: int) -> int:
    value = int.from_bytes(b64decode(text, altchars=b"-_", validate=True))
    return ((value - salt) * _INVERSE) & _MASK


def comment_id(seq: int, salt: int, raw: bytes, *, old: bool = False) -> str:
    """26 characters (`Ug…4AaABAg`), or 20 (`Ug…HgCoAEC`) as given out years ago."""
    packed = _pack(seq, salt)
    if old:
        return f"Ug{'ghij'[raw[0] & 3]}{packed}{chars(raw[1:4], 2)}{_OLD_TAIL}"
    return f"Ug{'wxyz'[raw[0] & 3]}{packed}{chars(raw[1:7], 8)}{_NEW_TAIL}"


def reply_id(root_id: str, number: int, salt: int, raw: bytes) -> str:
    """`<root>.<22 characters>`; the first 11 are shared by the thread, as on the real site."""
    shared = chars(digest("thread", root_id, size=9), 10)
    return f"{root_id}.9{shared}{_pack(number, salt)}{chars(raw[1:4], 3)}"


def read_comment_id(text: str, salt: int) -> tuple[int, int | None] | None:
    """(seq, reply number or None) of an id made above; None when it cannot be one of ours."""
    root, _, reply = text.partition(".")
    if not (len(root) in (20, 26) and root.startswith("Ug")):
        return None
    if reply and len(reply) != 22:
        return None
    try:
        seq = _unpack(root[3:11], salt)
        return seq, (_unpack(reply[11:19], salt) if reply else None)
    except ValueError:  # not base64
        return None
