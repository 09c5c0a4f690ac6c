"""The spider in this process, the replica in another: exact ids, honest reasons, polite under every fault."""

from __future__ import annotations

import json

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.errors import (
    KeyRefused,
    LinksEmpty,
    LinksMissing,
    QuotaExhausted,
    RobotsRefused,
    SettingInvalid,
    SiteBlocked,
)

TRAITS = {
    "plain": {},
    "old generation": {"generation": "commentRenderer", "busy": [2, 80]},
    "nested replies": {"nested": True, "busy": [2, 40]},
    "initial data in an element": {"initial_data": "element"},
    "initial data by window": {"initial_data": "window"},
    "incomplete watch page": {"initial_data": "no_contents"},
    "token in the panel only": {"section_token": False},
    "no panel": {"panel": False},
    "no sort menu in the panel": {"panel_sort_menu": False},
    "no count": {"header_count": False},
    "German": {"locale": "de"},
    "Top is cut short": {"top_share": 0.3},
    "overlapping pages": {"overlap": 5},
    "endless loop": {"loop_end": True},
    "empty reply pages": {"empty_reply_pages": 2},
    "pinned twice": {"pinned_twice": True},
    "short pages": {"short_pages": True},
    "old ids": {"old_ids": True},
    "wrapped continuation": {"more_kind": "executor", "busy": [1, 80]},
    "view-model continuation": {"more_kind": "viewModel", "busy": [1, 80]},
    "consent by redirect": {"state": "consent_redirect"},
    "consent form": {"state": "consent_form"},
}
STATES = {
    "comments_off": ("empty", "comments_disabled"),
    "no_section": ("empty", "no_comment_section"),
    "zero": ("empty", "no_comments"),
    "private": ("failed", "video_private"),
    "removed": ("failed", "video_unavailable"),
    "unavailable_next": ("failed", "video_unavailable"),
    "age_gated": ("failed", "age_restricted"),
    "members_only": ("failed", "members_only"),
    "region_blocked": ("failed", "region_locked"),
    "upcoming": ("failed", "not_started_yet"),
    "sorry": ("failed", "ip_blocked"),
}


@ensureDeferred
async def test_every_shape_of_page_gives_exactly_the_comments_there_are(replica, workplace):
    yt = replica(spec=[{"comments": 50, **traits} for traits in TRAITS.values()])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"FEEDS": {str(work.feed): {"format": "jsonl"}}})
    assert crawler.spider.failure is None
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    for name, video in zip(TRAITS, yt.videos, strict=True):
        truth = yt.truth(video)
        rows = dict(work.query("SELECT comment_id, parent_id FROM comments WHERE video_id = ?", video))
        assert rows == truth["parents"], name
        texts = dict(work.query("SELECT comment_id, text FROM comments WHERE video_id = ?", video))
        assert texts == truth["texts"], name
        assert sorted(line["comment_id"] for line in lines if line["video_id"] == video) == sorted(rows), name
        assert work.coverage(video)["outcome"] == "complete", name
    title, channel = work.query("SELECT title, channel_id FROM videos WHERE video_id = ?", yt.videos[0])[0]
    assert title
    assert channel.startswith("UC")


