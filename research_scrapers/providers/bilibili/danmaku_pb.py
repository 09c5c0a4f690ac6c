"""The site's protobuf messages for danmaku, as far as we read them; what else they hold is skipped.

The schema is built here, in code, because it is ours: the numbers are the site's, the names are for us.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from research_scrapers.errors import LayoutChanged, PartialResponse

SEGMENT_MS = 360_000
"""A segment is six minutes."""
_LARGE, _LARGEST, _MOST = 2**20, 32 * 2**20, 200_000
"""Of a body beyond so many bytes (and none beyond so many), so many danmaku are believed. The site gives a few
thousand; an empty one takes two bytes of the message and a hundred times as many in memory."""

_PACKAGE = "research_scrapers.bilibili"
_Field = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
    "string": _Field.TYPE_BYTES,  # decoded by us: one damaged text must not cost the whole segment
}
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Danmaku": {
        "id": (1, "int64"),
        "progress": (2, "int32"),
        "mode": (3, "int32"),
        "fontsize": (4, "int32"),
        "color": (5, "uint32"),
        "mid_hash": (6, "string"),
        "content": (7, "string"),
        "ctime": (8, "int64"),
        "weight": (9, "int32"),
        "action": (10, "string"),
        "pool": (11, "int32"),
        "id_str": (12, "string"),
        "attr": (13, "int32"),
        "likes": (15, "int64"),
        "animation": (22, "string"),
        "colorful": (24, "int32"),
        "oid": (26, "int64"),
    },
    "Segment": {"elems": (1, "*Danmaku"), "state": (2, "int32"), "range": (4, "*int64")},
    "Segments": {"page_size": (1, "int64"), "total": (2, "int64")},
    "View": {
        "state": (1, "int32"),
        "segments": (4, "Segments"),
        "special": (6, "*string"),
        "count": (8, "int64"),
    },
}


@dataclass(frozen=True, slots=True)
class DanmakuView:
    """What the site says of a part's danmaku before they are fetched."""

    closed: bool
    total: int
    """How many segments; 0 where it does not say."""
    special: tuple[str, ...]
    """Addresses of scripted danmaku, which stand in no segment."""


@cache
def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="research_scrapers/bilibili.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for label, (number, kind) in fields.items():
            told = message.field.add(name=label, number=number)
            told.label = _Field.LABEL_REPEATED if kind.startswith("*") else _Field.LABEL_OPTIONAL
            plain = kind.removeprefix("*")
            if plain in _TYPES:
                told.type = _TYPES[plain]
            else:
                told.type, told.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES
    }


def message_class(name: str) -> Any:
    """The class of a message, for whoever writes one."""
    return _classes()[name]


def _decoded(name: str, body: bytes) -> Any:
    if len(body) > _LARGEST or (len(body) > _LARGE and _fields(body) > _MOST):
        raise LayoutChanged(f"a protobuf message of {len(body)} bytes that holds too much to be believed")
    message = _classes()[name]()
    try:
        message.ParseFromString(body)
    except (DecodeError, ValueError, RecursionError):
        raise PartialResponse("the protobuf message breaks off or is damaged") from None
    return message


def _fields(body: bytes) -> int:
    """How many fields the message has at its top, counted until it is too many. What is damaged, the decoder tells."""
    place = count = 0
    while place < len(body) and count <= _MOST:
        tag, place = _varint(body, place)
        count += 1
        match tag & 7:
            case 0:
                _, place = _varint(body, place)
            case 1:
                place += 8
            case 2:
                length, place = _varint(body, place)
                place += length
            case 5:
                place += 4
            case _:
                break
    return count


def _varint(body: bytes, place: int) -> tuple[int, int]:
    value = 0
    for offset, byte in enumerate(body[place : place + 10]):
        value |= (byte & 127) << 7 * offset
        if byte < 128:
            return value, place + offset + 1
    return value, len(body)


def read_segment(body: bytes) -> Any:
    """A segment, a special file or a day of history: all the same message."""
    return _decoded("Segment", body)


def read_view(body: bytes) -> DanmakuView:
    """How many segments there are, whether danmaku are closed, and which special files exist."""
    view = _decoded("View", body)
    return DanmakuView(
        view.state == 1, max(view.segments.total, 0), tuple(url.decode("utf-8", "replace") for url in view.special)
    )
