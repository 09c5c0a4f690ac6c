"""The site object: which of Bilibili's hosts and paths is answered by what."""

from __future__ import annotations

import hmac
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from research_scrapers.replica.identity import digest
from research_scrapers.replica.wire import Hit, Place, Reply, html_reply, redirect

from . import comments, player, refusals, stream, view
from .envelope import answer, json_body, refusal
from .model import Json, Part
from .signing import Keys, ticket_sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from .video import BiliVideo
    from .world import BiliWorld

_API = "api.bilibili.com"
_FILES = frozenset(("aisubtitle.hdslb.com", "subtitle.bilibili.com", "i0.hdslb.com", "i1.hdslb.com"))
# What a client may add without asking for another page.
_NOISE = frozenset(
    (
        *("wts", "w_rid", "web_location", "auth_key", "hexsign", "context[ts]", "csrf", "plat", "seek_rpid", "jsonp"),
        *("_", "dm_img_list", "dm_img_str", "dm_cover_img_str", "dm_img_inter", "isGaiaAvoided"),
    )
)
_ROBOTS = {
    _API: "User-agent: *\nDisallow: /",
    "www.bilibili.com": "User-agent: *\nDisallow: /medialist/detail/\nDisallow: /index.html\n",
    "i0.hdslb.com": "User-agent: *\nDisallow: /bfs/subtitle/\nDisallow: /bfs/ai_subtitle/\n",
    "i1.hdslb.com": "User-agent: *\nDisallow: /bfs/subtitle/\nDisallow: /bfs/ai_subtitle/\n",
}


def _missing() -> Reply:
    return html_reply("<html><title>404 Not Found</title></html>", 404)


