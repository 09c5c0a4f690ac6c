"""The rest of Bilibili: videos and their states, danmaku, subtitles, who may see what."""

from __future__ import annotations

import itertools
import json
import re
import zlib
from time import time
from typing import Any

import pytest

from research_scrapers.replica.bilibili import Bilibili, BiliWorld, demo_videos
from research_scrapers.replica.bilibili.refusals import PAGES
from research_scrapers.replica.bilibili.signing import mixin_key, signature, ticket_sign
from research_scrapers.replica.bilibili.video import BiliVideo
from research_scrapers.replica.faults import BILIBILI
from research_scrapers.replica.wire import Hit
from tests.bili_client import API, Reader
from tests.danmaku_schema import Segment, View

TRACKS = (("zh-CN", "human"), ("ai-zh", "ai"), ("ai-en", "translated"))


def place(comments: int = 5, danmaku: int = 200, **traits: Any) -> tuple[Reader, BiliVideo, dict[str, Any]]:
    world = BiliWorld()
    video = world.add(comments, danmaku, **traits)
    return Reader(Bilibili(world)), video, world.truth(video.bvid)


# -- the video ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "code"), [("removed", -404), ("invisible", 62002), ("review", 62004), ("private", 62012)]
)
def test_videos_that_are_not_shown(state: str, code: int) -> None:
    reader, video, truth = place(state=state)
    answer = reader.json("/x/web-interface/view", bvid=video.bvid)
    assert answer["code"] == code
    assert "data" not in answer
    assert reader.json("/x/player/pagelist", bvid=video.bvid)["code"] == code
    assert truth["comments"]["logged_in"] == {}
    assert truth["parts"][0]["danmaku"]["logged_in"] == []
    page = reader.get(f"/video/{video.bvid}/", "www.bilibili.com")
    assert f'"trueCode":{code}' in page.body.decode()


def test_a_video_for_members_only() -> None:
    reader, video, truth = place(state="login_only")
    assert reader.json("/x/web-interface/view", bvid=video.bvid)["code"] == 0
    reader.cookies.clear()
    assert reader.json("/x/web-interface/view", bvid=video.bvid)["code"] == -403
    assert truth["comments"]["logged_in"]
    assert truth["comments"]["logged_out"] == {}


def test_view_by_either_number() -> None:
    reader, video, truth = place(parts=3)
    one = reader.json("/x/web-interface/view", bvid=video.bvid)["data"]
    assert one == reader.json("/x/web-interface/view", aid=video.aid)["data"]
    assert one == reader.signed("/x/web-interface/wbi/view", aid=video.aid)["data"]
    assert [page["cid"] for page in one["pages"]] == [part["cid"] for part in truth["parts"]]
    assert one["stat"]["reply"] == truth["claimed"]
    assert one["duration"] == sum(part["seconds"] for part in truth["parts"])
    assert reader.json("/x/web-interface/view")["code"] == -400
    assert reader.json("/x/web-interface/view", bvid="BV1xx411c7mD")["code"] == -404
    assert reader.json("/x/no/such")["code"] == -404


def test_markup_is_escaped_in_json() -> None:
    reader, video, _ = place()
    video.title = "a<b>&c"
    body = reader.get("/x/web-interface/view", bvid=video.bvid).body
    assert rb"a\u003cb\u003e\u0026c" in body


def test_an_interactive_video_and_a_licensed_series() -> None:
    reader, video, _ = place(interactive=True, parts=12)
    assert reader.json("/x/web-interface/view", bvid=video.bvid)["data"]["rights"]["is_stein_gate"] == 1
    reader, video, truth = place(series=True)
    ep_id, season_id = truth["ep_id"], truth["season_id"]
    link = f"https://www.bilibili.com/bangumi/play/ep{ep_id}"
    assert reader.json("/x/web-interface/view", bvid=video.bvid)["data"]["redirect_url"] == link
    for name, value in (("ep_id", ep_id), ("season_id", season_id)):
        (episode,) = reader.json("/pgc/view/web/season", **{name: value})["result"]["episodes"]
        assert (episode["aid"], episode["cid"]) == (video.aid, truth["parts"][0]["cid"])
    assert reader.json("/pgc/view/web/season", ep_id=1)["code"] == -404
    assert reader.get(f"/video/{video.bvid}/", "www.bilibili.com").header("Location") == link
    assert reader.get(f"/bangumi/play/ep{ep_id}", "www.bilibili.com").status == 200


