"""Every way to write «this Bilibili video» → its id; and for what is Bilibili's but no video, what it is instead.

A video's id is its BV id; ``av`` numbers are converted, for they are the same number in another alphabet. Three kinds
of links name a video only after a request: episodes and seasons (``ep337050``, ``ss12``, ``md34``) and short links
(``b23:AbC1234``). They keep those names here, stable and unique among themselves, until a route resolves them.
A link's part (``?p=``) is no part of the id: all parts of a video are one video.
"""

from __future__ import annotations

import html
import re
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from research_scrapers.errors import LinkNotRecognised

XOR = 23442827791579
MASK = (1 << 51) - 1
MAX = 1 << 51
ALPHABET = "FcwAPNKTMug3GV5Lj7EJnHpWsx4tb8haYeviqBz6rkCy12mUSDQX9RdoZf"

_BV = re.compile(r"[Bb][Vv](1[1-9A-HJ-NP-Za-km-z]{9})")
_AV = re.compile(r"av(\d{1,16})", re.I | re.ASCII)
_SERIES = re.compile(r"(ep|ss|md)(\d{1,12})", re.I | re.ASCII)
_SHORT = re.compile(r"[A-Za-z0-9]{4,16}")
_HOST = re.compile(r"[a-z0-9.-]+\.[a-z]{2,}(?::\d+)?(?:[/?#]|$)", re.I)
_SCHEME = re.compile(r"(?:https?:)?//", re.I)
_APP = re.compile(r"bilibili://(?:video/)?", re.I)

_OPENING = "<([{\"'`\u201c\u2018\u00ab\u300c\u3010 \t"
_CLOSING = ">)]}\"'`\u201d\u2019\u00bb\u300d\u3011.,;:!?\u2026\u3002 \t"

OTHER_SERVICE = ("bilibili.tv", "biliintl.com")
SUBDOMAINS = {
    "space": "a person's page",
    "live": "a live room",
    "t": "a post",
    "search": "a search",
    "manga": "a comic",
    "message": "a mailbox",
    "api": "an address of the API",
}
NOT_VIDEOS = {
    "opus": "a post",
    "read": "an article",
    "audio": "a piece of audio",
    "v": "a channel page",
    "cheese": "a paid course",
    "list": "a list: it names no single video",
    "medialist": "a list: it names no single video",
    "festival": "an event page without a video",
    "bangumi": "a series page without an episode",
    "video": "a video link without an id",
    "": "the home page",
}


def bvid(aid: int) -> str:
    """``av`` number → BV id."""
    number = (MAX | aid) ^ XOR
    signs = list("BV1000000000")
    for position in range(11, 2, -1):
        number, digit = divmod(number, 58)
        signs[position] = ALPHABET[digit]
    return _swapped(signs)


def aid(bvid: str) -> int:
    """BV id → ``av`` number."""
    number = 0
    for sign in _swapped(list(bvid))[3:]:
        number = number * 58 + ALPHABET.index(sign)
    return (number & MASK) ^ XOR


def is_bvid(text: str) -> bool:
    """Whether this is a BV id as the site itself writes it."""
    return text.startswith("BV") and _BV.fullmatch(text) is not None


def _swapped(signs: list[str]) -> str:
    for one, other in ((3, 9), (4, 7)):
        signs[one], signs[other] = signs[other], signs[one]
    return "".join(signs)


def link(video_id: str) -> str:
    """The canonical address of a video, or of what stands for one until it is resolved."""
    if video_id.startswith("b23:"):
        return f"https://b23.tv/{video_id[4:]}"
    if _SERIES.fullmatch(video_id):
        folder = "media" if video_id.startswith("md") else "play"
        return f"https://www.bilibili.com/bangumi/{folder}/{video_id}"
    return f"https://www.bilibili.com/video/{video_id}/"


def recognise(text: str) -> str | None:
    """Video id of a link or a bare id; ``None`` if it is not Bilibili's; raises if it is, but names no video."""
    plain = html.unescape(text.strip().lstrip("\ufeff")).lstrip(_OPENING).rstrip(_CLOSING)
    bare = _id(plain)
    if bare:
        return bare
    app = _APP.match(plain)
    if app:
        rest = re.split(r"[/?#]", plain[app.end() :])[0]
        return _checked("av" + rest if rest.isascii() and rest.isdigit() else rest)
    scheme = _SCHEME.match(plain)
    if scheme is None and not _HOST.match(plain):
        return None
    try:
        url = urlsplit("https://" + plain[scheme.end() if scheme else 0 :])
        host = (url.hostname or "").rstrip(".").lower()
    except ValueError:
        return None
    if any(_belongs(host, domain) for domain in OTHER_SERVICE):
        raise LinkNotRecognised("Bilibili's international service, which has other videos and other ids")
    if _belongs(host, "b23.tv"):
        return _short(url)
    return _long(url, host) if _belongs(host, "bilibili.com") else None


def part_of(text: str) -> int | None:
    """The part that a link names: ``?p=2``, in embedded players ``page=2``; ``None`` if it names none."""
    plain = html.unescape(text.strip()).lstrip(_OPENING).rstrip(_CLOSING)
    try:
        url = urlsplit(plain if "//" in plain else f"https://{plain}")
        query = parse_qs(url.query, errors="replace")
    except ValueError:
        return None
    name = "page" if url.path.endswith("/player.html") and "p" not in query else "p"
    number = query.get(name, [""])[0]
    return int(number) if number.isascii() and number.isdigit() and int(number[:6]) > 0 and len(number) < 6 else None


def _belongs(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def _id(text: str) -> str | None:
    """BV id of a BV id (whose prefix may be in small letters, the rest not) or of an ``av`` number."""
    match = _BV.fullmatch(text)
    if match:
        return "BV" + match[1]
    number = _AV.fullmatch(text)
    return bvid(int(number[1])) if number and 0 < int(number[1]) <= MASK else None


def _checked(text: str) -> str:
    found = _id(text)
    if found is None:
        raise LinkNotRecognised(f"'{text[:40]}' is not a video id")
    return found


def _short(url: SplitResult) -> str:
    name = unquote(url.path.strip("/"))
    series = _SERIES.fullmatch(name)
    if series:
        return series[0].lower()
    if _id(name):
        return _checked(name)
    if not _SHORT.fullmatch(name):
        raise LinkNotRecognised("a short link without a name")
    return f"b23:{name}"


def _long(url: SplitResult, host: str) -> str:
    kind = SUBDOMAINS.get(host.removesuffix("bilibili.com").rstrip("."))
    if kind:
        raise LinkNotRecognised(kind)
    query = parse_qs(url.query.replace("&amp;", "&"), errors="replace")
    folders = [unquote(part) for part in url.path.split("/") if part]
    head = folders[0] if folders else ""
    if head == "cheese":
        raise LinkNotRecognised(NOT_VIDEOS[head])
    if "video" in folders[:2] and folders[-1] != "video":
        return _checked(folders[folders.index("video") + 1])
    if head == "bangumi" and len(folders) > 2 and _SERIES.fullmatch(folders[2]):
        return folders[2].lower()
    if len(folders) == 1 and (found := _id(head)):
        return found
    if "bvid" in query:
        return _checked(query["bvid"][0])
    for name in ("aid", "oid"):
        if name in query and head in ("player.html", "list", "medialist", "blackboard", "festival"):
            return _checked("av" + query[name][0].lower().removeprefix("av"))
    raise LinkNotRecognised(NOT_VIDEOS.get(head, "a Bilibili page that is not a video"))
