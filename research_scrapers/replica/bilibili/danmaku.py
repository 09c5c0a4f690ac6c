"""Invented danmaku of one part: every mode, weight and pool, and texts that break parsers."""

from __future__ import annotations

from research_scrapers.replica.identity import digest

from .model import BiliTraits, Danmaku, Part
from .numbers import mid_hash, scatter
from .people import mid_of

_TEXTS = ("哈哈哈哈", "前方高能", "第一次看", "泪目", "up辛苦了", "6666", "考古", "空降成功", "这里好听", "合影")
_HARD = ("上一行/n下一行", "<b>&amp;</b> 1 < 2", "😀👨‍👩‍👧", "", '1,2,3,"x"', "   ")
_COLORS = (16_777_215, 16_646_914, 41_194, 0, 15_138_834)
_MODES = (1,) * 9 + (4, 4, 5, 5, 5, 6, 7)
_POSITIONED = '[0.1,0.2,"1-1",4.5,"定位/n弹幕",0,0,0.5,0.5,500,0,true,"SimHei",1]'


def make(seed: int, part: Part, count: int, traits: BiliTraits, published: int, now: int) -> list[Danmaku]:
    out = []
    for at in range(count):
        raw = digest("danmaku", seed, part.cid, at)
        mode = _MODES[raw[0] % 16]
        progress = int.from_bytes(raw[1:5]) % (part.seconds * 1000) if raw[5] > 4 else 0
        if progress // 360_000 + 1 in traits.empty_segments:
            progress %= 360_000
        text = _HARD[raw[6] % 6] if raw[7] < 20 else _TEXTS[raw[6] % 10] * (1 + raw[8] % 3)
        place = raw[9]
        out.append(
            Danmaku(
                id=_id(seed, part, at, old=raw[10] < 12),
                progress=progress,
                mode=mode,
                size=(25, 25, 25, 18, 36)[raw[11] % 5],
                color=_COLORS[raw[12] % 5] if raw[13] < 90 else _COLORS[0],
                sender=mid_hash(mid_of(seed, int.from_bytes(raw[14:16]))),
                text=_POSITIONED if mode == 7 else text,
                ctime=published + int.from_bytes(raw[16:20]) % (now - published),
                weight=raw[20] % 12,
                pool=1 if raw[21] < 6 else 0,
                action=f"airborne:{progress + 5000}" if raw[22] < 4 else "",
                attr=(0, 0, 0, 1, 2, 4)[raw[23] % 6],
                likes=raw[24] if raw[25] < 20 else 0,
                in_xml=place >= 40,
                in_segments=place < 40 or place >= 60,
            )
        )
    return out


def make_special(seed: int, part: Part, count: int, published: int) -> list[Danmaku]:
    """Danmaku of modes 8 (code) and 9 (BAS), which stand in a file of their own."""
    return [
        Danmaku(
            _id(seed, part, (1 << 19) + at), 0, 8 + at % 2, 25, 16_777_215, mid_hash(2), f"def text t{at} {{}}",
            published + at, 11, 2, "", 0, 0, in_xml=False, in_segments=False,
        )
        for at in range(count)
    ]  # fmt: skip


def _id(seed: int, part: Part, at: int, old: bool = False) -> int:
    number = part.index << 20 | at
    if old and number < 1 << 31:
        return scatter("old_dm", seed, number, 2_000_000_000, 31)
    return scatter("dm", seed, number, 1_000_000_000_000_000_000, 59)
