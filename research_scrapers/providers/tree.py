"""Reading answers of unknown honesty: decode once, then dig without ever tripping over a wrong type.

Such answers are deep, optional and often experimental. These helpers answer ``None`` where a place is missing or holds
something else, so that a parser says what is mandatory in one place instead of guarding every step.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from research_scrapers.errors import LayoutChanged, PartialResponse, WrongContent

JSON_GUARD = b")]}'"
"""Prefix that keeps browsers from running some sites' JSON as a script."""
LARGEST = 2**63 - 1
"""The largest number that a database can hold. No count and no id is larger."""
_LARGE, _MOST = 8 * 2**20, 4_000_000
"""Of a body beyond so many bytes, so many values are believed: empty ones cost twenty times their room in memory."""


_WHOLE: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def decode(body: bytes, decoder: msgspec.json.Decoder[Any] = _WHOLE) -> Any:
    """The JSON value of a body; raises the leaf that says what is wrong with it. A ``decoder`` may leave out what is
    not wanted; a body that does not fit it is decoded whole.
    """
    text = body.lstrip(b"\xef\xbb\xbf \t\r\n").removeprefix(JSON_GUARD).strip()
    if not text:
        raise PartialResponse("the body is empty")
    if len(text) > _LARGE and sum(map(text.count, (b",", b"[", b"{"))) > _MOST:
        raise LayoutChanged(f"{len(text)} bytes of JSON that hold millions of values")
    try:
        return decoder.decode(text)
    except RecursionError:
        raise LayoutChanged("the JSON is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError):
        return _decode_leniently(text)


def _decode_leniently(text: bytes) -> Any:
    """Half of an emoji (a lone surrogate) is legal JSON but not legal text: keep the page, mark the half as ``?``."""
    try:
        value = json.loads(text.decode("utf-8", "replace"))
        return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise LayoutChanged("the JSON is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError):
        if text[:1] in (b"{", b"["):
            raise PartialResponse("the JSON breaks off or is damaged") from None
        raise WrongContent("the body is not JSON") from None


def decode_object(body: bytes, decoder: msgspec.json.Decoder[Any] = _WHOLE) -> dict[str, Any]:
    """Like `decode`, for answers that must be an object."""
    value = decode(body, decoder)
    if not isinstance(value, dict):
        raise LayoutChanged("the JSON is not an object")
    return value


def dig(node: Any, *path: str | int) -> Any:
    """What is found along the path, or ``None``. Every record is read by dozens of these: no step more than needed."""
    for step in path:
        if type(node) is dict:
            node = node.get(step)
        elif type(node) is list and type(step) is int and -len(node) <= step < len(node):
            node = node[step]
        else:
            return None
    return node


def dict_at(node: Any, *path: str | int) -> dict[str, Any]:
    """The object at the path, or an empty one."""
    found = dig(node, *path)
    return found if type(found) is dict else {}


def list_at(node: Any, *path: str | int) -> list[Any]:
    """The list at the path, or an empty one."""
    found = dig(node, *path)
    return found if type(found) is list else []


def str_at(node: Any, *path: str | int) -> str | None:
    """The text at the path; an empty one counts as missing."""
    found = dig(node, *path)
    return found if type(found) is str and found else None


def int_at(node: Any, *path: str | int) -> int | None:
    """The whole number at the path, also where the site writes numbers as text (as it does with 64-bit ones). One that
    no database could hold is none.
    """
    found = dig(node, *path)
    if type(found) is str and len(found) <= 19 and found.isascii() and found.isdigit():
        found = int(found)
    return found if type(found) is int and -LARGEST <= found <= LARGEST else None
