"""The first answer for a video (`next {"videoId"}` and `ytInitialData`): where comments begin."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from . import texts
from .header import labels, sort_menu
from .identity import channel_id, chars, digest, video_id
from .model import CAPTIONED
from .paging import first_token
from .render import context
from .template import compact, runs
from .tokens import PANEL, SECTION, encode
from .transcript import transcript_panel

if TYPE_CHECKING:
    from .video import Video

_CTP = "CAAQg2ciEwiP5prPvbOVAxVHanoFHe2IOBLKAQRyODL_"
# States in which the site shows the video's page but nobody can comment.
_NO_SECTION = frozenset(("no_section", "age_gated", "members_only", "region_blocked", "upcoming"))
_MENU = ("Add to queue", "Save to Watch later", "Save to playlist", "Share", "Report", "Hide")
_GONE = {
    "private": "This video is private",
    "removed": "This video isn't available any more",
    "unknown": "This video isn't available any more",
    "unavailable_next": "This video isn't available any more",
}


def _continuation(token: str) -> dict[str, Any]:
    return {
        "continuationItemRenderer": {
            "trigger": "CONTINUATION_TRIGGER_ON_ITEM_SHOWN",
            "continuationEndpoint": {
                "clickTrackingParams": _CTP,
                "commandMetadata": {"webCommandMetadata": {"sendPost": True, "apiUrl": "/youtubei/v1/next"}},
                "continuationCommand": {
                    "token": token,
                    "request": "CONTINUATION_REQUEST_TYPE_WATCH_NEXT",
                },
            },
        }
    }


def _channel_command(handle: str, channel: str) -> dict[str, Any]:
    return {
        "clickTrackingParams": _CTP,
        "commandMetadata": {
            "webCommandMetadata": {
                "url": f"/{handle}",
                "webPageType": "WEB_PAGE_TYPE_CHANNEL",
                "rootVe": 3611,
                "apiUrl": "/youtubei/v1/browse",
            }
        },
        "browseEndpoint": {"browseId": channel, "canonicalBaseUrl": f"/{handle}"},
    }


def _info(video: Video, locale: str) -> list[dict[str, Any]]:
    date = datetime.fromtimestamp(video.published, UTC)
    age = texts.relative_time(video.now - video.published, locale, False)
    channel = _channel_command(video.channel.name, video.channel.channel_id)
    description = f"{video.title}\n" + "More about it at https://example.org/ and below. " * 60
    primary = {
        "title": runs(video.title),
        "viewCount": {
            "videoViewCountRenderer": {
                "viewCount": {"simpleText": f"{texts.grouped(video.views, locale)} views"},
                "shortViewCount": {"simpleText": f"{texts.short_count(video.views, locale)} views"},
                "originalViewCount": "0",
            }
        },
        "trackingParams": _CTP,
        "dateText": {"simpleText": f"{date:%b} {date.day}, {date.year}"},
        "relativeDateText": {
            "accessibility": {"accessibilityData": {"label": age}},
            "simpleText": age,
        },
    }
    owner = {
        "thumbnail": {"thumbnails": [{"url": "https://yt3.ggpht.com/ytc/o=s48", "width": 48, "height": 48}]},
        "title": {"runs": [{"text": video.channel_title, "navigationEndpoint": channel}]},
        "subscriptionButton": {"type": "FREE"},
        "navigationEndpoint": channel,
        "subscriberCountText": {
            "accessibility": {"accessibilityData": {"label": "2.24 million subscribers"}},
            "simpleText": "2.24M subscribers",
        },
        "trackingParams": _CTP,
    }
    secondary = {
        "owner": {"videoOwnerRenderer": owner},
        "metadataRowContainer": {"metadataRowContainerRenderer": {"collapsedItemCount": 0, "trackingParams": _CTP}},
        "showMoreText": {"simpleText": "...more"},
        "showLessText": {"simpleText": "Show less"},
        "trackingParams": _CTP,
        "defaultExpanded": False,
        "descriptionCollapsedLines": 3,
        "attributedDescription": {"content": description},
    }
    return [
        {"videoPrimaryInfoRenderer": primary},
        {"videoSecondaryInfoRenderer": secondary},
        {"compositeVideoPrimaryInfoRenderer": {}},
    ]


def _section(video: Video, locale: str) -> dict[str, Any] | None:
    if video.state in _NO_SECTION or not video.traits.section_token:
        return None
    if video.state == "comments_off":
        text = {
            "runs": [
                {"text": "Comments are turned off. "},
                {
                    "text": "Learn more",
                    "navigationEndpoint": {
                        "clickTrackingParams": _CTP,
                        "urlEndpoint": {"url": "https://support.google.com/youtube/answer/9706180"},
                    },
                },
            ]
        }
        return {
            "itemSectionRenderer": {
                "contents": [{"messageRenderer": {"text": text, "trackingParams": _CTP}}],
                "trackingParams": _CTP,
                "sectionIdentifier": "comment-item-section",
            }
        }
    # This early header names no number: only the one of the first comment page does.
    title = runs(labels(locale)[0])
    header = {"countText": title, "trackingParams": _CTP, "screenReaderOnly": True}
    return {
        "itemSectionRenderer": {
            "contents": [_continuation(encode(first_token(video, 0, SECTION)))],
            "trackingParams": _CTP,
            "header": {"commentsHeaderRenderer": header},
            "sectionIdentifier": "comment-item-section",
            "targetId": SECTION,
        }
    }


def _panel(video: Video, locale: str) -> dict[str, Any]:
    title: dict[str, Any] = {"title": runs(labels(locale)[0]), "trackingParams": _CTP}
    if video.traits.header_count:
        title["contextualInfo"] = runs(texts.short_count(video.claimed(), locale))
    if video.traits.panel_sort_menu:
        title["menu"] = sort_menu(video, PANEL, 0, locale, _CTP)
    section = {
        "contents": [_continuation(encode(first_token(video, 0, PANEL)))],
        "trackingParams": _CTP,
        "sectionIdentifier": "comment-item-section",
        "targetId": PANEL,
    }
    return {
        "engagementPanelSectionListRenderer": {
            "panelIdentifier": PANEL,
            "header": {"engagementPanelTitleHeaderRenderer": title},
            "content": {"sectionListRenderer": {"contents": [{"itemSectionRenderer": section}]}},
            "veType": 76278,
            "targetId": PANEL,
            "visibility": "ENGAGEMENT_PANEL_VISIBILITY_HIDDEN",
        }
    }


@lru_cache(maxsize=1)
def _related() -> str:
    """The list of other videos beside this one: two thirds of the answer's weight."""
    palette = {f"tone{n}": 4278190080 + n * 65537 for n in range(30)}
    items = []
    for number in range(20):
        vid, name = video_id("related", number), f"@neighbour{number}"
        raw = chars(digest("onesie", number, size=60), 80)
        watch = {
            "clickTrackingParams": _CTP,
            "commandMetadata": {
                "webCommandMetadata": {
                    "url": f"/watch?v={vid}",
                    "webPageType": "WEB_PAGE_TYPE_WATCH",
                    "rootVe": 3832,
                }
            },
            "watchEndpoint": {
                "videoId": vid,
                "nofollow": True,
                "watchEndpointSupportedOnesieConfig": {
                    "html5PlaybackOnesieConfig": {
                        "commonConfig": {"url": f"https://rr1---sn-x.googlevideo.com/initplayback?id={raw}{raw}"}
                    }
                },
            },
        }
        menu = [
            {"listItemViewModel": {"title": {"content": label}, "onTap": watch, "log": _CTP * 12}} for label in _MENU
        ]
        lockup = {
            "contentImage": {
                "thumbnailViewModel": {"image": {"sources": [{"url": f"https://i.ytimg.com/vi/{vid}/hqdefault.jpg"}]}}
            },
            "metadata": {
                "lockupMetadataViewModel": {
                    "title": {"content": texts.sentence(digest("t", number), 9)},
                    "image": _channel_command(name, channel_id("related", number)),
                    "menuButton": {"buttonViewModel": {"iconName": "MORE_VERT", "listItems": menu}},
                }
            },
            "contentId": vid,
            "contentType": "LOCKUP_CONTENT_TYPE_VIDEO",
            "themedPalette": {"lightThemePalette": palette, "darkThemePalette": palette},
            "rendererContext": {"commandContext": {"onTap": {"innertubeCommand": watch}}},
        }
        items.append({"lockupViewModel": lockup})
    return compact({"secondaryResults": {"results": items, "trackingParams": _CTP}})


