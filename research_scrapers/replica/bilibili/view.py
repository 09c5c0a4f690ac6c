"""What a video is: `view`, its pages, the web page, and licensed series."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from research_scrapers.replica.identity import digest
from research_scrapers.replica.wire import Reply, html_reply, redirect

from . import people
from .envelope import answer, refusal
from .model import STATE_ERRORS, Json, Part

if TYPE_CHECKING:
    from .video import BiliVideo


def blocked(video: BiliVideo | None, login: bool) -> Reply | None:
    """The answer of `view` to a video that it does not show."""
    if video is None:
        return refusal(-404)
    if video.state == "login_only" and not login:
        return refusal(-403)
    code, message = STATE_ERRORS.get(video.state, (0, ""))
    return refusal(code, message) if code else None


def _picture(video: BiliVideo, kind: str) -> str:
    return f"http://i1.hdslb.com/bfs/{kind}/{digest(kind, video.aid, size=20).hex()}.jpg"


def page_list(video: BiliVideo) -> list[Json]:
    """`x/player/pagelist`: the same pages, a little shorter."""
    return [{k: v for k, v in page.items() if k not in ("ctime", "first_frame")} for page in pages(video)]


def pages(video: BiliVideo) -> list[Json]:
    return [_page(video, part) for part in video.parts]


def _page(video: BiliVideo, part: Part) -> Json:
    return {
        "cid": part.cid,
        "page": part.number,
        "from": "vupload",
        "part": part.title,
        "duration": part.seconds,
        "vid": "",
        "weblink": "",
        "dimension": {"width": 1920, "height": 1080, "rotate": 0},
        "first_frame": _picture(video, "storyff"),
        "ctime": video.published,
    }


def view_data(video: BiliVideo) -> Json:
    raw = video.raw
    lines = sum(len(video.danmaku(part)) for part in video.parts)
    off = dict.fromkeys(("bp", "elec", "movie", "pay", "hd5", "ugc_pay", "is_cooperation", "ugc_pay_preview"), 0)
    off |= dict.fromkeys(("no_background", "clean_mode", "is_360", "no_share", "arc_pay", "free_watch"), 0)
    no = dict.fromkeys(("is_chargeable_season", "is_story", "is_upower_exclusive", "is_upower_play"), False)
    no |= dict.fromkeys(("is_upower_preview", "is_upower_exclusive_with_qa", "is_hua_sheng", "no_cache"), False)
    desc = f"{people.say(raw)}\n第二行"
    out: Json = {
        "bvid": video.bvid,
        "aid": video.aid,
        "videos": len(video.parts),
        "tid": 59,
        "tid_v2": 2063,
        "tname": "",
        "tname_v2": "",
        "copyright": 1,
        "pic": _picture(video, "archive"),
        "title": video.title,
        "pubdate": video.published,
        "ctime": video.published,
        "desc": desc,
        "desc_v2": [{"raw_text": desc, "type": 1, "biz_id": 0}] if raw[9] & 1 else None,
        "state": 0,
        "duration": video.seconds,
        "rights": {
            **off, "download": 1, "no_reprint": 1, "autoplay": 1, "is_stein_gate": int(video.traits.interactive),
        },
        "owner": {"mid": video.owner, "name": people.name_of(video.owner), "face": people.face(video.owner)},
        "stat": {
            "aid": video.aid,
            "view": 1000 + int.from_bytes(raw[4:7]),
            "danmaku": lines * 3,
            "reply": video.claimed(),
            "favorite": raw[10] * 9,
            "coin": raw[11] * 7,
            "share": raw[12] * 3,
            "now_rank": 0,
            "his_rank": 0,
            "like": raw[13] * 40,
            "dislike": 0,
            "evaluation": "",
            "vt": 0,
        },
        "argue_info": {"argue_msg": "", "argue_type": 0, "argue_link": ""},
        "dynamic": "",
        "cid": video.parts[0].cid,
        "dimension": {"width": 1920, "height": 1080, "rotate": 0},
        "premiere": None,
        "teenage_mode": 0,
        **no,
        "enable_vt": 0,
        "vt_display": "",
        "pages": pages(video),
        "subtitle": {"allow_submit": False, "list": []},
        "is_season_display": False,
        "user_garb": {"url_image_ani_cut": ""},
        "honor_reply": {},
        "like_icon": "",
        "need_jump_bv": False,
        "disable_show_up_info": False,
        "is_story_play": 0,
        "is_view_self": False,
    }  # fmt: skip
    if video.traits.series:
        out["redirect_url"] = episode_address(video)
    return out


def episode_address(video: BiliVideo) -> str:
    return f"https://www.bilibili.com/bangumi/play/ep{video.ep_id}"


def view(video: BiliVideo | None, login: bool) -> Reply:
    closed = blocked(video, login)
    if closed or video is None:
        return closed or refusal(-404)
    return answer(view_data(video))


def season(video: BiliVideo | None) -> Reply:
    """The payload stands in `result`, and there is no ttl."""
    if video is None:
        return refusal(-404)
    part = video.parts[0]
    episode = {
        "aid": video.aid, "bvid": video.bvid, "cid": part.cid, "id": video.ep_id, "ep_id": video.ep_id, "title": "1",
        "long_title": video.title, "duration": part.seconds * 1000, "pub_time": video.published, "badge": "",
        "share_url": episode_address(video), "link": episode_address(video), "status": 2, "section_type": 0,
    }  # fmt: skip
    result = {
        "season_id": video.season_id, "media_id": 28_000_000 + video.number, "title": video.title, "type": 1,
        "total": 1, "evaluate": "", "episodes": [episode], "section": [],
        "share_url": f"https://www.bilibili.com/bangumi/play/ss{video.season_id}",
        "stat": {"danmakus": len(video.danmaku(part)), "reply": video.claimed(), "views": 1000},
    }  # fmt: skip
    return answer(result, key="result")


def web_page(video: BiliVideo | None, login: bool) -> Reply:
    if video is not None and video.traits.series and video.state == "ok":
        return redirect(episode_address(video))
    closed = blocked(video, login)
    if closed is not None or video is None:
        code = json.loads(closed.body)["code"] if closed else -404
        return _page_with(
            {"error": {"code": 404, "message": "", "trueCode": code}}, "视频去哪了呢？_哔哩哔哩_bilibili", 404
        )
    data = view_data(video)
    state = {
        "aid": video.aid,
        "bvid": video.bvid,
        "p": 1,
        "videoData": data,
        "upData": data["owner"],
        "tags": [],
        "error": {},
    }
    return _page_with(state, f"{video.title}_哔哩哔哩_bilibili")


def _page_with(state: Json, title: str, status: int = 200) -> Reply:
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return html_reply(
        f'<!DOCTYPE html><html lang="zh-CN"><head><meta charset="UTF-8"><title>{title}</title>'
        f'<meta property="og:title" content="{title}"></head><body><div id="app"></div>'
        f"<script>window.__INITIAL_STATE__={text};(function(){{}}());</script></body></html>",
        status,
    )


def play_address(video: BiliVideo, part: Part) -> Json:
    """Nothing to play, but in the form that players expect."""
    stream = {
        "id": 32, "baseUrl": f"https://upos-sz-mirrorcos.bilivideo.com/upgcxcode/{part.cid}-1-30032.m4s?e=0",
        "bandwidth": 300_000, "mimeType": "video/mp4", "codecs": "avc1.64001F", "width": 852, "height": 480,
        "frameRate": "25",
    }  # fmt: skip
    formats = [{"quality": 32, "new_description": "480P"}]
    return {
        "quality": 32,
        "timelength": part.seconds * 1000,
        "support_formats": formats,
        "dash": {"video": [stream], "audio": []},
    }
