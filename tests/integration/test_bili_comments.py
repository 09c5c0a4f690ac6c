"""Bilibili's comments and danmaku against the replica: exact ids for both views, honest reasons, every kind of link."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.errors import LinksEmpty, LoginRefused, NotAVideo, RobotsRefused, SettingInvalid
from tests.conftest import LOGIN

TRAITS = {
    "plain": {},
    "three": {"comments": 3},
    "two without a pinned one": {"comments": 2, "pinned": False},
    "deep": {"comments": 70, "busy": [3, 75]},
    "short pages": {"comments": 90, "short_pages": True},
    "empty lists": {"null_replies": False},
    "old cursors": {"comments": 70, "offsets": "json"},
    "only the older counter": {"comments": 70, "only_next": True},
    "an empty page at the end": {"comments": 60, "end": "empty"},
    "endless empty pages": {"comments": 60, "end": "endless"},
    "the last page again and again": {"comments": 60, "end": "repeat"},
    "pinned in the list too": {"comments": 60, "pinned_in_list": True},
    "counts a few too many": {"comments": 90, "claimed_extra": 4},
    "deleted replies": {"comments": 60, "lost_replies": 2, "busy": [2, 45], "reply_share": 0.0},
    "an old number": {"old_aid": True},
    "interactive": {"interactive": True, "parts": 4},
    "parts": {"parts": 3, "seconds": 1500, "empty_segments": [2], "danmaku": 400},
    "segments without a tail": {"segment_tail": False, "seconds": 1500, "empty_segments": [3]},
    "no count of segments": {"view_total": False, "seconds": 1500, "danmaku": 300},
    "special danmaku": {"special": 5},
    "no weights": {"weights": False},
    "a small pool": {"maxlimit": 50, "danmaku": 300, "seconds": 1500},
    "a visitor's first page": {"comments": 50, "anonymous": "first_page"},
    "a visitor's second page of replies": {"comments": 30, "busy": [30, 45], "sub_page2": "served"},
}
STATES = {
    "removed": "video_unavailable",
    "invisible": "video_unavailable",
    "review": "under_review",
    "private": "video_private",
}


def spec(*entries):
    return [{"site": "bilibili", "comments": 30, **entry} for entry in entries]


def held(work, video):
    """Comments of a video with what each answers."""
    return dict(work.query("SELECT comment_id, parent_id FROM comments WHERE video_id = ?", video))


def flown(work, video):
    """Danmaku of a video by part."""
    found = {}
    for part, name in work.query("SELECT part, danmaku_id FROM danmaku WHERE video_id = ?", video):
        found.setdefault(part, []).append(name)
    return {part: sorted(names) for part, names in found.items()}


def expected(truth, view, only=None):
    """The danmaku that there are, by part."""
    return {
        part["part"]: sorted({*part["danmaku"][view], *part["danmaku"]["special"]})
        for part in truth["parts"]
        if (only is None or part["part"] in only) and (part["danmaku"][view] or part["danmaku"]["special"])
    }


def lines_of(work):
    return [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]


@ensureDeferred
async def test_logged_in_every_shape_gives_exactly_what_there_is(replica, workplace):
    bili = replica(spec=spec(*TRAITS.values()))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    crawler = await work.bili_here(settings={"FEEDS": {str(work.feed): {"format": "jsonl"}}})
    assert crawler.spider.failure is None
    lines = lines_of(work)
    for name, video in zip(TRAITS, bili.bili_videos, strict=True):
        truth = bili.truth(video)
        assert held(work, video) == truth["comments"]["logged_in"], name
        texts = dict(work.query("SELECT comment_id, text FROM comments WHERE video_id = ?", video))
        assert texts == truth["texts"], name
        assert flown(work, video) == expected(truth, "logged_in"), name
        assert work.coverage(video, "comments")["outcome"] == "complete", name
        assert work.coverage(video, "danmaku")["outcome"] == "complete", name
        mine = [line for line in lines if line["video_id"] == video]
        assert sorted(line["comment_id"] for line in mine if line["type"] == "comment") == sorted(texts), name
        told = sorted((line["part"], line["danmaku_id"]) for line in mine if line["type"] == "danmaku")
        assert told == sorted((part, one) for part, all_ in flown(work, video).items() for one in all_), name
        pinned = work.query("SELECT count(*) FROM comments WHERE video_id = ? AND is_pinned", video)
        assert pinned[0][0] <= 1, name
    title, owner, parts = work.query(
        "SELECT title, channel_id, parts FROM videos WHERE video_id = ?", bili.bili_videos[16]
    )[0]
    truth = bili.truth(bili.bili_videos[16])
    assert (title, owner, parts) == (truth["title"], str(truth["owner"]), 3)
    assert bili.counters()["max_in_flight"]["api.bilibili.com"] <= 2


@ensureDeferred
async def test_logged_out_it_is_what_a_visitor_sees_and_never_called_complete(replica, workplace):
    bili = replica(spec=spec(*TRAITS.values()))
    work = workplace(bili.origin)
    work.links(*bili.bili_videos)
    crawler = await work.bili_here()
    assert crawler.spider.failure is None
    for name, video in zip(TRAITS, bili.bili_videos, strict=True):
        truth = bili.truth(video)
        assert held(work, video) == truth["comments"]["logged_out"], name
        assert flown(work, video) == expected(truth, "logged_out"), name
        row = work.coverage(video, "comments")
        all_shown = set(truth["comments"]["logged_out"]) == set(truth["comments"]["logged_in"])
        if all_shown:
            assert row["outcome"] == "complete", name
        else:
            assert (row["outcome"], row["reason"]) == ("partial", "login_needed"), name
            assert row["claimed"] == truth["claimed"], name
        danmaku = work.coverage(video, "danmaku")
        assert (danmaku["outcome"], danmaku["reason"]) == ("partial", "login_needed"), name


@ensureDeferred
@pytest.mark.parametrize("login", [LOGIN, ""], ids=["logged in", "logged out"])
async def test_every_state_ends_in_its_own_reason(replica, workplace, login):
    bili = replica(
        spec=spec(
            *({"state": state} for state in STATES),
            {"state": "login_only"},
            {"comments_state": "closed", "danmaku_closed": True},
            {"comments_state": "closed_by_up"},
            {"comments": 0, "danmaku": 0},
        )
    )
    work = workplace(bili.origin, login=login)
    work.links(*bili.bili_videos)
    await work.bili_here()
    for (state, reason), video in zip(STATES.items(), bili.bili_videos, strict=False):
        for kind in ("metadata", "comments", "danmaku"):
            row = work.coverage(video, kind)
            assert (row["status"], row["reason"]) == ("failed", reason), (state, kind)
    login_only, closed, by_up, none = bili.bili_videos[len(STATES) :]
    if login:
        assert work.coverage(login_only, "comments")["outcome"] == "complete"
        assert held(work, login_only) == bili.truth(login_only)["comments"]["logged_in"]
    else:
        assert work.coverage(login_only, "comments")["reason"] == "login_required"
    for video in (closed, by_up):
        row = work.coverage(video, "comments")
        assert (row["outcome"], row["reason"]) == ("empty", "comments_disabled")
    row = work.coverage(closed, "danmaku")
    assert (row["outcome"], row["reason"]) == ("empty", "danmaku_disabled")
    assert flown(work, by_up) == expected(bili.truth(by_up), "logged_in" if login else "logged_out")
    row = work.coverage(none, "comments")
    assert (row["outcome"], row["reason"]) == ("empty", "no_comments")
    row = work.coverage(none, "danmaku")
    told = ("empty", "no_danmaku") if login else ("partial", "login_needed")
    assert (row["outcome"], row["reason"]) == told


@ensureDeferred
async def test_the_hot_order(replica, workplace):
    bili = replica(
        spec=spec(
            {"comments": 70, "hot_repeats": True},
            {"comments": 70, "offsets": "json"},
            {"comments": 70, "only_next": True},
        )
    )
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    await work.bili_here(sort="top", danmaku="0")
    for video in bili.bili_videos:
        assert held(work, video) == bili.truth(video)["comments"]["logged_in"]
        assert (work.coverage(video)["outcome"], work.coverage(video)["reason"]) == ("complete", "top_order")
    assert work.query("SELECT count(*) FROM danmaku") == [(0,)]
    assert not [path for path in bili.counters()["by_path"] if "dm" in path or path.endswith(".xml")]


@ensureDeferred
async def test_limits_are_for_comments(replica, workplace):
    bili = replica(spec=spec({"comments": 60, "danmaku": 100, "busy": [5, 30]}))
    work = workplace(bili.origin, login=LOGIN)
    video = bili.bili_videos[0]
    work.links(video)
    await work.bili_here(jobdir=None, max_comments="10")
    assert len(held(work, video)) == 10
    assert work.coverage(video, "comments")["reason"] == "limit"
    assert flown(work, video) == expected(bili.truth(video), "logged_in")
    await work.bili_here(jobdir=None, max_replies="0", danmaku="0")
    assert work.query("SELECT count(*) FROM comments WHERE depth = 0") == [(60,)]


class TestLinks:
    @ensureDeferred
    async def test_a_part_by_its_number(self, replica, workplace):
        bili = replica(spec=spec({"parts": 3, "danmaku": 50}))
        work = workplace(bili.origin, login=LOGIN)
        video = bili.bili_videos[0]
        work.links(f"https://www.bilibili.com/video/{video}/?p=2")
        await work.bili_here()
        truth = bili.truth(video)
        assert flown(work, video) == expected(truth, "logged_in", {2})
        assert held(work, video) == truth["comments"]["logged_in"]

    @ensureDeferred
    async def test_two_parts_of_one_video_are_one_job(self, replica, workplace):
        bili = replica(spec=spec({"parts": 4, "danmaku": 50}))
        work = workplace(bili.origin, login=LOGIN)
        video = bili.bili_videos[0]
        aid = bili.truth(video)["aid"]
        work.links(f"https://www.bilibili.com/video/{video}/?p=2", f"https://m.bilibili.com/video/av{aid}?p=4")
        await work.bili_here()
        assert work.query("SELECT count(*), max(parts) FROM jobs") == [(1, "2,4")]
        assert flown(work, video) == expected(bili.truth(video), "logged_in", {2, 4})

    @ensureDeferred
    async def test_a_part_that_is_named_later_is_read_then(self, replica, workplace):
        bili = replica(spec=spec({"parts": 3, "danmaku": 50}))
        work = workplace(bili.origin, login=LOGIN)
        video = bili.bili_videos[0]
        work.links(f"https://www.bilibili.com/video/{video}/?p=1")
        await work.bili_here()
        work.links(f"https://www.bilibili.com/video/{video}/?p=1", f"https://www.bilibili.com/video/{video}/?p=3")
        await work.bili_here()
        assert flown(work, video) == expected(bili.truth(video), "logged_in", {1, 3})
        assert work.coverage(video, "danmaku")["outcome"] == "complete"

    @ensureDeferred
    async def test_a_part_that_does_not_exist(self, replica, workplace):
        bili = replica(spec=spec({"parts": 2, "danmaku": 50}, {"parts": 2, "danmaku": 50}))
        work = workplace(bili.origin, login=LOGIN)
        one, other = bili.bili_videos
        named = (f"{one}/?p=9", f"{other}/?p=9", f"{other}/?p=1")
        work.links(*(f"https://www.bilibili.com/video/{name}" for name in named))
        await work.bili_here()
        row = work.coverage(one, "danmaku")
        assert (row["status"], row["reason"]) == ("failed", "part_missing")
        assert "part 9; there are 2" in row["detail"]
        assert work.coverage(one, "comments")["outcome"] == "complete"
        row = work.coverage(other, "danmaku")
        assert (row["outcome"], row["reason"]) == ("partial", "segments_failed")
        assert "part_missing" in row["detail"]
        assert flown(work, other) == expected(bili.truth(other), "logged_in", {1})

    @ensureDeferred
    async def test_only_the_first_part(self, replica, workplace):
        bili = replica(spec=spec({"parts": 3, "danmaku": 50}, {"parts": 3, "danmaku": 50}))
        work = workplace(bili.origin, login=LOGIN)
        one, other = bili.bili_videos
        work.links(one, f"https://www.bilibili.com/video/{other}/?p=3")
        await work.bili_here(parts="first")
        assert flown(work, one) == expected(bili.truth(one), "logged_in", {1})
        assert flown(work, other) == expected(bili.truth(other), "logged_in", {3})

    @ensureDeferred
    async def test_short_links_are_read_and_not_followed(self, replica, workplace):
        kinds = ("video", "av", "space", "foreign", "loopback", "gone")
        bili = replica(spec=spec(*({"short_target": kind, "parts": 2, "danmaku": 20} for kind in kinds)))
        work = workplace(bili.origin, login=LOGIN)
        truths = [bili.truth(video) for video in bili.bili_videos]
        work.links(*(truth["short"] for truth in truths), f"https://b23.tv/{truths[0]['bvid']}?p=2")
        crawler = await work.bili_here()
        assert crawler.spider.failure is None
        first, second = truths[:2]
        assert held(work, first["bvid"]) == first["comments"]["logged_in"]
        assert flown(work, first["bvid"]) == expected(first, "logged_in")  # by one link part 1, by the other part 2
        assert held(work, second["bvid"]) == second["comments"]["logged_in"]
        assert flown(work, second["bvid"]) == expected(second, "logged_in")
        rows = work.query("SELECT link, status, reason FROM jobs WHERE video_id LIKE 'b23:%'")
        told = {link.rpartition("/")[2]: (status, reason) for link, status, reason in rows}
        names = [truth["short"].rpartition("/")[2] for truth in truths]
        assert [told[name][0] for name in names] == ["success", "success", "invalid", "invalid", "invalid", "failed"]
        assert "a person's page" in told[names[2]][1]
        assert "leads away from Bilibili, to https://example.com/" in told[names[3]][1]
        assert "leads away from Bilibili, to http://127.0.0.1:9/" in told[names[4]][1]
        assert told[names[5]][1] == "video_unavailable"
        assert work.query("SELECT count(*) FROM comments WHERE video_id NOT IN (?, ?)", *bili.bili_videos[:2]) == [(0,)]
        hosts = {path.split("/")[0] for path in bili.counters()["by_path"]}
        assert hosts <= {"api.bilibili.com", "b23.tv", "comment.bilibili.com"}
        assert bili.counters()["by_path"][f"b23.tv/{names[4]}"] == 1

    @ensureDeferred
    async def test_a_short_link_to_a_part_means_that_part(self, replica, workplace):
        bili = replica(spec=spec({"parts": 3, "danmaku": 20}))
        work = workplace(bili.origin, login=LOGIN)
        truth = bili.truth(bili.bili_videos[0])
        work.links(truth["short"])  # leads to ?p=1
        await work.bili_here()
        assert flown(work, truth["bvid"]) == expected(truth, "logged_in", {1})

    @ensureDeferred
    async def test_nothing_but_a_link_that_is_no_video(self, replica, workplace):
        bili = replica(spec=spec({"short_target": "space"}))
        work = workplace(bili.origin, login=LOGIN)
        work.links(bili.truth(bili.bili_videos[0])["short"])
        for _ in range(2):
            crawler = await work.bili_here()
            assert isinstance(crawler.spider.failure, LinksEmpty)
        assert work.query("SELECT status FROM jobs") == [("invalid",)]
        assert not work.query("SELECT 1 FROM jobs WHERE reason LIKE ?", f"%{NotAVideo.__name__}%")

    @ensureDeferred
    async def test_episodes_and_seasons(self, replica, workplace):
        bili = replica(spec=spec({"series": True}, {"series": True}, {}))
        work = workplace(bili.origin, login=LOGIN)
        one, two, three = (bili.truth(video) for video in bili.bili_videos)
        work.links(
            f"https://www.bilibili.com/bangumi/play/ep{one['ep_id']}",
            f"https://www.bilibili.com/bangumi/play/ss{one['season_id']}",
            one["bvid"],
            f"https://www.bilibili.com/bangumi/play/ss{two['season_id']}",
            "https://www.bilibili.com/bangumi/play/ep1",
            three["bvid"],
        )
        crawler = await work.bili_here()
        assert crawler.spider.failure is None
        for truth in (one, two, three):
            assert held(work, truth["bvid"]) == truth["comments"]["logged_in"]
            assert flown(work, truth["bvid"]) == expected(truth, "logged_in")
        kinds = work.query(
            "SELECT video_id, kind, count(*) FROM sub_jobs WHERE video_id LIKE 'BV%' GROUP BY 1, 2 HAVING count(*) > 1"
        )
        assert kinds == []
        assert work.coverage("ep1", "metadata")["reason"] == "video_unavailable"
        season = work.coverage(f"ss{two['season_id']}")
        assert (season["kind"], season["reason"], season["detail"]) == ("metadata", "resolved", f"is {two['bvid']}")
        views = {path: n for path, n in bili.counters()["by_path"].items() if path.endswith("/x/web-interface/view")}
        assert sum(views.values()) == 3

    @ensureDeferred
    async def test_what_is_no_video_is_told_with_its_reason(self, replica, workplace):
        bili = replica(spec=spec({"comments": 5}))
        work = workplace(bili.origin)
        work.links(bili.bili_videos[0], "https://space.bilibili.com/1", "https://live.bilibili.com/5", "dQw4w9WgXcQ")
        await work.bili_here()
        assert [row[0] for row in work.query("SELECT status FROM jobs ORDER BY line")] == [
            "success",
            "invalid",
            "invalid",
            "cancelled",
        ]


class TestHistory:
    @ensureDeferred
    async def test_days_of_history_add_what_the_pools_no_longer_show(self, replica, workplace):
        bili = replica(spec=spec({"maxlimit": 10, "danmaku": 200, "comments": 0}))
        work = workplace(bili.origin, login=LOGIN)
        video = bili.bili_videos[0]
        work.links(video)
        crawler = await work.bili_here(history="all")
        assert crawler.spider.failure is None
        shown = set(expected(bili.truth(video), "logged_in")[1])
        assert set(flown(work, video)[1]) > shown
        paths = bili.counters()["by_path"]
        assert paths["api.bilibili.com/x/v2/dm/web/history/seg.so"] > 0
        assert work.coverage(video, "danmaku")["outcome"] == "complete"

    @ensureDeferred
    async def test_history_without_a_login_is_one_clear_error(self, workplace):
        with pytest.raises(SettingInvalid, match=r"history.*logged in"):
            await workplace("http://127.0.0.1:9").bili_here(links="BV17x411w7KC", history="all")


class TestFeeds:
    @ensureDeferred
    @pytest.mark.parametrize("suffix", ["jsonl", "csv"])
    async def test_each_once_also_after_a_resume_and_in_a_broken_file(self, replica, workplace, suffix):
        bili = replica(spec=spec({"comments": 50, "danmaku": 80, "parts": 2, "busy": [2, 30]}))
        work = workplace(bili.origin, login=LOGIN)
        video = bili.bili_videos[0]
        work.links(video)
        out = work.folder / f"out.{suffix}"
        feed = {"FEEDS": {str(out): {"format": suffix}}}
        bili.faults({"action": "bili_-412", "skip": 12})
        await work.bili_here(settings={**feed, "BREAKER_PATIENCE": 0})
        bili.faults()
        whole = out.read_bytes()
        assert len(whole) > 100
        out.write_bytes(whole[:-30])
        for _ in range(2):
            crawler = await work.bili_here(settings=feed)
            assert crawler.spider.failure is None
        if suffix == "csv":
            with out.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        else:
            rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        truth = bili.truth(video)
        ids = Counter(row["comment_id"] for row in rows if row["type"] == "comment")
        assert ids == dict.fromkeys(truth["comments"]["logged_in"], 1)
        danmaku = Counter((int(row["part"]), row["danmaku_id"]) for row in rows if row["type"] == "danmaku")
        there = {(part, one) for part, names in expected(truth, "logged_in").items() for one in names}
        assert danmaku == dict.fromkeys(there, 1)


@ensureDeferred
async def test_a_later_run_finds_what_is_new_and_what_changed(replica, workplace):
    bili = replica(spec=spec({"comments": 60}))
    work = workplace(bili.origin, login=LOGIN)
    video = bili.bili_videos[0]
    work.links(video)
    await work.bili_here(jobdir=None)
    edited = work.ids()[5]
    bili.bilibili(video=video, op="edit", comment=edited, text="reworded")
    added = bili.bilibili(video=video, op="add", count=4)
    asked = bili.counters()["total"]
    await work.bili_here(jobdir=None, refresh="new", danmaku="0")
    assert set(added) <= set(work.ids())
    assert bili.counters()["total"] - asked < 10
    await work.bili_here(jobdir=None)
    assert held(work, video) == bili.truth(video)["comments"]["logged_in"]
    assert work.query("SELECT c.comment_id, c.text FROM comment_revisions r JOIN comments c ON c.id = r.comment") == [
        (edited, "reworded")
    ]
    assert (
        work.query("SELECT count(*), count(DISTINCT danmaku_id) FROM danmaku")[0]
        == (len(expected(bili.truth(video), "logged_in")[1]),) * 2
    )


@ensureDeferred
async def test_a_finished_run_asks_for_nothing_more(replica, workplace):
    bili = replica("--bili-videos", "2", "--videos", "0")
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    await work.bili_here()
    asked = bili.counters()["by_path"]
    await work.bili_here()
    assert bili.counters()["by_path"] == asked


@ensureDeferred
async def test_robots_stop_it_before_anything_else_is_asked(replica, workplace):
    bili = replica("--robots", "real", spec=spec({}))
    work = workplace(bili.origin)
    work.links(*bili.bili_videos)
    crawler = await work.bili_here()
    assert isinstance(crawler.spider.failure, RobotsRefused)
    assert "api.bilibili.com disallows" in str(crawler.spider.failure)
    assert {path.rpartition("/")[2] for path in bili.counters()["by_path"]} == {"robots.txt"}


@ensureDeferred
async def test_a_dead_login_is_one_clear_error_before_any_work(replica, workplace):
    bili = replica(spec=spec({}))
    work = workplace(bili.origin, login="canary-that-is-dead")
    work.links(*bili.bili_videos)
    crawler = await work.bili_here()
    assert isinstance(crawler.spider.failure, LoginRefused)
    assert crawler.spider.failure.exit_code == 5
    assert not [path for path in bili.counters()["by_path"] if path.endswith(("/view", "/main"))]
    assert work.query("SELECT DISTINCT status FROM sub_jobs") == [("pending",)]
