"""The cursors of the comment list, in the forms of three years."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode

from .protowire import chunk, number


class BadOffset(ValueError):
    """Not a cursor that we gave out."""


def write(position: int, session: str, *, hot: bool, form: str, keeps_place: bool = False) -> str:
    """`position` is where the next page begins. With `keeps_place` the cursor does not tell it."""
    if form == "json":
        if keeps_place:
            value: object = {"type": 1, "direction": 1, "session_id": session, "data": {}}
        elif hot:
            value = {"type": 1, "direction": 1, "data": {"pn": position}}
        else:
            value = {"type": 3, "direction": 1, "Data": {"cursor": position}}
        return json.dumps(value, separators=(",", ":"))
    place = b"" if keeps_place else number(1, position)
    return b64encode(number(1, 1) + chunk(2, session) + chunk(3, "") + chunk(6, place)).decode()


def read(text: str) -> int | None:
    """The position; None when the server keeps it."""
    if text.startswith("{"):
        try:
            value = json.loads(text)
            data = value.get("data", value.get("Data"))
            return data.get("pn", data.get("cursor")) if data else None
        except (ValueError, AttributeError) as exc:
            raise BadOffset(text) from exc
    try:
        raw = b64decode(text, validate=True)
    except ValueError as exc:
        raise BadOffset(text) from exc
    tail = raw.rpartition(b"\x1a\x00\x32")[2]
    if not raw.startswith(b"\x08\x01\x12") or not tail or tail[0] != len(tail) - 1:
        raise BadOffset(text)
    if len(tail) == 1:
        return None
    position = 0
    for byte in reversed(tail[2:]):
        position = position << 7 | byte & 127
    return position


def asked(pagination: str) -> str:
    """The offset inside `pagination_str`."""
    if not pagination:
        return ""
    try:
        offset = json.loads(pagination)["offset"]
    except (ValueError, KeyError, TypeError) as exc:
        raise BadOffset(pagination) from exc
    if not isinstance(offset, str):
        raise BadOffset(pagination)
    return offset
