"""Every way to write «this YouTube video» → its id; and for what is YouTube's but no video, what it is instead."""

from __future__ import annotations

import html
import re
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from research_scrapers.errors import LinkNotRecognised

ID = re.compile(r"[A-Za-z0-9_-]{11}")
_ID_AT_START = re.compile(r"[A-Za-z0-9_-]{11}(?![A-Za-z0-9_-])")
_BILIBILI_ID = re.compile(r"av\d+", re.I | re.ASCII)
_APP = re.compile(r"(?:vnd\.youtube(?:\.launch)?|youtube):(?://)?", re.I)
_SCHEME = re.compile(r"(?:https?:)?//", re.I)
_BARE_HOST = re.compile(r"[a-z0-9.-]+\.[a-z]{2,}(?::\d+)?(?:[/?#]|$)", re.I)

DOMAINS = ("youtube.com", "youtube-nocookie.com", "youtubekids.com", "youtubeeducation.com", "youtube.googleapis.com")
SHORT_DOMAINS = ("youtu.be", "y2u.be")
ID_FOLDERS = ("watch", "w", "v", "e", "embed", "shorts", "live", "video")
V_PAGES = ("", "watch", "watch_popup", "movie")
WRAPPERS = {
    "attribution_link": ("u",),
    "redirect": ("q",),
    "oembed": ("url",),
    "signin": ("next",),
    "verify_age": ("next_url",),
    "verify_controversy": ("next_url",),
}
NOT_VIDEOS = {
    "channel": "a channel",
    "c": "a channel",
    "user": "a channel",
    "playlist": "a playlist",
    "post": "a community post",
    "community": "a community post",
    "hashtag": "a hashtag page",
    "results": "a search",
    "feed": "a feed",
    "feeds": "a feed",
    "browse": "a music album or playlist",
    "clip": "a clip, which does not name the video it was cut from",
    "shorts": "the Shorts feed: it has no video id",
    "live": "the live page: it has no video id",
    "embed": "a player without a video id",
    "watch": "a watch page without a video id",
    "premium": "a page about Premium",
    "gaming": "a topic page",
    "youtube": "an address of the API",
    "youtubei": "an address of the API",
    "api": "an address of the API",
    "": "the home page",
}
_EMBED_WORDS = {"videoseries": "a playlist", "live_stream": "a channel's live stream"}
_WRAPPED_DEEPEST = 5
_OPENING = "<([{\"'`\u201c\u2018\u00ab\u201e \t"
_CLOSING = ">)]}\"'`\u201d\u2019\u00bb\u201c.,;:!?\u2026 \t"


def link(video_id: str) -> str:
    """The canonical address of a video."""
    return f"https://www.youtube.com/watch?v={video_id}"


def recognise(text: str) -> str | None:
    """Video id of a link or a bare id; ``None`` if it is not YouTube's; raises if it is, but names no video.

    A bare id is eleven allowed characters and nothing else. ``av`` with nine digits is left to Bilibili: as a YouTube
    id it would be one chance in twenty million.
    """
    plain = _unwrap(text)
    if ID.fullmatch(plain):
        return None if _BILIBILI_ID.fullmatch(plain) else plain
    return _from_link(plain, 0)


def _unwrap(text: str) -> str:
    """Without the brackets, quotes and full stops that mails, tables and sentences put around a link."""
    plain = html.unescape(text.strip().lstrip("\ufeff")).strip()
    if ID.fullmatch(plain):
        return plain
    plain = plain.lstrip(_OPENING)
    return plain.rstrip(_CLOSING)


def _from_link(text: str, depth: int) -> str | None:
    app = _APP.match(text)
    if app:
        rest = text[app.end() :]
        direct = _ID_AT_START.match(rest)
        if direct:
            return direct[0]
        host = rest.partition("/")[0].partition("?")[0]
        text = rest if "." in host else "www.youtube.com/" + rest.lstrip("/")
    scheme = _SCHEME.match(text)
    if scheme is None and not _BARE_HOST.match(text):
        return None
    try:
        url = urlsplit("https://" + text[scheme.end() if scheme else 0 :])
        host = (url.hostname or "").rstrip(".").lower()
    except ValueError:
        return None
    if any(host == domain or host.endswith("." + domain) for domain in SHORT_DOMAINS):
        return _short(url, depth)
    if any(host == domain or host.endswith("." + domain) for domain in DOMAINS):
        return _long(url, host, depth)
    return None


def _query(url: SplitResult) -> dict[str, list[str]]:
    return parse_qs(url.query.replace("&amp;", "&").replace(";", "&"), errors="replace", max_num_fields=None)


def _short(url: SplitResult, depth: int) -> str:
    query = _query(url)
    if "v" in query:
        return _checked(query["v"])
    folders = [unquote(part) for part in url.path.split("/") if part]
    if folders and (folders[0] in ID_FOLDERS or folders[0] in NOT_VIDEOS or folders[0].startswith("@")):
        return _long(url, "www.youtube.com", depth)
    if not folders:
        raise LinkNotRecognised("a short link without a video id")
    return _checked(folders)


def _long(url: SplitResult, host: str, depth: int) -> str:
    query = _query(url)
    folders = [unquote(part) for part in url.path.split("/") if part]
    head = re.split(r"[&=]", folders[0])[0] if folders else ""
    wrapped = ("continue",) if host.startswith("consent.") else WRAPPERS.get(head, ())
    for name in wrapped:
        if name in query:
            return _wrapped(query[name][0], depth)
    if head in V_PAGES and "v" in query:
        return _checked(query["v"])
    if head in V_PAGES and (hidden := _in_fragment(url.fragment)):
        return _checked(hidden)
    if len(folders) > 1 and folders[0] in ID_FOLDERS:
        if folders[1] in _EMBED_WORDS:
            raise LinkNotRecognised(_EMBED_WORDS[folders[1]])
        return _checked(folders[1:])
    raise LinkNotRecognised(_what(folders, head))


def _in_fragment(fragment: str) -> list[str]:
    """``#!v=ID`` and ``#/watch?v=ID``, from the days when pages kept their state behind the hash."""
    return parse_qs(fragment.lstrip("!/").rpartition("?")[2].replace(";", "&"), errors="replace").get("v", [])


def _wrapped(inner: str, depth: int) -> str:
    if depth >= _WRAPPED_DEEPEST:
        raise LinkNotRecognised("a link inside a link inside a link")
    if inner.startswith("/") and not inner.startswith("//"):
        inner = "www.youtube.com" + inner
    found = _from_link(inner.strip(), depth + 1)
    if found is None:
        raise LinkNotRecognised("a redirect to another site")
    return found


def _checked(candidates: list[str]) -> str:
    """The first candidate if it is an id, possibly with a second ``?`` or ``&`` glued to it."""
    value = candidates[0].strip()
    found = _ID_AT_START.match(value)
    if found:
        return found[0]
    shown = value[:40]
    if ID.match(value) or len(value) != 11:
        raise LinkNotRecognised(f"'{shown}' is not a video id: it must have 11 characters")
    raise LinkNotRecognised(f"'{shown}' is not a video id: it has characters that no id has")


def _what(folders: list[str], head: str) -> str:
    if head.startswith("@"):
        return "a channel's live page" if folders[1:] == ["live"] else "a channel"
    known = NOT_VIDEOS.get(head)
    if known is None and len(folders) == 1 and ID.fullmatch(head):
        return "a channel's short name, or a video link that has lost its beginning"
    return known or "a YouTube page that is not a video"
