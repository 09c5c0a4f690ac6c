"""Shapes of the present comment generation (`commentViewModel` + entity mutations)."""

from __future__ import annotations

from typing import Any

from .template import Template, runs

_LOGIN = (
    "https://accounts.google.com/ServiceLogin?service=youtube&uilel=3&passive=true&continue="
    "https%3A%2F%2Fwww.youtube.com%2Fsignin%3Faction_handle_signin%3Dtrue%26app%3Ddesktop%26hl%3D"
    "en%26next%3Dhttps%253A%252F%252Fwww.youtube.com%252Fyoutubei%252Fv1%252Fnext%253FprettyPrint"
    "%253Dfalse&hl=en&ec=66426"
)
_POST = {"webCommandMetadata": {"sendPost": True, "apiUrl": "/youtubei/v1/next"}}
_LOG = {"trackingParams": "§tp§", "visibility": {"types": "12"}}
_TAP = {"clickTrackingParams": "§ctp§"}


def sign_in_command() -> dict[str, Any]:
    """What every action of a signed-out viewer leads to; most of a page's weight is this."""
    button = {
        "style": "STYLE_MONO_FILLED",
        "size": "SIZE_DEFAULT",
        "isDisabled": False,
        "text": {"simpleText": "Sign in"},
        "navigationEndpoint": {
            **_TAP,
            "commandMetadata": {
                "webCommandMetadata": {
                    "url": _LOGIN,
                    "webPageType": "WEB_PAGE_TYPE_UNKNOWN",
                    "rootVe": 83769,
                }
            },
            "signInEndpoint": {"hack": True},
        },
        "trackingParams": "§tp§",
    }
    return {
        **_TAP,
        "commandMetadata": {"webCommandMetadata": {"ignoreNavigation": True}},
        "modalEndpoint": {
            "modal": {
                "modalWithTitleAndButtonRenderer": {
                    "title": runs("Want to join the conversation?"),
                    "content": runs("Sign in to continue"),
                    "button": {"buttonRenderer": button},
                }
            }
        },
    }


def _mutation(key: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "entityKey": key,
        "type": "ENTITY_MUTATION_TYPE_REPLACE",
        "payload": {kind: {"key": key, **payload}},
    }


_CHANNEL = {
    **_TAP,
    "commandMetadata": {
        "webCommandMetadata": {
            "url": "/§handle§",
            "webPageType": "WEB_PAGE_TYPE_CHANNEL",
            "rootVe": 3611,
            "apiUrl": "/youtubei/v1/browse",
        }
    },
    "browseEndpoint": {"browseId": "§channel§", "canonicalBaseUrl": "/§handle§"},
}

_ENTITY = _mutation(
    "§k_comment§",
    "commentEntityPayload",
    {
        "properties": {
            "commentId": "§id§",
            "content": {"content": "§!text§", "§+runs": 0},
            "publishedTime": "§time§",
            "replyLevel": "§!level§",
            "authorButtonA11y": "§handle§",
            "toolbarStateKey": "§k_state§",
            "translateButtonEntityKey": "§k_translate§",
        },
        "author": {
            "channelId": "§channel§",
            "displayName": "§handle§",
            "avatarThumbnailUrl": "§avatar§",
            "isVerified": "§!verified§",
            "isCurrentUser": False,
            "isCreator": "§!creator§",
            "channelCommand": {"innertubeCommand": _CHANNEL},
            "innerBadgeA11y": "§handle§§badge§",
            "isArtist": False,
            "§+member": 0,
        },
        "toolbar": {
            "likeCountLiked": "§liked§",
            "likeCountNotliked": "§likes§",
            "replyCount": "§replies§",
            "likeButtonA11y": "Like this comment along with §likes_n§ other people",
            "engagementToolbarStyle": {"value": "ENGAGEMENT_TOOLBAR_STYLE_VALUE_DEFAULT"},
            "likeCountA11y": "§!likes_a11y§",
            "replyCountA11y": "§replies_a11y§",
            "likeInactiveTooltip": "Like",
            "likeActiveTooltip": "Unlike",
            "dislikeInactiveTooltip": "Dislike",
            "dislikeActiveTooltip": "Remove dislike",
            "heartActiveTooltip": "❤ by §owner§",
            "creatorThumbnailUrl": "§owner_avatar§",
        },
        "avatar": {
            "image": {
                "sources": [{"url": "§avatar§", "width": 88, "height": 88}],
                "processor": {"borderImageProcessor": {"circular": True}},
            },
            "accessibilityText": "§handle§",
            "avatarImageSize": "AVATAR_SIZE_40",
            "endpoint": {"innertubeCommand": _CHANNEL},
        },
        "readMoreLogging": {"trackingParams": "§tp§", "loggingDirectives": _LOG},
        "loggingDirectives": {**_LOG, "clientVeSpec": {"uiType": 15030, "veCounter": 492173943}},
    },
)

