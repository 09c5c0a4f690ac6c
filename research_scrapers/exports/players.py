"""Danmaku as files that players open: Bilibili's own XML, and ASS subtitles that fly as they do on the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

from research_scrapers.models import Danmaku

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WIDTH, _HEIGHT, _MARGIN = 1920, 1080, 8
_FLIGHT_S, _STAY_S = 12.0, 5.0
_SCROLLING, _BOTTOM, _TOP = (1, 2, 3, 6), 4, 5
_HEAD = f"""\
[Script Info]
; {{title}}
; coverage: {{coverage}}
ScriptType: v4.00+
PlayResX: {_WIDTH}
PlayResY: {_HEIGHT}
WrapStyle: 2
ScaledBorderAndShadow: yes

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, \
StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Danmaku,sans-serif,50,&H33FFFFFF,&H33FFFFFF,&H33000000,&H33000000,0,0,0,0,100,100,0,0,1,2,0,7,0,0,0,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


def to_xml(danmaku: Iterable[Danmaku], cid: str, coverage: str) -> Iterator[str]:
    """The XML that Bilibili itself serves, a line at a time."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<i>\n'
    yield f"<!-- coverage: {coverage.replace('--', '- -')} -->\n"
    yield f"<chatserver>chat.bilibili.com</chatserver><chatid>{escape(_clean(cid))}</chatid><mission>0</mission>"
    yield "<maxlimit>0</maxlimit><state>0</state><real_name>0</real_name><source>k-v</source>\n"
    for one in danmaku:
        facts = (
            f"{one.progress_ms / 1000:.5f}", one.mode, one.font_size, one.color, _unix(one.sent_at), one.pool,
            one.author_hash or "", one.danmaku_id, "" if one.weight is None else one.weight,
        )  # fmt: skip
        told = quoteattr(_clean(",".join(str(fact) for fact in facts)))
        # A carriage return is written as a reference: a bare one would be read as a line feed.
        yield f"<d p={told}>{escape(_clean(one.text), {chr(13): '&#13;'})}</d>\n"
    yield "</i>\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _unix(moment: str | None) -> int:
    try:
        return int(datetime.fromisoformat(moment or "").timestamp())
    except ValueError:
        return 0


def to_ass(danmaku: Iterable[Danmaku], title: str, coverage: str) -> Iterator[str]:
    """ASS subtitles. Each danmaku takes the first row that is free; where none is, the one that is free soonest.
    Placed and programmed ones (modes 7 to 9) have no like in ASS and are left to the XML.
    """
    yield _HEAD.format(title=_one_line(title), coverage=_one_line(coverage))
    lanes: dict[str, list[float]] = {}
    for one in danmaku:
        if one.mode not in (*_SCROLLING, _BOTTOM, _TOP):
            continue
        size = max(12, one.font_size) * 2
        begins = max(0, one.progress_ms) / 1000
        text = one.text.replace("\\", "＼").replace("{", "｛").replace("}", "｝")
        text = "\\N".join(text.splitlines()) or " "
        wide = sum(size if ord(sign) > 0x2E80 else size * 0.55 for sign in one.text[:500])
        tags = f"\\fs{size}" + ("" if one.color == 0xFFFFFF else f"\\c&H{_bgr(one.color)}&")
        if one.mode in _SCROLLING:
            # The next may follow once this one's tail has come in and cannot be caught up with.
            free = begins + _FLIGHT_S * max(wide / (_WIDTH + wide), 0.1)
            y = _lane(lanes.setdefault("flying", [0.0] * _rows(size)), begins, free) * (size + _MARGIN)
            ends = begins + _FLIGHT_S
            here, there = (-round(wide), _WIDTH) if one.mode == 6 else (_WIDTH, -round(wide))
            tags += f"\\move({here},{y},{there},{y})"
        else:
            ends = begins + _STAY_S
            side = "top" if one.mode == _TOP else "bottom"
            y = _lane(lanes.setdefault(side, [0.0] * _rows(size)), begins, ends) * (size + _MARGIN)
            tags += f"\\an8\\pos({_WIDTH // 2},{y})" if side == "top" else f"\\an2\\pos({_WIDTH // 2},{_HEIGHT - y})"
        yield f"Dialogue: 2,{_clock(begins)},{_clock(ends)},Danmaku,,0,0,0,,{{{tags}}}{text}\n"


def _rows(size: int) -> int:
    return max(1, _HEIGHT // (size + _MARGIN) - 1)


def _lane(lanes: list[float], begins: float, free: float) -> int:
    place = next((lane for lane, when in enumerate(lanes) if when <= begins), lanes.index(min(lanes)))
    lanes[place] = free
    return place


def _bgr(color: int) -> str:
    return f"{color & 0xFF:02X}{color >> 8 & 0xFF:02X}{color >> 16 & 0xFF:02X}"


def _clock(seconds: float) -> str:
    hundredths = round(seconds * 100)
    return f"{hundredths // 360000}:{hundredths // 6000 % 60:02}:{hundredths // 100 % 60:02}.{hundredths % 100:02}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
