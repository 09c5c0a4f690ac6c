"""The header of a comment list: its count, its sort menu and the emoji that make it heavy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import texts
from .identity import chars, digest
from .paging import first_token
from .shapes import sign_in_command
from .template import Template, compact, runs
from .tokens import PANEL, SECTION, Token, encode

if TYPE_CHECKING:
    from .video import Video

_SORT_LABELS = {
    "de": (("Top", "Top-Kommentare anzeigen"), ("Neueste", "Neueste Kommentare anzeigen")),
    "en": (("Top", "Show featured comments"), ("Newest", "Show recent comments")),
}


def labels(locale: str) -> tuple[str, str]:
    """('Comments', ' Comments' as it follows a number)."""
    word = "Kommentare" if locale == "de" else "Comments"
    return word, f" {word}"


def sort_menu(video: Video, target: str, selected: int, locale: str, ctp: str) -> dict[str, Any]:
    items = []
    names = _SORT_LABELS["de" if locale == "de" else "en"]
    for sort, (title, subtitle) in enumerate(names):
        token = encode(first_token(video, sort, target))
        items.append(
            {
                "title": title,
                "selected": sort == selected,
                "serviceEndpoint": {
                    "clickTrackingParams": ctp,
                    "commandMetadata": {"webCommandMetadata": {"sendPost": True, "apiUrl": "/youtubei/v1/next"}},
                    "continuationCommand": {
                        "token": token,
                        "request": "CONTINUATION_REQUEST_TYPE_WATCH_NEXT",
                        "command": {
                            "clickTrackingParams": ctp,
                            "showReloadUiCommand": {"targetId": target},
                        },
                    },
                },
                "accessibility": {"accessibilityData": {"label": f"{title}. {subtitle}"}},
                "subtitle": subtitle,
                "trackingParams": ctp,
            }
        )
    return {
        "sortFilterSubMenuRenderer": {
            "subMenuItems": items,
            "title": "Sort by",
            "icon": {"iconType": "SORT"},
            "accessibility": {"accessibilityData": {"label": "Sort comments"}},
            "tooltip": "Sort comments",
            "trackingParams": ctp,
        }
    }


@lru_cache(maxsize=1)
def _emoji() -> str:
    """About 85 KB of channel emoji: the bulk of every first page on the real site."""
    out = []
    for number in range(190):
        name = f"shape-{number}"
        raw = chars(digest("emoji", number, size=48), 64)
        out.append(
            {
                "emojiId": f"UCreplicaEmojiSet00000000/{raw[:24]}",
                "shortcuts": [f":{name}:", f":_{name}:"],
                "searchTerms": ["shape", str(number)],
                "image": {
                    "thumbnails": [
                        {
                            "url": f"https://yt3.ggpht.com/{raw}=w{size}-h{size}-c-k-nd",
                            "width": size,
                            "height": size,
                        }
                        for size in (24, 48)
                    ],
                    "accessibility": {"accessibilityData": {"label": name}},
                },
                "isCustomEmoji": True,
            }
        )
    return compact(out)


@lru_cache(maxsize=1)
def _composer() -> str:
    command = Template(sign_in_command())({"ctp": "CAAQwXU", "tp": "CAAQwXU"})
    box = compact(
        {
            "authorThumbnail": {
                "thumbnails": [
                    {
                        "url": "https://yt3.ggpht.com/a/default-user=s48-c-k-c0x00ffffff-no-rj",
                        "width": 48,
                        "height": 48,
                    }
                ]
            },
            "placeholderText": runs("Add a comment…"),
            "avatarSize": "SIMPLEBOX_AVATAR_SIZE_TYPE_DEFAULT",
            "disabledText": "Comments are turned off.",
        }
    )
    return f'{{"commentSimpleboxRenderer":{box[:-1]},"prepareAccountEndpoint":{command}}}}}'


def header_items(video: Video, token: Token, locale: str, ctp: str) -> str:
    """The single item of the header list."""
    title, suffix = labels(locale)
    parts: dict[str, Any] = {}
    count = video.claimed()
    # A list opened through the engagement panel has neither count nor sort menu.
    if token.target != PANEL:
        if video.traits.header_count:
            parts["countText"] = runs(texts.grouped(count, locale), suffix)
            parts["commentsCount"] = runs(texts.short_count(count, locale))
        parts["sortMenu"] = sort_menu(video, SECTION, token.sort, locale, ctp)
    parts |= {"titleText": runs(title), "showSeparator": True, "trackingParams": ctp}
    parts["unicodeEmojisUrl"] = "https://www.gstatic.com/youtube/img/emojis/emojis-png-7.json"
    return (
        f'{{"commentsHeaderRenderer":{{"createRenderer":{_composer()},'
        f'{compact(parts)[1:-1]},"customEmojis":{_emoji()}}}}}'
    )
