"""The transcripts spider against the replica: every wanted track in the right words, honest reasons, resumable."""

from __future__ import annotations

import json

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

EN_DE = (("en", "manual"), ("en", "asr"), ("de", "manual"))


def stored(work, video):
    """Transcripts of a video: {(language, kind, name): [[start_ms, text], …]}"""
    found = {}
    for row_id, language, kind, name in work.query(
        "SELECT id, language, kind, name FROM transcripts WHERE video_id = ?", video
    ):
        segments = work.query(
            "SELECT start, text FROM transcript_segments WHERE transcript = ? ORDER BY position", row_id
        )
        found[language, kind, name] = [[round(start * 1000), text] for start, text in segments]
    return found


def truth(yt, video):
    return {
        (track["language"], track["kind"]): [[start, text] for start, _, text in track["segments"]]
        for track in yt.truth(video)["tracks"]
    }


@ensureDeferred
async def test_every_track_in_the_right_words(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE}, {"comments": 0, "tracks": (("ja", "asr"),)}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(
        spider=YtTranscriptsSpider, tracks="all", settings={"FEEDS": {str(work.feed): {"format": "jsonl"}}}
    )
    assert crawler.spider.failure is None
    for video in yt.videos:
        expected = truth(yt, video)
        found = {(language, kind): segments for (language, kind, _), segments in stored(work, video).items()}
        assert found == expected
        assert work.coverage(video)["outcome"] == "complete"
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    assert {line["type"] for line in lines} == {"transcript"}
    assert len(lines) == 4
    assert {line["extras"]["route"] for line in lines} == {"library"}


@ensureDeferred
async def test_where_the_library_cannot_our_own_reading_can(replica, workplace):
    kept = ("WEB", "MWEB", "ANDROID")  # addresses that want a token: the library gives up, VISIONOS does not need one
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE, "captions_exp_clients": kept}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, tracks="all")
    found = {key[:2]: segments for key, segments in stored(work, yt.videos[0]).items()}
    assert found == truth(yt, yt.videos[0])
    assert [json.loads(row[0])["route"] for row in work.query("SELECT extras FROM transcripts")] == ["timedtext"] * 3


@ensureDeferred
async def test_a_token_that_nobody_can_give_is_told(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE, "captions_exp_clients": ()}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider)
    row = work.coverage(yt.videos[0])
    assert (row["status"], row["reason"]) == ("failed", "token_needed")


@ensureDeferred
async def test_the_panel_gives_what_every_client_keeps_back(replica, workplace):
    how = {"comments": 0, "tracks": (("en", "manual"), ("de", "manual")), "captions_exp_clients": ()}
    yt = replica(spec=[{**how, "get_transcript": "classic"}, how])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(spider=YtTranscriptsSpider, tracks="all")
    found = {key[:2]: segments for key, segments in stored(work, yt.videos[0]).items()}
    assert found == truth(yt, yt.videos[0])
    assert [json.loads(row[0])["route"] for row in work.query("SELECT extras FROM transcripts")] == ["panel"] * 2
    assert work.coverage(yt.videos[0])["outcome"] == "complete"
    row = work.coverage(yt.videos[1])
    assert (row["status"], row["reason"]) == ("failed", "token_needed")
    assert "panel is refused" in row["detail"]
    assert not crawler.stats.get_value("research/refused/bot_check")  # the line was not paused for it


@ensureDeferred
async def test_coverage_says_what_is_listed_what_is_taken_and_why_not_the_others(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": (*EN_DE, ("ja", "manual"))}])
    yt.faults({"action": "status", "status": 500, "key": f"timedtext:{yt.videos[0]}:.ja"})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir="best")
    row = work.coverage(yt.videos[0])
    assert (row["claimed"], row["collected"], row["reason"]) == (4, 1, None)
    assert row["detail"] == (
        "1 transcript; the site lists 4 tracks; not taken: another is preferred: en (asr);"
        " language not asked for: de (manual), ja (manual)"
    )
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir="all", tracks="all", kinds="manual")
    row = work.coverage(yt.videos[0])
    assert (row["claimed"], row["collected"], row["reason"]) == (4, 2, "tracks_failed")
    assert row["detail"] == (
        "1 track could not be read (.ja: server_trouble); run again to retry; 2 transcripts;"
        " the site lists 4 tracks; not taken: kind not asked for: en (asr)"
    )


@ensureDeferred
async def test_a_block_under_the_library_opens_the_breaker_pauses_and_resumes(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE} for _ in range(6)])
    yt.faults(
        {"action": "status", "status": 429, "path": "/youtubei/v1/player", "count": 3},
        {"action": "status", "status": 429, "retry_after": 1, "path": "/api/timedtext", "skip": 2, "count": 2},
    )
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(spider=YtTranscriptsSpider)
    assert crawler.spider.failure is None
    for video in yt.videos:
        assert work.coverage(video)["outcome"] == "complete"
    assert crawler.stats.get_value("research/refused/rate_limited") >= 3


@ensureDeferred
async def test_two_tracks_of_one_language_are_two(replica, workplace):
    tracks = (("en", "manual"), ("en", "manual", "For the hard of hearing"))
    yt = replica(spec=[{"comments": 0, "tracks": tracks}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, tracks="all")
    assert len(stored(work, yt.videos[0])) == 2


@ensureDeferred
@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({}, [("en", "manual")]),
        ({"languages": "de,en"}, [("de", "manual")]),
        ({"kinds": "asr"}, [("en", "asr")]),
        ({"languages": "fr,*"}, [("en", "manual")]),
    ],
)
async def test_the_tracks_that_were_asked_for(replica, workplace, arguments, taken):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, **arguments)
    assert [key[:2] for key in stored(work, yt.videos[0])] == taken


