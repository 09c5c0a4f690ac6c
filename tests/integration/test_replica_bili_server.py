"""Bilibili over the wire: beside YouTube on one port, with faults, counters and changes on request."""

from __future__ import annotations

import http.client
import json
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from research_scrapers.replica.launch import ReplicaProcess

API = "api.bilibili.com"
SPEC = [
    {"comments": 12},
    {"site": "bilibili", "comments": 30, "danmaku": 400, "tracks": [["ai-zh", "ai"]]},
    {"site": "bilibili", "state": "removed"},
]


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    with ReplicaProcess("--gzip", "--sessdata", "my-cookie", "--bili-videos", "2", spec=SPEC) as process:
        yield process


@pytest.fixture(autouse=True)
def clean(replica: ReplicaProcess) -> Iterator[None]:
    yield
    replica.reset()


def ask(replica: ReplicaProcess, path: str, host: str = API, cookie: str = "") -> tuple[int, Any, bytes]:
    address = urlsplit(replica.origin)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=5)
    try:
        headers = {"Host": host, "Accept-Encoding": "gzip", **({"Cookie": cookie} if cookie else {})}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def special(replica: ReplicaProcess) -> dict[str, Any]:
    """The truth about the video of the spec; the two of --bili-videos stand before it."""
    return replica.truth(replica.bili_videos[2])


def test_both_sites_are_there(replica: ReplicaProcess) -> None:
    assert len(replica.videos) == 1
    assert len(replica.bili_videos) == 4
    assert replica.truth(replica.videos[0])["state"] == "ok"
    assert [replica.truth(bvid)["state"] for bvid in replica.bili_videos] == ["ok", "ok", "ok", "removed"]
    assert "texts" in special(replica)
    assert ask(replica, f"/watch?v={replica.videos[0]}", "www.youtube.com")[0] == 200
    status, headers, body = ask(replica, f"/x/web-interface/view?bvid={replica.bili_videos[3]}")
    assert (status, headers["bili-status-code"], json.loads(body)["code"]) == (200, "-404", -404)


def test_without_options_there_is_no_bilibili_video() -> None:
    with ReplicaProcess("--videos", "1", "--comments", "0") as process:
        assert process.bili_videos == []
        assert len(process.videos) == 1


def test_the_xml_is_compressed_once(replica: ReplicaProcess) -> None:
    cid = special(replica)["parts"][0]["cid"]
    _, headers, body = ask(replica, f"/{cid}.xml", "comment.bilibili.com")
    assert headers.get_all("Content-Encoding") == ["deflate"]
    assert zlib.decompress(body, -15).startswith(b"<?xml")


def test_a_segment_past_the_end(replica: ReplicaProcess) -> None:
    cid = special(replica)["parts"][0]["cid"]
    status, _, body = ask(replica, f"/x/v2/dm/web/seg.so?type=1&oid={cid}&segment_index=99")
    assert (status, body) == (304, b"")


@pytest.mark.parametrize(
    ("action", "status", "part"),
    [
        ("bili_412", 412, "出错啦"),
        ("bili_412_json", 412, "-412"),
        ("bili_-412", 200, "-412"),
        ("bili_-352", 200, "v_voucher"),
        ("bili_-352_bare", 200, '"message":"-352"'),
        ("bili_voucher", 200, '"code":0'),
        ("bili_-509", 200, "-509"),
        ("bili_-799", 200, "-799"),
        ("bili_-403", 200, "-403"),
        ("bili_-101", 200, "-101"),
        ("bili_null", 200, '"data":null'),
        ("bili_void", 200, '"data":{}'),
        ("bili_hollow", 200, '"replies":null'),
        ("bili_captcha", 200, "验证码"),
        ("bili_html", 200, "<html>"),
        ("bili_empty", 200, ""),
        ("status", 503, "503"),
    ],
)
def test_refusals_ordered_by_rule(replica: ReplicaProcess, action: str, status: int, part: str) -> None:
    path = f"/x/v2/reply/main?type=1&oid={special(replica)['aid']}"
    replica.faults(
        {"action": action, "host": API, "path": "/x/v2/reply", "video": special(replica)["bvid"], "count": 1}
    )
    got, headers, body = ask(replica, path)
    text = zlib.decompress(body, 31) if headers.get("Content-Encoding") == "gzip" else body
    assert got == status
    assert part in text.decode()
    assert len(json.loads(zlib.decompress(ask(replica, path)[2], 31))["data"]["replies"]) == 3  # the rule is used up


def test_repeats_are_counted_whatever_the_signature(replica: ReplicaProcess) -> None:
    aid = special(replica)["aid"]
    for moment in (1, 2):
        ask(replica, f"/x/v2/reply/wbi/main?oid={aid}&type=1&mode=2&wts={moment}&w_rid={moment}")
    ask(replica, f"/x/v2/reply/wbi/main?oid={aid}&type=1&mode=3&wts=3&w_rid=3")
    counted = replica.counters()
    assert counted["repeats"] == 1
    assert counted["by_path"] == {f"{API}/x/v2/reply/wbi/main": 3}


def test_changes_on_request(replica: ReplicaProcess) -> None:
    truth = special(replica)
    path = f"/x/v2/reply/main?type=1&mode=2&oid={truth['aid']}"

    def shown() -> int:
        return len(
            json.loads(zlib.decompress(ask(replica, path, cookie="SESSDATA=my-cookie")[2], 31))["data"]["replies"]
        )

    def keys() -> str:
        return str(json.loads(ask(replica, "/x/web-interface/nav")[2])["data"]["wbi_img"])

    assert shown() == 20
    assert replica.bilibili(logout=True) == []
    assert shown() == 3
    replica.bilibili(login=True)
    assert shown() == 20
    before = keys()
    replica.bilibili(rotate_keys=True)
    assert keys() != before
    (made,) = replica.bilibili(video=truth["bvid"], op="add", text="新的")
    assert special(replica)["texts"][made] == "新的"


def test_demo_shows_both_sites() -> None:
    with ReplicaProcess("--demo") as process:
        assert len(process.videos) == 15
        assert len(process.bili_videos) == 8
