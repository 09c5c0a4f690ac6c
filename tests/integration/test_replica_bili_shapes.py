"""Bilibili's answers have the shape of recorded real ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet

from research_scrapers.replica.bilibili import Bilibili, BiliWorld
from research_scrapers.replica.bilibili.signing import mixin_key, signature
from research_scrapers.replica.wire import Hit, Reply
from tests.danmaku_schema import Segment, View

_SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "recordings"
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS", _SHARED)) / "bilibili"
recorded = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="recordings of the real site are not at ../shared/recordings"
)
Paths = set[str]

# Parts of real answers that no collector reads; left out on purpose.
UNUSED = (
    "avatar_item.fallback_layers.layers.",
    "user_sailing.",
    "user_sailing_v2.",
    "fans_detail.",
    "meta.suggest",
    "gif_url",
    "senior.status",
    "biz_scene",
    "is_note_v2",
    "label.label_goto.",
    "vip.avatar_icon.icon_type",
    "dm_mask",
    "bgm_info.",
    "subtitle_position.",
    "context_feature",
    "esports_grade_card",
    "up_selection",
)
# What only some comments have.
SOMETIMES = ("picture", ".dynamic_id", ".emote", "sub_reply_", "top.upper.replies.", "top_replies.replies.")
# Written by us, in no recording of the same kind; each is in a recording of another kind or in public descriptions.
ADDED = (
    "at_name_to_mid",
    "content.members.",
    "senior.status",
    "view_points.",
    "up_reply",
    "i18n",
    "label_type",
    "location",
    "translation",
)
TRACKS = (("zh-CN", "human"), ("ai-zh", "ai"), ("ai-en", "translated"))


def paths(value: Any, at: str = "") -> Paths:
    """Every key path; list positions and the names of emotes and people are ignored."""
    out: Paths = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{at}.*" if key.startswith("[") or "at_name_to_mid" in at else f"{at}.{key}"
            out.add(path)
            out |= paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            out |= paths(inner, at)
    return out


def without(found: Paths, words: tuple[str, ...]) -> Paths:
    return {path for path in found if not any(word in path for word in words)}


def load(name: str) -> Any:
    value = json.loads((RECORDINGS / name).read_text("utf-8"))
    return value["data"] if isinstance(value, dict) and "code" in value else value


@pytest.fixture(scope="module")
def site() -> Bilibili:
    world = BiliWorld()
    world.add(60, 300, tracks=TRACKS, busy=(5, 30), parts=2, seconds=900, empty_segments=(2,), special=3)
    world.add(10, 10, danmaku_closed=True)
    return Bilibili(world)


def ask(site: Bilibili, path: str, login: bool, host: str = "api.bilibili.com", **query: Any) -> Reply:
    signed = {name: str(value) for name, value in query.items()}
    if "/wbi/" in path:
        signed["wts"] = str(int(time()))
        signed["w_rid"] = signature(signed, mixin_key(*site.keys.pair()))
    target = f"{path}?{urlencode(signed, quote_via=quote)}" if signed else path
    headers = {"cookie": "SESSDATA=replica-sessdata"} if login else {}
    reply = site.handle(Hit("GET", host, target, headers))
    assert reply.status == 200
    return reply


def data(site: Bilibili, path: str, login: bool, **query: Any) -> Any:
    return json.loads(ask(site, path, login, **query).body)["data"]


def first(site: Bilibili) -> tuple[int, str, int, int]:
    video = next(iter(site.world.videos.values()))
    return video.aid, video.bvid, video.parts[0].cid, video.roots[-1].rpid


MAIN = {"type": 1, "pagination_str": '{"offset":""}'}
VIEWS = ("view_2026-10-01_two_parts.json", "view_2025_BV17kjbzNE5w.json", "view_2025_BV11nMuzuEBn.json")


@recorded
@pytest.mark.parametrize(
    ("path", "query", "login", "names"),
    [
        ("/x/v2/reply/wbi/main", {**MAIN, "mode": 3}, False, ["comments_wbi-main_2026-10-01_anonymous.json"]),
        (
            "/x/v2/reply/wbi/main",
            {**MAIN, "mode": 2},
            True,
            ["comments_wbi-main_2026-10-01_anonymous.json", "comments_wbi-main_2024-08_mode2_cursor_offset.json"],
        ),
        ("/x/v2/reply/reply", {"type": 1, "root": "ROOT"}, False, ["comments_sub_2026-10-01_anonymous_pn1.json"]),
        ("/x/web-interface/view", {"bvid": "BVID"}, False, VIEWS),
        ("/x/player/wbi/v2", {"cid": "CID"}, False, ["player_wbi-v2_2026-10-01_anonymous_empty.json"]),
        (
            "/x/player/wbi/v2",
            {"cid": "CID"},
            True,
            ["player_2026-03-10_loggedin_six_ai_tracks.json", "player_wbi-v2_2026-10-01_anonymous_empty.json"],
        ),
        ("/x/player/pagelist", {"bvid": "BVID"}, False, ["pagelist_2025-04_doc.json"]),
        ("/x/web-interface/nav", {}, False, ["nav_2026-08-16_logged_out.json"]),
        ("/x/v2/reply/count", {"type": 1}, False, ["comments_count.json"]),
    ],
)
def test_keys_are_those_of_recordings(
    site: Bilibili, path: str, query: dict[str, Any], login: bool, names: list[str]
) -> None:
    aid, bvid, cid, root = first(site)
    words = {"BVID": bvid, "CID": cid, "ROOT": root}
    filled = {name: words.get(value, value) for name, value in query.items()}
    if "/reply" in path:
        filled["oid"] = aid
    elif "player/wbi" in path:
        filled["aid"] = aid
    ours = paths(data(site, path, login, **filled))
    real = [paths(load(name)) for name in names]
    assert without(set.intersection(*real) - ours, UNUSED + SOMETIMES) == set()
    assert without(ours - set.union(*real), ADDED + SOMETIMES) == set()


@recorded
def test_the_old_list_has_what_recordings_have(site: Bilibili) -> None:
    aid, *_ = first(site)
    ours = paths(data(site, "/x/v2/reply", True, type=1, oid=aid, pn=1))
    real = [paths(load(name.name)) for name in RECORDINGS.glob("comments_legacy_*.json")]
    gone = ("content.device", "content.plat", "DisplayRank", "following", "is_followed", "avatar_subscript_url")
    assert without(set.intersection(*real) - ours, (*UNUSED, *gone, ".hots.")) == set()


@recorded
def test_a_hollow_page_is_the_recorded_one(site: Bilibili) -> None:
    ours = json.loads(site.special("bili_hollow", Hit("GET", "api.bilibili.com", "/x/v2/reply/main", {})).body)
    real = json.loads((RECORDINGS / "comments_main_2023-10_page2_anonymous_hollow.json").read_text("utf-8"))
    assert ours["data"]["cursor"] == real["data"]["cursor"]
    assert paths(real) - paths(ours) == set()


@recorded
@pytest.mark.parametrize(
    ("name", "recording"),
    [
        ("bili_-403", "error_wbi-main_unsigned_-403.json"),
        ("bili_-352_bare", "error_-352_short.json"),
        ("bili_void", "error_silent_refusal_data_empty.json"),
        ("bili_-352", "error_-352_v_voucher_2024.json"),
        ("bili_voucher", "error_code0_v_voucher_only.json"),
    ],
)
def test_refusals_are_worded_as_recorded(site: Bilibili, name: str, recording: str) -> None:
    ours = json.loads(site.special(name, Hit("GET", "api.bilibili.com", "/x/v2/reply/main", {})).body)
    real = json.loads((RECORDINGS / recording).read_text("utf-8"))
    assert paths(ours) == paths(real)
    assert (ours["code"], ours["message"]) == (real["code"], real["message"])


@recorded
def test_machine_subtitles_look_like_recorded_ones(site: Bilibili) -> None:
    aid, _, cid, _ = first(site)
    tracks = data(site, "/x/player/wbi/v2", True, aid=aid, cid=cid)["subtitle"]["subtitles"]
    spoken = next(track for track in tracks if track["lan"] == "ai-zh")
    host, _, target = spoken["subtitle_url"].removeprefix("//").partition("/")
    body = json.loads(site.handle(Hit("GET", host, f"/{target}", {})).body)
    real = [paths(json.loads(f.read_text("utf-8"))) for f in RECORDINGS.glob("subtitle_body_ai_zh_*.json")]
    assert set.intersection(*real) <= paths(body) <= set.union(*real)


def fields(message: Any) -> set[int]:
    return {descriptor.number for descriptor, _ in message.ListFields()}


@recorded
def test_segments_use_the_fields_of_recorded_ones(site: Bilibili) -> None:
    _, _, cid, _ = first(site)
    ours = [
        Segment.FromString(ask(site, "/x/v2/dm/web/seg.so", True, type=1, oid=cid, segment_index=n).body)
        for n in (1, 2, 3)
    ]
    files = [f for f in RECORDINGS.glob("danmaku_seg_cid*.pb") if f.stat().st_size < 1_000_000]
    real = [Segment.FromString(f.read_bytes()) for f in files]
    for segment in ours:
        assert fields(segment) - {1} == {4, 5}  # what an empty segment has
        assert not len(UnknownFieldSet(segment))
    assert not ours[1].elems
    seen = set().union(*(fields(elem) for segment in real for elem in segment.elems))
    mine = set().union(*(fields(elem) for segment in ours for elem in segment.elems))
    assert {1, 2, 3, 4, 6, 7, 8, 9, 12} <= mine <= seen | {22}  # 22 is rare
    assert ours[2].span == [720_000, 1_080_000]
    empty = (RECORDINGS / "danmaku_seg_cid31973115923_1001_loggedin.pb").read_bytes()
    assert abs(len(ours[1].SerializeToString()) - len(empty)) < 10


@recorded
def test_the_overview_uses_the_fields_of_recorded_ones(site: Bilibili) -> None:
    _, _, cid, _ = first(site)
    ours = View.FromString(ask(site, "/x/v2/dm/web/view", False, type=1, oid=cid).body)
    real = View.FromString((RECORDINGS / "danmaku_webview_2026-10-01_anonymous.bin").read_bytes())
    assert fields(real) <= fields(ours) | {12}
    assert (ours.segments.size, ours.segments.total) == (360_000, 3)
    assert len(ours.special) == 1
    assert real.segments.size == 360_000


def test_the_xml_is_raw_deflate_and_sorted_by_weight(site: Bilibili) -> None:
    import zlib

    _, _, cid, _ = first(site)
    reply = ask(site, f"/{cid}.xml", False, "comment.bilibili.com")
    assert reply.header("Content-Encoding") == "deflate"
    with pytest.raises(zlib.error):
        zlib.decompress(reply.body)
    tree = ElementTree.fromstring(zlib.decompress(reply.body, -15))
    names = ["chatserver", "chatid", "mission", "maxlimit", "state", "real_name", "source"]
    assert [child.tag for child in tree][:7] == names
    weights = [int(d.attrib["p"].split(",")[8]) for d in tree.iter("d")]
    assert weights == sorted(weights, reverse=True)
    assert any("/n" in (d.text or "") for d in tree.iter("d"))
    if RECORDINGS.is_dir():
        real = ElementTree.fromstring((RECORDINGS / "danmaku_xml_cid1600157973.xml").read_bytes())
        assert [child.tag for child in real][:7] == names


def test_closed_danmaku(site: Bilibili) -> None:
    closed = list(site.world.videos.values())[1].parts[0].cid
    assert ask(site, "/x/v2/dm/web/seg.so", True, oid=closed, segment_index=1).body == b"\x10\x01"
    assert View.FromString(ask(site, "/x/v2/dm/web/view", True, oid=closed).body).state == 1