def test_the_web_page() -> None:
    reader, video, _ = place()
    moved = reader.get(f"/video/{video.bvid}", "www.bilibili.com", p=2)
    assert (moved.status, moved.header("Location")) == (301, f"https://www.bilibili.com/video/{video.bvid}/?p=2")
    for host, name in (("www.bilibili.com", video.bvid), ("m.bilibili.com", f"av{video.aid}")):
        text = reader.get(f"/video/{name}/", host).body.decode()
        state = json.loads(re.findall(r"__INITIAL_STATE__=(.*?);\(function", text)[0])
        assert state["videoData"]["bvid"] == video.bvid
    assert "buvid3=" in reader.get("/", "www.bilibili.com").header("Set-Cookie")
    assert reader.get("/nothing", "www.bilibili.com").status == 404


@pytest.mark.parametrize(
    ("target", "link"),
    [
        ("video", "https://www.bilibili.com/video/BV"),
        ("av", "https://www.bilibili.com/video/av"),
        ("space", "https://space.bilibili.com/"),
        ("foreign", "https://example.com/"),
        ("loopback", "http://127.0.0.1:9/"),
    ],
)
def test_short_links(target: str, link: str) -> None:
    reader, video, truth = place(short_target=target)
    code = truth["short"].removeprefix("https://b23.tv/")
    assert re.fullmatch(r"[0-9A-Za-z]{7}", code)
    reply = reader.get(f"/{code}", "b23.tv")
    assert reply.status == 302
    assert reply.header("Location").startswith(link)
    assert reader.get(f"/{video.bvid}", "b23.tv").header("Location").startswith("https://www.bilibili.com/video/BV")


def test_short_links_expire() -> None:
    reader, _, truth = place(short_target="gone")
    assert reader.get(truth["short"].removeprefix("https://b23.tv"), "b23.tv").status == 404
    assert reader.get("/0000000", "b23.tv").status == 404


def test_robots() -> None:
    reader, *_ = place()
    assert reader.get("/robots.txt").body == b"User-agent: *\nDisallow: /"
    assert b"/medialist/detail/" in reader.get("/robots.txt", "www.bilibili.com").body
    assert b"/bfs/ai_subtitle/" in reader.get("/robots.txt", "i0.hdslb.com").body
    assert reader.get("/robots.txt", "comment.bilibili.com").status == 404
    reader.site.robots = "open"
    assert reader.get("/robots.txt").body == b"User-agent: *\nDisallow:\n"


# -- visitors -------------------------------------------------------------------------------


def test_login_is_a_cookie() -> None:
    reader, *_ = place()
    reader.site.sessdata = "a,1*b"
    for given, good in (("a,1*b", True), ("a%2C1%2Ab", True), ("a%252C1%252Ab", False), ("x", False), ("", False)):
        reader.cookies["SESSDATA"] = given
        answer = reader.json("/x/web-interface/nav")
        assert answer["data"]["isLogin"] is good
        assert answer["code"] == (0 if good else -101)
        assert answer["data"]["wbi_img"]["img_url"].startswith("https://i0.hdslb.com/bfs/wbi/")


def test_a_login_can_be_revoked() -> None:
    reader, video, _ = place(30)
    reader.site.mutate({"logout": True})
    assert len(reader.page(video.aid)["data"]["replies"]) == 3
    reader.site.mutate({"login": True})
    assert len(reader.page(video.aid)["data"]["replies"]) == 20
    reader.site.mutate({"logout": True})
    reader.site.reset()
    assert len(reader.page(video.aid)["data"]["replies"]) == 20


def test_signatures_are_checked() -> None:
    reader, video, truth = place()
    cid = truth["parts"][0]["cid"]
    refused = {"code": -403, "message": "访问权限不足", "ttl": 1}
    assert reader.json("/x/v2/reply/wbi/main", oid=video.aid, type=1) == refused
    assert reader.json("/x/v2/dm/wbi/web/seg.so", oid=cid, segment_index=1) == refused
    assert reader.json("/x/player/wbi/v2", aid=video.aid, cid=cid)["code"] == 0
    assert reader.json("/x/player/wbi/v2", aid=video.aid, cid=cid, w_rid="0", wts=int(time())) == refused
    old = {"oid": str(video.aid), "type": "1", "wts": str(int(time()))}
    old["w_rid"] = signature(old, mixin_key(*reader.site.keys.pair()))
    assert reader.json("/x/v2/reply/wbi/main", **old)["code"] == 0
    reader.site.mutate({"rotate_keys": True})
    assert reader.json("/x/v2/reply/wbi/main", **old) == refused
    assert reader.page(video.aid)["code"] == 0
    reader, video, truth = place(player_signed=True)
    assert reader.json("/x/player/wbi/v2", aid=video.aid, cid=truth["parts"][0]["cid"]) == refused


