"""The player's answer with the subtitle list, and the bodies it leads to."""

from __future__ import annotations

from hashlib import md5
from time import time
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_from_bytes

from research_scrapers.replica.identity import digest
from research_scrapers.replica.wire import Reply

from . import people
from .envelope import json_body
from .model import Json, Line, Part, Track
from .numbers import mid_hash, scatter

if TYPE_CHECKING:
    from .video import BiliVideo

VIEWER = 1000  # mid of whoever is logged in
_LIFETIME = 3600
_NAMES = {"zh-CN": "中文（中国）", "zh-Hans": "中文（简体）", "zh-Hant": "中文（繁体）", "en-US": "English (US)"}
_NAMES |= {
    "ai-zh": "中文",
    "ai-en": "English",
    "ai-ja": "日本語",
    "ai-es": "Español",
    "ai-ar": "العربية",
    "ai-pt": "Português",
}


def path_of(video: BiliVideo, part: Part, track: Track) -> str:
    raw = digest("subtitle", video.seed, part.cid, *track, size=20)
    match track[1]:
        case "ai":
            return f"/bfs/ai_subtitle/prod/{video.aid}{part.cid}{raw.hex()[:32]}"
        case "translated":
            return f"/bfs/ai_subtitle/prod/{raw.hex()[:32]}"
    return f"/bfs/subtitle/{raw.hex()}.json"


def veiled_path(path: str) -> str:
    """The unreadable twin of a path, on subtitle.bilibili.com."""
    return "/" + quote(quote_from_bytes(digest("veiled", path)), safe="%")


def _key(path: str, issued: int) -> str:
    nonce = digest("nonce", path, issued, size=16).hex()
    proof = md5(f"{path}-{issued}-{nonce}-0-replica".encode()).hexdigest()  # noqa: S324 - the site's form
    return f"{issued}-{nonce}-0-{proof}"


def key_holds(path: str, key: str) -> bool:
    issued = key.partition("-")[0]
    return issued.isdecimal() and key == _key(path, int(issued)) and 0 <= time() - int(issued) < _LIFETIME


def entry(video: BiliVideo, part: Part, track: Track, *, address: bool = True) -> Json:
    path, now = path_of(video, part, track), int(time())
    plain = track[1] == "human" and video.traits.plain_human
    url = f"//i0.hdslb.com{path}" if plain else f"//aisubtitle.hdslb.com{path}?auth_key={_key(path, now)}"
    number = scatter("subtitle", video.seed, int.from_bytes(digest(path, size=5)), 1_000_000_000_000_000_000, 59)
    veiled = veiled_path(path)
    return {
        "id": number,
        "lan": track[0],
        "lan_doc": _NAMES.get(track[0], track[0]),
        "is_lock": False,
        "subtitle_url": url if address else "",
        "subtitle_url_v2": f"//subtitle.bilibili.com{veiled}?auth_key={_key(veiled, now)}" if address else "",
        "type": int(track[1] != "human"),
        "id_str": str(number),
        "ai_type": int(track[1] == "translated"),
        "ai_status": 0 if track[1] == "human" else 2,
    }


def body(track: Track, lines: list[Line]) -> Reply:
    written: list[Json] = []
    for at, line in enumerate(lines):
        out: Json = {"from": _short(line.start), "to": _short(line.end), "content": line.text}
        if track[1] != "human":
            out |= {"sid": at + 1, "music": 0 if at % 3 else 0.12}
        if line.location is not None:
            out["location"] = line.location
        written.append(out)
    if track[1] == "human" and track[0].startswith("en"):  # some human bodies hold nothing else
        return json_body({"body": written})
    head: Json = {
        "font_size": 0.4, "font_color": "#FFFFFF", "background_alpha": 0.5, "background_color": "#9C27B0",
        "Stroke": "none",
    }  # fmt: skip
    if track[1] != "human":
        version: str | Json = "v1.7.0.4"
        if track[1] == "translated":
            version = {"dubbing": "v1", "translate_model": "t0.3"}
        head |= {"type": "AIsubtitle", "lang": track[0].removeprefix("ai-"), "version": version}
    return json_body({**head, "body": written})


def _short(seconds: float) -> float | int:
    return int(seconds) if seconds == int(seconds) else seconds


