"""Captions in every format: the same words at the same times, and a name for everything that is not captions."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_scrapers import errors
from research_scrapers.errors import ResearchError
from research_scrapers.models import Answer, Cursor, Options, Segment
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.timedtext import LARGEST, format_of, judge_timedtext, read_timedtext
from research_scrapers.providers.youtube.track_ask import TrackAsk
from research_scrapers.providers.youtube.transcripts import TranscriptRoute

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "youtube"
BODIES = [path.read_bytes() for path in sorted(FIXTURES.glob("track/*/input.*"))]
URL = "https://www.youtube.com/api/timedtext?v=fixtureVidA&lang=en&fmt=json3"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
# XML allows no control signs; the site's lines have no blank edges.
WORDS = st.text(st.characters(min_codepoint=33, exclude_categories=["C", "Z"]), min_size=1, max_size=9)
LINES = st.lists(
    st.tuples(st.integers(0, 10**8), st.integers(0, 10**6) | st.none(), st.lists(WORDS, min_size=1).map(" ".join)),
    max_size=5,
).map(lambda lines: sorted(lines, key=lambda line: line[0]))


def srv1(text: str) -> str:
    body = f'<?xml version="1.0" encoding="utf-8" ?><transcript><text start="1" dur="1">{text}</text></transcript>'
    return read_timedtext(body.encode())[0].text


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("it&amp;#39;s", "it's"),
        ("it&#39;s", "it's"),
        ("&amp;quot;so&amp;quot;", '"so"'),
        ("R&amp;amp;D", "R&D"),
        ("&amp;amp;lt;", "&lt;"),
        ("&amp;lt;laughs&amp;gt; hi", "<laughs> hi"),
        ("&lt;laughs&gt; hi", "<laughs> hi"),
        ("&lt;i&gt;hi&lt;/i&gt;", "hi"),
        ("&lt;I&gt;hi&lt;/I&gt; &lt;b&gt;you&lt;/b&gt;", "hi you"),
        ("&lt;font color=&quot;#fff&quot;&gt;hi&lt;/font&gt;", "hi"),
        ("&amp;lt;i&amp;gt;hi", "<i>hi"),
        ("a &amp;lt; b", "a < b"),
        ("a &lt; b &gt; c", "a < b > c"),
        ("&lt;i think so&gt;", "<i think so>"),
        ("♪ la ♪ [Music] &amp;gt;&amp;gt; JANE:", "♪ la ♪ [Music] >> JANE:"),
        ("one\ntwo", "one\ntwo"),
        ("<![CDATA[a &lt; b]]>", "a < b"),
    ],
)
def test_srv1_is_unescaped_exactly_once_more(written, read):
    assert srv1(written) == read


@given(LINES)
def test_all_formats_tell_the_same(lines):
    events = [
        {"tStartMs": start, "segs": [{"utf8": text}]} | ({} if length is None else {"dDurationMs": length})
        for start, length, text in lines
    ]
    ps = "".join(
        f'<p t="{start}"{"" if length is None else f" d=%{length}%".replace("%", chr(34))}>{escape(text)}</p>'
        for start, length, text in lines
    )
    texts = "".join(
        f'<text start="{start / 1000:.3f}"'
        + ("" if length is None else f' dur="{length / 1000:.3f}"')
        + f">{escape(escape(text))}</text>"
        for start, length, text in lines
    )
    expected = [Segment(start / 1000, None if length is None else length / 1000, text) for start, length, text in lines]
    assert read_timedtext(json.dumps({"wireMagic": "pb3", "events": events}).encode()) == expected
    assert read_timedtext(f'<timedtext format="3"><body>{ps}</body></timedtext>'.encode()) == expected
    assert read_timedtext(f"<transcript>{texts}</transcript>".encode()) == expected


@pytest.mark.parametrize(
    ("url", "status", "body", "leaf"),
    [
        (URL, 200, b"", errors.PartialResponse),
        (URL, 200, b" \n", errors.PartialResponse),
        (URL + "&exp=xpe", 200, b"", errors.TokenNeeded),
        (URL + "&exp=xbt", 200, b"", errors.TokenNeeded),
        (URL + "&exp=abc,xpv", 200, b"", errors.TokenNeeded),
        (URL + "&sparams=exp,xpe", 200, b"", errors.PartialResponse),
        (URL, 200, b"<!DOCTYPE html><html><body>hm</body></html>", errors.WrongContent),
        (URL, 200, b'<html><form id="captcha-form"></form></html>', errors.IpBlocked),
        (URL, 200, b'<html><form action="https://consent.youtube.com/save"></form></html>', errors.ConsentNeeded),
        (URL, 404, b"", errors.WrongContent),
        (URL + "&tlang=xx", 404, b"", errors.NoTranscriptInLanguage),
        (URL, 403, b"", errors.AccessRefused),
        (URL, 429, b"", errors.RateLimited),
        (URL, 503, b"", errors.ServerTrouble),
        ("https://www.google.com/sorry/index?continue=x", 429, b"", errors.IpBlocked),
        (URL, 200, b"{}", None),
        (URL, 200, b"<transcript/>", None),
    ],
)
def test_judged_before_it_is_read(url, status, body, leaf):
    verdict = judge_timedtext(Answer(url, status, body))
    assert (type(verdict) if verdict else None) is leaf


def test_the_provider_leaves_to_the_route_what_another_address_may_answer():
    assert judge(Answer(URL, 200, b"")) is None
    assert judge(Answer(URL, 404, b"gone")) is None
    assert isinstance(judge(Answer(URL, 403, b"")), errors.AccessRefused)
    date = {"date": "Mon, 16 Nov 2026 12:00:00 GMT"}
    assert judge(Answer(URL + "&expire=1700000000", 403, b"", date)) is None
    assert isinstance(judge(Answer(URL + "&expire=1900000000", 403, b"", date)), errors.AccessRefused)
    assert isinstance(judge(Answer("https://www.youtube.com/watch?v=x", 200, b"")), errors.PartialResponse)


@pytest.mark.parametrize(
    ("body", "leaf"),
    [
        (b"", errors.PartialResponse),
        (b"hello", errors.WrongContent),
        (b"[]", errors.WrongContent),
        (b"{}", errors.LayoutChanged),
        (b'{"events":[{"segs":[{"utf8":7}]}]}', errors.LayoutChanged),
        (b'{"events":[7]}', errors.LayoutChanged),
        (b'{"events":[{"tStartMs":99999999999999,"segs":[{"utf8":"x"}]}]}', errors.LayoutChanged),
        (b'<transcript><text start="soon">x</text></transcript>', errors.LayoutChanged),
        (b'<transcript><text start="1e99">x</text></transcript>', errors.LayoutChanged),
        (b"<transcript><text>x</text></transcript>", errors.LayoutChanged),
        (b"<timedtext><body><p>x</p></body></timedtext>", errors.LayoutChanged),
        (b'<transcript><text start="1">a & b</text></transcript>', errors.LayoutChanged),
        (b'<transcript><text start="1">a', errors.PartialResponse),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><transcript><text start="1">&a;</text></transcript>', errors.WrongContent),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><transcript/>', errors.WrongContent),
        ('<?xml version="1.0" encoding="utf-16"?><transcript/>'.encode("utf-16"), errors.WrongContent),
        (b"\x00" * 99, errors.WrongContent),
    ],
)
def test_what_is_not_captions_has_a_name(body, leaf):
    with pytest.raises(leaf):
        read_timedtext(body)


def test_an_empty_document_is_an_empty_transcript():
    for body in (b'{"wireMagic":"pb3"}', b'{"events":[]}', b"<transcript/>", b"WEBVTT\n", b"\xef\xbb\xbf<timedtext/>"):
        assert read_timedtext(body) == []


def test_formats_are_known_by_their_first_signs():
    assert [format_of(body) for body in (b" {}", b"\xef\xbb\xbfWEBVTT", b"\n<x/>", b"x")] == [
        "json3",
        "vtt",
        "srv",
        None,
    ]


def test_huge_and_deep_input_ends_soon():
    began = time.process_time()
    deep = b"<transcript>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</transcript>"
    assert read_timedtext(deep) == []
    many = b"<transcript>" + b'<text start="1">&lt;i &lt;i</text>' * 50_000 + b"</transcript>"
    assert len(read_timedtext(many)) == 50_000
    rolling = "WEBVTT\n\n" + "00:00:01.000 --> 00:00:02.000\na<00:00:01.500>b\n\n" * 25_000
    assert len(read_timedtext(rolling.encode())) == 25_000
    for body in (b"WEBVTT\n" + b"<" * 10**6, b"<transcript><text start='1'>" + b"&lt;" * 10**5, b'{"events":' * 10**5):
        try:
            read_timedtext(body)
        except ResearchError:
            continue
    with pytest.raises(errors.WrongContent):
        read_timedtext(b"x" * (LARGEST + 1))
    assert time.process_time() - began < 20


def _survives(body: bytes) -> None:
    for fmt in (None, "json3", "srv1", "srv3", "vtt", "strange"):
        try:
            read_timedtext(body, fmt)
        except ResearchError:
            continue
    token = TrackAsk(URL, "en", "manual", "English", step="player_android", fmt="vtt").token
    try:
        TranscriptRoute().read("fixtureVidA", Cursor(".en", "track", token), Answer(URL, 200, body), NOW, Options())
    except ResearchError:
        return


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(BODIES), st.data())
def test_damaged_bodies(body, data):
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        until = data.draw(st.integers(at, min(len(body), at + 30)))
        junk = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"<", b"&", b"-->", b"99999999999999", b"\n\n", b'"'])
        )
        body = body[:at] + junk + body[until:]
    _survives(body)


@given(st.binary(max_size=200))
def test_garbage(body):
    for start in (b"", b"{", b"WEBVTT\n", b"<transcript>", b'<timedtext format="3"><body><p t="1">'):
        _survives(start + body)
