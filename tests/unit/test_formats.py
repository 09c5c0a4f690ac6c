"""Files of transcripts: what goes out comes back, to the millisecond, and nothing in a text can break the file."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_scrapers import formats
from research_scrapers.errors import InputError, ResearchError
from research_scrapers.models import Segment, Transcript

LINK = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
MS = st.integers(0, 400_000_000).map(lambda value: value / 1000)
NASTY = st.sampled_from(
    ["-->", "--\u2060>", "\n\n", "\n \n", "\u2060", "00:00:01,000 --> 00:00:02,000", "1", "NOTE x", "<i>", "&amp;",
     "♪", "שלום", "👩‍👩‍👧", "你好", "WEBVTT", "\u2028", "\x0b", "\x85", "\t"]
)  # fmt: skip
TEXT = st.lists(NASTY | st.text(max_size=8), max_size=5).map(lambda parts: "".join(parts).replace("\r", ""))
KEYS = st.sampled_from(["segments", "start", "duration", "text", "words", "part"])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner),
)
SEGMENTS = st.lists(st.builds(Segment, MS, MS, TEXT), max_size=6)


def transcript(segments: list[Segment], **changes) -> Transcript:
    values = {
        "provider": "youtube", "video_id": "dQw4w9WgXcQ", "part": 1, "language": "en", "kind": "manual",
        "name": "English", "segments": segments, "content_hash": "x", "fetched_at": "2026-11-16T12:00:00Z",
        "extras": {},
    }  # fmt: skip
    return Transcript(**(values | changes))


@given(SEGMENTS)
def test_srt_and_back(segments):
    assert formats.from_srt(formats.to_srt(transcript(segments))) == segments


@given(SEGMENTS)
def test_vtt_and_back(segments):
    assert formats.from_vtt(formats.to_vtt(transcript(segments))) == segments


@given(st.lists(st.builds(Segment, MS, MS | st.none(), TEXT, st.lists(st.tuples(MS, TEXT)) | st.none()), max_size=5))
def test_json_and_back(segments):
    original = transcript(segments, extras={"track_id": ".en"})
    assert formats.from_json(formats.to_json(original)) == original


@given(st.lists(st.tuples(st.floats(0, 9999), st.floats(0, 50) | st.none()), max_size=8))
def test_no_overlap_is_made_and_no_time_is_moved(times):
    segments = [Segment(start, length, "x") for start, length in sorted(times, key=lambda pair: pair[0])]
    back = formats.from_srt(formats.to_srt(transcript(segments)))
    assert [round(one.start * 1000) for one in segments] == [round(one.start * 1000) for one in back]
    for (before, after), shown, following in zip(itertools.pairwise(segments), back, back[1:], strict=False):
        apart = before.duration is None or before.start + before.duration <= after.start
        if apart and before.start < after.start:
            # A line without a length that begins in the same millisecond as the next stays until a later one begins.
            if before.duration is None and round(shown.start * 1000) == round(following.start * 1000):
                continue
            assert round((shown.start + shown.duration) * 1000) <= round(following.start * 1000)


@given(TEXT | st.text())
def test_readers_only_fail_by_name(text):
    for read in (formats.from_srt, formats.from_vtt, formats.from_json):
        for body in (text, "WEBVTT\n\n" + text, '{"segments":[' + text):
            try:
                read(body)
            except ResearchError:
                continue


@given(ANYTHING)
def test_json_of_anything(value):
    whole = json.loads(formats.to_json(transcript([Segment(0.0, 1.0, "x")])))
    for told in (value, whole | value if isinstance(value, dict) else whole | {"segments": value}):
        try:
            read = formats.from_json(json.dumps(told))
        except InputError:
            continue
        for write in formats.WRITERS.values():
            write(read)


def test_srt_as_players_expect_it():
    segments = [Segment(0.5, 1.25, "one\ntwo"), Segment(3600.001, None, "a --> b"), Segment(3661.0, None, "end")]
    assert formats.to_srt(transcript(segments)) == (
        "1\n00:00:00,500 --> 00:00:01,750\none\ntwo\n\n"
        "2\n01:00:00,001 --> 01:01:01,000\na --\u2060> b\n\n"
        "3\n01:01:01,000 --> 01:01:03,000\nend\n\n"
    )


def test_an_overlap_of_the_site_stays():
    segments = [Segment(0.0, 4.0, "one"), Segment(2.0, 4.0, "two")]
    assert "00:00:00,000 --> 00:00:04,000" in formats.to_srt(transcript(segments))


def test_vtt_head_and_escapes():
    text = formats.to_vtt(transcript([Segment(1.0, 1.0, "<laughs> R&D\n\n-->")], kind="asr", language="zh-Hans"))
    assert text == (
        "WEBVTT\nKind: captions\nLanguage: zh-Hans\n\nNOTE asr\n\n"
        "00:00:01.000 --> 00:00:02.000\n&lt;laughs&gt; R&amp;D\n\u2060\n--&gt;\n\n"
    )
    assert "\nx" not in formats.to_vtt(transcript([], language="en\nx"))


def test_foreign_files():
    srt = (
        "\ufeff1\r\n00:00:01,000 --> 00:00:02,500 X1:0\r\nhello\r\nthere\r\n\r\n2\r\n0:0:3.000 --> 00:00:04,000\r\nbye"
    )
    assert formats.from_srt(srt) == [Segment(1.0, 1.5, "hello\nthere"), Segment(3.0, 1.0, "bye")]
    vtt = (
        "WEBVTT\n\nSTYLE\n::cue {}\n\nid\n00:01.000 --> 00:02.000 size:9\n<c.x>hi</c> &amp; <00:00:01.500><i>you</i>\n"
    )
    assert formats.from_vtt(vtt) == [Segment(1.0, 1.0, "hi & you")]
    assert formats.from_srt("") == []
    for read in (formats.from_srt, formats.from_vtt, formats.from_json):
        with pytest.raises(InputError):
            read("a letter to my aunt")


def test_text_keeps_line_breaks():
    assert formats.to_txt(transcript([Segment(0, 1, "one\ntwo"), Segment(1, 1, "♪")])) == "one\ntwo\n♪\n"


def test_markdown():
    segments = [Segment(1.9, 1, "one\n\n*two* <b> [x](y)"), Segment(3725.0, 1, "# three")]
    text = formats.to_md(transcript(segments), title="A [talk]", link=LINK)
    assert text == (
        f"# A \\[talk\\]\n\n<{LINK}>\n\nen · manual · English · 2026-11-16T12:00:00Z\n\n"
        f"- [00:01]({LINK}&t=1) one\n  \\*two\\* \\<b\\> \\[x\\](y)\n"
        f"- [1:02:05]({LINK}&t=3725) \\# three\n"
    )
    assert "- 00:01 one" in formats.to_md(transcript(segments))
    assert "?t=1)" in formats.to_md(transcript(segments), link="https://www.bilibili.com/video/BV1")


@pytest.mark.parametrize(
    ("changes", "suffix", "track", "name"),
    [
        ({}, "srt", "", "dQw4w9WgXcQ.en.manual.srt"),
        ({"language": "zh-Hans", "kind": "asr"}, ".vtt", "", "dQw4w9WgXcQ.zh-Hans.asr.vtt"),
        ({"language": "../../etc/passwd", "kind": "a b"}, "md", "", "dQw4w9WgXcQ._etc_passwd.a_b.md"),
        ({"part": 2}, "txt", "", "dQw4w9WgXcQ.p2.en.manual.txt"),
        ({}, "json", ".de.Ab", "dQw4w9WgXcQ.en.manual._de_Ab.json"),
    ],
)
def test_file_names(changes, suffix, track, name):
    assert formats.file_name(transcript([], **changes), suffix, track) == name
    assert re.fullmatch(r"[\w.-]+", name, re.ASCII)