def answer_data(video: BiliVideo, part: Part, login: bool, tracks: list[Json]) -> Json:
    subtitle: Json = {
        "allow_submit": False, "lan": "", "lan_doc": "", "subtitles": tracks, "subtitle_position": None,
        "font_size_type": 0,
    }  # fmt: skip
    out: Json = {
        "aid": video.aid,
        "bvid": video.bvid,
        "allow_bp": False,
        "no_share": False,
        "cid": part.cid,
        "max_limit": video.traits.maxlimit,
        "page_no": part.number,
        "has_next": part.number < len(video.parts),
        "ip_info": {
            "ip": "203.0.113.7", "zone_ip": "10.0.0.1", "zone_id": 0, "country": "中国", "province": "北京",
            "city": "北京",
        },
        "login_mid": VIEWER if login else 0,
        "login_mid_hash": mid_hash(VIEWER) if login else "",
        "is_owner": False,
        "name": "replica" if login else "",
        "permission": "10000,1001" if login else "0",
        "level_info": {
            "current_level": 5 * login, "current_min": 0, "current_exp": 0, "next_exp": 0, "level_up": 0,
        },
        "vip": _vip(),
        "answer_status": 0,
        "block_time": 0,
        "role": "0" if login else "",
        "last_play_time": 0,
        "last_play_cid": 0,
        "now_time": int(time()),
        "online_count": 1,
        "need_login_subtitle": video.traits.need_login,
        "subtitle": subtitle,
        "view_points": _chapters(video, part),
        "preview_toast": "",
        "options": {"is_360": False, "without_vip": False},
        "guide_attention": [],
        "jump_card": [],
        "operation_card": [],
        "online_switch": {
            "enable_gray_dash_playback": "500", "new_broadcast": "1", "realtime_dm": "1", "subtitle_submit_switch": "1",
        },
        "fawkes": {"config_version": 39052, "ff_version": 21289},
        "show_switch": {"long_progress": False},
        "bgm_info": None,
        "toast_block": False,
        "is_upower_exclusive": False,
        "is_upower_play": False,
        "is_ugc_pay_preview": False,
        "elec_high_level": {
            "privilege_type": 0, "title": "", "sub_title": "", "show_button": False, "button_text": "", "jump_url": "",
            "intro": "", "new": False, "question_text": "", "qa_title": "",
        },
        "disable_show_up_info": False,
        "is_upower_exclusive_with_qa": False,
        "arc_aigc": None,
        "self_visible": None,
        "script_pace_exp": "0",
        "asr_language": "",
        "ocr_language": "",
    }  # fmt: skip
    if video.traits.interactive:
        out["interaction"] = {"graph_version": 100_000 + video.number}
    if not login and video.traits.no_key:
        del out["subtitle"]
    return out


def _vip() -> Json:
    return {
        "type": 0, "status": 0, "due_date": 0, "vip_pay_type": 0, "theme_type": 0, "label": people.vip_label(),
        "avatar_subscript": 0, "nickname_color": "", "role": 0, "avatar_subscript_url": "", "tv_vip_status": 0,
        "tv_vip_pay_type": 0, "tv_due_date": 0, "avatar_icon": {"icon_resource": {}},
        "ott_info": {"vip_type": 0, "pay_type": 0, "pay_channel_id": "", "status": 0, "overdue_time": 0},
        "super_vip": {"is_super_vip": False},
    }  # fmt: skip


def _chapters(video: BiliVideo, part: Part) -> list[Json]:
    if digest("chapters", part.cid, size=1)[0] >= 64:
        return []
    half = part.seconds // 2
    spans = ((0, half, "开场"), (half, part.seconds, "正文"))
    return [{"type": 2, "from": a, "to": b, "content": name, "imgUrl": "", "logoUrl": ""} for a, b, name in spans]


class Players:
    """Remembers which parts were asked before: some lists are wrong only the first time."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}

    def tracks(self, video: BiliVideo, part: Part, login: bool, *, old: bool, stranger: BiliVideo) -> list[Json]:
        if not login:
            return []
        turn = self.asked[part.cid] = self.asked.get(part.cid, 0) + 1
        traits = video.traits
        tracks = video.tracks(part)
        if traits.stale_list and turn == 1:
            tracks = tuple(t for t in tracks if t[1] == "ai")[:1]
        poisoned = {"old": old, "first": turn == 1, "always": True}.get(traits.poison, False)
        if poisoned:
            other = stranger.parts[turn % len(stranger.parts)]
            return [entry(stranger, other, ("ai-zh", "ai"))]
        return [entry(video, part, track, address=not (traits.empty_url and turn == 1)) for track in tracks]
