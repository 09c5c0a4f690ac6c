"""Language codes made comparable: ``en`` covers ``en-GB``, ``zh-CN`` is ``zh-Hans``, ``iw`` is ``he``."""

from __future__ import annotations

import re
from functools import lru_cache

ANY = "*"

EXACT, NARROWER, WIDER = range(3)
"""How well a code fits a wish. Wider: ``en`` where ``en-GB`` was wished for, the last resort."""

_CODE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}", re.ASCII)
_OLD = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "tl": "fil", "no": "nb"}
_SCRIPTS = {
    "zh-cn": "zh-hans-cn",
    "zh-sg": "zh-hans-sg",
    "zh-my": "zh-hans-my",
    "zh-tw": "zh-hant-tw",
    "zh-hk": "zh-hant-hk",
    "zh-mo": "zh-hant-mo",
}
"""Regions that stand for a script: who wants simplified Chinese wants ``zh-CN`` too, and never ``zh-TW``."""


def is_code(text: str) -> bool:
    """Whether this looks like a language code."""
    return _CODE.fullmatch(text) is not None


def fit(wanted: str, given: str) -> int | None:
    """How well a language fits a wish: `EXACT`, `NARROWER`, `WIDER`, or not at all."""
    if wanted == ANY:
        return EXACT
    wish, there = canonical(wanted), canonical(given)
    if wish == there:
        return EXACT
    if there.startswith(f"{wish}-"):
        return NARROWER
    if wish.startswith(f"{there}-"):
        return WIDER
    return None


@lru_cache(maxsize=1024)
def canonical(code: str) -> str:
    """One spelling for codes that mean the same: lower case, new names for old languages, scripts spelled out."""
    first, *rest = code.lower().replace("_", "-").split("-")
    spelled = "-".join([_OLD.get(first, first), *rest])
    return _SCRIPTS.get(spelled, spelled)
