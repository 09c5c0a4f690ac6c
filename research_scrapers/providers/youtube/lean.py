"""A page of comments, decoded without what nobody reads: more than half of most pages is menus and commands.

What is named here becomes the same plain objects as ever; everything else is stepped over and never built. A page whose
outer form is another is decoded whole.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from research_scrapers.providers.tree import decode_object


class _Comment(TypedDict, total=False):
    properties: Any
    author: Any
    toolbar: Any


class _Surface(TypedDict, total=False):
    pdgCommentChip: Any
    voiceReplyContainerViewModel: Any


class _Payload(TypedDict, total=False):
    commentEntityPayload: _Comment | None
    commentSurfaceEntityPayload: _Surface | None
    engagementToolbarStateEntityPayload: Any


class _Mutation(TypedDict, total=False):
    entityKey: Any
    payload: _Payload | None


class _Batch(TypedDict, total=False):
    mutations: list[_Mutation]


class _Updates(TypedDict, total=False):
    entityBatchUpdate: _Batch


class _Page(TypedDict, total=False):
    error: Any
    alerts: Any
    contents: Any
    continuationContents: Any
    onResponseReceivedEndpoints: Any
    onResponseReceivedActions: Any
    onResponseReceivedCommands: Any
    frameworkUpdates: _Updates


_DECODER = msgspec.json.Decoder(_Page)


def decode_page(body: bytes) -> dict[str, Any]:
    """The object of a ``next`` answer that holds comments, as far as `comments.read_page` and its helpers look."""
    return decode_object(body, _DECODER)
