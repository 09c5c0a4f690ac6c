"""What every other route must know first: a video's parts, owner and counts; and which videos a placeholder means.

Steps: ``view`` for a video. ``short`` reads where a short link leads, without going there; ``season`` reads the
episodes of a series; ``media`` finds the season of a media page. These three end in videos (``resolved``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from research_scrapers.errors import (
    LayoutChanged,
    LinkNotRecognised,
    LoginRequired,
    NotAVideo,
    RegionLocked,
    SilentRefusal,
    SourceError,
    UnderReview,
    VideoPrivate,
    VideoUnavailable,
    WrongContent,
    WrongVideo,
)
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page, Video
from research_scrapers.providers import NO_SESSION, Route, Session
from research_scrapers.providers.bilibili import endpoints, links
from research_scrapers.providers.bilibili.parts import Part, number_in, packed, read_parts
from research_scrapers.providers.bilibili.refusals import payload
from research_scrapers.providers.bilibili.times import exact, iso
from research_scrapers.providers.tree import dict_at, dig, int_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

VIEW_CODES: dict[int, type[SourceError]] = {
    -400: VideoUnavailable,
    -403: LoginRequired,
    -404: VideoUnavailable,
    62002: VideoUnavailable,
    62004: UnderReview,
    62012: VideoPrivate,
}
SEASON_CODES: dict[int, type[SourceError]] = {
    -400: VideoUnavailable,
    -403: LoginRequired,
    -404: VideoUnavailable,
    -10403: RegionLocked,
}
_STEPS = {"b2": "short", "ep": "season", "ss": "season", "md": "media"}
_MOVED = (301, 302, 303, 307, 308)
_EPISODE = re.compile(r"/ep(\d{1,12})", re.ASCII)
_HOPS = 3
"""So many short links may lead to one another."""


class MetadataRoute(Route):
    """The route for a video's own facts."""

    name = "view"

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """A video is looked at; a placeholder is resolved."""
        step = _STEPS.get(video_id[:2])
        return Cursor(MAIN, step, video_id.removeprefix("b23:")) if step else Cursor(MAIN, "view")

    def ask(self, video_id: str, cursor: Cursor, session: Session, options: Options) -> Ask:
        """The request for a cursor."""
        match cursor.step:
            case "short":
                return endpoints.short(cursor.token.split("|")[0])
            case "season":
                return endpoints.season(cursor.token)
            case "media":
                return endpoints.media(cursor.token)
            case _:
                return endpoints.view(video_id)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        match cursor.step:
            case "short":
                return _read_short(cursor, answer)
            case "season":
                return _read_season(cursor, answer)
            case "media":
                return _read_media(cursor, answer)
            case _:
                return _read_view(video_id, cursor, answer, iso(fetched_at))

    def probes(self) -> tuple[str, ...]:
        """The view endpoint, and what resolves placeholders."""
        return (endpoints.view("BV17x411w7KC").url, endpoints.season("ep1").url, endpoints.media("md1").url)


def _read_view(video_id: str, cursor: Cursor, answer: Answer, fetched_at: str) -> Page:
    data = payload(answer, VIEW_CODES)
    aid = int_at(data, "aid")
    if aid is None:
        raise LayoutChanged("a video without its number")
    if aid != links.aid(video_id):
        raise WrongVideo(f"asked for {video_id}, got {links.bvid(aid)}")
    parts = read_parts(list_at(data, "pages") or ([data] if int_at(data, "cid") else []))
    if not parts:
        raise LayoutChanged("a video without parts")
    video = _video(video_id, data, parts, fetched_at)
    # Several parts and no list of them: the list has an endpoint of its own, which whoever needs the parts asks.
    unlisted = not list_at(data, "pages") and (int_at(data, "videos") or 1) > 1 and not _is_interactive(data)
    episode = _EPISODE.search(str_at(data, "redirect_url") or "")
    learnt = {
        "aid": str(aid),
        "owner": video.channel_id,
        "parts": None if unlisted else packed(parts),
        "comment_count": _text(video.comment_count),
        "danmaku_count": _text(int_at(data, "stat", "danmaku")),
        "published": (video.published_at or "")[:10],
        "ep_id": episode[1] if episode else None,
    }
    return Page(cursor, video=video, session={name: value for name, value in learnt.items() if value})


