"""Bilibili's comment lists: what can be reached, and every way in which they end or mislead."""

from __future__ import annotations

from typing import Any

import pytest

from research_scrapers.replica.bilibili import Bilibili, BiliWorld
from research_scrapers.replica.bilibili.video import BiliVideo
from tests.bili_client import Reader


def place(comments: int = 30, danmaku: int = 0, **traits: Any) -> tuple[Reader, BiliVideo, dict[str, Any]]:
    world = BiliWorld()
    video = world.add(comments, danmaku, **traits)
    return Reader(Bilibili(world)), video, world.truth(video.bvid)


@pytest.mark.parametrize("mode", [2, 3])
@pytest.mark.parametrize(
    "traits",
    [
        {"comments": 70},
        {"comments": 60, "end": "empty"},
        {"comments": 50, "short_pages": True},
        {"comments": 50, "short_pages": True, "end": "empty", "offsets": "json"},
        {"comments": 45, "offsets": "json"},
        {"comments": 45, "hot_repeats": True},
        {"comments": 45, "hot_repeats": True, "offsets": "json"},
        {"comments": 30, "busy": (3, 61)},
        {"comments": 25, "pinned_in_list": True, "null_replies": False},
        {"comments": 3},
        {"comments": 1},
        {"comments": 0},
        {"comments": 400, "reply_share": 0.05},
        {"comments": 25, "old_aid": True, "lost_replies": 4, "claimed_extra": 3},
    ],
    ids=str,
)
def test_a_walk_with_login_reaches_everything(traits: dict[str, Any], mode: int) -> None:
    reader, video, truth = place(**traits)
    pages, _ = reader.walk(video.aid, mode)
    assert reader.tree(video.aid, pages) == truth["comments"]["logged_in"]
    assert len(pages) >= -(-traits["comments"] // 20)
    claimed = {page["cursor"]["all_count"] for page in pages}
    assert claimed == {truth["claimed"]}
    assert truth["claimed"] >= len(truth["comments"]["logged_in"])


def test_a_walk_by_next_alone() -> None:
    reader, video, truth = place(55, only_next=True)
    for mode in (2, 3):
        pages, following = [], 0
        while True:
            data = reader.json("/x/v2/reply/main", oid=video.aid, type=1, mode=mode, next=following)["data"]
            pages.append(data)
            if data["cursor"]["is_end"]:
                break
            assert data["cursor"]["pagination_reply"] == {}
            following = data["cursor"]["next"]
        assert reader.tree(video.aid, pages) == truth["comments"]["logged_in"]


def test_hot_cursors_repeat_and_the_place_is_kept_by_the_site() -> None:
    reader, video, _ = place(70, hot_repeats=True)
    _, cursors = reader.walk(video.aid, 3)
    assert len(cursors) == 3
    assert len({*cursors}) == 1
    _, steady = reader.walk(video.aid, 2)
    assert len({*steady}) == len(steady)


def test_the_newest_first_cursor_can_be_asked_again() -> None:
    reader, video, _ = place(50)
    first = reader.page(video.aid)["data"]
    offset = first["cursor"]["pagination_reply"]["next_offset"]
    second = reader.page(video.aid, offset=offset)["data"]["replies"]
    video.add(3, "new")
    assert reader.page(video.aid, offset=offset)["data"]["replies"] == second


def test_endless_pages_never_say_that_they_are_over() -> None:
    reader, video, truth = place(30, end="endless")
    pages, cursors = reader.walk(video.aid, 2, most=8)
    assert [bool(page["replies"]) for page in pages] == [True, True, *[False] * 6]
    assert len({*cursors[1:]}) == len(cursors) - 1
    assert reader.tree(video.aid, pages) == truth["comments"]["logged_in"]


@pytest.mark.parametrize("mode", [2, 3])
def test_a_repeated_cursor_brings_the_last_page_again(mode: int) -> None:
    reader, video, truth = place(30, end="repeat")
    pages, cursors = reader.walk(video.aid, mode, most=6)
    assert cursors[-1] == cursors[-2]
    assert pages[-1]["replies"] == pages[-2]["replies"]
    assert reader.tree(video.aid, pages) == truth["comments"]["logged_in"]


def test_short_pages_stand_in_the_middle() -> None:
    reader, video, _ = place(200, short_pages=True)
    pages, _ = reader.walk(video.aid, 2)
    assert min(len(page["replies"]) for page in pages[:-1]) < 20
    assert max(len(page["replies"]) for page in pages) <= 20


def test_the_pinned_comment_comes_on_top_of_the_first_page_only() -> None:
    reader, video, _ = place(50)
    pages, _ = reader.walk(video.aid, 3)
    top = pages[0]["top"]["upper"]
    assert top["attr"] & 2
    assert top["reply_control"]["is_up_top"]
    assert pages[0]["top_replies"] == [top]
    assert top["rpid"] not in {reply["rpid"] for page in pages for reply in page["replies"]}
    assert pages[1]["top_replies"] is None


# -- without login --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [2, 3])
@pytest.mark.parametrize(
    "traits",
    [
        {"comments": 80},
        {"comments": 40, "reply_share": 1.0, "replies": (30, 60)},
        {"comments": 40, "reply_share": 1.0, "replies": (30, 60), "sub_page2": "served"},
        {"comments": 3},
        {"comments": 0},
    ],
    ids=str,
)
def test_three_comments_look_complete_without_login(traits: dict[str, Any], mode: int) -> None:
    reader, video, truth = place(**traits)
    reader.cookies.clear()
    pages, cursors = reader.walk(video.aid, mode)
    assert not cursors
    assert len(pages[0]["replies"] or ()) == min(traits["comments"], 3)
    assert pages[0]["cursor"]["all_count"] == truth["claimed"]
    assert pages[0]["cursor"]["pagination_reply"] == {}
    assert reader.tree(video.aid, pages) == truth["comments"]["logged_out"]
    assert "location" not in str(pages)
    reader.cookies["SESSDATA"] = "replica-sessdata"
    assert ("location" in str(reader.page(video.aid))) == bool(traits["comments"])


def test_the_older_way_ends_in_a_hollow_page() -> None:
    reader, video, truth = place(50, anonymous="first_page")
    reader.cookies.clear()
    first = reader.page(video.aid)["data"]
    assert len(first["replies"]) == 20
    assert reader.tree(video.aid, [first]) == truth["comments"]["logged_out"]
    hollow = reader.page(video.aid, offset=first["cursor"]["pagination_reply"]["next_offset"])
    assert hollow["code"] == 0
    assert hollow["data"]["replies"] is None
    assert hollow["data"]["cursor"]["is_end"] is False


# -- the old list and replies ---------------------------------------------------------------


def test_the_old_list() -> None:
    reader, video, truth = place(65, legacy_pages=5, short_pages=True)
    found: dict[str, None] = {}
    for number in (1, 2, 3, 4, 5):
        data = reader.json("/x/v2/reply", oid=video.aid, type=1, pn=number, ps=20, sort=0)["data"]
        assert data["upper"]["top"]["attr"] & 2
        assert data["hots"]
        assert data["page"]["acount"] == truth["claimed"]
        found |= {root["rpid_str"]: None for root in data["replies"] or ()}
        found[data["upper"]["top"]["rpid_str"]] = None
    assert {*found} == {rpid for rpid, parent in truth["comments"]["logged_in"].items() if parent is None}
    assert reader.json("/x/v2/reply", oid=video.aid, type=1, pn=6)["code"] == -400
    assert reader.json("/x/v2/reply", oid=video.aid, type=1, pn=1, ps=49)["code"] == -400
    assert reader.json("/x/v2/reply", oid=video.aid, type=1, pn=1, nohot=1)["data"]["hots"] is None
    reader.cookies.clear()
    data = reader.json("/x/v2/reply", oid=video.aid, type=1, pn=1)["data"]
    shown = [*data["replies"], *data["hots"], data["upper"]["top"]]
    seen = reader.tree(video.aid, [{"replies": shown, "top_replies": None}])
    assert seen == truth["comments"]["logged_out_legacy"]
    hollow = reader.json("/x/v2/reply", oid=video.aid, type=1, pn=2)["data"]
    assert hollow["replies"] is None
    assert hollow["page"] == {"num": 0, "size": 0, "count": 0, "acount": 0}


def test_replies_below_a_comment() -> None:
    reader, video, _ = place(5, busy=(1, 45), lost_replies=7)
    root = video.roots[-1]
    data = reader.json("/x/v2/reply/reply", oid=video.aid, type=1, root=root.rpid, pn=1, ps=49)["data"]
    assert data["page"] == {"num": 1, "size": 20, "count": 52}
    assert data["root"]["rpid"] == root.rpid
    times = [reply["ctime"] for reply in data["replies"]]
    assert times == sorted(times)
    assert len(reader.below(video.aid, root.rpid)) == 45
    chains = {reply["dialog"] for reply in data["replies"] if reply["parent"] != root.rpid}
    assert chains <= {reply["rpid"] for reply in data["replies"]}
    assert any(reply["parent"] != root.rpid for reply in data["replies"])
    assert reader.json("/x/v2/reply/reply", oid=video.aid, type=1, root=1)["code"] == 12022


def test_comments_carry_what_real_ones_carry() -> None:
    reader, video, _ = place(400, reply_share=0.6)
    pages, _ = reader.walk(video.aid, 2)
    roots = [root for page in pages for root in page["replies"]]
    assert any(root["count"] > root["rcount"] for root in roots)
    assert all(root["count"] >= root["rcount"] for root in roots)
    assert all(len(root["replies"] or ()) == min(root["rcount"], 3) for root in roots)
    assert any(root["folder"]["has_folded"] for root in roots)
    for bit, fact in ((256, "like"), (512, "reply")):
        assert any(root["attr"] & bit for root in roots)
        assert all(bool(root["attr"] & bit) == root["up_action"][fact] for root in roots)
    texts = [root["content"] for root in roots]
    assert any(text.get("emote") for text in texts)
    assert any(text.get("pictures") for text in texts)
    assert any(text.get("at_name_to_mid") for text in texts)
    assert any(not text["message"] for text in texts)
    members = [root["member"] for root in roots]
    assert {member["vip"]["vipType"] for member in members} == {0, 1, 2}
    assert any(member["uname"] == "账号已注销" and member["rank"] == "5000" for member in members)
    assert all(isinstance(member["mid"], str) for member in members)
    numbers = [root["rpid"] for root in roots]
    assert numbers != sorted(numbers, reverse=True)


@pytest.mark.parametrize(("state", "code"), [("closed", 12002), ("closed_by_up", 12061)])
def test_closed_comments(state: str, code: int) -> None:
    reader, video, truth = place(20, comments_state=state)
    answer = reader.page(video.aid)
    assert (answer["code"], answer["data"]) == (code, None)
    assert truth["comments"]["logged_in"] == {}
    assert reader.json("/x/v2/reply/reply", oid=video.aid, type=1, root=1)["code"] == code


def test_wrong_questions() -> None:
    reader, video, _ = place(20)
    assert reader.page(5)["code"] == -404
    assert reader.page(video.aid, offset="nonsense")["code"] == -400
    assert reader.signed("/x/v2/reply/wbi/main", oid=video.aid, type=2)["code"] == 12009


def test_changes() -> None:
    reader, video, _ = place(20)
    world = reader.site.world
    made = reader.site.mutate({"video": video.bvid, "op": "add", "count": 2, "text": "新的"})
    replies = reader.site.mutate({"video": video.bvid, "op": "reply", "comment": made[0], "count": 25})
    reader.site.mutate({"video": video.bvid, "op": "edit", "comment": made[1], "text": "改过"})
    reader.site.mutate({"video": video.bvid, "op": "likes", "comment": made[1], "likes": 999_999})
    reader.site.mutate({"video": video.bvid, "op": "delete", "comment": replies[3]})
    reader.site.mutate({"video": video.bvid, "op": "delete", "comment": str(video.roots[0].rpid)})
    pages, _ = reader.walk(video.aid, 2)
    truth = world.truth(video.bvid)
    assert reader.tree(video.aid, pages) == truth["comments"]["logged_in"]
    assert [root["rpid_str"] for root in pages[0]["replies"][:2]] == made[::-1]
    assert reader.page(video.aid, 3)["data"]["replies"][0]["content"]["message"] == "改过"
    with pytest.raises(KeyError):
        reader.site.mutate({"video": video.bvid, "op": "delete", "comment": "5"})
    with pytest.raises(ValueError, match="unknown change"):
        reader.site.mutate({"video": video.bvid, "op": "paint"})


def test_the_same_seed_gives_the_same_world() -> None:
    one, two, other = BiliWorld(5, 4), BiliWorld(5, 4), BiliWorld(6, 4)
    assert [one.truth(v) for v in one.videos] == [two.truth(v) for v in two.videos]
    assert not {*one.videos} & {*other.videos}
    ids = [rpid for v in one.videos for rpid in one.truth(v)["comments"]["logged_in"]]
    assert len(ids) == len({*ids})
