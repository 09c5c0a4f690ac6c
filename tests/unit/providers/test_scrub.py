"""What may be kept of an answer: everything but who asked."""

from __future__ import annotations

import json

import pytest

from research_scrapers.models import Answer
from research_scrapers.providers import providers

YOUTUBE, BILIBILI = providers()["youtube"].scrub, providers()["bilibili"].scrub
WATCH = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
PLAYER = "https://api.bilibili.com/x/player/wbi/v2?aid=1&cid=2"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (b'"remoteHost":"203.0.113.7","x"', b'"remoteHost":"","x"'),
        (b'"remoteHost": "2001:db8::7"', b'"remoteHost": ""'),
        (b"https://r1/videoplayback?ip=203.0.113.7&id=1", b"https://r1/videoplayback?ip=0.0.0.0&id=1"),
        (b"?a=1\\u0026ip=203.0.113.7\\u0026id=1", b"?a=1\\u0026ip=0.0.0.0\\u0026id=1"),
        (b"&ip=2001%3Adb8%3A%3A7&id=1", b"&ip=0.0.0.0&id=1"),
        (b"url%3Fa%26ip%3D203.0.113.7%26id", b"url%3Fa%26ip%3D0.0.0.0%26id"),
        (b"the ship=203 and zip=1.2.3.4", b"the ship=203 and zip=1.2.3.4"),
    ],
)
def test_youtube_says_no_more_where_the_caller_is(said, kept):
    assert YOUTUBE(Answer(WATCH, 200, said)).body == kept


def test_comments_are_left_as_they_were_written():
    answer = Answer("https://www.youtube.com/youtubei/v1/next", 200, b'"see http://x/?ip=203.0.113.7"')
    assert YOUTUBE(answer) == answer


@pytest.mark.parametrize(("mid", "kept"), [(4321, -1), (0, 0)])
def test_bilibili_says_no_more_who_the_caller_is(mid, kept):
    data = {"aid": 1, "cid": 2, "ip_info": {"ip": "203.0.113.7"}, "login_mid": mid, "login_mid_hash": "ab",
            "name": "somebody", "vip": {"type": 1}, "last_play_cid": 7,
            "subtitle": {"subtitles": [{"id": 2**60}]}}  # fmt: skip
    body = BILIBILI(Answer(PLAYER, 200, json.dumps({"code": 0, "data": data}).encode())).body
    assert json.loads(body) == {
        "code": 0, "data": {"aid": 1, "cid": 2, "login_mid": kept, "subtitle": {"subtitles": [{"id": 2**60}]}}
    }  # fmt: skip


def test_a_short_link_does_not_say_who_shared_it():
    target = "https://www.bilibili.com/video/BV17x411w7KC?p=2&share_session_id=x&mid=77&buvid=abc"
    kept = BILIBILI(Answer("https://b23.tv/abc", 302, b"", {"location": target}))
    assert kept.headers["location"] == "https://www.bilibili.com/video/BV17x411w7KC?p=2"