@ensureDeferred
async def test_every_state_ends_in_its_own_reason(replica, workplace):
    yt = replica(spec=[{"comments": 20, "state": state} for state in STATES] + [{"comments": 30}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here()
    for (state, expected), video in zip(STATES.items(), yt.videos, strict=False):
        row = work.coverage(video)
        assert (row["outcome"] or row["status"], row["reason"]) == expected, state
    assert work.coverage(yt.videos[-1])["outcome"] == "complete"
    jobs = dict(work.query("SELECT status, count(*) FROM jobs GROUP BY 1"))
    assert jobs == {"success": 4, "failed": 8}


@ensureDeferred
@pytest.mark.parametrize("broken", ["error500", "incomplete"])
async def test_a_thread_that_keeps_failing_costs_that_thread_only(replica, workplace, broken):
    yt = replica(spec=[{"comments": 40, "broken_thread": broken}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    truth = yt.truth(yt.videos[0])
    await work.crawl_here()
    assert set(work.ids()) == set(truth["parents"]) - set(truth["unobtainable"])
    row = work.coverage(yt.videos[0])
    assert (row["outcome"], row["reason"], row["threads_failed"]) == ("partial", "threads_failed", 1)
    asked = yt.counters()["total"]
    await work.crawl_here()  # the same run again: only that thread is tried again
    assert 0 < yt.counters()["total"] - asked <= 6
    assert work.coverage(yt.videos[0])["threads_failed"] == 1


@ensureDeferred
async def test_a_finished_run_asks_for_nothing_more(replica, workplace):
    yt = replica("--videos", "3", "--comments", "20-60")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here()
    asked, rows = yt.counters()["by_path"], work.query("SELECT count(*) FROM comments")
    await work.crawl_here()
    assert yt.counters()["by_path"] == asked  # not even robots.txt
    assert work.query("SELECT count(*) FROM comments") == rows


@ensureDeferred
async def test_a_longer_links_file_adds_to_the_run(replica, workplace):
    yt = replica("--videos", "3", "--comments", "5-9")
    work = workplace(yt.origin)
    work.links(*yt.videos[:2])
    await work.crawl_here()
    work.links(*yt.videos)
    await work.crawl_here()
    assert work.query("SELECT count(*) FROM runs") == [(1,)]
    assert work.query("SELECT count(*) FROM jobs WHERE status = 'success'") == [(3,)]


@ensureDeferred
async def test_a_key_that_comes_later_begins_unfinished_videos_anew_by_the_api(replica, workplace):
    yt = replica("--videos", "3", "--comments", "150-200")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    yt.faults({"action": "captcha", "skip": 12})
    await work.crawl_here(settings={"BREAKER_PATIENCE": 1})
    assert 0 < len(work.ids()) < sum(len(yt.truth(video)["parents"]) for video in yt.videos)
    yt.faults()
    work.key = "replica-key"
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    for video in yt.videos:
        assert sorted(work.ids(video)) == sorted(yt.truth(video)["parents"])
        assert work.coverage(video)["collected"] == len(yt.truth(video)["parents"])


@ensureDeferred
async def test_a_run_keeps_the_options_it_was_begun_with(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(max_comments="3")
    crawler = await work.crawl_here()
    assert isinstance(crawler.spider.failure, SettingInvalid)
    assert "max_comments=3" in str(crawler.spider.failure)
    await work.crawl_here(max_comments="3")


FAULTS = {
    "429 with Retry-After": {"action": "status", "status": 429, "retry_after": 1, "count": 3},
    "429 without": {"action": "status", "status": 429, "count": 3},
    "500": {"action": "status", "status": 500, "every": 4, "count": 3},
    "503 with Retry-After": {"action": "status", "status": 503, "retry_after": 1, "count": 2},
    "404": {"action": "status", "status": 404, "every": 5, "count": 3, "path": "/youtubei"},
    "403": {"action": "status", "status": 403, "count": 2},
    "reset": {"action": "reset", "every": 4, "count": 3},
    "hang": {"action": "hang", "seconds": 60, "count": 2},
    "truncated": {"action": "truncate", "every": 4, "count": 3},
    "empty": {"action": "empty", "every": 4, "count": 3},
    "HTML for JSON": {"action": "html", "every": 4, "count": 3, "path": "/youtubei"},
    "garbage": {"action": "garbage", "every": 4, "count": 3, "path": "/youtubei"},
    "incomplete": {"action": "incomplete", "every": 4, "count": 3, "path": "/youtubei"},
    "captcha": {"action": "captcha", "count": 2},
    "sorry": {"action": "sorry", "count": 2},
    "slow drip": {"action": "drip", "seconds": 0.5, "every": 3, "count": 3},
}


@ensureDeferred
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_passing_faults_lose_nothing(replica, workplace, fault):
    yt = replica("--videos", "3", "--comments", "40-80")
    yt.faults(fault)
    work = workplace(yt.origin)
    work.links(*yt.videos)
    patience = 3 if fault["action"] == "hang" else 30  # a slow machine must not look like another fault
    crawler = await work.crawl_here(settings={"DOWNLOAD_TIMEOUT": patience, "ROBOTSTXT_OBEY": False})
    assert crawler.spider.failure is None
    for video in yt.videos:
        assert set(work.ids(video)) == set(yt.truth(video)["parents"])
        assert work.coverage(video)["outcome"] == "complete"
    assert yt.counters()["max_in_flight_total"] <= 16


@ensureDeferred
async def test_nothing_is_sent_before_the_time_that_the_site_named(replica, workplace):
    yt = replica("--videos", "6", "--comments", "60-90", "--latency-ms", "30")
    yt.faults({"action": "status", "status": 429, "retry_after": 4, "skip": 25, "count": 1})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here()
    log = [(moment, status) for moment, _, _, _, status in yt.counters(log=True)["log"]]
    refused = next(moment for moment, status in log if status == 429)
    later = [moment - refused for moment, _ in log if moment > refused]
    on_the_way = 1.5  # what was sent before the answer could be read
    assert [moment for moment in later if on_the_way < moment < 4] == []
    assert min(moment for moment in later if moment > on_the_way) < 30
    assert set(work.ids()) == {c for video in yt.videos for c in yt.truth(video)["parents"]}


@ensureDeferred
async def test_caps_hold_on_the_other_side_too(replica, workplace):
    yt = replica("--videos", "12", "--comments", "15-25", "--latency-ms", "60")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 5})
    counters = yt.counters()
    assert counters["max_in_flight_total"] == 5
    assert counters["repeats"] == 0


@ensureDeferred
async def test_the_window_is_per_video(replica, workplace):
    yt = replica("--latency-ms", "40", spec=[{"comments": 50, "reply_share": 0.9}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(settings={"COMMENTS_INFLIGHT_WINDOW": 2})
    assert yt.counters()["max_in_flight_total"] == 2


@ensureDeferred
async def test_a_block_that_stays_stops_the_run_and_keeps_everything(replica, workplace):
    yt = replica("--videos", "4", "--comments", "30-60")
    yt.faults({"action": "captcha", "skip": 6})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"BREAKER_PATIENCE": 2, "BREAKER_COOLDOWN_S": 0.02})
    assert isinstance(crawler.spider.failure, SiteBlocked)
    assert work.query("SELECT status, reason FROM runs") == [("cancelled", "site_blocked")]
    yt.faults()
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    assert set(work.ids()) == {c for video in yt.videos for c in yt.truth(video)["parents"]}


@ensureDeferred
async def test_robots_are_asked_once_before_the_work_begins(replica, workplace):
    yt = replica("--videos", "3", "--comments", "5-9", "--robots", "real")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here()
    assert isinstance(crawler.spider.failure, RobotsRefused)
    assert "YOUTUBE_API_KEY" in str(crawler.spider.failure)
    assert yt.counters()["by_path"] == {"www.youtube.com/robots.txt": 1}
    crawler = await work.crawl_here(settings={"ROBOTSTXT_OBEY": False}, jobdir=None)
    assert crawler.spider.failure is None
    assert [json.loads(row[0])["robots"] for row in work.query("SELECT config FROM runs ORDER BY created_at")] == [
        "obey",
        "ignore",
    ]


class TestOfficialApi:
    @ensureDeferred
    async def test_exact_and_counted(self, replica, workplace):
        yt = replica(
            "--robots",
            "real",
            spec=[
                {"comments": 130},
                {"comments": 40, "busy": [3, 120]},
                {"state": "removed"},
                {"state": "comments_off"},
            ],
        )
        work = workplace(yt.origin, key="replica-key")
        work.links(*yt.videos)
        crawler = await work.crawl_here()
        assert crawler.spider.failure is None
        for video in yt.videos[:2]:
            assert set(work.ids(video)) == set(yt.truth(video)["parents"])
        assert [work.coverage(video)["reason"] for video in yt.videos[2:]] == ["video_unavailable", "comments_disabled"]
        counters = yt.counters()
        assert work.query("SELECT quota_used FROM runs") == [(counters["quota_used"],)]
        assert {path.split("/")[0] for path in counters["by_path"]} == {"www.googleapis.com"}
        exact = work.query(
            "SELECT count(*) FROM comments WHERE published_after <> published_before OR published_after IS NULL"
        )
        assert exact == [(0,)]

    @ensureDeferred
    async def test_replies_are_asked_for_only_where_the_inlined_ones_are_not_all(self, replica, workplace):
        yt = replica(spec=[{"comments": 60, "reply_share": 0.0}])
        work = workplace(yt.origin, key="replica-key")
        work.links(*yt.videos)
        await work.crawl_here()
        assert yt.counters()["total"] == 2  # the video, one page of threads

    @ensureDeferred
    async def test_quota_parks_the_rest_until_the_reset(self, replica, workplace):
        yt = replica("--videos", "6", "--comments", "120-150", "--quota", "20")
        work = workplace(yt.origin, key="replica-key")
        work.links(*yt.videos)
        crawler = await work.crawl_here()
        assert isinstance(crawler.spider.failure, QuotaExhausted)
        parked = work.query("SELECT count(*), count(not_before) FROM sub_jobs WHERE status = 'pending'")
        assert parked[0][0] == parked[0][1] > 0
        asked = yt.counters()["total"]
        crawler = await work.crawl_here()
        assert isinstance(crawler.spider.failure, QuotaExhausted)
        assert yt.counters()["total"] == asked
        work.query("SELECT 1")
        yt.reset()
        import sqlite3

        with sqlite3.connect(work.db) as conn:
            conn.execute("UPDATE sub_jobs SET not_before = 0")
        conn.close()
        crawler = await work.crawl_here(settings={})
        assert isinstance(crawler.spider.failure, QuotaExhausted) or crawler.spider.failure is None

    @ensureDeferred
    async def test_a_refused_key_is_one_clear_error(self, replica, workplace):
        yt = replica("--videos", "3")
        work = workplace(yt.origin, key="wrong-canary-key")
        work.links(*yt.videos)
        crawler = await work.crawl_here()
        assert isinstance(crawler.spider.failure, KeyRefused)
        assert work.query("SELECT DISTINCT status FROM sub_jobs") == [("pending",)]
        assert b"wrong-canary-key" not in work.db.read_bytes()


class TestIncremental:
    @ensureDeferred
    async def test_a_new_run_finds_what_is_new_and_what_changed(self, replica, workplace):
        yt = replica(spec=[{"comments": 60}])
        video = yt.videos[0]
        work = workplace(yt.origin)
        work.links(video)
        await work.crawl_here(jobdir=None)
        edited, liked = work.ids()[5], work.ids()[7]
        yt.mutate(video, "edit", comment=edited, text="reworded")
        yt.mutate(video, "likes", comment=liked, likes=12)
        added = yt.mutate(video, "add", count=3)
        await work.crawl_here(jobdir=None)
        truth = yt.truth(video)
        assert set(work.ids()) == set(truth["parents"])
        assert set(added) <= set(work.ids())
        assert work.query(
            "SELECT c.comment_id, c.text FROM comment_revisions r JOIN comments c ON c.id = r.comment"
        ) == [(edited, "reworded")]
        assert work.query("SELECT like_count FROM comments WHERE comment_id = ?", liked) == [(12,)]

    @ensureDeferred
    async def test_refresh_new_stops_at_known_ground(self, replica, workplace):
        yt = replica(spec=[{"comments": 200, "reply_share": 0.05}])
        video = yt.videos[0]
        work = workplace(yt.origin)
        work.links(video)
        await work.crawl_here(jobdir=None)
        added = yt.mutate(video, "add", count=25)
        asked = yt.counters()["total"]
        await work.crawl_here(jobdir=None, refresh="new")
        assert set(added) <= set(work.ids())
        assert set(work.ids()) == set(yt.truth(video)["parents"])
        assert yt.counters()["total"] - asked <= 6
        assert work.coverage(video)["reason"] == "known_ground"


class TestArguments:
    @ensureDeferred
    async def test_limits(self, replica, workplace):
        yt = replica(spec=[{"comments": 90, "reply_share": 0.8, "replies": [3, 9]}])
        work = workplace(yt.origin)
        work.links(*yt.videos)
        await work.crawl_here(jobdir=None, max_comments="33")
        assert len(work.ids()) == 33
        assert work.coverage(yt.videos[0])["reason"] == "limit"

    @ensureDeferred
    async def test_replies_per_thread(self, replica, workplace):
        yt = replica(spec=[{"comments": 50, "reply_share": 0.8, "replies": [3, 9]}])
        work = workplace(yt.origin)
        work.links(*yt.videos)
        await work.crawl_here(jobdir=None, max_replies="2")
        assert work.query("SELECT max(n) FROM (SELECT count(*) n FROM comments WHERE depth > 0 GROUP BY root_id)") == [
            (2,)
        ]
        assert work.query("SELECT count(*) FROM comments WHERE depth = 0") == [(50,)]

    @ensureDeferred
    async def test_top_order_says_that_it_may_not_be_all(self, replica, workplace):
        yt = replica(spec=[{"comments": 200, "top_share": 0.3, "reply_share": 0.0}])
        work = workplace(yt.origin)
        work.links(*yt.videos)
        await work.crawl_here(jobdir=None, sort="top")
        row = work.coverage(yt.videos[0])
        assert row["outcome"] == "partial"
        assert row["collected"] < row["claimed"] == 200

    @ensureDeferred
    @pytest.mark.parametrize(
        ("arguments", "kind"),
        [
            ({"links": "missing.txt"}, LinksMissing),
            ({"links": "https://www.youtube.com/@x,https://example.org"}, LinksMissing),
        ],
    )
    async def test_links_that_cannot_be_used(self, workplace, arguments, kind):
        crawler = await workplace("http://127.0.0.1:9").crawl_here(**arguments)
        assert isinstance(crawler.spider.failure, kind)

    @ensureDeferred
    async def test_no_line_names_a_video(self, workplace):
        work = workplace("http://127.0.0.1:9")
        work.links("https://www.youtube.com/@x", "nonsense")
        crawler = await work.crawl_here()
        assert isinstance(crawler.spider.failure, LinksEmpty)
        assert [row[0] for row in work.query("SELECT line FROM jobs WHERE status = 'invalid' ORDER BY line")] == [1, 2]

    @ensureDeferred
    async def test_a_wrong_argument(self, workplace):
        with pytest.raises(SettingInvalid, match="sort"):
            await workplace("http://127.0.0.1:9").crawl_here(srot="top")


@ensureDeferred
async def test_two_links_to_one_video_are_one_job_and_bad_lines_stop_nobody(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9")
    work = workplace(yt.origin)
    video = yt.videos[0]
    work.links(
        f"https://youtu.be/{video}",
        f"https://www.youtube.com/watch?v={video}&t=3s",
        "https://www.youtube.com/@x",
        "BV1xx411c7mD",
        "# comment",
    )
    await work.crawl_here()
    assert work.query("SELECT status, count(*) FROM jobs GROUP BY 1 ORDER BY 1") == [
        ("cancelled", 1),
        ("invalid", 1),
        ("success", 1),
    ]
    assert set(work.ids()) == set(yt.truth(video)["parents"])


@ensureDeferred
async def test_a_rate_limit_slows_the_run_down_and_costs_nothing(replica, workplace):
    yt = replica("--videos", "4", "--comments", "40-60")
    yt.faults({"action": "status", "status": 429, "over": 12, "window": 1})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"ROBOTSTXT_OBEY": False})
    assert crawler.spider.failure is None
    for video in yt.videos:
        assert work.coverage(video)["outcome"] == "complete"
        assert set(work.ids(video)) == set(yt.truth(video)["parents"])
    by_status = yt.counters()["by_status"]
    assert by_status["429"] < by_status["200"] / 2


@ensureDeferred
async def test_a_video_that_is_refused_alone_is_blamed_alone(replica, workplace):
    yt = replica("--videos", "3", "--comments", "60-90")
    yt.faults({"action": "sorry", "video": yt.videos[0]})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(settings={"ROBOTSTXT_OBEY": False})
    assert crawler.spider.failure is None
    assert work.coverage(yt.videos[0])["reason"] == "ip_blocked"
    assert [work.coverage(video)["outcome"] for video in yt.videos[1:]] == ["complete", "complete"]


@ensureDeferred
async def test_a_top_walk_without_a_count_is_not_called_complete(replica, workplace):
    yt = replica(spec=[{"comments": 100, "top_share": 0.3, "header_count": False, "reply_share": 0.0}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(sort="top")
    row = work.coverage(yt.videos[0])
    assert (row["outcome"], row["reason"].startswith("top_order")) == ("partial", True)
