"""The generation of comments until 2024, still served to some clients: every list item holds its whole comment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_scrapers.errors import LayoutChanged
from research_scrapers.providers.youtube.continuations import section_token
from research_scrapers.providers.youtube.counts import Count, parse_count, parse_likes
from research_scrapers.providers.youtube.records import Frame, build, place
from research_scrapers.providers.youtube.text import runs_text
from research_scrapers.providers.youtube.tree import dict_at, dig, label, label_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from research_scrapers.models import Comment

VERIFIED_ICONS = ("CHECK", "CHECK_CIRCLE", "CHECK_CIRCLE_THICK")
ARTIST_ICONS = ("OFFICIAL_ARTIST_BADGE", "AUDIO_BADGE", "MUSIC_NOTE")


def read_renderer(renderer: Mapping[str, Any], frame: Frame, inside: Comment | None, pinned: bool) -> Comment:
    """One ``commentRenderer``."""
    comment_id = str_at(renderer, "commentId")
    text, extras = runs_text(renderer.get("contentText", {}))
    if comment_id is None or text is None:
        raise LayoutChanged("a comment without an id or a text")
    votes = renderer.get("voteCount")
    likes_text = label(votes) if votes is not None else ""
    _note_author(extras, renderer)
    return build(
        frame,
        place(frame, comment_id, inside, None),
        comment_id=comment_id,
        text=text,
        author_id=str_at(renderer, "authorEndpoint", "browseEndpoint", "browseId"),
        author_name=label_at(renderer, "authorText") or None,
        by_uploader=renderer.get("authorIsChannelOwner") is True,
        likes=parse_likes(likes_text, dig(votes, "accessibility", "accessibilityData", "label")),
        likes_text=likes_text,
        replies=_replies(renderer),
        published_text=label_at(renderer, "publishedTimeText") or None,
        pinned=pinned or type(renderer.get("pinnedCommentBadge")) is dict,
        hearted="creatorHeart" in dict_at(renderer, "actionButtons", "commentActionButtonsRenderer"),
        paid=label_at(renderer, "paidCommentChipRenderer", "pdgCommentChipRenderer", "chipText") or None,
        extras=extras,
    )


def detail_token(renderer: Mapping[str, Any]) -> str | None:
    """The TV client hides the replies behind a panel of their own; the token is there even if there are none."""
    panel = dig(renderer, "detailViewEndpoint", "showEngagementPanelEndpoint", "engagementPanel")
    contents = list_at(panel, "engagementPanelSectionListRenderer", "content", "sectionListRenderer", "contents")
    for section in contents:
        token = section_token(dig(section, "itemSectionRenderer"))
        if token:
            return token
    return None


def _replies(renderer: Mapping[str, Any]) -> Count | None:
    count = renderer.get("replyCount", 0)
    if type(count) is int:
        return Count(count, True)
    return parse_count(label(count))


def _note_author(extras: dict[str, Any], renderer: Mapping[str, Any]) -> None:
    name = label_at(renderer, "authorText")
    base = str_at(renderer, "authorEndpoint", "browseEndpoint", "canonicalBaseUrl")
    if name and name.startswith("@"):
        extras["handle"] = name
    elif base and base.startswith("/@"):
        extras["handle"] = base[1:]
    if avatar := str_at(renderer, "authorThumbnail", "thumbnails", -1, "url"):
        extras["avatar"] = avatar
    icon = dig(renderer, "authorCommentBadge", "authorCommentBadgeRenderer", "icon", "iconType")
    if icon in VERIFIED_ICONS:
        extras["verified"] = True
    elif icon in ARTIST_ICONS:
        extras["artist"] = True
    sponsor = dig(renderer, "sponsorCommentBadge", "sponsorCommentBadgeRenderer")
    if type(sponsor) is dict:
        extras["member_badge"] = str_at(sponsor, "tooltip") or True
