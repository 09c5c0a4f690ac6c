"""The transcript panel beside a video (``get_transcript``, and the newer ``get_panel``): what to ask for it with, and
its lines, chapters left out.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from research_scrapers.errors import LayoutChanged, PartialResponse
from research_scrapers.models import Segment
from research_scrapers.providers.youtube.lines import in_order, segment
from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label_at, list_at

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})", re.ASCII)
_KNOWN = ("transcriptSegmentRenderer", "transcriptSectionHeaderRenderer")
_SEARCH_PANEL = "engagement-panel-searchable-transcript-search-panel"
_FLAGS = b"\x30\x01\x38\x01\x40\x01"
"""Fields 6 to 8, which are required since December 2025."""


def panel_params(video_id: str, language: str, kind: str, name: str = "") -> str:
    """What ``get_transcript`` is asked with for a track, as the watch page writes it for the one it shows."""
    track = _text(1, "asr" if kind == "asr" else "") + _text(2, language) + _text(3, name)
    whole = _text(1, video_id) + _text(2, _signs(track)) + b"\x18\x01" + _text(5, _SEARCH_PANEL) + _FLAGS
    return _signs(whole)


def _signs(message: bytes) -> str:
    return quote(b64encode(message, b"-_").decode("ascii"))


def _text(number: int, text: str) -> bytes:
    """A field of a protobuf message that holds text."""
    value = text.encode("utf-8", "replace")
    length, size = b"", len(value)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def read_panel(data: dict[str, Any]) -> list[Segment]:
    """The lines of a panel. The classic one tells start and end, the newer one whole seconds and no end."""
    panel = _classic(data)
    if panel is not None:
        return in_order(_classic_lines(panel))
    lines = [line for model in _models(data) if (line := _modern_line(model)) is not None]
    if lines:
        return in_order(lines)
    if not data.get("actions") and not data.get("content"):
        raise PartialResponse("the answer holds no transcript panel")
    raise LayoutChanged("a transcript panel without lines that we know")


def panel_shows(data: dict[str, Any]) -> str | None:
    """The title of the track that a classic panel shows, by its menu of languages."""
    menu = dig(_classic(data), "footer", "transcriptFooterRenderer", "languageMenu", "sortFilterSubMenuRenderer")
    chosen = (item for item in list_at(menu, "subMenuItems") if dig(item, "selected") is True)
    return next((label_at(item, "title") for item in chosen), None)


def _classic(data: dict[str, Any]) -> dict[str, Any] | None:
    for action in list_at(data, "actions"):
        content = dict_at(action, "updateEngagementPanelAction", "content", "transcriptRenderer", "content")
        panel = dig(content, "transcriptSearchPanelRenderer")
        if type(panel) is dict:
            return panel
    return None


def _classic_lines(panel: dict[str, Any]) -> Iterator[Segment | None]:
    listed = dig(panel, "body", "transcriptSegmentListRenderer")
    if type(listed) is not dict:
        raise LayoutChanged("a transcript panel without a list")
    for item in list_at(listed, "initialSegments"):
        line = dict_at(item, _KNOWN[0])
        if not line:
            if not dict_at(item, _KNOWN[1]):
                raise LayoutChanged("an unknown item in the transcript panel")
            continue
        start, end = int_at(line, "startMs"), int_at(line, "endMs")
        if start is None:
            raise LayoutChanged("a line of the transcript panel without a time")
        yield segment(start, None if end is None else end - start, label_at(line, "snippet") or "")


def _models(data: Any) -> Iterator[dict[str, Any]]:
    """Wrappers differ with and without chapters, so the whole answer is walked, in order, without recursion."""
    stack = [data]
    while stack:
        node = stack.pop()
        if type(node) is dict:
            model = node.get("transcriptSegmentViewModel")
            if type(model) is dict:
                yield model
                continue
            stack.extend(reversed(list(node.values())))
        elif type(node) is list:
            stack.extend(reversed(node))


def _modern_line(model: dict[str, Any]) -> Segment | None:
    clock = _CLOCK.fullmatch((label_at(model, "timestamp") or "").strip())
    if clock is None:
        raise LayoutChanged("a line of the transcript panel without a time")
    hours, minutes, seconds = (int(part or 0) for part in clock.groups())
    return segment(((hours * 60 + minutes) * 60 + seconds) * 1000, None, label_at(model, "simpleText") or "")