def test_buvid_cookies() -> None:
    reader, video, _ = place()
    reader.site.mutate({"require_buvid": True})
    assert reader.page(video.aid) == {"code": -352, "message": "-352", "ttl": 1}
    given = reader.json("/x/frontend/finger/spi")
    assert given["message"] == "ok"
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\d{5}infoc", given["data"]["b_3"])
    assert reader.json("/x/web-frontend/getbuvid")["data"]["buvid"] == given["data"]["b_3"]
    reader.cookies["buvid3"] = given["data"]["b_3"]
    assert reader.page(video.aid)["code"] == 0


def test_tickets_need_their_sign() -> None:
    reader, *_ = place()
    path = "/bapis/bilibili.api.ticket.v1.Ticket/GenWebTicket"
    ask = {"key_id": "ec02", "hexsign": ticket_sign("1790000000"), "context[ts]": "1790000000", "csrf": ""}
    data = reader.json(path, method="POST", **ask)["data"]
    assert data["ttl"] == 259_200
    assert data["nav"]["img"].endswith(".png")
    assert reader.json(path, method="POST", **{**ask, "hexsign": "0"})["code"] == -400


def test_a_page_has_one_name_whatever_its_signature() -> None:
    reader, video, truth = place()
    cid = truth["parts"][0]["cid"]
    keys = set()
    for moment in (1, 2):
        target = f"/x/v2/reply/wbi/main?wts={moment}&w_rid={moment}&mode=2&oid={video.aid}&pagination_str=%7B%7D"
        keys.add(reader.site.place(Hit("GET", API, target, {})))
    assert len(keys) == 1
    paths = {
        API: [
            f"/x/v2/reply/reply?oid={video.aid}",
            f"/x/v2/dm/web/seg.so?oid={cid}",
            f"/x/web-interface/view?bvid={video.bvid}",
            f"/x/player/wbi/v2?aid={video.aid}&cid={cid}",
        ],
        "comment.bilibili.com": [f"/{cid}.xml"],
        "www.bilibili.com": [f"/video/{video.bvid}/", f"/video/av{video.aid}"],
        "b23.tv": [truth["short"].removeprefix("https://b23.tv"), f"/{video.bvid}"],
    }
    for host, targets in paths.items():
        for target in targets:
            assert reader.site.place(Hit("GET", host, target, {})).video == video.bvid, target


# -- danmaku --------------------------------------------------------------------------------


def danmaku(reader: Reader, cid: int, segments: int) -> set[str]:
    found: set[str] = set()
    for index in range(1, segments + 1):
        reply = reader.get("/x/v2/dm/web/seg.so", type=1, oid=cid, segment_index=index)
        assert reply.header("Content-Type") == "application/octet-stream"
        read = Segment.FromString(reply.body)
        assert [*read.span] == [(index - 1) * 360_000, index * 360_000]
        assert all(read.span[0] <= elem.progress < read.span[1] for elem in read.elems)
        found |= {elem.id_text for elem in read.elems}
    return found


def test_danmaku_with_and_without_login() -> None:
    reader, _, truth = place(parts=2, seconds=1500, empty_segments=(2, 3), danmaku=600, maxlimit=100)
    for part in truth["parts"]:
        cid, true = part["cid"], part["danmaku"]
        assert View.FromString(reader.get("/x/v2/dm/web/view", oid=cid).body).segments.total == part["segments"] > 3
        assert sorted(danmaku(reader, cid, part["segments"])) == true["segments"]
        body = reader.get(f"/{cid}.xml", "comment.bilibili.com").body
        assert reader.get("/x/v1/dm/list.so", oid=cid).body == body
        xml = re.findall(r'<d p="[^"]*,(\d+),\d+">', zlib.decompress(body, -15).decode())
        assert sorted(xml) == true["xml"]
        assert len(xml) == 120
        assert {*true["xml"]} - {*true["segments"]}
        assert {*true["segments"]} - {*true["xml"]}
        assert true["logged_in"] == sorted({*true["xml"], *true["segments"]})
        reader.cookies.clear()
        light = danmaku(reader, cid, part["segments"])
        assert sorted(light) == true["segments_logged_out"]
        assert 0 < len(light) < len(true["segments"]) / 2
        assert true["logged_out"] == sorted({*true["xml"], *light})
        assert reader.get(f"/{cid}.xml", "comment.bilibili.com").body == body
        reader.cookies["SESSDATA"] = "replica-sessdata"
        assert reader.get("/x/v2/dm/web/seg.so", oid=cid, segment_index=part["segments"] + 1).status == 304


