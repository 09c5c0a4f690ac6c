"""The danmaku messages for a real protobuf library, so that bytes written by hand are read by someone else."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_KINDS = {"int": 3, "text": 9, "bytes": 12}
_ELEM = {
    "id": (1, "int"), "progress": (2, "int"), "mode": (3, "int"), "fontsize": (4, "int"), "color": (5, "int"),
    "sender": (6, "text"), "content": (7, "text"), "ctime": (8, "int"), "weight": (9, "int"), "action": (10, "text"),
    "pool": (11, "int"), "id_text": (12, "text"), "attr": (13, "int"), "likes": (15, "int"), "f16": (16, "bytes"),
    "f17": (17, "bytes"), "f18": (18, "bytes"), "f20": (20, "bytes"), "f21": (21, "bytes"), "animation": (22, "text"),
    "colorful": (24, "int"), "type": (25, "int"), "oid": (26, "int"), "source": (27, "int"),
}  # fmt: skip
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Elem": _ELEM,
    "Segment": {"elems": (1, "*Elem"), "state": (2, "int"), "span": (4, "*int"), "colors": (5, "*bytes")},
    "Sizes": {"size": (1, "int"), "total": (2, "int")},
    "View": {
        "state": (1, "int"), "segments": (4, "Sizes"), "flag": (5, "bytes"), "special": (6, "*text"),
        "count": (8, "int"), "commands": (9, "*bytes"), "settings": (10, "bytes"), "expressions": (12, "bytes"),
    },
}  # fmt: skip


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="danmaku.proto", package="danmaku", syntax="proto3")
    for name, layout in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in layout.items():
            plain = kind.removeprefix("*")
            entry = message.field.add(name=field, number=number, label=3 if kind != plain else 1)
            entry.type = _KINDS.get(plain, 11)
            if plain not in _KINDS:
                entry.type_name = f".danmaku.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"danmaku.{name}")) for name in _MESSAGES}


_BUILT = _build()
Segment, View = _BUILT["Segment"], _BUILT["View"]
