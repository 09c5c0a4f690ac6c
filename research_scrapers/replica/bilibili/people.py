"""Invented members and what they write: emotes, mentions, other scripts, markup, line breaks."""

from __future__ import annotations

from functools import lru_cache

from research_scrapers.replica.identity import digest
from research_scrapers.replica.texts import sentence

from .model import Json

GONE = "账号已注销"
_NAMES = ("青石巷", "纸飞机", "慢半拍", "橘子汽水", "北岸灯塔", "小满", "Kettle", "夜行列车", "云上客", "ひだまり")
_WORDS = (
    "讲得很清楚",
    "前排",
    "看完又看了一遍",
    "第二段的例子最好",
    "原来是这样",
    "已经收藏",
    "声音有点小",
    "下一期什么时候",
)
_HARD = (
    '"};</script><b>不是粗体</b> & &amp; \\ <3',
    "换行\n\n第三行\t制表",
    "1 < 2 && 3 > 2，%3D %%",
    "emoji 👨‍👩‍👧 和 \u2028 分隔符",
    "",
)
_EMOTES = ("[doge]", "[笑哭]", "[tv_微笑]", "[打call]")
_SEX = ("保密", "男", "女")
_PLACES = ("北京", "四川", "广东", "日本", "湖南")


def mid_of(seed: int, number: int) -> int:
    raw = digest("mid", seed, number, size=8)
    if raw[0] < 64:  # the long numbers of recent years
        return 3_494_000_000_000_000 + int.from_bytes(raw[1:7])
    return 10_000 + int.from_bytes(raw[1:5]) % 700_000_000


@lru_cache(maxsize=8192)
def name_of(mid: int) -> str:
    raw = digest("name", mid, size=4)
    return GONE if raw[0] < 4 else f"{_NAMES[raw[1] % 10]}{mid % 10_000}"


def place_of(mid: int) -> str:
    return f"IP属地：{_PLACES[digest('place', mid, size=1)[0] % 5]}"


def face(mid: int) -> str:
    return f"https://i{mid % 3}.hdslb.com/bfs/face/{digest('face', mid, size=20).hex()}.jpg"


def member(mid: int) -> Json:
    """`member` of a reply. Its `mid` is a string, unlike everywhere else."""
    raw = digest("member", mid, size=8)
    gone = name_of(mid) == GONE
    vip = 0 if gone else raw[0] % 3
    return {
        "mid": str(mid),
        "uname": name_of(mid),
        "handle": "",
        "sex": _SEX[raw[1] % 3],
        "sign": "" if raw[2] < 128 else sentence(raw * 4, 4),
        "avatar": "https://i0.hdslb.com/bfs/face/member/noface.jpg" if gone else face(mid),
        "rank": "5000" if gone else "10000",
        "face_nft_new": 0,
        "is_senior_member": int(raw[3] < 10),
        "senior": {"status": 2} if raw[3] < 10 else {},
        "level_info": {"current_level": 0 if gone else raw[4] % 7, "current_min": 0, "current_exp": 0, "next_exp": 0},
        "pendant": {
            "pid": 0, "name": "", "image": "", "expire": 0, "image_enhance": "", "image_enhance_frame": "", "n_pid": 0,
        },
        "nameplate": {"nid": 0, "name": "", "image": "", "image_small": "", "level": "", "condition": ""},
        "official_verify": {"type": 1, "desc": "知名机构"} if raw[5] < 6 else {"type": -1, "desc": ""},
        "vip": {
            "vipType": vip,
            "vipDueDate": 1_800_000_000_000 if vip else 0,
            "dueRemark": "",
            "accessStatus": 0,
            "vipStatus": int(vip == 2),
            "vipStatusWarn": "",
            "themeType": 0,
            "label": vip_label(),
            "avatar_subscript": 0,
            "nickname_color": "",
        },
        "fans_detail": None,
        "tribee": None,
        "user_sailing": {"pendant": None, "cardbg": None, "cardbg_with_focus": None},
        "user_sailing_v2": {},
        "is_contractor": False,
        "contract_desc": "",
        "nft_interaction": None,
        "avatar_item": {
            "container_size": {"width": 1.8, "height": 1.8},
            "fallback_layers": {"layers": [{"visible": True}], "is_critical_group": True},
            "mid": str(mid),
        },
    }  # fmt: skip


def vip_label() -> Json:
    empty = dict.fromkeys(("path", "text", "label_theme", "text_color"), "")
    return {
        **empty, "bg_style": 0, "bg_color": "", "border_color": "", "use_img_label": True, "img_label_uri_hans": "",
        "img_label_uri_hant": "", "img_label_uri_hans_static": "", "img_label_uri_hant_static": "", "label_id": 0,
        "label_goto": None, "img_label_uri_i18n": "", "img_label_uri_i18n_static": "", "label_type": 0,
    }  # fmt: skip


def say(raw: bytes, answered: int = 0) -> str:
    """A text decided by 32 bytes; `answered` is the mid it speaks to."""
    lead = f"回复 @{name_of(answered)} :" if answered else ""
    kind = raw[30]
    body = "，".join(_WORDS[raw[at] % 8] for at in range(4, 5 + raw[29] % 5))
    if kind < 30:
        body = _HARD[raw[28] % 5]
    elif kind < 90:
        body += _EMOTES[raw[28] % 4] * (1 + raw[27] % 3)
    elif kind < 120:
        body = f"{body}\n{sentence(raw, 8)}"
    elif kind < 135:
        body = f"@{name_of(10_000 + raw[28])} {body}"
    elif kind < 145:
        body = f"{body} https://example.org/p/{raw[28]}?a=1&b=2"
    return lead + body


def content(text: str, raw: bytes, answered: int = 0, root: bool = True) -> Json:
    out: Json = {"message": text, "members": []}
    named = {name_of(mid): mid for mid in (answered, 10_000 + raw[28]) if mid and f"@{name_of(mid)}" in text}
    if named:
        out["members"] = [_mentioned(mid) for mid in named.values()]
        out["at_name_to_mid"] = named
        out["at_name_to_mid_str"] = {name: str(mid) for name, mid in named.items()}
    emotes = [emote for emote in _EMOTES if emote in text]
    if emotes:
        out["emote"] = {emote: _emote(emote) for emote in emotes}
    out |= {"jump_url": {}, "max_line": 6 if root else 2}
    if root and raw[26] < 20:
        address = f"http://i0.hdslb.com/bfs/new_dyn/{raw[:20].hex()}.jpg"
        out["pictures"] = [
            {"img_src": address, "img_width": 1080, "img_height": 300 + raw[25], "img_size": 100 + raw[24] / 100}
        ]
        out["picture_scale"] = 1
    return out


def _mentioned(mid: int) -> Json:
    """A member as `content.members` has it: without adornments."""
    extra = ("avatar_item", "contract_desc", "fans_detail", "is_contractor", "nft_interaction", "tribee")
    return {k: v for k, v in member(mid).items() if k not in extra and not k.startswith("user_sailing")}


def _emote(text: str) -> Json:
    raw = digest("emote", text, size=20)
    return {
        "id": raw[0], "package_id": 1, "state": 0, "type": 1, "attr": 0, "text": text,
        "url": f"https://i0.hdslb.com/bfs/emote/{raw.hex()}.png", "meta": {"size": 1}, "mtime": 1_668_688_325,
        "jump_title": text[1:-1],
    }  # fmt: skip
