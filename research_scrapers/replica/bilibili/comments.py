"""The comment lists: the current one, the old page list and the replies below a comment."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from research_scrapers.replica.wire import Reply

from . import offsets, replies
from .envelope import answer, refusal
from .model import Comment, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .video import BiliVideo

_CLOSED = {"closed": 12002, "closed_by_up": 12061}
_SHOWN = 3  # roots that a visitor without login sees


def barred(video: BiliVideo | None, query: Mapping[str, str], login: bool) -> Reply | None:
    """Why this comment area cannot be read at all."""
    if query.get("type", "1") != "1":
        return refusal(12009)
    if video is None or video.state not in ("ok", "login_only") or (video.state == "login_only" and not login):
        return refusal(-404)
    code = _CLOSED.get(video.traits.comments_state)
    return refusal(code, data=None) if code else None


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(query.get(name) or default)
    except ValueError:
        return default


@dataclass
class CommentLists:
    """Remembers only what the site itself remembers: where a visitor stands in a hot list."""

    places: dict[tuple[int, str], int] = field(default_factory=dict)
    turns: int = 0

    # -- x/v2/reply/wbi/main and x/v2/reply/main -------------------------------------------

    def main(self, video: BiliVideo, query: Mapping[str, str], login: bool, visitor: str) -> Reply:
        hot = _number(query, "mode", 3) != 2
        size = min(max(_number(query, "ps", video.traits.page_size), 1), 30)
        try:
            start = self._start(video, query, hot, size, visitor)
        except offsets.BadOffset:
            return refusal(-400)
        if not login:
            return self._anonymous(video, start, hot, size)
        return answer(self._page(video, start, hot, size, visitor, login))

    def _start(self, video: BiliVideo, query: Mapping[str, str], hot: bool, size: int, visitor: str) -> int:
        """Slots before the page. `next` wins over `pagination_str`."""
        if "next" in query:
            given = _number(query, "next", 0)
            return max(given - 1, 0) * size if hot else self._after(video, given)
        offset = offsets.asked(query.get("pagination_str", ""))
        if not offset:
            self.places.pop((video.aid, visitor), None)
            return 0
        position = offsets.read(offset)
        if position is None:
            return self.places.get((video.aid, visitor), 0)
        if not hot:
            return self._after(video, position)
        return (position - 1) * size if video.traits.offsets == "json" else position

    @staticmethod
    def _after(video: BiliVideo, floor: int) -> int:
        """The first slot below a floor; new comments above it change nothing."""
        if floor <= 0:
            return 0
        slots = video.slots(hot=False)
        low, high = 0, len(slots)
        while low < high:  # hidden slots count with the comment before them
            middle = (low + high) // 2
            at = middle
            while slots[at] is None:
                at -= 1
            found = slots[at]
            assert found is not None
            if found.floor >= floor:
                low = middle + 1
            else:
                high = middle
        return low

    def _page(self, video: BiliVideo, start: int, hot: bool, size: int, visitor: str, login: bool) -> Json:
        traits, slots = video.traits, video.slots(hot)
        if traits.end == "repeat" and start >= len(slots):
            start = max(len(slots) - size, 0)
        stop = start + size
        while not hot and 0 < stop < len(slots) and slots[stop] is None:
            stop += 1  # a floor cannot stand between a comment and the hidden one after it
        shown = [root for root in slots[start:stop] if root is not None]
        left = len(slots) - stop
        over = left <= 0 if traits.end == "last" else not shown and traits.end == "empty"
        if hot and traits.hot_repeats:
            self.places[video.aid, visitor] = stop
        cursor = self._cursor(video, hot, begin=not start)
        if not over:
            last = shown[-1].floor if shown else 1
            page = stop // size + 1
            cursor |= {"is_end": False, "prev": page - 1 if hot else last, "next": page if hot else last}
            if not traits.only_next:
                place = last
                if hot:
                    place = page if traits.offsets == "json" else stop
                made = offsets.write(
                    place,
                    self._session(video, anew=not shown and traits.end == "endless"),
                    hot=hot,
                    form=traits.offsets,
                    keeps_place=hot and traits.hot_repeats,
                )
                cursor["pagination_reply"] = {"next_offset": made}
        return self._body(video, cursor, shown, login, pinned=not start)

    def _session(self, video: BiliVideo, anew: bool = False) -> str:
        """With `anew` a number never given before: cursors that differ and lead nowhere."""
        self.turns += anew
        return str(1_833_000_000_000_000 + video.aid % 10**12 + (self.turns if anew else 0))

    def _cursor(self, video: BiliVideo, hot: bool, begin: bool) -> Json:
        return {
            "is_begin": begin,
            "prev": 0,
            "next": 0,
            "is_end": True,
            "pagination_reply": {},
            "session_id": self._session(video) if hot else "",
            "mode": 3 if hot else 2,
            "mode_text": "",
            "all_count": video.claimed(),
            "support_mode": [2, 3],
            "name": "热门评论" if hot else "最新评论",
        }

    @staticmethod
    def _body(video: BiliVideo, cursor: Json, shown: list[Comment], login: bool, pinned: bool) -> Json:
        top = video.pinned if pinned else None
        written = replies.write(video, top, login) if top else None
        none: list[Json] | None = None if video.traits.null_replies else []
        return {
            "cursor": cursor,
            "replies": [replies.write(video, root, login) for root in shown] or none,
            "top": {"admin": None, "upper": written, "vote": None},
            "top_replies": [written] if written else none,
            "effects": {"preloading": ""},
            "assist": 0,
            "blacklist": 0,
            "vote": 0,
            "config": {"showtopic": 1, "show_up_flag": True, "read_only": False},
            "upper": {"mid": video.owner},
            "control": replies.control(),
            "note": 1,
            "callbacks": None,
        }

    def _anonymous(self, video: BiliVideo, start: int, hot: bool, size: int) -> Reply:
        if video.traits.anonymous == "first_page":
            if start:
                return answer(hollow_main())
            return answer(self._page(video, 0, hot, size, "", login=False))
        cursor = self._cursor(video, hot, begin=True)
        return answer(self._body(video, cursor, visible(video), False, pinned=True))

    # -- x/v2/reply ------------------------------------------------------------------------

    def legacy(self, video: BiliVideo, query: Mapping[str, str], login: bool) -> Reply:
        number, size = max(_number(query, "pn", 1), 1), _number(query, "ps", 20)
        if size >= 49 or number > video.traits.legacy_pages:
            return refusal(-400)
        size = min(max(size, 1), 20)
        if number > 1 and not login:
            return answer(hollow_legacy())
        hot = query.get("sort", "0") != "0"
        slots = video.slots(hot)
        shown = [root for root in slots[(number - 1) * size : number * size] if root is not None]
        hots = None if query.get("nohot") == "1" else best(video)
        written = [_listed(video, root, login) for root in shown]
        none: list[Json] | None = None if video.traits.null_replies else []
        top = _listed(video, video.pinned, login) if video.pinned else None
        return answer(
            {
                "page": {"num": number, "size": size, "count": video.claimed_roots(), "acount": video.claimed()},
                "config": {
                    "showadmin": 0, "showentry": 0, "showfloor": 0, "showtopic": 1, "show_up_flag": True,
                    "read_only": False, "show_del_log": False,
                },
                "replies": written or none,
                "hots": [_listed(video, root, login) for root in hots] if hots else None,
                "upper": {"mid": video.owner, "top": top, "vote": None},
                "top": None,
                "notice": None,
                "vote": 0,
                "blacklist": 0,
                "assist": 0,
                "mode": 3 if hot else 2,
                "support_mode": [1, 2, 3],
                "folder": {"has_folded": False, "is_folded": False, "rule": ""},
                "lottery_card": None,
                "show_bvid": True,
                "control": replies.control(),
            }
        )  # fmt: skip

    # -- x/v2/reply/reply ------------------------------------------------------------------

    def below(self, video: BiliVideo, query: Mapping[str, str], login: bool) -> Reply:
        root = video.root(_number(query, "root", 0))
        if root is None:
            return refusal(12022)
        number = max(_number(query, "pn", 1), 1)
        size = min(max(_number(query, "ps", 20), 1), 20)
        if number > 1 and not login and video.traits.sub_page2 == "hollow":
            return answer(hollow_below())
        shown = root.replies[(number - 1) * size : number * size]
        none: list[Json] | None = None if video.traits.null_replies else []
        return answer(
            {
                "page": {"num": number, "size": size, "count": video.rcount(root)},
                "upper": {"mid": video.owner},
                "replies": [replies.write(video, reply, login, preview=False) for reply in shown] or none,
                "root": replies.write(video, root, login, preview=False),
                "config": {"showtopic": 0, "show_up_flag": False, "read_only": False},
                "control": replies.control(),
            }
        )


def _listed(video: BiliVideo, root: Comment, login: bool) -> Json:
    """A comment of the old list has two words more."""
    return {**replies.write(video, root, login), "floor": 0, "show_follow": False}


def visible(video: BiliVideo) -> list[Comment]:
    """The roots that are shown without login, whatever is asked."""
    return list(islice((root for root in video.slots(hot=True) if root is not None), _SHOWN))


def best(video: BiliVideo) -> list[Comment]:
    """`hots` of the old list."""
    return [root for root in islice(video.slots(hot=True), 3) if root is not None and root.likes]


def hollow_main() -> Json:
    """Code 0, nothing inside, and `is_end` false: what a refused page looked like."""
    return {
        "cursor": {
            "is_begin": False, "prev": 0, "next": 0, "is_end": False, "mode": 0, "mode_text": "", "name": "",
            "pagination_reply": None, "session_id": "",
        },
        "replies": None,
        "top": {"admin": None, "upper": None, "vote": None},
        "top_replies": None,
        "up_selection": {"pending_count": 0, "ignore_count": 0},
        "effects": {"preloading": ""},
        "assist": 0,
        "blacklist": 0,
        "vote": 0,
        "config": {"showtopic": 0, "show_up_flag": False, "read_only": False},
        "upper": {"mid": 0},
        "control": replies.control(filled=False),
        "note": 0,
        "callbacks": None,
        "esports_grade_card": None,
    }  # fmt: skip


def hollow_legacy() -> Json:
    return {
        "page": {"num": 0, "size": 0, "count": 0, "acount": 0}, "config": {"showtopic": 0}, "replies": None,
        "hots": None, "upper": {"mid": 0, "top": None, "vote": None}, "top": None, "notice": None, "vote": 0,
        "blacklist": 0, "assist": 0, "mode": 0, "support_mode": None,
        "folder": {"has_folded": False, "is_folded": False, "rule": ""}, "control": replies.control(filled=False),
    }  # fmt: skip


def hollow_below() -> Json:
    return {
        "page": {"num": 0, "size": 0, "count": 0}, "upper": {"mid": 0}, "replies": None, "root": None,
        "config": {"showtopic": 0, "show_up_flag": False, "read_only": False}, "control": replies.control(filled=False),
    }  # fmt: skip
