"""Danmaku on the wire: XML, protobuf segments, the overview of a part, history."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from research_scrapers.replica.identity import digest
from research_scrapers.replica.wire import Reply

from .envelope import answer, binary
from .model import Danmaku, Part
from .protowire import chunk, number, packed, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .video import BiliVideo

_GRADIENT = 60001
_SEGMENT = 360_000
CLOSED = b"\x10\x01"  # state 1, nothing else


def element(danmaku: Danmaku, cid: int) -> bytes:
    return b"".join(
        (
            number(1, danmaku.id),
            number(2, danmaku.progress),
            number(3, danmaku.mode),
            number(4, danmaku.size),
            number(5, danmaku.color),
            text(6, danmaku.sender),
            text(7, danmaku.text),
            number(8, danmaku.ctime),
            number(9, danmaku.weight),
            text(10, danmaku.action),
            number(11, danmaku.pool),
            text(12, str(danmaku.id)),
            number(13, danmaku.attr),
            number(15, danmaku.likes),
            text(20, "0"),
            text(21, "0"),
            text(22, '{"picture":""}' if danmaku.likes > 200 else ""),
            number(24, _GRADIENT if danmaku.weight == 11 else 0),
            number(25, 1),
            number(26, cid),
        )
    )


def special_element(danmaku: Danmaku) -> bytes:
    """The few fields that files of special danmaku have."""
    return b"".join(
        (
            number(1, danmaku.id),
            number(3, danmaku.mode),
            number(4, danmaku.size),
            number(5, danmaku.color),
            text(6, danmaku.sender),
            text(7, danmaku.text),
            number(8, danmaku.ctime),
            number(11, danmaku.pool),
            text(12, str(danmaku.id)),
        )
    )


def _segment(elements: Iterable[Danmaku], cid: int, span: tuple[int, int] | None = None) -> bytes:
    body = b"".join(chunk(1, element(danmaku, cid)) for danmaku in elements)
    if span is None:
        return body
    return body + packed(4, *span) + chunk(5, number(1, _GRADIENT) + chunk(2, _sources()))


def _sources() -> str:
    pictures = [f"http://i0.hdslb.com/bfs/dm/{digest('gradient', n, size=20).hex()}.png" for n in range(2)]
    return json.dumps({"fill_color": pictures[0], "stroke_color": pictures[1]}, separators=(",", ":"))


def segment(video: BiliVideo, part: Part, index: int, login: bool) -> Reply:
    traits = video.traits
    if traits.danmaku_closed:
        return binary(CLOSED)
    span = ((index - 1) * _SEGMENT, index * _SEGMENT)
    if not 1 <= index <= part.segments and traits.past_end == "304":
        return Reply(304)
    chosen = [d for d in video.segments(part, login) if span[0] <= d.progress < span[1]]
    return binary(_segment(chosen, part.cid, span if traits.segment_tail else None))


def special_address(part: Part) -> str:
    return f"https://i0.hdslb.com{special_path(part)}"


def special_path(part: Part) -> str:
    return f"/bfs/dm/{digest('special', part.cid, size=20).hex()}.bin"


def special(video: BiliVideo, part: Part) -> Reply:
    return binary(b"".join(chunk(1, special_element(danmaku)) for danmaku in video.special(part)))


def overview(video: BiliVideo, part: Part, login: bool) -> Reply:
    traits = video.traits
    if traits.danmaku_closed:
        return binary(number(1, 1))
    total = part.segments if traits.view_total else 0
    shown = min(len(video.xml(part)), traits.maxlimit * 6 // 5)
    picture = f"http://i0.hdslb.com/bfs/feed-admin/{digest('expression', size=20).hex()}.png"
    expression = chunk(1, text(1, "ohh") + text(2, picture) + chunk(3, number(2, -1)))
    command = b"".join(
        (
            number(1, part.cid * 7), number(2, part.cid), number(3, video.owner), text(4, "#UP#"), text(5, "up"),
            number(6, 3000), text(7, "2025-05-01 12:00:00"), text(8, "2025-05-01 12:00:00"), text(9, '{"icon":""}'),
            text(10, str(part.cid * 7)),
        )
    )  # fmt: skip
    body = (
        chunk(4, number(1, _SEGMENT) + number(2, total))
        + chunk(5, number(1, 3) + text(2, "开启后，弹幕将按等级优化") + number(3, 1))
        + (text(6, special_address(part)) if traits.special else b"")
        + number(8, shown)
        + (chunk(9, command) if part.number == 1 else b"")
        + (chunk(10, number(1, 1) + number(4, 1)) if login else b"")
        + chunk(12, expression)
    )
    return binary(body)


def xml(video: BiliVideo, part: Part) -> Reply:
    """Compressed with raw deflate, whatever was asked for."""
    traits = video.traits
    head = {
        "chatserver": "chat.bilibili.com", "chatid": part.cid, "mission": 0, "maxlimit": traits.maxlimit,
        "state": int(traits.danmaku_closed), "real_name": 0, "source": "k-v",
    }  # fmt: skip
    lines = [f"<{name}>{value}</{name}>" for name, value in head.items()]
    lines += [f'<d p="{_place(d, traits.weights)}">{escape(d.text, quote=False)}</d>' for d in video.xml(part)]
    body = f'<?xml version="1.0" encoding="UTF-8"?><i>{"".join(lines)}</i>'.encode()
    press = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed_body = press.compress(body) + press.flush()
    return Reply(200, packed_body, [("Content-Type", "text/xml"), ("Content-Encoding", "deflate")])


def _place(d: Danmaku, weights: bool) -> str:
    fields = [f"{d.progress / 1000:.5f}", d.mode, d.size, d.color, d.ctime, d.pool, d.sender, d.id]
    return ",".join(map(str, [*fields, d.weight] if weights else fields))


def _day(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def history_index(video: BiliVideo, part: Part, month: str) -> Reply:
    days = sorted({_day(d.ctime) for d in video.danmaku(part)})
    return answer([day for day in days if day.startswith(f"{month}-")] or None)


def history(video: BiliVideo, part: Part, day: str) -> Reply:
    return binary(_segment((d for d in video.danmaku(part) if _day(d.ctime) == day), part.cid))
