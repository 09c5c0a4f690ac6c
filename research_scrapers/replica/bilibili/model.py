"""The words of Bilibili's part of the world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["ok", "removed", "invisible", "review", "private", "login_only"]
# What `view` says instead of a video.
STATE_ERRORS: dict[str, tuple[int, str]] = {
    "removed": (-404, "啥都木有"),
    "invisible": (62002, "稿件不可见"),
    "review": (62004, "稿件审核中"),
    "private": (62012, "仅UP主自己可见"),
}
Track = tuple[str, ...]  # (lan, "human" | "ai" | "translated")


@dataclass(frozen=True, slots=True)
class BiliTraits:
    """How one video is served. The defaults are the ordinary case of 2026."""

    # The video.
    parts: int = 1
    seconds: int = 400  # of each part
    interactive: bool = False
    series: bool = False  # belongs to a licensed series: `redirect_url`, `pgc/view/web/season`
    old_aid: bool = False  # a short number of the early years
    short_target: Literal["video", "av", "space", "foreign", "loopback", "gone"] = "video"  # of its b23.tv link
    # Comments.
    comments_state: Literal["open", "closed", "closed_by_up"] = "open"
    replies: tuple[int, int] = (1, 9)
    reply_share: float = 0.3
    busy: tuple[int, int] = (0, 0)  # (how many of the newest roots, replies of each)
    pinned: bool = True
    pinned_in_list: bool = False  # the pinned comment stands in the list as well
    claimed_extra: int = 0  # all_count counts this many more than can be obtained
    lost_replies: int = 0  # every thread claims this many replies more than come
    # Paging.
    page_size: int = 20
    short_pages: bool = False  # hidden comments leave gaps in the pages
    null_replies: bool = True  # null where there are none; else []
    offsets: Literal["opaque", "json"] = "opaque"  # json: the cursors of 2023/24
    only_next: bool = False  # no next_offset at all: `pagination_reply` is {}, `next` leads on
    hot_repeats: bool = False  # mode 3 gives the same cursor on every page and keeps the place itself
    end: Literal["last", "empty", "endless", "repeat"] = "last"
    legacy_pages: int = 250  # deeper pages of the old list answer -400
    # Without login.
    anonymous: Literal["three", "first_page"] = "three"
    sub_page2: Literal["hollow", "served"] = "hollow"
    # Danmaku.
    danmaku_closed: bool = False
    maxlimit: int = 3000
    empty_segments: tuple[int, ...] = ()
    special: int = 0  # danmaku in a file of their own (modes 8 and 9)
    segment_tail: bool = True  # fields 4 and 5; without them an empty segment is an empty body
    view_total: bool = True  # web/view tells the number of segments
    past_end: Literal["304", "empty"] = "304"
    weights: bool = True  # ninth field of the XML's `p`
    # Subtitles. None: drawn from the seed.
    tracks: tuple[Track, ...] | None = None
    lines: int = 40
    poison: Literal["", "old", "first", "always"] = ""  # a stranger's track: from player/v2; once per part; always
    stale_list: bool = False  # the first list of a part holds only one machine track
    empty_url: bool = False  # the first list of a part has no addresses
    no_key: bool = False  # without login the `subtitle` key is absent, as in 2024
    need_login: bool = False  # `need_login_subtitle`
    player_signed: bool = False  # player/wbi/v2 refuses requests without signature
    plain_human: bool = False  # human tracks on i0.hdslb.com, without auth_key


@dataclass(slots=True)
class Comment:
    rpid: int
    root: int  # 0: is a root
    parent: int
    dialog: int
    floor: int  # running number of a root, 1 = oldest; of a reply inside its thread
    ctime: int
    likes: int
    mid: int
    raw: bytes
    text: str | None = None  # set by a change of the world
    replies: list[Comment] = field(default_factory=list)  # of a root, oldest first

    @property
    def missing(self) -> int:
        """Replies that were deleted: `count` still counts them."""
        return 1 + self.raw[3] % 3 if not self.root and self.replies and self.raw[2] < 60 else 0


@dataclass(frozen=True, slots=True)
class Danmaku:
    id: int
    progress: int  # ms
    mode: int
    size: int
    color: int
    sender: str  # midHash
    text: str
    ctime: int
    weight: int
    pool: int
    action: str
    attr: int
    likes: int
    in_xml: bool
    in_segments: bool


@dataclass(frozen=True, slots=True)
class Line:
    start: float
    end: float
    text: str
    location: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    number: int  # 1-based
    cid: int
    title: str
    seconds: int
    index: int  # running number among all parts of the world

    @property
    def segments(self) -> int:
        return max(-(-self.seconds // 360), 1)


Json = dict[str, Any]
