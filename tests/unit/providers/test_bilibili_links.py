"""Bilibili's links and the two spellings of its ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_scrapers.errors import LinkNotRecognised
from research_scrapers.providers.bilibili.links import MASK, aid, bvid, link, recognise

BV = "BV17x411w7KC"
VECTORS = {
    1: "BV1xx411c7mQ",
    2: "BV1xx411c7mD",
    170001: BV,
    80433022: "BV1GJ411x7h7",
    795898202: "BV1XC4y1h78J",
    111298867365120: "BV1L9Uoa9EUx",
    113625742184800: "BV1qMq3YoEZA",
    114251901441504: "BV1zKZrYAEi8",
    116198679321943: "BV1T6PQzQErF",
    2251799813685247: "BV1aPPTfmvQq",
}
ACCEPTED = [
    BV,
    "bv17x411w7KC",
    "av170001",
    "AV170001",
    f"https://www.bilibili.com/video/{BV}",
    f"https://www.bilibili.com/video/{BV}/?p=2&t=30&spm_id_from=333",
    f"bilibili.com/video/{BV}",
    f"//m.bilibili.com/video/{BV}",
    "https://www.bilibili.com/video/av170001/",
    f"https://www.bilibili.com/s/video/{BV}",
    f"https://www.bilibili.com/{BV}",
    f"https://www.bilibili.com/festival/2024?bvid={BV}",
    f"https://www.bilibili.com/list/123?sid=1&oid=170001&bvid={BV}",
    "https://www.bilibili.com/list/watchlater?oid=170001",
    f"https://www.bilibili.com/medialist/play/ml1?bvid={BV}",
    f"https://player.bilibili.com/player.html?aid=170001&bvid={BV}&cid=1&page=1",
    "https://player.bilibili.com/player.html?aid=170001&amp;cid=1",
    f"https://b23.tv/{BV}",
    "https://b23.tv/av170001",
    "bilibili://video/170001",
    f"<https://www.bilibili.com/video/{BV}>.",
]
NAMED = {
    "https://www.bilibili.com/bangumi/play/ep337050?from=x": "ep337050",
    "https://www.bilibili.com/bangumi/play/ss12": "ss12",
    "https://www.bilibili.com/bangumi/media/md34": "md34",
    "https://b23.tv/ep337050": "ep337050",
    "https://b23.tv/AbC1234": "b23:AbC1234",
}
REFUSED = {
    "https://space.bilibili.com/123": "person",
    "https://live.bilibili.com/22": "live room",
    "https://t.bilibili.com/1": "post",
    "https://www.bilibili.com/opus/1": "post",
    "https://www.bilibili.com/read/cv1": "article",
    "https://www.bilibili.com/audio/au1": "audio",
    "https://www.bilibili.com/v/music": "channel",
    "https://search.bilibili.com/all?keyword=x": "search",
    "https://www.bilibili.com/list/watchlater": "list",
    "https://www.bilibili.com/cheese/play/ep1": "course",
    "https://www.bilibili.com/video/BV17x411w7K0": "not a video id",
    "https://www.bilibili.com/video/av0": "not a video id",
    "https://www.bilibili.com/video/": "without an id",
    "https://www.bilibili.com/": "home page",
    "https://www.bilibili.tv/en/video/2047": "international",
    "https://b23.tv/": "short link",
}


@pytest.mark.parametrize(("number", "name"), VECTORS.items())
def test_two_spellings_of_one_id(number: int, name: str) -> None:
    assert bvid(number) == name
    assert aid(name) == number


@given(st.integers(1, MASK))
def test_spellings_come_back(number: int) -> None:
    assert aid(bvid(number)) == number
    assert recognise(f"av{number}") == recognise(bvid(number)) == recognise(link(bvid(number)))


@pytest.mark.parametrize("text", ACCEPTED)
def test_names_the_video(text: str) -> None:
    assert recognise(text) == BV


@pytest.mark.parametrize(("text", "name"), NAMED.items())
def test_names_what_must_be_resolved(text: str, name: str) -> None:
    assert recognise(text) == name
    assert recognise(link(name)) == name


@pytest.mark.parametrize(("text", "word"), REFUSED.items())
def test_says_what_it_is_instead(text: str, word: str) -> None:
    with pytest.raises(LinkNotRecognised) as caught:
        recognise(text)
    assert word in caught.value.detail


@pytest.mark.parametrize(
    "text", ["", "hello", "BV17x411w7K", "https://youtu.be/dQw4w9WgXcQ", "https://notbilibili.com/x"]
)
def test_leaves_the_rest_to_others(text: str) -> None:
    assert recognise(text) is None


@given(
    st.one_of(
        st.text(), st.text().map(lambda text: "https://www.bilibili.com/" + text), st.text().map("b23.tv/".__add__)
    )
)
def test_never_raises_anything_else(text: str) -> None:
    try:
        recognise(text)
    except LinkNotRecognised:
        return