def _is_interactive(data: dict[str, Any]) -> bool:
    return int_at(data, "rights", "is_stein_gate") == 1


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _video(video_id: str, data: dict[str, Any], parts: tuple[Part, ...], fetched_at: str) -> Video:
    stat, rights = dict_at(data, "stat"), dict_at(data, "rights")
    season = dict_at(data, "ugc_season")
    owner = int_at(data, "owner", "mid")
    extras: dict[str, Any] = {
        "aid": int_at(data, "aid"),
        "parts": [{"part": one.part, "cid": one.cid, "duration": one.duration, "title": one.title} for one in parts],
        "description": str_at(data, "desc"),
        "category": str_at(data, "tname_v2") or str_at(data, "tname"),
        "category_id": int_at(data, "tid_v2") or int_at(data, "tid"),
        "copyright": int_at(data, "copyright"),
        "state": int_at(data, "state"),
        "stat": {name: count for name in _COUNTED if (count := int_at(stat, name)) is not None},
        "rights": {name: value for name, value in rights.items() if type(value) is int and value},
        "staff": [_person(one) for one in list_at(data, "staff")],
        "redirect_url": str_at(data, "redirect_url"),
        "festival_url": str_at(data, "festival_jump_url"),
        "is_upower_exclusive": data.get("is_upower_exclusive") is True,
        "is_interactive": _is_interactive(data),
        "branches": int_at(data, "videos") if _is_interactive(data) else None,
        "collection": {"id": int_at(season, "id"), "title": str_at(season, "title")} if season else None,
        "picture": _https(str_at(data, "pic")),
        "created_at": exact(int_at(data, "ctime")),
    }
    return Video(
        provider="bilibili",
        video_id=video_id,
        title=str_at(data, "title"),
        channel_id=_text(owner),
        channel_name=str_at(data, "owner", "name"),
        published_at=exact(int_at(data, "pubdate")),
        duration_s=int_at(data, "duration"),
        view_count=int_at(stat, "view"),
        like_count=int_at(stat, "like"),
        comment_count=int_at(stat, "reply"),
        language=None,
        parts=len(parts),
        fetched_at=fetched_at,
        extras={name: value for name, value in extras.items() if value not in (None, False, [], {}, "")},
    )


_COUNTED = ("view", "danmaku", "reply", "favorite", "coin", "share", "like")


def _person(node: Any) -> dict[str, Any]:
    return {"mid": _text(int_at(node, "mid")), "name": str_at(node, "name"), "title": str_at(node, "title")}


def _https(url: str | None) -> str | None:
    return url.replace("http://", "https://", 1) if url else None


def _read_short(cursor: Cursor, answer: Answer) -> Page:
    """Where the link leads is read, classified, and not visited."""
    target = answer.headers.get("location", "").strip()
    if answer.status not in _MOVED or not target:
        if answer.status in (200, 404, 410):
            raise VideoUnavailable("the short link has expired or never existed")
        raise WrongContent(f"status {answer.status} for a short link")
    try:
        target = urljoin(answer.url, target)
        found = links.recognise(target)
    except ValueError:
        raise NotAVideo(f"the short link leads nowhere, to {target[:100]}") from None
    except LinkNotRecognised as error:
        raise NotAVideo(error.detail) from None
    if found is None:
        raise NotAVideo(f"the short link leads away from Bilibili, to {target[:100]}")
    if found.startswith("b23:"):
        name, _, hop = cursor.token.partition("|")
        hops = number_in(hop or "1")
        if hops >= _HOPS or found == f"b23:{name}":
            raise NotAVideo("the short link leads to short links only")
        return Page(cursor, next=Cursor(MAIN, "short", f"{found[4:]}|{hops + 1}"))
    if found[:2] in _STEPS:
        return Page(cursor, next=Cursor(MAIN, _STEPS[found[:2]], found))
    part = links.part_of(target)
    return Page(cursor, resolved=(found,), session={"part": str(part)} if part else {})


def _read_season(cursor: Cursor, answer: Answer) -> Page:
    """An episode is one video; a season is all its main episodes, without trailers and extras."""
    result = payload(answer, SEASON_CODES, "result")
    main = list(_episodes(result.get("episodes")))
    if cursor.token.startswith("ss"):
        videos = tuple(dict.fromkeys(video for _, video in main))
        if not videos:
            raise VideoUnavailable("the season has no episodes, at least not for us")
        return Page(cursor, resolved=videos)
    extra = [one for section in list_at(result, "section") for one in _episodes(dig(section, "episodes"))]
    wanted = number_in(cursor.token[2:])
    for number, video in [*main, *extra]:
        if number == wanted:
            return Page(cursor, resolved=(video,))
    raise VideoUnavailable(f"the season does not hold episode {wanted}")


def _episodes(listed: Any) -> Iterator[tuple[int, str]]:
    if listed is not None and type(listed) is not list:
        raise LayoutChanged("episodes of a form that we do not know")
    for entry in listed or []:
        number = int_at(entry, "id") or int_at(entry, "ep_id")
        aid, name = int_at(entry, "aid"), str_at(entry, "bvid") or ""
        if number is None:
            raise LayoutChanged("an episode without a number")
        if aid and 0 < aid <= links.MASK:
            yield number, links.bvid(aid)
        elif links.is_bvid(name):
            yield number, name


def _read_media(cursor: Cursor, answer: Answer) -> Page:
    result = payload(answer, SEASON_CODES, "result")
    season = int_at(result, "media", "season_id")
    if not season:
        raise (
            SilentRefusal("a media page without its season")
            if not dict_at(result, "media")
            else NotAVideo("a media page without a season; use the link of an episode or a season")
        )
    return Page(cursor, next=Cursor(MAIN, "season", f"ss{season}"))