_BUBBLE = {
    "hintRenderer": {
        "content": {
            "bubbleHintRenderer": {
                "text": {"simpleText": "Tap the comment to view replies"},
                "trackingParams": "§tp§",
                "isVisible": True,
            }
        },
        "dismissStrategy": {"type": "DISMISS_ON_TAP_ONLY"},
        "hintCap": {"impressionCap": "1"},
        "suggestedPosition": {"type": "HINT_SUGGESTED_POSITION_TYPE_BELOW"},
        "trackingParams": "§tp§",
    }
}
_SURFACE = _mutation(
    "§k_surface§",
    "commentSurfaceEntityPayload",
    {
        "inlineReadMoreButton": {"isExpanded": False},
        "commentClickOpensComposer": True,
        "composerDraftEntityKey": "N/A",
        "§+thanks": 0,
        "viewRepliesTooltipData": {
            "tooltipCommand": {"tooltipCommand": _BUBBLE},
            "viewRepliesTooltipIdentifier": "view_replies_tooltip_identifier",
        },
        "publishedTimeCommand": {
            "innertubeCommand": {
                **_TAP,
                "commandMetadata": {
                    "webCommandMetadata": {
                        "url": "/watch?v=§video§&lc=§id§",
                        "webPageType": "WEB_PAGE_TYPE_WATCH",
                        "rootVe": 3832,
                    }
                },
                "watchEndpoint": {"videoId": "§video§", "params": "ehp§k_comment§"},
            }
        },
        "logTapCommand": {
            "logGestureCommand": {
                "gestureType": "GESTURE_EVENT_TYPE_LOG_GENERIC_CLICK",
                "trackingParams": "§tp§",
            }
        },
        "§+nesting": 0,
    },
)
_TRANSLATE = _mutation(
    "§k_translate§",
    "triStateButtonStateEntityPayload",
    {"stateIdentifier": "TRI_STATE_IDENTIFIER_UNTOGGLED_STATE"},
)
_REPORT = {
    "menuNavigationItemRenderer": {
        "text": runs("Report"),
        "icon": {"iconType": "FLAG"},
        "navigationEndpoint": {
            **_TAP,
            "showEngagementPanelEndpoint": {
                "identifier": {"tag": "PAabuse_report"},
                "globalConfiguration": {"params": "qgfJAQgC§report§"},
                "engagementPanelPresentationConfigs": {
                    "engagementPanelPopupPresentationConfig": {"popupType": "PANEL_POPUP_TYPE_DIALOG"}
                },
            },
        },
        "trackingParams": "§ctp§",
    }
}
_TOOLBAR = _mutation(
    "§k_toolbar§",
    "engagementToolbarSurfaceEntityPayload",
    {
        "prepareAccountCommand": {"innertubeCommand": sign_in_command()},
        "likeCommand": {"innertubeCommand": _TAP},
        "unlikeCommand": {"innertubeCommand": _TAP},
        "dislikeCommand": {"innertubeCommand": _TAP},
        "undislikeCommand": {"innertubeCommand": _TAP},
        "replyCommand": {"innertubeCommand": sign_in_command()},
        "menuCommand": {
            "innertubeCommand": {
                **_TAP,
                "menuEndpoint": {
                    "menu": {
                        "menuRenderer": {
                            "items": [_REPORT],
                            "trackingParams": "§ctp§",
                            "accessibility": {"accessibilityData": {"label": "Action menu"}},
                        }
                    }
                },
            }
        },
        "isEngagementToolbar": True,
    },
)
_STATE = _mutation(
    "§k_state§",
    "engagementToolbarStateEntityPayload",
    {
        "likeState": "TOOLBAR_LIKE_STATE_INDIFFERENT",
        "heartState": "TOOLBAR_HEART_STATE_§heart§",
    },
)
# The five entities of one comment, joined: one formatting call per comment.
ENTITIES = Template([_ENTITY, _SURFACE, _TRANSLATE, _TOOLBAR, _STATE], bare=True)