@ensureDeferred
async def test_translations_only_on_request(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": (("en", "manual"),)}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, translate="de")
    assert sorted(key[:2] for key in stored(work, yt.videos[0])) == [("de", "translated"), ("en", "manual")]


STATES = {
    "private": ("failed", "video_private"),
    "removed": ("failed", "video_unavailable"),
    "age_gated": ("failed", "age_restricted"),
    "members_only": ("failed", "members_only"),
    "region_blocked": ("failed", "region_locked"),
    "upcoming": ("failed", "not_started_yet"),
}


@ensureDeferred
async def test_every_end_has_its_own_reason(replica, workplace):
    spec = [{"comments": 0, "state": state} for state in STATES]
    spec += [{"comments": 0, "tracks": ()}, {"comments": 0, "tracks": (("de", "manual"),)}]
    yt = replica(spec=spec)
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, languages="en")
    for (state, expected), video in zip(STATES.items(), yt.videos, strict=False):
        row = work.coverage(video)
        assert (row["outcome"] or row["status"], row["reason"]) == expected, state
    none, other = (work.coverage(video) for video in yt.videos[-2:])
    assert (none["outcome"], none["reason"]) == ("empty", "transcripts_disabled")
    assert (other["outcome"], other["reason"]) == ("empty", "no_transcript_in_language")
    assert "de" in other["detail"]


@ensureDeferred
async def test_the_same_text_is_not_stored_again_and_a_changed_one_is_a_new_version(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": (("en", "manual"),)}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir=None, refresh="always")
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir=None, refresh="always")
    assert work.query("SELECT version FROM transcripts") == [(1,)]
    yt.mutate(yt.videos[0], "caption", track=".en", segment=2, text="other words")
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir=None, refresh="always")
    assert work.query("SELECT version FROM transcripts ORDER BY version") == [(1,), (2,)]


@ensureDeferred
async def test_a_finished_run_asks_for_nothing_more(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider)
    asked = yt.counters()["total"]
    await work.crawl_here(spider=YtTranscriptsSpider)
    assert yt.counters()["total"] == asked


@ensureDeferred
async def test_a_track_that_stays_blocked_costs_that_track_only(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE}, {"comments": 0, "tracks": (("en", "manual"),)}])
    yt.faults({"action": "status", "status": 500, "key": f"timedtext:{yt.videos[0]}:.de"})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, tracks="all")
    row = work.coverage(yt.videos[0])
    assert (row["outcome"], row["reason"], row["threads_failed"]) == ("partial", "tracks_failed", 1)
    assert len(stored(work, yt.videos[0])) == 2
    yt.faults()
    await work.crawl_here(spider=YtTranscriptsSpider, tracks="all")
    assert work.coverage(yt.videos[0])["outcome"] == "complete"
    assert len(stored(work, yt.videos[0])) == 3


@ensureDeferred
async def test_a_wrong_argument(workplace):
    from research_scrapers.errors import SettingInvalid

    with pytest.raises(SettingInvalid, match="Did you mean languages"):
        await workplace("http://127.0.0.1:9").crawl_here(spider=YtTranscriptsSpider, langages="en")
    with pytest.raises(SettingInvalid, match="kinds"):
        await workplace("http://127.0.0.1:9").crawl_here(spider=YtTranscriptsSpider, kinds="human")


@ensureDeferred
@pytest.mark.parametrize(
    ("refresh", "age", "asked"), [("stale", 30, False), ("stale", 0, True), ("never", 0, False), ("always", 30, True)]
)
async def test_what_is_here_and_new_enough_is_not_read_again(replica, workplace, refresh, age, asked):
    yt = replica(spec=[{"comments": 0, "tracks": EN_DE}, {"comments": 0, "tracks": ()}])
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir=None)
    before = yt.counters()["total"]
    await work.crawl_here(
        spider=YtTranscriptsSpider, jobdir=None, refresh=refresh,
        settings={"TRANSCRIPT_AGE_DAYS": age, "ROBOTSTXT_OBEY": False},
    )  # fmt: skip
    assert (yt.counters()["total"] > before) == asked
    assert (work.coverage(yt.videos[0])["reason"] == "up_to_date") != asked
    assert [work.coverage(video)["outcome"] for video in yt.videos] == ["complete", "empty"]
    held = work.query(
        "SELECT t.video_id, t.language FROM transcripts t JOIN transcript_sightings g ON g.transcript = t.id"
        " JOIN sub_jobs s ON s.id = g.sub_job_id"
        " WHERE s.run_id = (SELECT run_id FROM sub_jobs ORDER BY id DESC LIMIT 1)"
    )
    assert held == [(yt.videos[0], "en")], "a run holds what it found up to date"
    await work.crawl_here(spider=YtTranscriptsSpider, jobdir=None, refresh=refresh, languages="de")
    assert ("de", "manual") in {key[:2] for key in stored(work, yt.videos[0])}, "another wish is another reading"


@ensureDeferred
async def test_throttled_translations_hold_up_nobody_else(replica, workplace):
    yt = replica(spec=[{"comments": 0, "tracks": (("en", "manual"),)} for _ in range(4)])
    yt.faults({"action": "status", "status": 429, "key": "tlang="})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here(
        spider=YtTranscriptsSpider, translate="de", settings={"BREAKER_PATIENCE": 1, "TRANSLATION_RATE": 50}
    )
    assert crawler.spider.failure is None
    for video in yt.videos:
        assert {key[:2] for key in stored(work, video)} == {("en", "manual")}
        row = work.coverage(video)
        assert (row["outcome"], row["reason"]) == ("partial", "tracks_failed")
    assert crawler.spider.gate.breaker("youtube:transcript").state == "closed"
