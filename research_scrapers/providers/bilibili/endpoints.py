"""Every address that is requested. Those that want a signature are only marked: it is made when they are sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from research_scrapers.models import Ask
from research_scrapers.providers.bilibili.wbi import encoded, hexsign

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME = "https://www.bilibili.com/"
API = "https://api.bilibili.com"
SHORT = "https://b23.tv"

SPI = f"{API}/x/frontend/finger/spi"
NAV = f"{API}/x/web-interface/nav"
TICKET = f"{API}/bapis/bilibili.api.ticket.v1.Ticket/GenWebTicket"
VIEW = f"{API}/x/web-interface/view"
PAGELIST = f"{API}/x/player/pagelist"
SEASON = f"{API}/pgc/view/web/season"
MEDIA = f"{API}/pgc/review/user"
MAIN_SIGNED = f"{API}/x/v2/reply/wbi/main"
MAIN_PLAIN = f"{API}/x/v2/reply/main"
LEGACY = f"{API}/x/v2/reply"
REPLIES = f"{API}/x/v2/reply/reply"
PLAYER = f"{API}/x/player/wbi/v2"
PLAYER_OLD = f"{API}/x/player/v2"
DM_VIEW = f"{API}/x/v2/dm/web/view"
DM_SEGMENT = f"{API}/x/v2/dm/web/seg.so"
DM_MONTH = f"{API}/x/v2/dm/history/index"
DM_DAY = f"{API}/x/v2/dm/web/history/seg.so"
DM_XML = "https://comment.bilibili.com"

PAGE_SIZE = 20
"""More is not given, whatever is asked for."""
_COMMENTS, _PLAYER = "1315875", "1315873"
"""Where on the site the request says it comes from, as the site's own pages say it."""


def get(url: str, parameters: Mapping[str, str | int], *, signed: bool = False) -> Ask:
    """A request by address and query."""
    return Ask(f"{url}?{encoded({name: str(value) for name, value in parameters.items()})}", signed=signed)


def ticket(now: float) -> Ask:
    """A ticket for this visit."""
    query = encoded({"key_id": "ec02", "hexsign": hexsign(now), "context[ts]": str(int(now)), "csrf": ""})
    return Ask(f"{TICKET}?{query}", method="POST")


def view(video_id: str) -> Ask:
    """A video's own facts."""
    return get(VIEW, {"bvid": video_id})


def pagelist(video_id: str) -> Ask:
    """The parts of a video, nothing else."""
    return get(PAGELIST, {"bvid": video_id})


def short(name: str) -> Ask:
    """Where a short link leads; only its answer's head is wanted."""
    return Ask(f"{SHORT}/{name}")


def season(name: str) -> Ask:
    """The season of an episode (``ep1``) or a season by its own number (``ss1``)."""
    return get(SEASON, {"ep_id" if name.startswith("ep") else "season_id": name[2:]})


def media(name: str) -> Ask:
    """Which season a media page (``md1``) is about."""
    return get(MEDIA, {"media_id": name[2:]})


def main_by_offset(aid: str, mode: int, offset: str, *, first: bool, signed: bool) -> Ask:
    """A page of root comments; the offset is the site's own word, handed back as it came."""
    place = json.dumps({"offset": offset}, ensure_ascii=False, separators=(",", ":"))
    parameters: dict[str, str | int] = {"oid": aid, "type": 1, "mode": mode, "pagination_str": place, "plat": 1}
    if first:
        parameters["seek_rpid"] = ""
    return get(MAIN_SIGNED if signed else MAIN_PLAIN, {**parameters, "web_location": _COMMENTS}, signed=signed)


def main_by_number(aid: str, mode: int, number: str, *, signed: bool) -> Ask:
    """The same by the older counter."""
    parameters: dict[str, str | int] = {"oid": aid, "type": 1, "mode": mode, "next": number, "ps": PAGE_SIZE, "plat": 1}
    return get(MAIN_SIGNED if signed else MAIN_PLAIN, {**parameters, "web_location": _COMMENTS}, signed=signed)


def legacy(aid: str, page: int, sort: int) -> Ask:
    """A page of the old list."""
    return get(LEGACY, {"type": 1, "oid": aid, "pn": page, "ps": PAGE_SIZE, "sort": sort, "nohot": 1})


def replies(aid: str, root: str, page: int) -> Ask:
    """A page of what was answered below one root comment, at any depth."""
    return get(REPLIES, {"type": 1, "oid": aid, "root": root, "pn": page, "ps": PAGE_SIZE})


def player(aid: str, cid: str, video_id: str, ep_id: str = "", *, signed: bool = True) -> Ask:
    """What the player must know of one part, its subtitle tracks among it."""
    parameters = {"aid": aid, "cid": cid, "bvid": video_id}
    if ep_id:
        parameters["ep_id"] = ep_id
    if signed:
        parameters["web_location"] = _PLAYER
    return get(PLAYER if signed else PLAYER_OLD, parameters, signed=signed)


def danmaku_view(aid: str, cid: str) -> Ask:
    """How many segments a part's danmaku have."""
    return get(DM_VIEW, {"type": 1, "oid": cid, "pid": aid})


def danmaku_segment(aid: str, cid: str, number: int) -> Ask:
    """Six minutes of danmaku."""
    return get(DM_SEGMENT, {"type": 1, "oid": cid, "pid": aid, "segment_index": number})


def danmaku_xml(cid: str) -> Ask:
    """The pool of danmaku that the site keeps at hand."""
    return Ask(f"{DM_XML}/{cid}.xml")


def danmaku_month(cid: str, month: str) -> Ask:
    """The days of a month that have danmaku."""
    return get(DM_MONTH, {"type": 1, "oid": cid, "month": month})


def danmaku_day(cid: str, day: str) -> Ask:
    """The danmaku as they stood on one day."""
    return get(DM_DAY, {"type": 1, "oid": cid, "date": day})