def test_danmaku_of_all_kinds() -> None:
    reader, _, truth = place(danmaku=800, special=4, past_end="empty", view_total=False, weights=False)
    cid = truth["parts"][0]["cid"]
    elems = [
        elem
        for index in (1, 2)
        for elem in Segment.FromString(reader.get("/x/v2/dm/web/seg.so", oid=cid, segment_index=index).body).elems
    ]
    assert {elem.mode for elem in elems} == {1, 4, 5, 6, 7}
    assert {elem.weight for elem in elems} == {*range(12)}
    assert {elem.pool for elem in elems} == {0, 1}
    assert {len(elem.id_text) for elem in elems} == {10, 19}
    assert any("/n" in elem.content for elem in elems)
    assert any(not elem.content for elem in elems)
    assert any(not elem.progress for elem in elems)
    assert all(str(elem.id) == elem.id_text for elem in elems)
    view = View.FromString(reader.get("/x/v2/dm/web/view", oid=cid).body)
    assert view.segments.total == 0
    (address,) = view.special
    host, _, path = address.removeprefix("https://").partition("/")
    special = Segment.FromString(reader.get(f"/{path}", host).body)
    assert {elem.mode for elem in special.elems} == {8, 9}
    assert sorted(elem.id_text for elem in special.elems) == truth["parts"][0]["danmaku"]["special"]
    past = Segment.FromString(reader.get("/x/v2/dm/web/seg.so", oid=cid, segment_index=9).body)
    assert not past.elems
    text = zlib.decompress(reader.get(f"/{cid}.xml", "comment.bilibili.com").body, -15).decode()
    assert {place.count(",") for place in re.findall(r'<d p="([^"]*)"', text)} == {7}


def test_history_needs_a_login() -> None:
    reader, video, truth = place(danmaku=50)
    cid = truth["parts"][0]["cid"]
    days: list[str] = []
    for year in (2023, 2024, 2025, 2026):
        for month in range(1, 13):
            found = reader.json("/x/v2/dm/history/index", type=1, oid=cid, month=f"{year}-{month:02}")["data"]
            days += found or []
    ids = {
        elem.id_text
        for day in days
        for elem in Segment.FromString(reader.get("/x/v2/dm/web/history/seg.so", oid=cid, date=day).body).elems
    }
    assert ids == {str(danmaku.id) for danmaku in video.danmaku(video.parts[0])}
    reader.cookies.clear()
    assert reader.json("/x/v2/dm/history/index", oid=cid, month="2025-01")["code"] == -101
    assert reader.json("/x/v2/dm/web/history/seg.so", oid=cid, date="2025-01-01")["code"] == -101


def test_unknown_parts() -> None:
    reader, *_ = place()
    assert reader.get("/1.xml", "comment.bilibili.com").status == 404
    assert reader.json("/x/v2/dm/web/view", oid=1)["code"] == -404
    assert reader.json("/x/v2/dm/web/seg.so", oid=1, segment_index=1)["code"] == -400
    assert reader.json("/x/player/wbi/v2", aid=1, cid=1)["code"] == -404


# -- subtitles ------------------------------------------------------------------------------


def tracks(reader: Reader, video: BiliVideo, cid: int, path: str = "/x/player/wbi/v2") -> Any:
    return reader.json(path, aid=video.aid, cid=cid)["data"]["subtitle"]["subtitles"]


def body(reader: Reader, address: str) -> Any:
    host, _, target = address.removeprefix("//").partition("/")
    return json.loads(reader.site.handle(Hit("GET", host, f"/{target}", {})).body)


