"""Invented subtitle lines: human ones overlap and grow like karaoke, machine ones come without punctuation."""

from __future__ import annotations

from research_scrapers.replica.identity import digest
from research_scrapers.replica.texts import sentence

from .model import Line, Part, Track

_SPOKEN = ("今天我们来看看", "这个问题其实很简单", "大家可以先想一下", "然后呢", "我把它放在这里", "对吧", "好我们继续")
_OTHERS = {"ja": "今日はこれを見ましょう", "es": "hoy vamos a ver", "ar": "اليوم سنرى", "pt": "hoje vamos ver"}


def drawn(raw: bytes) -> tuple[Track, ...]:
    """A third of the parts has no subtitles, a third machine tracks, a third human ones too."""
    if raw[0] < 85:
        return ()
    machine: tuple[Track, ...] = (("ai-zh", "ai"), ("ai-en", "translated"), ("ai-ja", "translated"))
    return machine if raw[0] < 170 else (("zh-CN", "human"), ("en-US", "human"), *machine[: 1 + raw[1] % 3])


def lines(seed: int, part: Part, track: Track, count: int) -> list[Line]:
    language, kind = track[0].removeprefix("ai-"), track[1]
    step = max(part.seconds / max(count, 1), 0.02)
    out: list[Line] = []
    for at in range(count):
        raw = digest("line", seed, part.cid, *track, at)
        start = round(at * step, 2)
        end = round(min(start + step * 0.9, part.seconds), 2)
        text = _spoken(raw, language)
        if kind == "human" and at and raw[0] < 40:  # a sign that grows: same start, longer text
            start, text = out[-1].start, f"{out[-1].text} {text}"
        elif kind == "human" and raw[0] < 70:
            text = f"{text}，\n{text}！"
        location = None if kind == "human" and raw[1] < 128 else 2
        out.append(Line(start, end, text, location))
    return out


def _spoken(raw: bytes, language: str) -> str:
    if language.startswith("zh"):
        return _SPOKEN[raw[2] % 7] + _SPOKEN[raw[3] % 7]
    return f"{_OTHERS[language]} {raw[2]}" if language in _OTHERS else sentence(raw, 6)
