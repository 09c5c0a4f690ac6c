"""The generation of comments since 2024: list items hold keys only, their data comes in a batch of entities beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from research_scrapers.errors import LayoutChanged, PartialResponse
from research_scrapers.providers.youtube.counts import Count, parse_count, parse_likes
from research_scrapers.providers.youtube.records import Frame, build, place
from research_scrapers.providers.youtube.text import attributed_text, voice_reply
from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from research_scrapers.models import Comment

HEARTED = "TOOLBAR_HEART_STATE_HEARTED"


def entity_index(data: Any) -> dict[str, dict[str, Any]]:
    """Entity key → payload. Joined by key, because nothing promises that entities come in the order of the items."""
    index: dict[str, dict[str, Any]] = {}
    for mutation in list_at(data, "frameworkUpdates", "entityBatchUpdate", "mutations"):
        if type(mutation) is dict:
            key, payload = mutation.get("entityKey"), mutation.get("payload")
            if type(key) is str and type(payload) is dict:
                index[key] = payload
    return index


def read_view_model(
    model: Mapping[str, Any], entities: Mapping[str, dict[str, Any]], frame: Frame, inside: Comment | None, pinned: bool
) -> Comment:
    """One ``commentViewModel`` joined with its entities.

    An item without its entity is half a page: raising makes it be fetched again, where skipping would lose a comment.
    """
    entity = dig(entities.get(str_at(model, "commentKey") or ""), "commentEntityPayload")
    if type(entity) is not dict:
        raise PartialResponse(f"the data of comment {str_at(model, 'commentId')} is missing from the page")
    properties, author, toolbar = (dict_at(entity, part) for part in ("properties", "author", "toolbar"))
    comment_id = str_at(properties, "commentId") or str_at(model, "commentId")
    text, extras = attributed_text(properties.get("content"))
    if comment_id is None or text is None:
        raise LayoutChanged("a comment without an id or a text")
    level = int_at(properties, "replyLevel")
    where = place(frame, comment_id, inside, level)
    if level is not None and level != where.depth:
        extras["reply_level"] = level
    surface = dig(entities.get(str_at(model, "commentSurfaceKey") or ""), "commentSurfaceEntityPayload")
    voice = voice_reply(surface)
    if voice is not None:
        extras["voice_reply"] = voice or True
    state = dig(entities.get(str_at(model, "toolbarStateKey") or ""), "engagementToolbarStateEntityPayload")
    if state is None:
        extras["heart_unknown"] = True
    _note_author(extras, author)
    likes_text = toolbar.get("likeCountNotliked")
    return build(
        frame,
        where,
        comment_id=comment_id,
        text=text,
        author_id=str_at(author, "channelId"),
        author_name=str_at(author, "displayName"),
        by_uploader=author.get("isCreator") is True,
        likes=parse_likes(likes_text, toolbar.get("likeCountA11y")),
        likes_text=likes_text if isinstance(likes_text, str) else None,
        replies=_replies(toolbar),
        published_text=str_at(properties, "publishedTime"),
        pinned=pinned or str_at(model, "pinnedText") is not None,
        hearted=dig(state, "heartState") == HEARTED,
        paid=label_at(surface, "pdgCommentChip", "pdgCommentChipRenderer", "chipText") or None,
        extras=extras,
    )


def _replies(toolbar: Mapping[str, Any]) -> Count | None:
    """The printed count is blank for zero, but also on replies that have replies; the spoken label knows."""
    printed = toolbar.get("replyCount")
    if isinstance(printed, str) and printed.strip():
        return parse_count(printed)
    spoken = parse_count(str_at(toolbar, "replyCountA11y"))
    if spoken is not None:
        return spoken
    return Count(0, True) if isinstance(printed, str) else None


def _note_author(extras: dict[str, Any], author: Mapping[str, Any]) -> None:
    name = author.get("displayName")
    if isinstance(name, str) and name.startswith("@"):
        extras["handle"] = name
    else:
        base = str_at(author, "channelCommand", "innertubeCommand", "browseEndpoint", "canonicalBaseUrl")
        if base and base.startswith("/@"):
            extras["handle"] = base[1:]
    if avatar := str_at(author, "avatarThumbnailUrl"):
        extras["avatar"] = avatar
    if author.get("isVerified") is True:
        extras["verified"] = True
    if author.get("isArtist") is True:
        extras["artist"] = True
    if author.get("sponsorBadgeUrl") or author.get("sponsorBadgeA11y"):
        extras["member_badge"] = str_at(author, "sponsorBadgeA11y") or True