def test_subtitles_with_and_without_login() -> None:
    reader, video, truth = place(tracks=TRACKS, parts=2, plain_human=True)
    for part in truth["parts"]:
        listed = tracks(reader, video, part["cid"])
        true = part["subtitles"]["logged_in"]
        assert [(t["lan"], t["id_str"]) for t in listed] == [(t["language"], t["track_id"]) for t in true]
        assert [(t["type"], t["ai_type"], t["ai_status"]) for t in listed] == [(0, 0, 0), (1, 0, 2), (1, 1, 2)]
        for track, expected in zip(listed, true, strict=True):
            for address in (track["subtitle_url"], track["subtitle_url_v2"]):
                lines = body(reader, address)["body"]
                assert [[line["from"], line["to"], line["content"]] for line in lines] == expected["segments"]
        spoken = listed[1]["subtitle_url"].partition("?")[0].rpartition("/")[2]
        assert spoken.startswith(f"{video.aid}{part['cid']}")
        assert listed[0]["subtitle_url"].startswith("//i0.hdslb.com/bfs/subtitle/")
        assert isinstance(body(reader, listed[2]["subtitle_url"])["version"], dict)
        human = true[0]["segments"]
        assert any(a[1] > b[0] for a, b in itertools.pairwise(human))
    reader.cookies.clear()
    assert tracks(reader, video, truth["parts"][0]["cid"]) == []
    assert truth["parts"][0]["subtitles"]["logged_out"] == []


def test_a_subtitle_key_is_checked() -> None:
    reader, video, truth = place(tracks=TRACKS)
    address = tracks(reader, video, truth["parts"][0]["cid"])[1]["subtitle_url"]
    host, _, target = address.removeprefix("//").partition("/")
    path = f"/{target.partition('?')[0]}"
    assert reader.get(path, host).status == 403
    assert reader.get(path, host, auth_key="1700000000-0-0-0").status == 403
    assert reader.get("/bfs/nothing", host).status == 404


def test_lists_that_are_wrong() -> None:
    own = lambda t, video: f"{video.aid}" in t["subtitle_url"]  # noqa: E731
    reader, video, truth = place(tracks=TRACKS, poison="old")
    cid = truth["parts"][0]["cid"]
    strangers = [tracks(reader, video, cid, "/x/player/v2") for _ in range(3)]
    assert len({str(found[0]["subtitle_url"]).partition("?")[0] for found in strangers}) == 3
    assert not any(own(found[0], video) for found in strangers)
    assert body(reader, strangers[0][0]["subtitle_url"])["body"]
    assert len(tracks(reader, video, cid)) == 3
    reader, video, _ = place(tracks=TRACKS, poison="first")
    assert [own(tracks(reader, video, cid)[n], video) for n in (0, 1)] == [False, True]
    reader, video, _ = place(tracks=TRACKS, poison="always")
    assert not any(own(tracks(reader, video, cid)[0], video) for _ in range(3))
    reader, video, _ = place(tracks=TRACKS, stale_list=True)
    assert [len(tracks(reader, video, cid)) for _ in range(3)] == [1, 3, 3]
    reader, video, _ = place(tracks=TRACKS, empty_url=True)
    assert [bool(tracks(reader, video, cid)[0]["subtitle_url"]) for _ in range(2)] == [False, True]
    reader, video, _ = place(tracks=TRACKS, no_key=True, need_login=True)
    reader.cookies.clear()
    data = reader.json("/x/player/wbi/v2", aid=video.aid, cid=cid)["data"]
    assert "subtitle" not in data
    assert data["need_login_subtitle"] is True
    assert data["login_mid"] == 0


# -- refusals -------------------------------------------------------------------------------


def test_every_refusal_can_be_ordered() -> None:
    assert {*BILIBILI} == {*PAGES}
    reader, *_ = place()
    hit = Hit("GET", API, "/x/v2/reply/reply", {})
    made = {name: reader.site.special(name, hit) for name in BILIBILI}
    assert made["bili_412"].status == 412
    assert "出错啦! - bilibili.com" in made["bili_412"].body.decode()
    assert len(made["bili_412"].body) > 3000
    assert made["bili_-352"].header("x-bili-gaia-vvoucher").startswith("voucher_")
    assert 686 <= len(made["bili_captcha"].body) <= 1374
    assert json.loads(made["bili_hollow"].body)["data"]["page"] == {"num": 0, "size": 0, "count": 0}
    assert json.loads(made["bili_null"].body)["data"] is None
    assert made["bili_empty"].body == b""
    for name in ("-412", "-509", "-799", "-403", "-101"):
        assert json.loads(made[f"bili_{name}"].body)["code"] == int(name)
        assert made[f"bili_{name}"].header("bili-status-code") == name
    with pytest.raises(ValueError, match="unknown special"):
        reader.site.special("bot_check", hit)


def test_the_demo_has_a_handful() -> None:
    world = BiliWorld()
    demo_videos(world)
    assert len(world.videos) == 8
    assert {video.state for video in world.videos.values()} == {"ok", "removed"}
