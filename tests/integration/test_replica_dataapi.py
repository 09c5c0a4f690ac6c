"""The Data API of the replica, asked over the wire as any program would."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from research_scrapers.replica.launch import ReplicaProcess

VIDEOS: list[dict[str, Any]] = [
    {"comments": 230, "busy": [2, 130]},
    {"comments": 20, "nested": True, "busy": [2, 40]},
    {"comments": 0, "state": "comments_off"},
    {"comments": 0, "state": "zero"},
    {"comments": 0, "state": "removed"},
]


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    with ReplicaProcess("--api-key", "k", "--quota", "40", spec=VIDEOS) as process:
        yield process


@pytest.fixture(autouse=True)
def fresh_quota(replica: ReplicaProcess) -> None:
    replica.reset()


def get(replica: ReplicaProcess, name: str, **query: Any) -> requests.Response:
    session = requests.Session()
    session.trust_env = False
    return session.get(
        f"{replica.origin}/youtube/v3/{name}",
        params={"key": "k", "part": "id,snippet,replies", **query},
        headers={"Host": "www.googleapis.com"},
        timeout=10,
    )


def pages(replica: ReplicaProcess, name: str, **query: Any) -> Iterator[dict[str, Any]]:
    token = None
    while True:
        answer = get(replica, name, **query, **({"pageToken": token} if token else {}))
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["pageInfo"]["totalResults"] == len(page["items"])
        yield from page["items"]
        token = page.get("nextPageToken")
        if token is None:
            return


def reason(answer: requests.Response) -> str:
    return str(answer.json()["error"]["errors"][0]["reason"])


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("order", ["time", "relevance"])
def test_threads_and_replies_give_the_truth(replica: ReplicaProcess, number: int, order: str) -> None:
    vid = replica.videos[number]
    truth = replica.truth(vid)
    texts: dict[str, str] = {}
    short = 0
    for thread in pages(replica, "commentThreads", videoId=vid, maxResults=100, order=order):
        top = thread["snippet"]["topLevelComment"]
        texts[top["id"]] = top["snippet"]["textOriginal"]
        total = thread["snippet"]["totalReplyCount"]
        inline = thread.get("replies", {}).get("comments", [])
        assert len(inline) <= 5
        assert bool(inline) == bool(total)
        for reply in inline:
            texts[reply["id"]] = reply["snippet"]["textOriginal"]
        if len(inline) < total:
            short += len(inline) < 5
            if total > 20:
                for reply in pages(replica, "comments", parentId=top["id"], maxResults=100):
                    assert reply["snippet"]["parentId"] == top["id"]
                    texts[reply["id"]] = reply["snippet"]["textOriginal"]
            else:
                replica.reset()  # many small threads: quota is tested elsewhere
                for reply in pages(replica, "comments", parentId=top["id"]):
                    texts[reply["id"]] = reply["snippet"]["textOriginal"]
    assert texts == truth["texts"]
    assert number or short  # fewer than five inlined although more exist


def test_text_formats(replica: ReplicaProcess) -> None:
    vid = replica.videos[0]
    rich = list(pages(replica, "commentThreads", videoId=vid, maxResults=100))
    plain = list(pages(replica, "commentThreads", videoId=vid, maxResults=100, textFormat="plainText"))
    changed = 0
    for one, two in zip(rich, plain, strict=True):
        a = one["snippet"]["topLevelComment"]["snippet"]
        b = two["snippet"]["topLevelComment"]["snippet"]
        assert b["textDisplay"] == b["textOriginal"]
        assert html.unescape(a["textDisplay"].replace("<br>", "\n")) == b["textDisplay"]
        changed += a["textDisplay"] != b["textDisplay"]
    assert changed


def test_errors(replica: ReplicaProcess) -> None:
    plain, _, off, zero, removed = replica.videos
    disabled = get(replica, "commentThreads", videoId=off)
    assert disabled.status_code == 403
    assert reason(disabled) == "commentsDisabled"
    for vid in (removed, "aaaaaaaaaaA"):
        missing = get(replica, "commentThreads", videoId=vid)
        assert missing.status_code == 404
        assert reason(missing) == "videoNotFound"
    assert get(replica, "commentThreads", videoId=zero).json()["items"] == []
    wrong = get(replica, "commentThreads", videoId=plain, key="wrong")
    assert wrong.status_code == 400
    assert wrong.json()["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    token = get(replica, "commentThreads", videoId=plain, pageToken="zzz")
    assert token.status_code == 400
    assert reason(token) == "invalidPageToken"
    many = get(replica, "commentThreads", videoId=plain, maxResults=101)
    assert many.status_code == 400
    nothing = get(replica, "commentThreads")
    assert reason(nothing) == "missingRequiredParameter"
    lost = get(replica, "comments", parentId="UgxAAAAAAAAAAAAAAAA4AaABAg")
    assert lost.status_code == 404
    assert reason(lost) == "commentNotFound"


def test_a_token_of_another_list_is_refused(replica: ReplicaProcess) -> None:
    first = get(replica, "commentThreads", videoId=replica.videos[0]).json()["nextPageToken"]
    answer = get(replica, "commentThreads", videoId=replica.videos[1], pageToken=first)
    assert reason(answer) == "invalidPageToken"


def test_quota_runs_out(replica: ReplicaProcess) -> None:
    statuses = [get(replica, "videos", id=replica.videos[0]).status_code for _ in range(42)]
    assert statuses == [200] * 40 + [403, 403]
    assert reason(get(replica, "videos", id=replica.videos[0])) == "quotaExceeded"
    assert replica.counters()["quota_used"] == 40


def test_rate_limit_by_fault(replica: ReplicaProcess) -> None:
    replica.faults({"action": "rate_limit", "host": "www.googleapis.com", "count": 1})
    limited = get(replica, "videos", id=replica.videos[0])
    assert limited.status_code == 403
    assert reason(limited) == "rateLimitExceeded"
    assert get(replica, "videos", id=replica.videos[0]).status_code == 200


def test_videos(replica: ReplicaProcess) -> None:
    plain, _, off, _, removed = replica.videos
    ids = ",".join((plain, off, removed, "aaaaaaaaaaA"))
    answer = get(replica, "videos", id=ids, part="snippet,statistics")
    items = {item["id"]: item for item in answer.json()["items"]}
    assert set(items) == {plain, off}
    truth = replica.truth(plain)
    assert items[plain]["statistics"]["commentCount"] == str(truth["claimed"])
    assert "commentCount" not in items[off]["statistics"]


def test_etag(replica: ReplicaProcess) -> None:
    session = requests.Session()
    session.trust_env = False
    url = f"{replica.origin}/youtube/v3/videos?key=k&part=id&id={replica.videos[0]}"
    host = {"Host": "youtube.googleapis.com"}
    etag = session.get(url, headers=host, timeout=10).headers["ETag"]
    again = session.get(url, headers={**host, "If-None-Match": etag}, timeout=10)
    assert again.status_code == 304
    assert again.content == b""
