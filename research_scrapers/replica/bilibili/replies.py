"""A comment as the API writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import people
from .model import Comment, Json
from .numbers import scatter

if TYPE_CHECKING:
    from .video import BiliVideo

_LOCATED_SINCE = 1_658_707_200  # 2022-07-25: older comments have no location


def write(video: BiliVideo, comment: Comment, login: bool, *, preview: bool = True, brief: bool = False) -> Json:
    """`brief` is a reply inside the preview of its root."""
    ids = {
        "mid": comment.mid, "oid": video.aid, "rpid": comment.rpid, "root": comment.root, "parent": comment.parent,
        "dialog": comment.dialog,
    }  # fmt: skip
    answered = video.answered(comment)
    root = not comment.root
    rcount = video.rcount(comment)
    member = people.member(comment.mid)
    if brief:
        member["user_sailing"] = None
        del member["user_sailing_v2"]
    content = people.content(video.text(comment), comment.raw, answered, root)
    post = scatter("post", video.seed, comment.rpid, 1_000_000_000_000_000_000, 58) if "pictures" in content else 0
    return {
        "rpid": comment.rpid,
        "oid": video.aid,
        "type": 1,
        "mid": comment.mid,
        "root": comment.root,
        "parent": comment.parent,
        "dialog": comment.dialog,
        "count": rcount + comment.missing,
        "rcount": rcount,
        "state": 0,
        "fansgrade": 0,
        "attr": _attr(video, comment),
        "ctime": comment.ctime,
        **{f"{name}_str": str(value) for name, value in ids.items()},
        "like": comment.likes,
        "action": 0,
        "member": member,
        "content": content,
        "replies": _preview(video, comment, login) if preview else None,
        "assist": 0,
        "up_action": {"like": _liked(comment), "reply": _answered_by_up(video, comment)},
        "invisible": False,
        "reply_control": _control(video, comment, login, rcount),
        "folder": {
            "has_folded": root and comment.raw[19] < 6,
            "is_folded": not root and comment.raw[19] < 6,
            "rule": "",
        },
        **({"dynamic_id": post} if post else {}),
        "dynamic_id_str": str(post),
        "note_cvid_str": "0",
        "track_info": "",
    }


def _preview(video: BiliVideo, comment: Comment, login: bool) -> list[Json] | None:
    if not comment.replies:
        return None if video.traits.null_replies else []
    return [write(video, reply, login, preview=False, brief=True) for reply in video.preview(comment)]


def _liked(comment: Comment) -> bool:
    return comment.raw[17] < 20


def _answered_by_up(video: BiliVideo, comment: Comment) -> bool:
    return any(reply.mid == video.owner for reply in comment.replies)


def _attr(video: BiliVideo, comment: Comment) -> int:
    pinned = 2 if comment is video.pinned else 0
    return pinned | _liked(comment) << 8 | _answered_by_up(video, comment) << 9


def _control(video: BiliVideo, comment: Comment, login: bool, rcount: int) -> Json:
    out: Json = {"max_line": 6 if not comment.root else 2}
    if comment is video.pinned:
        out["is_up_top"] = True
    if _answered_by_up(video, comment):
        out["up_reply"] = True
    if rcount:
        out |= {"sub_reply_entry_text": f"共{rcount}条回复", "sub_reply_title_text": f"相关回复共{rcount}条"}
    out["time_desc"] = f"{max((video.now - comment.ctime) // 86_400, 0)}天前发布"
    if login and comment.ctime > _LOCATED_SINCE:
        out["location"] = people.place_of(comment.mid)
    return {**out, "translation_switch": 1, "support_share": True}


def control(filled: bool = True) -> Json:
    """`control` of a page: texts of the input box."""
    words = "发一条友善的评论" if filled else ""
    return {
        "input_disable": False, "root_input_text": words, "child_input_text": words, "giveup_input_text": words,
        "screenshot_icon_state": int(filled), "upload_picture_icon_state": int(filled), "answer_guide_text": "",
        "answer_guide_icon_url": "", "answer_guide_ios_url": "", "answer_guide_android_url": "", "bg_text": "",
        "empty_page": None, "show_type": int(filled), "show_text": "", "web_selection": False,
        "disable_jump_emote": False, "enable_charged": False, "enable_cm_biz_helper": False, "preload_resources": None,
    }  # fmt: skip
