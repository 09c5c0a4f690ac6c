"""From the site's reply object to a comment. One shape serves every endpoint, of every year."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import LayoutChanged
from research_scrapers.models import Comment, Cursor, content_hash
from research_scrapers.providers.bilibili.times import exact, iso
from research_scrapers.providers.tree import dict_at, dig, int_at, list_at, str_at

if TYPE_CHECKING:
    from datetime import datetime

    from research_scrapers.providers import Session

_PINNED, _LIKED, _ANSWERED = 2, 256, 512
"""Bits of a reply's ``attr``: what the uploader did with it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is the same for every record of a page."""

    video_id: str
    cursor: Cursor
    fetched_at: str
    owner: str | None
    """The uploader's number."""
    logged_in: bool
    known_count: int | None
    """How many comments the video's own facts claim."""

    @classmethod
    def of(cls, video_id: str, cursor: Cursor, fetched_at: datetime, session: Session) -> Frame:
        count = session.get("comment_count", "")
        return cls(
            video_id,
            cursor,
            iso(fetched_at),
            session.get("owner"),
            session.get("logged_in") == "1",
            int(count) if count.isascii() and count.isdigit() else None,
        )


def id_at(node: Any, name: str) -> str | None:
    """An id as text: the twin that is text already, or the number; zero is none."""
    if type(node) is not dict:
        return None
    twin = node.get(f"{name}_str")
    found = twin if type(twin) is str and twin else int_at(node, name)
    return str(found) if found and found != "0" else None


def replies_in(node: Any, *path: str | int) -> list[Any]:
    """A list of replies; the site writes «none» as null, as nothing and as an empty list."""
    found = dig(node, *path)
    if found is None:
        return []
    if type(found) is not list:
        raise LayoutChanged(f"{path[-1]} is not a list")
    return found


def read_reply(node: Any, frame: Frame, owner: str | None = None) -> Comment:
    """One comment, at whatever depth."""
    reply_id = id_at(node, "rpid")
    if reply_id is None:
        raise LayoutChanged("a reply without an id")
    root, parent = id_at(node, "root"), id_at(node, "parent")
    depth = 0 if root is None else 1 if parent in (None, root) else 2
    text = dig(node, "content", "message")
    if type(text) is not str:
        raise LayoutChanged("a reply without a text")
    author = id_at(node, "mid") or id_at(node.get("member"), "mid")
    pictures = [_https(url) for one in list_at(node, "content", "pictures") if (url := str_at(one, "img_src"))]
    attr = int_at(node, "attr") or 0
    published = exact(int_at(node, "ctime"))
    uploader = owner or frame.owner
    return Comment(
        provider="bilibili",
        video_id=frame.video_id,
        comment_id=reply_id,
        parent_id=None if root is None else parent or root,
        root_id=root or reply_id,
        depth=depth,
        text=text,
        author_id=author,
        author_name=str_at(node, "member", "uname"),
        author_is_uploader=author is not None and author == uploader,
        like_count=int_at(node, "like"),
        reply_count=_first(int_at(node, "rcount"), int_at(node, "count")),
        published_text=str_at(node, "reply_control", "time_desc"),
        published_after=published,
        published_before=published,
        is_pinned=bool(attr & _PINNED) or dig(node, "reply_control", "is_up_top") is True,
        is_hearted=bool(attr & _LIKED) or dig(node, "up_action", "like") is True,
        is_edited=False,
        paid_amount=None,
        pictures=pictures,
        position=None,
        content_hash=content_hash(text, *pictures),
        fetched_at=frame.fetched_at,
        extras=_extras(node, attr),
    )


def _extras(node: dict[str, Any], attr: int) -> dict[str, Any]:
    member, content, control = dict_at(node, "member"), dict_at(node, "content"), dict_at(node, "reply_control")
    verified = dict_at(member, "official_verify")
    state, counted, shown = int_at(node, "state"), int_at(node, "count"), int_at(node, "rcount")
    told: dict[str, Any] = {
        "dialog": id_at(node, "dialog"),
        "answered_by_uploader": bool(attr & _ANSWERED) or dig(node, "up_action", "reply") is True,
        "location": _place(str_at(control, "location")),
        "level": int_at(member, "level_info", "current_level"),
        "vip": int_at(member, "vip", "vipType") if int_at(member, "vip", "vipStatus") else None,
        "sex": {"男": "male", "女": "female"}.get(str_at(member, "sex") or ""),
        "is_senior": int_at(member, "is_senior_member") == 2,
        "avatar": _https(str_at(member, "avatar") or ""),
        "verified": str_at(verified, "desc") if (int_at(verified, "type") or 0) >= 0 else None,
        "medal": _medal(dict_at(member, "fans_detail")),
        "emotes": _emotes(content.get("emote")),
        "mentions": _mentions(content),
        "links": _links(content.get("jump_url")),
        "device": str_at(content, "device"),
        "floor": int_at(node, "floor"),
        "state": state,
        "is_invisible": node.get("invisible") is True,
        "is_folded": dig(node, "folder", "is_folded") is True,
        "count_with_deleted": counted if shown is not None and counted != shown else None,
        "note": id_at(node, "note_cvid"),
        "post": id_at(node, "dynamic_id"),
    }
    return {name: value for name, value in told.items() if value}


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _https(url: str) -> str:
    return url.replace("http://", "https://", 1) if url.startswith("http://") else url


def _place(text: str | None) -> str | None:
    """``IP属地：四川`` → ``四川``."""
    return text.rpartition("：")[2].strip() or None if text else None


def _medal(node: dict[str, Any]) -> dict[str, Any] | None:
    name = str_at(node, "medal_name")
    return {"name": name, "level": int_at(node, "level")} if name else None


def _emotes(node: Any) -> dict[str, str]:
    if type(node) is not dict:
        return {}
    return {name: _https(str_at(one, "gif_url") or str_at(one, "url") or "") for name, one in node.items()}


def _mentions(content: dict[str, Any]) -> list[dict[str, str | None]]:
    """Who is mentioned. A name in the text may be an old one; the number tells who it is."""
    found: dict[str, str | None] = {}
    for member in list_at(content, "members"):
        if mid := id_at(member, "mid"):
            found[mid] = str_at(member, "uname")
    for key in ("at_name_to_mid_str", "at_name_to_mid"):
        for name, mid in dict_at(content, key).items():
            found.setdefault(str(mid), name)
    return [{"mid": mid, "name": name} for mid, name in found.items()]


def _links(node: Any) -> list[str]:
    """What the site has made a link of: addresses, but also words that lead to its search."""
    return list(node) if type(node) is dict else []