SHARED_KEY = "EgAgKygB"
SHARED = Template(
    _mutation(
        SHARED_KEY,
        "commentSharedEntityPayload",
        {
            "strings": {
                "viewAllRepliesButtonA11y": "View all replies",
                "expandText": "Read more",
                "collapseText": "Show less",
                "translatingText": "Translating...",
                "seeOriginalText": "See original (Translated by Google)",
                "replyButtonText": "Reply",
            },
            "toolbarShared": {
                "unlikeButtonA11y": "Unlike",
                "undislikeButtonA11y": "Remove dislike",
                "heartButtonA11y": "Heart",
                "unheartButtonA11y": "Remove heart",
                "heartedTooltipA11y": "❤ by §owner§",
                "replyButtonA11y": "Reply",
                "menuButtonA11y": "Action menu",
                "heartedTooltipCommand": {"tooltipCommand": _BUBBLE},
            },
            "experiments": {"enablePersistentCommentComposer": False},
            "environment": {"formFactor": "SMALL_FORM_FACTOR"},
            "clientName": "WEB",
        },
    )
)
VIEW_MODEL = Template(
    {
        "commentKey": "§k_comment§",
        "sharedKey": SHARED_KEY,
        "toolbarStateKey": "§k_state§",
        "toolbarSurfaceKey": "§k_toolbar§",
        "§+pinned": 0,
        "commentId": "§id§",
        "commentSurfaceKey": "§k_surface§",
        "sharedSurfaceKey": "EhVWSUVXSU5HX0NPTlRFWFRfV0FUQ0gg9AIoAQ%3D%3D",
        "inlineRepliesKey": "empty_inline_replies",
        "rendererContext": {
            "loggingContext": {"loggingDirectives": {**_LOG, "attentionLogging": "ATTENTION_LOGGING_BASIC"}}
        },
    }
)
THREAD = Template(
    {
        "commentThreadRenderer": {
            "trackingParams": "§tp§",
            "renderingPriority": "RENDERING_PRIORITY_§priority§",
            "isModeratedElqComment": False,
            "§+replies": 0,
            "§+comment": 0,
            "loggingDirectives": _LOG,
        }
    }
)


def _fold(text: str, icon: str) -> dict[str, Any]:
    return {
        "buttonRenderer": {
            "text": runs(text),
            "icon": {"iconType": icon},
            "trackingParams": "§tp§",
            "iconPosition": "BUTTON_ICON_POSITION_TYPE_LEFT_OF_TEXT",
        }
    }


REPLIES = Template(
    {
        "commentRepliesRenderer": {
            "§list§": "§!items§",
            "trackingParams": "§tp§",
            "viewReplies": _fold("§replies_a11y§", "EXPAND"),
            "hideReplies": _fold("§replies_a11y§", "COLLAPSE"),
            "targetId": "comment-replies-item-§id§",
            "§+creator_thumb": 0,
        }
    }
)
_COMMAND = {
    **_TAP,
    "commandMetadata": _POST,
    "continuationCommand": {
        "token": "§token§",
        "request": "CONTINUATION_REQUEST_TYPE_WATCH_NEXT",
    },
}
_SHOW_MORE = {
    "text": runs("Show more replies"),
    "icon": {"iconType": "SUBDIRECTORY_ARROW_RIGHT"},
    "trackingParams": "§tp§",
}
MORE = {
    "endpoint": Template(
        {
            "continuationItemRenderer": {
                "trigger": "CONTINUATION_TRIGGER_ON_ITEM_SHOWN",
                "continuationEndpoint": _COMMAND,
            }
        }
    ),
    "button": Template(
        {"continuationItemRenderer": {"button": {"buttonRenderer": {**_SHOW_MORE, "command": _COMMAND}}}}
    ),
    "executor": Template(
        {
            "continuationItemRenderer": {
                "trigger": "CONTINUATION_TRIGGER_ON_ITEM_SHOWN",
                "continuationEndpoint": {
                    **_TAP,
                    "commandExecutorCommand": {"commands": [{**_TAP, "hideReloadUiCommand": {}}, _COMMAND]},
                },
            }
        }
    ),
    "viewModel": Template(
        {
            "continuationItemViewModel": {
                "continuationCommand": {"innertubeCommand": _COMMAND},
                "loggingDirectives": _LOG,
            }
        }
    ),
}
