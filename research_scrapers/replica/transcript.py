"""Transcript panels: their place in the `next` answer, `get_transcript` and the newer `get_panel`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .captions import Track, track_id
from .model import CAPTIONED
from .template import runs
from .tokens import BadToken, field, read_fields, unbase64, url_base64
from .wire import Reply, google_error, json_reply

if TYPE_CHECKING:
    from .world import World

PANEL = "engagement-panel-searchable-transcript"
_SEARCH_PANEL = f"{PANEL}-search-panel"
MODERN = "PAmodern_transcript_view"
_MODERN_FIELD = 149
_CONTEXT = {"mainAppWebResponseContext": {"loggedOut": True}}
_REQUIRED = frozenset((3, 5, 6, 7, 8))  # since December 2025


def _track_part(track: Track) -> str:
    return url_base64(field(1, "asr" if track.asr else "") + field(2, track.language) + field(3, track.name))


def params(track: Track) -> str:
    flags = field(6, 1) + field(7, 1) + field(8, 1)
    head = field(1, track.video_id) + field(2, _track_part(track))
    return url_base64(head + field(3, 1) + field(5, _SEARCH_PANEL) + flags)


def read_params(text: str) -> tuple[str, str, frozenset[int]]:
    """(video, vssId, numbers of the fields present)"""
    outer = dict(read_fields(unbase64(text)))
    video, part = outer.get(1), outer.get(2)
    if not isinstance(video, bytes) or not isinstance(part, bytes):
        raise BadToken("video or track missing")
    inner = dict(read_fields(unbase64(unquote(part.decode("ascii", "replace")))))
    kind, language, name = (
        value.decode("utf-8", "replace") if isinstance(value := inner.get(number, b""), bytes) else ""
        for number in (1, 2, 3)
    )
    vid = video.decode("ascii", "replace")
    return vid, track_id(vid, language, kind or "manual", name), frozenset(outer)


def panel_params(video_id: str) -> str:
    return url_base64(field(_MODERN_FIELD, field(1, video_id) + field(3, 1)))


def _read_panel_params(text: str) -> str:
    inner = dict(read_fields(unbase64(text))).get(_MODERN_FIELD)
    video = dict(read_fields(inner)).get(1) if isinstance(inner, bytes) else None
    if not isinstance(video, bytes):
        raise BadToken("video missing")
    return video.decode("ascii", "replace")


def place_key(endpoint: str, text: str) -> tuple[str, str]:
    """(key, video) of a request, for counters and faults."""
    try:
        if endpoint == "get_panel":
            vid = _read_panel_params(text)
            return f"{endpoint}:{vid}", vid
        vid, track, _ = read_params(text)
    except BadToken:
        return f"{endpoint}:", ""
    return f"{endpoint}:{vid}:{track}", vid


def transcript_panel(track: Track, *, modern: bool = False) -> dict[str, Any]:
    if modern:
        about = {"panelIdentifier": MODERN, "targetId": MODERN, "header": {"title": "Transcript"}}
        return {"engagementPanelSectionListRenderer": about}
    endpoint = {
        "commandMetadata": {"webCommandMetadata": {"sendPost": True, "apiUrl": "/youtubei/v1/get_transcript"}},
        "getTranscriptEndpoint": {"params": params(track)},
    }
    more = {"trigger": "CONTINUATION_TRIGGER_ON_ITEM_SHOWN", "continuationEndpoint": endpoint}
    return {
        "engagementPanelSectionListRenderer": {
            "panelIdentifier": PANEL,
            "header": {"engagementPanelTitleHeaderRenderer": {"title": runs("Transcript")}},
            "content": {"continuationItemRenderer": more},
            "veType": 99999,
            "targetId": PANEL,
            "visibility": "ENGAGEMENT_PANEL_VISIBILITY_HIDDEN",
        }
    }


def _refused() -> Reply:
    return google_error(400, "Precondition check failed.", "failedPrecondition", "FAILED_PRECONDITION")


def _invalid() -> Reply:
    return google_error(400, "Request contains an invalid argument.", "badRequest", "INVALID_ARGUMENT")


def get_panel(world: World, panel: str, text: str) -> Reply:
    """The default track only, in whole seconds and without durations."""
    try:
        vid = _read_panel_params(text)
    except BadToken:
        return _invalid()
    video = world.videos.get(vid)
    track = video.captions.default() if video and video.state in CAPTIONED and panel == MODERN else None
    if video is None or track is None or not video.traits.modern_panel:
        return _refused()
    items: list[dict[str, Any]] = []
    for line in video.captions.segments(track):
        stamp = _stamp(line.start // 1000)
        said = {"transcriptSegmentViewModel": {"timestamp": stamp, "simpleText": line.text}}
        item = {"timelineItemViewModel": {"timestamp": stamp, "contentItems": [said]}}
        items.append({"macroMarkersPanelItemViewModel": {"item": item}})
    inner = {"sectionListRenderer": {"contents": [{"itemSectionRenderer": {"contents": items}}]}}
    section = {"panelIdentifier": MODERN, "targetId": MODERN, "content": inner}
    return json_reply({"responseContext": _CONTEXT, "content": {"engagementPanelSectionListRenderer": section}})


def get_transcript(world: World, text: str) -> Reply:
    try:
        vid, wanted, present = read_params(text)
    except BadToken:
        return _invalid()
    video = world.videos.get(vid)
    track = video.captions.find(wanted) if video and video.state in CAPTIONED else None
    if video is None or track is None or video.traits.get_transcript == "refused" or not present >= _REQUIRED:
        return _refused()
    lines = video.captions.segments(track)
    part = _track_part(track)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        # A line ends where the next begins, also where two are on the screen.
        after = lines[number + 1].start if number + 1 < len(lines) else line.end
        end = min(line.end, after) if line.duration else after
        row = {
            "startMs": str(line.start),
            "endMs": str(end),
            "snippet": runs(line.text),
            "startTimeText": {"simpleText": _stamp(line.start // 1000)},
            "targetId": f"{vid}.{part}.{line.start}.{end}",
        }
        rows.append({"transcriptSegmentRenderer": row})
    menu = [
        {
            "title": other.title,
            "selected": other == track,
            "continuation": {"reloadContinuationData": {"continuation": params(other)}},
        }
        for other in video.captions.tracks
    ]
    body = {"transcriptSegmentListRenderer": {"initialSegments": rows, "noResultLabel": runs("No results found")}}
    footer = {"transcriptFooterRenderer": {"languageMenu": {"sortFilterSubMenuRenderer": {"subMenuItems": menu}}}}
    search = {"body": body, "footer": footer, "targetId": _SEARCH_PANEL}
    content = {"transcriptRenderer": {"content": {"transcriptSearchPanelRenderer": search}}}
    action = {"updateEngagementPanelAction": {"targetId": PANEL, "content": content}}
    return json_reply({"responseContext": _CONTEXT, "actions": [action], "trackingParams": "CAAQw7wCIhMI"})


def _stamp(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
