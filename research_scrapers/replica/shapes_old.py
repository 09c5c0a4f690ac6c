"""Shapes of the older comment generation (`commentRenderer`), still met on some clients."""

from __future__ import annotations

from typing import Any

from .shapes import sign_in_command
from .template import Template, runs

_CHANNEL = {
    "clickTrackingParams": "§ctp§",
    "commandMetadata": {
        "webCommandMetadata": {
            "url": "/channel/§channel§",
            "webPageType": "WEB_PAGE_TYPE_CHANNEL",
            "rootVe": 3611,
            "apiUrl": "/youtubei/v1/browse",
        }
    },
    "browseEndpoint": {"browseId": "§channel§", "canonicalBaseUrl": "/channel/§channel§"},
}


def _thumb(label: str, icon: str) -> dict[str, Any]:
    return {
        "toggleButtonRenderer": {
            "style": {"styleType": "STYLE_TEXT"},
            "size": {"sizeType": "SIZE_DEFAULT"},
            "isToggled": False,
            "isDisabled": False,
            "defaultIcon": {"iconType": icon},
            "trackingParams": "§tp§",
            "defaultTooltip": label,
            "toggledTooltip": f"Un{label.lower()}",
            "toggledStyle": {"styleType": "STYLE_DEFAULT_ACTIVE"},
            "defaultNavigationEndpoint": sign_in_command(),
            "accessibilityData": {"accessibilityData": {"label": f"{label} this comment"}},
            "toggledAccessibilityData": {"accessibilityData": {"label": f"Un{label.lower()}"}},
        }
    }


_REPLY = {
    "buttonRenderer": {
        "style": "STYLE_TEXT",
        "size": "SIZE_DEFAULT",
        "text": runs("Reply"),
        "navigationEndpoint": sign_in_command(),
        "trackingParams": "§tp§",
    }
}
_MENU = {
    "menuRenderer": {
        "items": [
            {
                "menuNavigationItemRenderer": {
                    "text": runs("Report"),
                    "icon": {"iconType": "FLAG"},
                    "navigationEndpoint": sign_in_command(),
                    "trackingParams": "§tp§",
                }
            }
        ],
        "trackingParams": "§tp§",
        "accessibility": {"accessibilityData": {"label": "Action menu"}},
    }
}


def _expander(label: str) -> dict[str, Any]:
    return {
        "buttonRenderer": {
            "style": "STYLE_TEXT",
            "size": "SIZE_DEFAULT",
            "text": runs(label),
            "accessibility": {"label": label},
            "trackingParams": "§tp§",
        }
    }


VERIFIED = Template(
    {
        "authorCommentBadgeRenderer": {
            "icon": {"iconType": "CHECK_CIRCLE_THICK"},
            "color": {
                "basicColorPaletteData": {
                    "backgroundColor": 4287137928,
                    "foregroundTitleColor": 4294967295,
                }
            },
            "authorText": {"simpleText": "§handle§"},
            "authorEndpoint": _CHANNEL,
        }
    }
)
COMMENT = Template(
    {
        "commentRenderer": {
            "authorText": {"simpleText": "§handle§"},
            "authorThumbnail": {
                "thumbnails": [{"url": "§avatar§", "width": size, "height": size} for size in (48, 88, 176)],
                "accessibility": {"accessibilityData": {"label": "§handle§"}},
            },
            "authorEndpoint": _CHANNEL,
            "contentText": "§!content§",
            "publishedTimeText": {
                "runs": [
                    {
                        "text": "§time§",
                        "navigationEndpoint": {
                            "clickTrackingParams": "§ctp§",
                            "commandMetadata": {
                                "webCommandMetadata": {
                                    "url": "/watch?v=§video§&lc=§id§",
                                    "webPageType": "WEB_PAGE_TYPE_WATCH",
                                    "rootVe": 3832,
                                }
                            },
                            "watchEndpoint": {"videoId": "§video§", "params": "ehp§k_comment§"},
                        },
                    }
                ]
            },
            "isLiked": False,
            "actionMenu": _MENU,
            "commentId": "§id§",
            "actionButtons": {
                "commentActionButtonsRenderer": {
                    "likeButton": _thumb("Like", "LIKE"),
                    "replyButton": _REPLY,
                    "dislikeButton": _thumb("Dislike", "DISLIKE"),
                    "trackingParams": "§tp§",
                    "protoCreationMs": "§now_ms§",
                    "style": "COMMENT_ACTION_BUTTON_STYLE_TYPE_DESKTOP_TOOLBAR",
                    "§+creator_heart": 0,
                }
            },
            "authorIsChannelOwner": "§!creator§",
            "voteStatus": "INDIFFERENT",
            "trackingParams": "§tp§",
            "expandButton": _expander("Read more"),
            "collapseButton": _expander("Show less"),
            "loggingDirectives": {"trackingParams": "§tp§", "visibility": {"types": "12"}},
            "§+extras": 0,
        }
    }
)
