"""Signatures against every known vector, and what a request wears on its way out."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from research_scrapers.errors import RiskControl, SignatureRefused, VoucherOnly
from research_scrapers.models import Answer, Ask
from research_scrapers.providers.bilibili import PROVIDER, endpoints
from research_scrapers.providers.bilibili.visit import BilibiliVisit
from research_scrapers.providers.bilibili.wbi import hexsign, mixin, sign, signed_url

IMG, SUB = "7cd084941338484aae1ad9425b84077c", "4932caff0ff746eab6f01bf08b70ac45"
FACTS = {"img_key": IMG, "sub_key": SUB, "buvid3": "B3infoc", "buvid4": "B4", "bili_ticket": "t.i.c", "logged_in": "1"}
FIRST = '{"offset":""}'
DEEP = '{"offset":"{\\"type\\":3,\\"direction\\":1,\\"Data\\":{\\"cursor\\":71859}}"}'
VECTORS = [
    ({"foo": "114", "bar": "514", "zab": "1919810"}, 1702204169, "8f6f2b5b3d485fe1886cec6a0be8c5d4"),
    ({"foo": "bar", "baz": "1"}, 1700000000, "0c5f11a238916d4556aeff87fbbca276"),
    ({"foo": "one one four", "bar": "五一四", "baz": "1919810"}, 1702204169, "04e50b58980e3e3cee8cbc0cc4c1c530"),
    ({"a": "x!y'z(1)*2", "b": "~-_."}, 1700000000, "ef980b932bfb654ee751defc97be0f8a"),
    (
        {"avid": "1755630705", "cid": "1574294582", "fnval": "4048", "fnver": "0", "fourk": "1", "qn": "32"},
        1717922933,
        "43571b838a1611fa121189083cfc1784",
    ),
    (
        {
            "oid": "831537148", "type": "1", "mode": "3", "pagination_str": FIRST, "plat": "1", "seek_rpid": "",
            "web_location": "1315875",
        },
        1696003891,
        "5698f25996816b7ac350a3998cb2780b",
    ),
    (
        {
            "mode": "3", "oid": "114251901441504", "pagination_str": FIRST, "plat": "1", "type": "1",
            "web_location": "1315875",
        },
        1790833013,
        "9b45e527175f687b4a0804a059ca7380",
    ),
    (
        {"aid": "114251901441504", "bvid": "BV1zKZrYAEi8", "cid": "29153362694"},
        1790833012,
        "6c0bb80d75e467046bc6c198bbd25bd9",
    ),
    (
        {"oid": "29153362694", "pid": "114251901441504", "segment_index": "1", "type": "1"},
        1790833016,
        "2f8bf56217995bf5a2897eaeaed0d358",
    ),
    ({"mid": "28454359"}, 1790833014, "7e11d84988916ca0dc2ec738d765701a"),
    (
        {"oid": "2", "type": "1", "mode": "2", "pagination_str": DEEP},
        1700000000,
        "4b52d5a11edcd39410235a7109f8f32e",
    ),
]  # fmt: skip


def test_keys_are_mixed() -> None:
    assert mixin(IMG, SUB) == "ea1db124af3c7062474693fa704f4ff8"
    other = mixin("653657f524a547ac981ded72ea172057", "6e4909c702f846728e64f6007736a338")
    assert other == "72136226c6a73669787ee4fd02a74c27"


@pytest.mark.parametrize(("parameters", "now", "digest"), VECTORS)
def test_signature(parameters: dict[str, str], now: int, digest: str) -> None:
    query = dict(parse_qsl(sign(parameters, IMG, SUB, now + 0.9), keep_blank_values=True))
    assert (query["w_rid"], query["wts"]) == (digest, str(now))
    assert query.keys() == {*parameters, "w_rid", "wts"}


@pytest.mark.parametrize(("parameters", "now", "digest"), VECTORS)
def test_an_address_is_signed_as_it_is_sent(parameters: dict[str, str], now: int, digest: str) -> None:
    plain = endpoints.get("https://api.bilibili.com/x/v2/reply/wbi/main", parameters).url
    url = signed_url(plain, IMG, SUB, now)
    assert url.endswith(f"&w_rid={digest}")
    assert "+" not in url
    assert "%25" not in url
    assert signed_url(url, IMG, SUB, now) == url


def test_ticket_signature() -> None:
    assert hexsign(1700000000.7) == "bb79f0d980ffbb51597aa1a3e8b55603025cc1322ac766f4c1a98852e6182514"
    ask = endpoints.ticket(1700000000)
    assert ask.method == "POST"
    assert dict(parse_qsl(urlsplit(ask.url).query, keep_blank_values=True)) == {
        "key_id": "ec02", "hexsign": hexsign(1700000000), "context[ts]": "1700000000", "csrf": "",
    }  # fmt: skip


def test_what_is_asked_before_the_work_begins() -> None:
    hosts = [urlsplit(ask.url).hostname for ask in BilibiliVisit().asks(1.0)]
    assert hosts == ["api.bilibili.com"] * 3


@pytest.mark.parametrize("given", ["a,b*c%", "a%2Cb%2Ac%25", " SESSDATA=a%2Cb%2Ac%25; Path=/", '"a%2Cb%2Ac%25"'])
def test_the_login_is_encoded_exactly_once_and_kept_secret(given: str) -> None:
    visit = BilibiliVisit(given if given != "a,b*c%" else "a,b*c%25")
    _, headers = visit.dress("https://api.bilibili.com/x", FACTS, 1.0, signed=False)
    assert headers == {
        "Referer": "https://www.bilibili.com/",
        "Cookie": "buvid3=B3infoc; buvid4=B4; bili_ticket=t.i.c; SESSDATA=a%2Cb%2Ac%25",
    }
    assert {"a%2Cb%2Ac%25", "a,b*c%"} <= set(visit.secrets)


@pytest.mark.parametrize(
    "url",
    [
        "https://i0.hdslb.com/bfs/subtitle/1.json",
        "https://aisubtitle.hdslb.com/bfs/x",
        "https://b23.tv/AbC1234",
        "https://bilibili.com.example.org/x",
        "https://notbilibili.com/x",
        "http://api.bilibili.com/x",
    ],
)
def test_cookies_go_to_the_sites_own_hosts_only(url: str) -> None:
    address, headers = BilibiliVisit("secret").dress(url, FACTS, 1.0, signed=False)
    assert address == url
    assert headers == {"Referer": "https://www.bilibili.com/"}


@pytest.mark.parametrize("host", ["api.bilibili.com", "comment.bilibili.com", "subtitle.bilibili.com"])
def test_the_sites_own_hosts_get_them(host: str) -> None:
    assert "SESSDATA=secret" in BilibiliVisit("secret").dress(f"https://{host}/x", {}, 1.0, signed=False)[1]["Cookie"]


def test_without_anything_there_is_no_cookie() -> None:
    visit = BilibiliVisit(None)
    assert visit.secrets == ()
    assert "Cookie" not in visit.dress("https://api.bilibili.com/x", {}, 1.0, signed=True)[1]
    assert visit.renewed_by == (SignatureRefused, RiskControl, VoucherOnly)


def test_a_signed_request_is_signed_when_it_is_sent() -> None:
    route = PROVIDER.comments(None)
    ask = route.ask("BV1xx411c7mD", route.start("BV1xx411c7mD", None), {}, _options())
    assert ask.signed
    url, _ = BilibiliVisit().dress(ask.url, FACTS, 1700000000, signed=True)
    assert dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))["seek_rpid"] == ""
    assert "&w_rid=" in url
    assert BilibiliVisit().dress(ask.url, {}, 1, signed=True)[0] == ask.url


def _options():
    from research_scrapers.models import Options

    return Options()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"code":0,"data":{"b_3":"a; b=c"}}', b"{"])
def test_what_is_optional_never_hurts(body: bytes) -> None:
    visit = BilibiliVisit()
    for ask in (visit.asks(1.0)[0], visit.asks(1.0)[2]):
        assert visit.read(ask, Answer(ask.url, 200, body)) == {}
        assert visit.read(ask, Answer(ask.url, 503, body)) == {}
    assert visit.read(Ask("https://api.bilibili.com/else"), Answer("", 200, b"{}")) == {}
