"""Bilibili's subtitles against the replica: every part, every kind of track, and never another video's."""

from __future__ import annotations

import json

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from tests.conftest import LOGIN

HUMAN, SPEECH, ENGLISH = ["zh-CN", "human"], ["ai-zh", "ai"], ["ai-en", "translated"]
KINDS = {"human": "manual", "ai": "asr", "translated": "translated"}
TRAITS = {
    "plain": {"tracks": [HUMAN, SPEECH, ENGLISH]},
    "parts": {"tracks": [SPEECH], "parts": 3},
    "poisoned once": {"tracks": [SPEECH], "poison": "first", "parts": 2},
    "poisoned by the old player": {"tracks": [SPEECH], "poison": "old"},
    "addresses come later": {"tracks": [HUMAN, SPEECH], "empty_url": True},
    "a signature is a must": {"tracks": [HUMAN], "player_signed": True},
    "on the picture server": {"tracks": [HUMAN, ["en-US", "human"]], "plain_human": True},
    "wants a login in so many words": {"tracks": [SPEECH], "need_login": True},
    "a series": {"tracks": [HUMAN], "series": True},
}


def spec(*entries):
    return [{"site": "bilibili", "comments": 0, "danmaku": 0, **entry} for entry in entries]


def stored(work, video):
    """(part, the site's code, kind) → segments."""
    found = {}
    for number, part, kind, extras in work.query(
        "SELECT id, part, kind, extras FROM transcripts WHERE video_id = ?", video
    ):
        lines = work.query(
            "SELECT start, duration, text FROM transcript_segments WHERE transcript = ? ORDER BY position", number
        )
        name = (part, json.loads(extras)["lan"], kind)
        assert name not in found
        found[name] = [(start, round(start + duration, 3), text) for start, duration, text in lines]
    return found


def listed(truth, only=None):
    """The same from the replica's truth."""
    return {
        (part["part"], track["language"], KINDS[track["kind"]]): [
            (start, round(end, 3), text) for start, end, text in track["segments"]
        ]
        for part in truth["parts"]
        for track in part["subtitles"]["logged_in"]
        if only is None or part["part"] in only
    }


async def read(work, **more):
    return await work.bili_here(BiliTranscriptsSpider, **more)


@ensureDeferred
async def test_every_track_of_every_part_with_its_exact_lines(replica, workplace):
    bili = replica(spec=spec(*TRAITS.values()))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    crawler = await read(work, tracks="all", settings={"FEEDS": {str(work.feed): {"format": "jsonl"}}})
    assert crawler.spider.failure is None
    for name, video in zip(TRAITS, bili.bili_videos, strict=True):
        there = {track: lines for track, lines in listed(bili.truth(video)).items() if track[2] != "translated"}
        assert stored(work, video) == there, name
        assert work.coverage(video, "transcript")["outcome"] == "complete", name
    lines = [json.loads(line) for line in work.feed.read_text(encoding="utf-8").splitlines()]
    told = [(line["video_id"], line["part"], line["language"], line["kind"]) for line in lines]
    assert len(told) == len(set(told)) == work.query("SELECT count(*) FROM transcripts")[0][0]
    assert bili.counters()["max_in_flight"]["api.bilibili.com"] <= 2
    assert bili.counters()["max_in_flight"]["aisubtitle.hdslb.com"] <= 4


@ensureDeferred
async def test_by_default_the_videos_own_language_human_before_machine(replica, workplace):
    bili = replica(
        spec=spec({"tracks": [SPEECH, ENGLISH, HUMAN]}, {"tracks": [ENGLISH, SPEECH]}, {"tracks": [["en-US", "human"]]})
    )
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    await read(work)
    assert [list(stored(work, video)) for video in bili.bili_videos] == [
        [(1, "zh-CN", "manual")],
        [(1, "ai-zh", "asr")],
        [(1, "en-US", "manual")],
    ]


@ensureDeferred
async def test_languages_and_translations(replica, workplace):
    bili = replica(spec=spec({"tracks": [HUMAN, SPEECH, ENGLISH]}, {"tracks": [["en-US", "human"], SPEECH]}))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    one, other = bili.bili_videos
    await read(work, jobdir=None, languages="en")
    assert not stored(work, one)  # its English is a translation, and was not asked for as one
    assert work.coverage(one, "transcript")["reason"] == "no_transcript_in_language"
    assert list(stored(work, other)) == [(1, "en-US", "manual")]
    await read(work, jobdir=None, translate="en")
    assert sorted(stored(work, one)) == [(1, "ai-en", "translated"), (1, "zh-CN", "manual")]
    await read(work, jobdir=None, kinds="asr", refresh="always")
    assert (1, "ai-zh", "asr") in stored(work, other)


