"""What a person may ask of a spider (``-a NAME=VALUE``), checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Kind, Options

SORTS = ("newest", "top")
REFRESHES = {Kind.COMMENTS: ("all", "new"), Kind.TRANSCRIPT: ("stale", "always", "never")}
"""The first is the default."""
ARGUMENTS = {
    Kind.COMMENTS: {
        "sort": "newest (complete) or top",
        "max_comments": "at most so many comments and replies per video",
        "max_replies": "at most so many replies per thread (0 = none)",
        "refresh": "all, or new: stop where an earlier run's unbroken range begins",
    },
    Kind.DANMAKU: {
        "danmaku": "0 leaves danmaku out",
        "parts": "all (default) or first: of a video in several parts whose link names none",
        "history": "danmaku of these days too: 2024-01-01..2024-01-31, or all (needs a login; a request per day)",
    },
    Kind.METADATA: {},
    Kind.TRANSCRIPT: {
        "languages": "in order of preference: en,zh-Hans,* (default: the video's own)",
        "kinds": "manual,asr: which, and in which order",
        "translate": "also the machine translation into this language",
        "tracks": "all: every track that the site lists",
        "refresh": "stale, always or never: what to do about a video whose transcripts are here",
        "parts": "all (default) or first: of a video in several parts whose link names none",
    },
}
PARTS = ("all", "first")


def read_options(arguments: Mapping[str, Any], kinds: Sequence[Kind]) -> Options:
    """The spider arguments (``-a``), checked."""
    allowed = {name: told for kind in kinds for name, told in ARGUMENTS[kind].items()}
    kind = kinds[0]
    known = {name: value for name, value in arguments.items() if not name.startswith("_")}  # Scrapyd adds _job
    for name in known.keys() - allowed.keys():
        nearest = difflib.get_close_matches(name, ["links", *allowed], n=1)
        hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: links, {', '.join(allowed)}"
        raise SettingInvalid(f"-a {name}={known[name]}: no such argument. {hint}")
    return Options(
        sort=_one_of("sort", known.get("sort", "newest"), SORTS),
        refresh=_one_of("refresh", known.get("refresh", REFRESHES[kind][0]), REFRESHES[kind]),
        max_comments=_count("max_comments", known.get("max_comments")),
        max_replies=_count("max_replies", known.get("max_replies")),
        languages=known.get("languages") or None,
        kinds=known.get("kinds") or None,
        translate=known.get("translate") or None,
        tracks=known.get("tracks") or None,
        parts=_one_of("parts", known.get("parts", PARTS[0]), PARTS),
        danmaku=_one_of("danmaku", str(known.get("danmaku", "1")), ("1", "0")) == "1",
        history=_history(known.get("history")),
    )


def near(name: object, known: Sequence[str]) -> str:
    """What someone probably meant, or what there is."""
    nearest = difflib.get_close_matches(str(name), known, n=1)
    return f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(known)}"


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise SettingInvalid(f"-a {name}={value}: no such choice. {near(value, allowed)}")
    return value


def _count(name: str, value: Any) -> int | None:
    if value is None or value == "":
        return None
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise SettingInvalid(f"-a {name}={value}: it must be a whole number") from None
    if number < 0:
        raise SettingInvalid(f"-a {name}={value}: it must not be negative")
    return number


def _history(value: str | None) -> str | None:
    if not value or value == "all":
        return value or None
    try:
        first, _, last = value.partition("..")
        if date.fromisoformat(first) <= date.fromisoformat(last or first):
            return f"{first}..{last or first}"
    except ValueError:
        pass
    raise SettingInvalid(f"-a history={value}: it must be days such as 2024-01-01..2024-01-31, or all")
