"""Every request that YouTube is asked, as a plain description. No key, cookie or User-Agent is written here."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from research_scrapers.models import Ask

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE = "https://www.youtube.com"
NEXT = f"{SITE}/youtubei/v1/next?prettyPrint=false"
PLAYER = f"{SITE}/youtubei/v1/player?prettyPrint=false"
TIMEDTEXT = f"{SITE}/api/timedtext"
GET_TRANSCRIPT = f"{SITE}/youtubei/v1/get_transcript?prettyPrint=false"
API = "https://www.googleapis.com/youtube/v3"

CLIENT_NUMBER = "1"
CLIENT_VERSION = "2.20260708.00.00"
"""What to claim to be when no watch page has told us the site's present version."""

_CLIENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "VISIONOS": (
        "101",
        {
            "clientVersion": "1.02",
            "clientScreen": "WATCH",
            "platform": "MOBILE",
            "deviceMake": "Apple",
            "deviceModel": "RealityDevice14,1",
            "osName": "visionOS",
            "osVersion": "25.6.0.23O471",
            "utcOffsetMinutes": 0,
        },
    ),
    "ANDROID": ("3", {"clientVersion": "20.10.38"}),
}
"""Clients whose caption addresses need no proof token: number and description."""

VIDEO_PARTS = "snippet,contentDetails,statistics,status,liveStreamingDetails"

_PLAIN = re.compile(r"[\w%=.~+/-]{1,1000}", re.ASCII)


def watch_page(video_id: str, language: str = "en") -> Ask:
    """The page of a video. ``bpctr`` and ``has_verified`` skip the «are you sure?» page before sensitive videos."""
    query = urlencode({"v": video_id, "hl": language, "bpctr": "9999999999", "has_verified": "1"})
    return Ask(f"{SITE}/watch?{query}", headers={"Accept-Language": language})


def next_by_video(video_id: str, session: Mapping[str, str], language: str = "en") -> Ask:
    """The watch-next data of a video, which the watch page normally brings along."""
    return _innertube(NEXT, {"videoId": video_id}, video_id, session, language)


def next_by_token(token: str, video_id: str, session: Mapping[str, str], language: str = "en") -> Ask:
    """One page of comments or replies."""
    return _innertube(NEXT, {"continuation": token}, video_id, session, language)


def player(video_id: str, client: str, session: Mapping[str, str], language: str = "en") -> Ask:
    """The player answer that the site gives to another client than the web page."""
    number, described = _CLIENTS[client]
    context: dict[str, Any] = {"clientName": client, **described, "hl": language, "gl": "US"}
    headers = {
        "Content-Type": "application/json",
        "Accept-Language": language,
        "X-YouTube-Client-Name": number,
        "X-YouTube-Client-Version": described["clientVersion"],
    }
    visitor = _visitor(session)
    if visitor:
        context["visitorData"] = visitor
        headers["X-Goog-Visitor-Id"] = visitor
    payload = {"context": {"client": context}, "videoId": video_id, "contentCheckOk": True, "racyCheckOk": True}
    return Ask(PLAYER, "POST", headers, json.dumps(payload, separators=(",", ":")).encode())


def timedtext(url: str, fmt: str, into: str = "", language: str = "en") -> Ask:
    """A track's text in a format, translated ``into`` a language if one is named.

    The address is signed: what it carries stays as it is written. Only ``fmt`` and ``tlang`` are replaced, and
    ``xosf``, which would put positions into the text, is left out.
    """
    base, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] not in ("fmt", "xosf", "tlang")]
    kept.append(f"fmt={fmt}")
    if into:
        kept.append(f"tlang={quote(into)}")
    return Ask(f"{base}?{'&'.join(kept)}", headers={"Accept-Language": language})


def transcript_panel(params: str, video_id: str, session: Mapping[str, str], language: str = "en") -> Ask:
    """The transcript panel beside a video."""
    return _innertube(GET_TRANSCRIPT, {"params": params}, video_id, session, language)


def parameter(url: str, name: str) -> str | None:
    """One parameter of an address."""
    try:
        return dict(parse_qsl(urlsplit(url).query)).get(name)
    except ValueError:
        return None


def _visitor(session: Mapping[str, str]) -> str | None:
    """The visitor id that the site gave, if it is one: it becomes a header."""
    given = session.get("visitor_data", "")
    return given if _PLAIN.fullmatch(given) else None


def _innertube(url: str, payload: dict[str, Any], video_id: str, session: Mapping[str, str], language: str) -> Ask:
    version = session.get("client_version") or CLIENT_VERSION
    visitor = _visitor(session)
    client = {
        "hl": language,
        "gl": "US",
        "clientName": "WEB",
        "clientVersion": version,
        "originalUrl": SITE,
        "platform": "DESKTOP",
        "utcOffsetMinutes": 0,
    }
    headers = {
        "Content-Type": "application/json",
        "Accept-Language": language,
        "Origin": SITE,
        "Referer": f"{SITE}/watch?v={video_id}",
        "X-YouTube-Client-Name": CLIENT_NUMBER,
        "X-YouTube-Client-Version": version,
    }
    if visitor:
        client["visitorData"] = visitor
        headers["X-Goog-Visitor-Id"] = visitor
    context = {
        "client": client,
        "request": {"internalExperimentFlags": [], "useSsl": True},
        "user": {"lockedSafetyMode": False},
    }
    body = json.dumps({"context": context, **payload}, separators=(",", ":")).encode()
    return Ask(url, "POST", headers, body)


def api_video(video_id: str) -> Ask:
    """Data API: the video's own facts, with the comment count that it claims."""
    return _official("videos", {"part": VIDEO_PARTS, "id": video_id})


def api_threads(video_id: str, page_token: str, sort: str) -> Ask:
    """Data API: a page of threads with up to five of their replies each."""
    query = {
        "part": "id,snippet,replies",
        "videoId": video_id,
        "maxResults": "100",
        "order": "time" if sort == "newest" else "relevance",
        "textFormat": "plainText",
    }
    return _official("commentThreads", query, page_token)


def api_replies(parent_id: str, page_token: str) -> Ask:
    """Data API: a page of all replies of a thread."""
    query = {"part": "id,snippet", "parentId": parent_id, "maxResults": "100", "textFormat": "plainText"}
    return _official("comments", query, page_token)


def _official(resource: str, query: dict[str, str], page_token: str = "") -> Ask:
    if page_token:
        query["pageToken"] = page_token
    return Ask(f"{API}/{resource}?{urlencode(query)}", headers={"Accept": "application/json"}, official=True, quota=1)