@ensureDeferred
async def test_logged_out_an_empty_list_proves_nothing(replica, workplace):
    bili = replica(spec=spec({"tracks": [SPEECH]}, {"tracks": []}, {"tracks": [HUMAN], "no_key": True, "parts": 2}))
    work = workplace(bili.origin)
    work.links(*bili.bili_videos)
    await read(work)
    for video in bili.bili_videos:
        row = work.coverage(video, "transcript")
        assert (row["status"], row["reason"]) == ("failed", "login_required")
    assert work.query("SELECT count(*) FROM transcripts") == [(0,)]
    work.login = LOGIN
    await read(work, jobdir="later")
    assert work.coverage(bili.bili_videos[0], "transcript")["outcome"] == "complete"
    row = work.coverage(bili.bili_videos[1], "transcript")
    assert (row["outcome"], row["reason"]) == ("empty", "transcripts_disabled")


@ensureDeferred
async def test_a_track_of_another_video_is_refused_and_told(replica, workplace):
    bili = replica(spec=spec({"tracks": [SPEECH], "poison": "always"}, {"tracks": [SPEECH]}))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    await read(work)
    poisoned, sound = bili.bili_videos
    assert not stored(work, poisoned)
    row = work.coverage(poisoned, "transcript")
    assert (row["outcome"], row["reason"]) == ("partial", "tracks_failed")
    assert "wrong_video" in row["detail"]
    assert stored(work, sound) == listed(bili.truth(sound))
    assert not [path for path in bili.counters()["by_path"] if path.startswith("aisubtitle") and "400000" in path]


@ensureDeferred
async def test_parts_of_one_video(replica, workplace):
    bili = replica(spec=spec({"tracks": [SPEECH], "parts": 3}, {"tracks": [SPEECH], "parts": 3}))
    work = workplace(bili.origin, login=LOGIN)
    one, other = bili.bili_videos
    work.links(f"https://www.bilibili.com/video/{one}/?p=2", other, f"https://www.bilibili.com/video/{one}/?p=3")
    await read(work, parts="first", jobdir=None)
    assert stored(work, one) == listed(bili.truth(one), {2, 3})
    assert stored(work, other) == listed(bili.truth(other), {1})
    work.links(one, other)  # what is here of some parts does not stand for all of them
    await read(work, jobdir=None)
    assert stored(work, one) == listed(bili.truth(one))
    assert stored(work, other) == listed(bili.truth(other))
    asked = bili.counters()["total"]
    await read(work, jobdir=None)
    assert {work.coverage(video, "transcript")["reason"] for video in (one, other)} == {"up_to_date"}
    paths = bili.counters()["by_path"]
    assert bili.counters()["total"] - asked <= 12, paths  # robots, the visit and the facts; no player, no track


@ensureDeferred
async def test_a_part_that_does_not_exist(replica, workplace):
    bili = replica(spec=spec({"tracks": [SPEECH], "parts": 2}))
    work = workplace(bili.origin, login=LOGIN)
    work.links(f"https://www.bilibili.com/video/{bili.bili_videos[0]}/?p=7")
    await read(work)
    row = work.coverage(bili.bili_videos[0], "transcript")
    assert (row["status"], row["reason"]) == ("failed", "part_missing")


@ensureDeferred
async def test_a_list_that_grows_is_read_as_it_was(replica, workplace):
    bili = replica(spec=spec({"tracks": [HUMAN, SPEECH], "stale_list": True}))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    await read(work)
    assert list(stored(work, bili.bili_videos[0])) in ([(1, "ai-zh", "asr")], [(1, "zh-CN", "manual")])


@ensureDeferred
@pytest.mark.parametrize("action", ["bili_-352", "bili_412", "bili_-509", "bili_null", "bili_captcha"])
async def test_passing_refusals_lose_nothing(replica, workplace, action):
    bili = replica(spec=spec(*({"tracks": [HUMAN, SPEECH], "parts": 2} for _ in range(2))))
    work = workplace(bili.origin, login=LOGIN)
    work.links(*bili.bili_videos)
    bili.faults({"action": action, "path": "/x/player", "skip": 1, "count": 2})
    crawler = await read(work, tracks="all")
    assert crawler.spider.failure is None
    for video in bili.bili_videos:
        assert stored(work, video) == listed(bili.truth(video))
