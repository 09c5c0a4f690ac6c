"""Invented comment texts, names and the way numbers and times are printed on the site.

The kinds of text are the ones that break parsers: empty text, newlines, emoji outside the BMP,
CJK, right-to-left scripts, markup that looks like the end of a script element.
"""

from __future__ import annotations

from functools import lru_cache

from .identity import channel_id, digest
from .model import Author, Run

_PROSE = """
this that video river lamp quiet garden reminds me of winter morning when we built a small radio
from spare parts and nobody believed it would work until the signal came back clear great
explanation thanks for sharing could you show how the second valve opens under load my teacher
used the same example years ago still the best part begins after the break
"""
_WORDS = _PROSE.split()
_EMOJI = ("\U0001f44d", "\U0001f602", "❤️", "\U0001f468‍\U0001f469‍\U0001f467", "\U0001f30d", "✅")
_CJK = (
    "とても分かりやすい説明でした。",
    "这个视频真的很有帮助！",
    "처음부터 끝까지 잘 봤습니다",
    "音量がちょっと小さいかも…",
)
_RTL = ("شكرا على هذا الشرح الرائع", "תודה רבה על הסרטון", "این ویدیو عالی بود (واقعا)")
_HARD = (
    'she said "};</script><b>not bold</b>" \\ and left & never &amp; returned',
    'var ytInitialData = {"a": 1}; // just kidding',
    "tab\there, nul-free \u2028 line separator \u2029 and \ufeff bom",
    "<3 1 < 2 && 3 > 2 \\u0041 %3D %%",
)
_FIRST = ("quiet", "amber", "north", "tiny", "paper", "lucky", "cosmic", "slow", "green", "odd")
_SECOND = (
    "fox",
    "kettle",
    "harbor",
    "violin",
    "comet",
    "otter",
    "lantern",
    "maple",
    "gear",
    "moth",
)
_FOREIGN = ("日本の旅人", "дальний-берег", "señal.azul", "فنجان-قهوة")


@lru_cache(maxsize=8192)
def author(seed: int, number: int) -> Author:
    raw = digest("author", seed, number, size=8)
    if raw[0] < 10:
        name = f"@{_FOREIGN[raw[1] % 4]}{number}"
    else:
        name = f"@{_FIRST[raw[1] % 10]}{_SECOND[raw[2] % 10]}{number}"
    return Author(name, channel_id(seed, "author", number), verified=raw[3] < 3)


def utf16(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def sentence(raw: bytes, length: int) -> str:
    count = len(_WORDS)
    picked = [_WORDS[(raw[i % 32] * 7 + i * 13) % count] for i in range(length)]
    return " ".join(picked).capitalize()


def comment_text(raw: bytes, mention: Author | None = None) -> tuple[str, tuple[Run, ...]]:
    """A text and its marked parts, decided by 32 bytes."""
    lead = ""
    runs: list[Run] = []
    if mention is not None:
        lead = f"{mention.name} "
        runs.append(Run("mention", 0, utf16(mention.name), mention.name, mention.channel_id))
    kind = raw[30]
    body = sentence(raw, 4 + raw[29] % 40)
    if kind < 4 and not mention:
        return "", ()
    if kind < 24:
        emoji = _EMOJI[raw[28] % 6]
        runs.append(Run("emoji", utf16(lead + body) + 1, utf16(emoji), emoji))
        body = f"{body} {emoji} {raw[27]}"
    elif kind < 44:
        body = _CJK[raw[28] % 4] + (f" {body}" if raw[27] & 1 else "")
    elif kind < 56:
        body = _RTL[raw[28] % 3]
    elif kind < 84:
        body = f"{body}.\n\n{sentence(raw[8:] + raw[:8], 12)}\n- {raw[26]}\n"
    elif kind < 104:
        stamp = f"{raw[28] % 60}:{raw[27] % 60:02d}"
        runs.append(Run("time", utf16(lead), len(stamp), stamp))
        body = f"{stamp} {body}"
    elif kind < 114:
        link = f"https://example.org/p/{raw[28]}?a=1&b={raw[27]}"
        runs.append(Run("link", utf16(lead + body) + 1, len(link), link))
        body = f"{body} {link}"
    elif kind < 122:
        runs.append(Run("hashtag", utf16(lead + body) + 1, 6, "#howto"))
        body = f"{body} #howto"
    elif kind < 130:
        runs.append(Run("bold", utf16(lead), len(body), ""))
    elif kind < 142:
        body = _HARD[raw[28] % 4]
    elif kind < 150:
        body = "\n".join(sentence(raw[i:] + raw[:i], 24) for i in range(12))
    return lead + body, tuple(runs)


def likes(raw: bytes) -> int:
    """Half of all comments have none, few have very many."""
    kind = raw[0]
    if kind < 120:
        return 0
    if kind < 220:
        return 1 + raw[1] % 99
    if kind < 245:
        return 100 + raw[1] * 3
    return 1000 + raw[1] * 61 + raw[2] * (1 if kind < 254 else 4999)


def grouped(number: int, locale: str) -> str:
    text = f"{number:,}"
    return text.replace(",", ".") if locale == "de" else text


def short_count(number: int, locale: str) -> str:
    """'987', '1.4K', '46K', '1.2M'; German prints small counts in full."""
    if number < 1000:
        return str(number)
    if locale == "de":
        return grouped(number, locale)
    for limit, unit in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")):
        if number >= limit:
            # Cut, never rounded up: 1,999 is "1.9K" on the site.
            tenths = number * 10 // limit
            whole = tenths // 10
            text = f"{whole}.{tenths % 10}" if whole < 10 and tenths % 10 else str(whole)
            return text + (unit.lower() if locale == "en-GB" else unit)
    return str(number)


_UNITS = (
    (31_536_000, "year", "Jahr", "Jahren"),
    (2_592_000, "month", "Monat", "Monaten"),
    (604_800, "week", "Woche", "Wochen"),
    (86_400, "day", "Tag", "Tagen"),
    (3_600, "hour", "Stunde", "Stunden"),
    (60, "minute", "Minute", "Minuten"),
    (1, "second", "Sekunde", "Sekunden"),
)


def relative_time(age: int, locale: str, edited: bool) -> str:
    age = max(age, 1)
    for size, english, one, many in _UNITS:
        if age >= size:
            count = age // size
            if locale == "de":
                text = f"vor {count} {one if count == 1 else many}"
                return text + (" (bearbeitet)" if edited else "")
            text = f"{count} {english}{'' if count == 1 else 's'} ago"
            return text + (" (edited)" if edited else "")
    raise AssertionError("unreachable")
