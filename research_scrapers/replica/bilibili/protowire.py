"""Just enough protobuf to write the messages of the danmaku endpoints."""

from __future__ import annotations


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as their 64-bit twin
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Nothing for 0: that is how proto3 writes it."""
    return varint(field << 3) + varint(value) if value else b""


def chunk(field: int, value: bytes | str) -> bytes:
    """A string, or a message already written; written even when empty."""
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def text(field: int, value: str) -> bytes:
    return chunk(field, value) if value else b""


def packed(field: int, *values: int) -> bytes:
    return chunk(field, b"".join(map(varint, values)))
