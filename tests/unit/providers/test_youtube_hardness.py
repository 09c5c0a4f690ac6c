"""Whatever a site sends, a parser answers with a page or with a failure that has a name."""

from __future__ import annotations

import copy
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_scrapers.errors import LayoutChanged, ResearchError
from research_scrapers.models import MAIN, Answer, Cursor, Options
from research_scrapers.providers.youtube.api import ApiRoute
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.states import player_state
from research_scrapers.providers.youtube.watch import read_watch
from research_scrapers.providers.youtube.web import WebRoute

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "youtube"
INPUTS = sorted(FIXTURES.glob("*/*/input.json")) + sorted(FIXTURES.glob("watch/*/input.html"))
NOW = datetime(2026, 11, 16, tzinfo=UTC)
URLS = ("https://www.youtube.com/youtubei/v1/next", "https://www.googleapis.com/youtube/v3/comments?pageToken=x")
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=9), st.just([]), st.just({}),
    st.just([None, 1, "x", [], {}]), st.just({"runs": 3, "simpleText": []}), st.just({"runs": [None, 7, {"text": 4}]}),
)  # fmt: skip
THOROUGH = (
    "page/sub_threads",
    "page/comment_renderers",
    "page/first_page_turns_to_newest",
    "page/television_envelope",
    "next/newest_from_the_panel",
    "api_threads/partial_replies",
    "api_video/ok",
    "player/upcoming",
)


def _survives(body: bytes, status: int = 200) -> None:
    for url in URLS:
        answer = Answer(url, status, body, {"date": "x", "retry-after": "soon"})
        verdict = judge(answer)
        assert verdict is None or isinstance(verdict, ResearchError)
    for route, steps in (
        (WebRoute(), ("watch", "next", "first", "replies")),
        (ApiRoute(), ("video", "threads", "replies")),
    ):
        for step in steps:
            cursor = Cursor("UgxRoot.1" if step == "replies" else MAIN, step, "t")
            try:
                route.read("fixtureVidA", cursor, Answer(URLS[0], status, body), NOW, Options())
            except ResearchError:
                continue


def _paths(node: Any, path: tuple = ()) -> list[tuple]:
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += _paths(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            found += _paths(value, (*path, index))
    return found


def _with(node: Any, path: tuple, value: Any) -> Any:
    changed = copy.deepcopy(node)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


def _documents() -> list[Any]:
    documents = []
    for path in INPUTS:
        try:
            documents.append(json.loads(path.read_text("utf-8")))
        except ValueError:
            continue
    return documents


DOCUMENTS = _documents()


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, [[]], {"runs": 1}, True], ids=repr)
def test_a_wrong_type_at_every_place(junk: Any) -> None:
    for name in THOROUGH:
        document = json.loads((FIXTURES / name / "input.json").read_text("utf-8"))
        route = ApiRoute() if name.startswith("api") else WebRoute()
        step = {"page": "first", "next": "next", "api_threads": "threads", "api_video": "video"}.get(name.split("/")[0])
        for path in _paths(document):
            changed = _with(document, path, junk)
            try:
                if step is None:
                    player_state(changed, "fixtureVidA")
                else:
                    answer = Answer(URLS[0], 200, json.dumps(changed).encode())
                    route.read("fixtureVidA", Cursor(MAIN, step, "t"), answer, NOW, Options())
            except ResearchError:
                continue


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutations(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        paths = _paths(document)
        if not paths:
            break
        document = _with(document, data.draw(st.sampled_from(paths)), data.draw(JUNK))
    _survives(json.dumps(document).encode())


@settings(max_examples=200)
@given(st.sampled_from(INPUTS), st.integers(0, 6000), st.sampled_from([200, 400, 403, 404, 429, 500]))
def test_truncations(path: Path, length: int, status: int) -> None:
    _survives(path.read_bytes()[:length], status)


@settings(max_examples=200)
@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=80).map(lambda text: ("<html>" + text).encode("utf-8", "replace"))
    )
)
def test_garbage(body: bytes) -> None:
    _survives(body)


@pytest.mark.parametrize(
    "piece",
    [b"<script ", b"ytInitialData = {", b"ytInitialData = '", b"<div ", b'"visitorData":"', b"<form ", b"\\x", b"\\\\"],
)
def test_long_nonsense_is_refused_in_time(piece: bytes) -> None:
    """No pattern and no loop may go over the page again for every place in it."""
    for start in (b"<html>", b"<html>INNERTUBE ytInitialData = '", b'<html>ytInitialData = JSON.parse("'):
        began = time.process_time()
        _survives(start + piece * (400_000 // len(piece)) + b"</script></html>")
        assert time.process_time() - began < 3


@pytest.mark.parametrize("levels", [150, 5_000, 200_000])
def test_depth(levels: int) -> None:
    for body in (b"[" * levels + b"]" * levels, b'{"a":' * levels + b"1" + b"}" * levels, b'{"error":' * levels):
        _survives(body)


def _nested(levels: int) -> bytes:
    head = b'{"commentThreadRenderer":{"comment":{"commentRenderer":{"commentId":"Ugx.%d","contentText":{"runs":[]}}},'
    head += b'"replies":{"commentRepliesRenderer":{"subThreads":['
    body = b"".join(head % level for level in range(levels)) + b"]}}}}" * levels
    return b'{"onResponseReceivedEndpoints":[{"appendContinuationItemsAction":{"continuationItems":[' + body + b"]}}]}"


def test_sub_threads_as_deep_as_json_goes() -> None:
    cursor = Cursor(MAIN, "page", "t")
    page = WebRoute().read("vid", cursor, Answer(URLS[0], 200, _nested(100)), NOW, Options())
    assert [record.depth for record in page.records][-1] >= 99
    with pytest.raises(LayoutChanged):
        WebRoute().read("vid", cursor, Answer(URLS[0], 200, _nested(5_000)), NOW, Options())


def test_half_an_emoji_does_not_cost_the_page() -> None:
    body = (FIXTURES / "page" / "last_page" / "input.json").read_bytes().replace(b"the last", b"half \\ud83d")
    page = WebRoute().read("vid", Cursor(MAIN, "page", "t"), Answer(URLS[0], 200, body), NOW, Options())
    assert page.records[0].text == "half ?"
    page.records[0].text.encode("utf-8")


def test_edits_change_the_hash_and_likes_do_not() -> None:
    original = (FIXTURES / "page" / "last_page" / "input.json").read_bytes()
    liked = original.replace(b'"likeCountNotliked": "3"', b'"likeCountNotliked": "1.4K"').replace(
        b"2 weeks", b"3 weeks"
    )
    rewritten = original.replace(b"the last", b"the very last")
    hashes = [
        WebRoute()
        .read("vid", Cursor(MAIN, "page", "t"), Answer(URLS[0], 200, body), NOW, Options())
        .records[0]
        .content_hash
        for body in (original, liked, rewritten)
    ]
    assert liked != original
    assert hashes[0] == hashes[1] != hashes[2]


def test_halves_of_an_emoji_in_a_script_belong_together() -> None:
    """As a script writes it: two escapes for one sign. A half alone is no text and becomes a mark."""
    told = rb"""{"a":"\\ud83d\\ude00","b":"\ud83d\ude00","c":"x\ud83d"}"""
    body = b"<html><script>var ytInitialData = '" + told + b"';</script></html>"
    assert read_watch(body).initial == {"a": "\U0001f600", "b": "\U0001f600", "c": "x\ufffd"}