@lru_cache(maxsize=1)
def _overlays() -> str:
    """End screen, top bar and hot keys, which no collector reads but every one downloads."""
    cards = []
    for number in range(60):
        vid = video_id("end", number)
        label = texts.sentence(digest("e", number), 11)
        cards.append(
            {
                "endScreenVideoRenderer": {
                    "videoId": vid,
                    "thumbnail": {"thumbnails": [{"url": f"https://i.ytimg.com/vi/{vid}/0.jpg"}]},
                    "title": {"accessibility": {"label": label * 3}, "simpleText": label},
                    "lengthInSeconds": 600 + number,
                    "navigationEndpoint": _channel_command("@end", channel_id("end", number)),
                    "trackingParams": _CTP * 3,
                }
            }
        )
    return compact({"playerOverlayRenderer": {"endScreen": {"watchNextEndScreenRenderer": {"results": cards}}}})


def watch_next(video: Video | None, locale: str, visitor: str) -> str:
    """The JSON text of the answer."""
    state = video.state if video else "unknown"
    if video is None or state in _GONE:
        promo = {
            "title": runs(_GONE[state]),
            "trackingParams": _CTP,
            "style": {"value": "BACKGROUND_PROMO_STYLE_TYPE_FULL_HEIGHT"},
        }
        section = {"contents": [{"backgroundPromoRenderer": promo}], "trackingParams": _CTP}
        results = {"results": {"contents": [{"itemSectionRenderer": section}]}}
        body = compact({"twoColumnWatchNextResults": {"results": results}})
        head = f'"responseContext":{context(visitor)}'
        return f'{{{head},"contents":{body},"trackingParams":"{_CTP}"}}'
    locale = video.traits.locale or locale
    contents = _info(video, locale)
    found = _section(video, locale)
    if found is not None:
        contents.append(found)
    results_text = compact({"results": {"contents": contents, "trackingParams": _CTP}})
    panels: list[dict[str, Any]] = []
    if video.state not in _NO_SECTION and video.state != "comments_off" and video.traits.panel:
        panels.append(_panel(video, locale))
    if video.state in CAPTIONED and (track := video.captions.default()):
        panels.append(transcript_panel(track, modern=video.traits.modern_panel))
    about = {"panelIdentifier": "engagement-panel-structured-description"}
    panels.append({"engagementPanelSectionListRenderer": about})
    bar = ""
    if state in ("no_section", "upcoming"):
        chat: dict[str, Any] = {"liveChatRenderer": {"continuations": [{"reloadContinuationData": {}}]}}
        bar = f',"conversationBar":{compact(chat)}'
    endpoint = {"clickTrackingParams": _CTP, "watchEndpoint": {"videoId": video.id}}
    return (
        f'{{"responseContext":{context(visitor)},'
        f'"contents":{{"twoColumnWatchNextResults":{{"results":{results_text},'
        f'"secondaryResults":{_related()}{bar}}}}},'
        f'"currentVideoEndpoint":{compact(endpoint)},"trackingParams":"{_CTP}",'
        f'"playerOverlays":{_overlays()},"engagementPanels":{compact(panels)}}}'
    )


def incomplete(visitor: str) -> str:
    """HTTP 200 without anything in it, as the site sometimes answers."""
    panel = {"engagementPanelSectionListRenderer": {"targetId": "engagement-panel-ads"}}
    return f'{{"responseContext":{context(visitor)},"trackingParams":"{_CTP}","engagementPanels":[{compact(panel)}]}}'
