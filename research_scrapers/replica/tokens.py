"""Continuation tokens in YouTube's protobuf layout.

A token carries everything needed to answer it, so the server keeps no sessions: a crawl may be
killed and resumed against a new process. First-page tokens built by a client are accepted too.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote
from zlib import crc32

from .identity import digest

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTION = "comments-section"
PANEL = "engagement-panel-comments-section"
REPLIES = "comment-replies-item-"
_RANKED = "get_ranked_streams--"
_THREAD = "get_comment_with_replies_stream--"


class BadToken(ValueError):
    """The token is none of ours nor a first-page token."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: Literal["main", "replies"]
    video_id: str
    sort: int = 0  # 0 Top, 1 Newest
    target: str = SECTION
    comment_id: str = ""  # replies: the comment answered
    channel_id: str = ""
    size: int = 0  # replies: how many the page may hold
    offset: int = 0  # number shown before, as on the wire
    cursor: int = -1  # where to go on; -1 marks the first page
    hop: int = 0  # tells otherwise equal pages of a loop apart


_ONE_BYTE = [bytes((value,)) for value in range(128)]


def varint(value: int) -> bytes:
    if value < 128:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(raw) or shift > 63:
            raise BadToken("varint runs over the end")
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def read_fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(raw):
        key, at = _read_varint(raw, at)
        if key & 7 == 0:
            value, at = _read_varint(raw, at)
            yield key >> 3, value
        elif key & 7 == 2:
            size, at = _read_varint(raw, at)
            if at + size > len(raw):
                raise BadToken("field runs over the end")
            yield key >> 3, raw[at : at + size]
            at += size
        else:
            raise BadToken(f"wire type {key & 7}")


def url_base64(raw: bytes) -> str:
    """Base64 as printed in pages: URL-safe alphabet, padding percent-encoded."""
    return urlsafe_b64encode(raw).decode().replace("=", "%3D")


def _stream(prefix: str, token: Token) -> str:
    state = field(1, token.cursor + 1) + field(2, token.hop)
    padding = digest(token.video_id, token.cursor, size=60) * (2 if prefix == _RANKED else 0)
    body = state + field(3, crc32(state + token.video_id.encode())) + field(4, padding)
    return prefix + urlsafe_b64encode(body).decode().rstrip("=")


def encode(token: Token) -> str:
    vid = token.video_id
    first = token.cursor < 0
    if token.kind == "main":
        core = b"" if first else field(1, _stream(_RANKED, token))
        core += field(4, field(4, vid) + field(6, token.sort) + field(15, 2 if first else 1))
        if not first:
            core += field(5, token.offset)
        if token.target == PANEL:
            core += field(6, 1)
    else:
        core = b"" if first else field(1, _stream(_THREAD, token))
        core += field(
            3,
            field(2, token.comment_id)
            + field(4, field(1, 0))
            + field(5, token.channel_id)
            + field(6, vid)
            + field(8, 1)
            + field(9, token.size)
            + field(16, field(1, 1)),
        )
        if not first:
            core += field(5, token.offset)
    core += field(8, token.target)
    return url_base64(field(2, field(2, vid)) + field(3, 6) + field(6, core))


def unbase64(text: str) -> bytes:
    plain = unquote(text).replace("+", "-").replace("/", "_").rstrip("=")
    try:
        # validate: urlsafe_b64decode drops foreign characters silently, b64decode does not.
        return b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except (Base64Error, ValueError) as exc:
        raise BadToken("not base64") from exc


def _text(value: int | bytes | None) -> str:
    if not isinstance(value, bytes):
        raise BadToken("string field missing")
    try:
        return value.decode("ascii")
    except UnicodeDecodeError as exc:
        raise BadToken("string field is not ASCII") from exc


def _number(value: int | bytes | None, default: int = 0) -> int:
    if value is None:
        return default
    if not isinstance(value, int):
        raise BadToken("number field expected")
    return value


def _message(value: int | bytes | None) -> dict[int, int | bytes]:
    if not isinstance(value, bytes):
        raise BadToken("message field missing")
    return dict(read_fields(value))


def _state(stream: str, video_id: str) -> tuple[int, int]:
    body = stream.partition("--")[2]
    try:
        values = dict(read_fields(urlsafe_b64decode(body + "=" * (-len(body) % 4))))
    except Base64Error as exc:
        raise BadToken("stream is not base64") from exc
    cursor, hop = _number(values.get(1)), _number(values.get(2))
    if crc32(field(1, cursor) + field(2, hop) + video_id.encode()) != values.get(3):
        raise BadToken("stream was tampered with")
    return cursor - 1, hop


def decode(text: str) -> Token:
    outer = dict(read_fields(unbase64(text)))
    video_id = _text(_message(outer.get(2)).get(2))
    core = _message(outer.get(6))
    cursor, hop = -1, 0
    if 1 in core:
        cursor, hop = _state(_text(core[1]), video_id)
    offset, target = _number(core.get(5)), _text(core.get(8))
    if 4 in core:
        main = _message(core[4])
        if _text(main.get(4)) != video_id:
            raise BadToken("token names two videos")
        return Token(
            "main",
            video_id,
            sort=_number(main.get(6)),
            target=target,
            offset=offset,
            cursor=cursor,
            hop=hop,
        )
    thread = _message(core.get(3))
    return Token(
        "replies",
        video_id,
        target=target,
        comment_id=_text(thread.get(2)),
        channel_id=_text(thread.get(5)),
        size=_number(thread.get(9), 10),
        offset=offset,
        cursor=cursor,
        hop=hop,
    )