class Bilibili:
    hosts = _FILES | {_API, "www.bilibili.com", "m.bilibili.com", "comment.bilibili.com", "b23.tv"}

    def __init__(
        self,
        world: BiliWorld,
        *,
        robots: str = "real",
        sessdata: str = "replica-sessdata",
        require_buvid: bool = False,
    ) -> None:
        self.world, self.robots, self.sessdata = world, robots, sessdata
        self._buvid_at_start = require_buvid
        self.keys = Keys(world.seed)
        self._api: dict[str, Callable[[Hit], Reply]] = {
            "/x/web-interface/view": self._view,
            "/x/web-interface/wbi/view": self._signed(self._view),
            "/x/web-interface/wbi/view/detail": self._detail,
            "/x/web-interface/view/detail": self._detail,
            "/x/player/pagelist": self._pages,
            "/x/web-interface/nav": self._nav,
            "/x/frontend/finger/spi": self._spi,
            "/x/web-frontend/getbuvid": self._buvid,
            "/x/internal/gaia-gateway/ExClimbWuzhi": lambda hit: answer({}),
            "/bapis/bilibili.api.ticket.v1.Ticket/GenWebTicket": self._ticket,
            "/x/v2/reply/wbi/main": self._signed(self._main),
            "/x/v2/reply/main": self._main,
            "/x/v2/reply": self._legacy,
            "/x/v2/reply/reply": self._below,
            "/x/v2/reply/count": self._count,
            "/x/player/wbi/v2": self._player,
            "/x/player/v2": self._player,
            "/x/player/wbi/playurl": self._playurl,
            "/x/v2/dm/web/view": self._overview,
            "/x/v2/dm/web/seg.so": self._segment,
            "/x/v2/dm/wbi/web/seg.so": self._signed(self._segment),
            "/x/v2/dm/history/index": self._history_index,
            "/x/v2/dm/web/history/seg.so": self._history,
            "/x/v1/dm/list.so": lambda hit: self._xml(hit.query.get("oid", "")),
            "/pgc/view/web/season": lambda hit: view.season(self.world.episode(hit.query)),
        }
        self.reset()

    def reset(self) -> None:
        self.lists, self.players = comments.CommentLists(), player.Players()
        self.revoked, self.require_buvid = False, self._buvid_at_start

    # -- who asks, and what for ------------------------------------------------------------

    def login(self, hit: Hit) -> bool:
        given = hit.cookie("SESSDATA")
        return not self.revoked and bool(given) and self.sessdata in (given, unquote(given))

    def place(self, hit: Hit) -> Place:
        kept = sorted((name, value) for name, value in hit.query.items() if name not in _NOISE)
        key = hit.path + ("?" + "&".join(f"{name}={value}" for name, value in kept) if kept else "")
        video = self._video(hit)
        return Place(key, video.bvid if video else "")

    def _video(self, hit: Hit) -> BiliVideo | None:
        world, query = self.world, hit.query
        if hit.host == _API:
            if hit.path.startswith("/x/v2/reply"):
                return world.area(query.get("oid", ""))
            if "/dm/" in hit.path:
                return world.by_cid.get(int(query["oid"])) if query.get("oid", "").isdecimal() else None
            return world.episode(query) if hit.path.startswith("/pgc/") else world.named(query)
        name = hit.path.strip("/").rpartition("/")[2]
        if hit.host in _FILES:
            found = world.file(hit.path)
            return found[0] if found and found[0] is not world.stranger else None
        if hit.host == "comment.bilibili.com":
            return world.by_cid.get(int(name[:-4])) if name[:-4].isdecimal() else None
        if hit.host == "b23.tv":
            return self._short_video(name)
        return world.area(name)

    def _short_video(self, code: str) -> BiliVideo | None:
        by_code = (video for video in self.world.videos.values() if video.short == code)
        return next(by_code, None) or self.world.area(code)

    def handle(self, hit: Hit) -> Reply:
        if hit.path == "/robots.txt":
            return self._robots(hit.host)
        if hit.host == _API:
            page = self._api.get(hit.path)
            return page(hit) if page else refusal(-404)
        if hit.host in _FILES:
            return self._file(hit)
        if hit.host == "comment.bilibili.com":
            name = hit.path.removeprefix("/")
            return self._xml(name[:-4]) if name.endswith(".xml") else _missing()
        if hit.host == "b23.tv":
            return self._short(hit)
        return self._web(hit)

    def _robots(self, host: str) -> Reply:
        plain = [("Content-Type", "text/plain")]
        if self.robots == "open":
            return Reply(200, b"User-agent: *\nDisallow:\n", plain)
        return Reply(200, _ROBOTS[host].encode(), plain) if host in _ROBOTS else Reply(404, b"", plain)

    def _signed(self, page: Callable[[Hit], Reply]) -> Callable[[Hit], Reply]:
        """The page for those who bring a good signature (and a buvid cookie, where that is asked for)."""

        def checked(hit: Hit) -> Reply:
            return self._barred(hit) or page(hit)

        return checked

    def _barred(self, hit: Hit) -> Reply | None:
        if self.require_buvid and not hit.cookie("buvid3"):
            return refusal(-352, "-352")
        return None if self.keys.accept(hit.query) else refusal(-403)

    # -- the video -------------------------------------------------------------------------

    def _view(self, hit: Hit) -> Reply:
        if not hit.query.get("bvid") and not hit.query.get("aid", "").isdecimal():
            return refusal(-400)
        return view.view(self.world.named(hit.query), self.login(hit))

    def _detail(self, hit: Hit) -> Reply:
        video = self.world.named(hit.query)
        closed = view.blocked(video, self.login(hit))
        if closed or video is None:
            return closed or refusal(-404)
        return answer({"View": view.view_data(video), "Tags": [], "Reply": {}, "Related": []})

    def _pages(self, hit: Hit) -> Reply:
        video = self.world.named(hit.query)
        closed = view.blocked(video, self.login(hit))
        return closed or answer(view.page_list(video) if video else [])

    def _playurl(self, hit: Hit) -> Reply:
        found = self.world.part(hit.query.get("cid", ""))
        return answer(view.play_address(*found)) if found else refusal(-404)

    def _web(self, hit: Hit) -> Reply:
        if hit.path.startswith("/video/"):
            if not hit.path.endswith("/"):
                return redirect(f"https://{hit.host}{hit.path}/{hit.target[len(hit.path) :]}", 301)
            return view.web_page(self.world.area(hit.path.removeprefix("/video/").strip("/")), self.login(hit))
        if hit.path == "/":
            cookies = [
                ("Set-Cookie", f"{name}={value}; path=/; domain=.bilibili.com") for name, value in self._cookies()
            ]
            return html_reply("<html><title>哔哩哔哩</title></html>", 200, cookies)
        if hit.path.startswith("/bangumi/play/"):
            return html_reply("<html><title>番剧_哔哩哔哩</title></html>")
        return _missing()

    def _short(self, hit: Hit) -> Reply:
        code = hit.path.strip("/")
        video = self._short_video(code)
        kind = video.traits.short_target if video and code == video.short else "video"
        if video is None or kind == "gone":
            return json_body({"code": -404, "message": "啥都木有", "ttl": 1}, 404, -404)
        targets = {
            "video": f"https://www.bilibili.com/video/{video.bvid}?p=1&share_source=copy_web&unique_k={code}",
            "av": f"https://www.bilibili.com/video/av{video.aid}",
            "space": f"https://space.bilibili.com/{video.owner}?share_from=space",
            "foreign": "https://example.com/video/BV1xx411c7mD",
            "loopback": "http://127.0.0.1:9/video/BV1xx411c7mD",
        }
        return redirect(targets[kind])

    # -- visitors --------------------------------------------------------------------------

    def _cookies(self) -> list[tuple[str, str]]:
        raw = digest("buvid", self.world.seed, size=16).hex().upper()
        form = f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}12345infoc"
        return [("buvid3", form), ("b_nut", str(int(time())))]

    def _spi(self, hit: Hit) -> Reply:
        first = self._cookies()[0][1]
        return json_body(
            {"code": 0, "data": {"b_3": first, "b_4": f"{first[:-5]}-024072309-replica=="}, "message": "ok"}
        )

    def _buvid(self, hit: Hit) -> Reply:
        return answer({"buvid": self._cookies()[0][1]})

    def _nav(self, hit: Hit) -> Reply:
        img, sub = self.keys.addresses()
        keys = {"img_url": img, "sub_url": sub}
        if not self.login(hit):
            return refusal(-101, data={"isLogin": False, "wbi_img": keys, "ip_region": "CN"})
        me: Json = {
            "isLogin": True, "email_verified": 1, "face": "https://i0.hdslb.com/bfs/face/member/noface.jpg",
            "level_info": {"current_level": 5, "current_min": 0, "current_exp": 0, "next_exp": "--"},
            "mid": player.VIEWER, "mobile_verified": 1, "money": 0, "moral": 70, "scores": 0, "uname": "replica",
            "officialVerify": {"type": -1, "desc": ""}, "vipDueDate": 0, "vipStatus": 0, "vipType": 0,
            "is_senior_member": 0, "wbi_img": keys, "is_jury": False,
        }  # fmt: skip
        return answer(me)

    def _ticket(self, hit: Hit) -> Reply:
        moment = hit.query.get("context[ts]", "")
        good = hmac.compare_digest(hit.query.get("hexsign", ""), ticket_sign(moment))
        if hit.method != "POST" or hit.query.get("key_id") != "ec02" or not good:
            return refusal(-400)
        img, sub = self.keys.addresses()
        ticket = ".".join(digest("ticket", moment, n, size=24).hex() for n in range(3))
        nav = {"img": img, "sub": sub}
        return answer({"ticket": ticket, "created_at": int(time()), "ttl": 259_200, "context": {}, "nav": nav})

    # -- comments --------------------------------------------------------------------------

    def _area(self, hit: Hit) -> BiliVideo | Reply:
        video = self.world.area(hit.query.get("oid", ""))
        closed = comments.barred(video, hit.query, self.login(hit))
        return closed or video or refusal(-404)

    def _main(self, hit: Hit) -> Reply:
        area = self._area(hit)
        if isinstance(area, Reply):
            return area
        return self.lists.main(area, hit.query, self.login(hit), hit.cookie("buvid3"))

    def _legacy(self, hit: Hit) -> Reply:
        area = self._area(hit)
        return area if isinstance(area, Reply) else self.lists.legacy(area, hit.query, self.login(hit))

    def _below(self, hit: Hit) -> Reply:
        area = self._area(hit)
        return area if isinstance(area, Reply) else self.lists.below(area, hit.query, self.login(hit))

    def _count(self, hit: Hit) -> Reply:
        area = self._area(hit)
        return area if isinstance(area, Reply) else answer({"count": area.claimed()})

    # -- danmaku and subtitles -------------------------------------------------------------

    def _xml(self, cid: str) -> Reply:
        found = self.world.part(cid)
        return stream.xml(*found) if found else _missing()

    def _part(self, hit: Hit, name: str = "oid") -> tuple[BiliVideo, Part] | None:
        return self.world.part(hit.query.get(name, ""))

    def _overview(self, hit: Hit) -> Reply:
        found = self._part(hit)
        return stream.overview(*found, self.login(hit)) if found else refusal(-404)

    def _segment(self, hit: Hit) -> Reply:
        found, index = self._part(hit), hit.query.get("segment_index", "")
        if found is None or not index.isdecimal():
            return refusal(-400)
        return stream.segment(*found, int(index), self.login(hit))

    def _history_index(self, hit: Hit) -> Reply:
        if not self.login(hit):
            return refusal(-101)
        found = self._part(hit)
        return stream.history_index(*found, hit.query.get("month", "")) if found else refusal(-404)

    def _history(self, hit: Hit) -> Reply:
        if not self.login(hit):
            return refusal(-101)
        found = self._part(hit)
        return stream.history(*found, hit.query.get("date", "")) if found else refusal(-404)

    def _player(self, hit: Hit) -> Reply:
        old = hit.path == "/x/player/v2"
        found = self._part(hit, "cid")
        if found is None or self.world.named(hit.query) is not found[0]:
            return refusal(-404)
        video, part = found
        if not old and ("w_rid" in hit.query or video.traits.player_signed):
            barred = self._barred(hit)
            if barred:
                return barred
        login = self.login(hit)
        tracks = self.players.tracks(video, part, login, old=old, stranger=self.world.stranger)
        return answer(player.answer_data(video, part, login, tracks))

    def _file(self, hit: Hit) -> Reply:
        found = self.world.file(hit.path)
        if found is None:
            return _missing()
        video, part, track = found
        if track is None:
            return stream.special(video, part)
        open_to_all = hit.host == "i0.hdslb.com" and track[1] == "human" and video.traits.plain_human
        if not open_to_all and not player.key_holds(hit.path, hit.query.get("auth_key", "")):
            return Reply(403, b"", [("Content-Type", "text/plain")])
        return player.body(track, video.lines(part, track))

    # -- for the server --------------------------------------------------------------------

    def special(self, name: str, hit: Hit) -> Reply:
        return refusals.special(name, hit)

    def truth(self, only: str = "", texts: bool = True) -> dict[str, Any]:
        wanted = [bvid for bvid in self.world.videos if only in ("", bvid)]
        return {bvid: self.world.truth(bvid, texts) for bvid in wanted}

    def mutate(self, change: dict[str, Any]) -> list[str]:
        """rotate_keys, logout, login, require_buvid (true or false); or a change of a video's comments."""
        if change.get("rotate_keys"):
            self.keys.rotate()
        if change.get("logout"):
            self.revoked = True
        if change.get("login"):
            self.revoked = False
        if "require_buvid" in change:
            self.require_buvid = bool(change["require_buvid"])
        return self.world.mutate(change) if change.get("video") else []
