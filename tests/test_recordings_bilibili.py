"""Every recording of Bilibili against what was counted in it. A kind of recording that nobody handles fails here."""

from __future__ import annotations

import ast
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from research_scrapers import errors
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options
from research_scrapers.providers.bilibili import links, wbi
from research_scrapers.providers.bilibili.captions import read_body, read_list
from research_scrapers.providers.bilibili.comments import CommentsRoute
from research_scrapers.providers.bilibili.danmaku import DanmakuRoute
from research_scrapers.providers.bilibili.danmaku_pb import read_segment, read_view
from research_scrapers.providers.bilibili.danmaku_xml import read_pool
from research_scrapers.providers.bilibili.endpoints import NAV, SPI, ticket
from research_scrapers.providers.bilibili.metadata import MetadataRoute
from research_scrapers.providers.bilibili.parts import read_pagelist, read_parts
from research_scrapers.providers.bilibili.records import Frame, read_reply
from research_scrapers.providers.bilibili.refusals import judge
from research_scrapers.providers.bilibili.subtitles import SubtitlesRoute
from research_scrapers.providers.bilibili.visit import BilibiliVisit

_SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "recordings"
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS", _SHARED)) / "bilibili"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
API = "https://api.bilibili.com"
READ_BY_NO_ROUTE = {
    "comments-dialog": "one conversation: `reply/reply` holds the same replies",
    "comments-hot": "the hottest of a list that is read whole",
    "comments-count": "the list's own pages tell the count",
}
"""Kinds whose endpoint is not asked, and why. Their reply objects are read all the same."""


def _entries() -> list[dict[str, str]]:
    """Kind, file and counted truth of every line of the index."""
    index = RECORDINGS / "INDEX.md"
    found, kind = [], ""
    for line in index.read_text("utf-8").splitlines() if index.is_file() else []:
        if line.startswith("### "):
            kind = line[4:].strip()
        elif match := re.match(r"\| `([^`]+)` \(", line):
            found.append({"kind": kind, "file": match[1], "truth": line.split(" | ")[-2], "what": line.split(" | ")[1]})
    return found


ENTRIES = _entries()
KINDS = {
    "comments-legacy-page", "comments-main", "comments-sub", "player", "player-fragment", "subtitle-body", "view",
    "pagelist", "danmaku-pb", "danmaku-webview-pb", "danmaku-xml", "nav", "ids", "error", "error-html", "requests",
    *READ_BY_NO_ROUTE,
}  # fmt: skip


def _of(*kinds: str) -> pytest.MarkDecorator:
    chosen = [entry for entry in ENTRIES if entry["kind"] in kinds]
    return pytest.mark.parametrize(
        "entry",
        [pytest.param(entry, id=entry["file"]) for entry in chosen]
        or [pytest.param(None, marks=pytest.mark.skip(reason="no recordings here"))],
    )


def _body(entry: dict[str, str]) -> bytes:
    return (RECORDINGS / entry["file"]).read_bytes()


def _json(entry: dict[str, str]):
    return json.loads(_body(entry))


def _number(entry: dict[str, str], name: str) -> int | None:
    match = re.search(rf"{name} '?(-?\d+)", entry["truth"])
    return int(match[1]) if match else None


def _answer(path: str, body: bytes, status: int = 200, **headers: str) -> Answer:
    answer = Answer(API + path, status, body, headers)
    assert judge(answer) is None
    return answer


@pytest.mark.skipif(not ENTRIES, reason="no recordings here")
def test_every_recording_is_somebodys():
    assert {entry["kind"] for entry in ENTRIES} == KINDS
    stored = {path.name for path in RECORDINGS.iterdir() if path.name != "INDEX.md"}
    assert stored == {entry["file"] for entry in ENTRIES}


# -- comments ------------------------------------------------------------------------------------------------------


def _comments(entry, step: str, path: str, *, chain: str = MAIN, token: str = "", **session: str):
    oid = next(int(match) for match in re.findall(r'"oid":\s*"?(\d+)', _body(entry).decode()) if int(match))
    cursor = Cursor(chain, step, token)
    return CommentsRoute().read(links.bvid(oid), cursor, _answer(path, _body(entry)), NOW, Options(sort="top"), session)


def _check_records(page, data, listed: int) -> None:
    """Every reply of the raw answer once, with its own place, and nothing else."""
    raw = {}

    def gather(node) -> None:
        raw.setdefault(str(node["rpid"]), node)
        for inner in node.get("replies") or []:
            gather(inner)

    top = data.get("top") or {}
    upper = (data.get("upper") or {}).get("top")
    pinned = [node for node in (*[top.get(name) for name in ("upper", "admin")], upper) if node]
    pinned += data.get("top_replies") or []
    for node in (*(data.get("replies") or []), *(data.get("hots") or []), *pinned):
        gather(node)
    assert len(data.get("replies") or []) == listed
    assert len(page.records) == len({record.comment_id for record in page.records}) == len(raw)
    for record in page.records:
        node = raw[record.comment_id]
        assert record.text == node["content"]["message"]
        assert record.author_id == str(node["mid"])
        assert record.reply_count == node["rcount"]
        assert record.like_count == node["like"]
        assert record.published_after == record.published_before
        assert datetime.fromisoformat(record.published_after).timestamp() == node["ctime"]
        assert (record.parent_id or "0", record.depth > 0) == (str(node["parent"]), node["root"] != 0)
        assert record.root_id == str(node["root"] or node["rpid"])
        assert ("location" in record.extras) == bool((node.get("reply_control") or {}).get("location"))
        assert ("emotes" in record.extras) == bool(node["content"].get("emote"))
        assert len(record.pictures) == len(node["content"].get("pictures") or [])
        assert all(picture.startswith("https://") for picture in record.pictures)
    assert {record.comment_id for record in page.records if record.is_pinned} >= {str(one["rpid"]) for one in pinned}
    for cursor in page.found:
        node = raw[cursor.chain]
        assert (cursor.step, cursor.token, cursor.claimed) == ("replies", "1", node["rcount"])
        assert node["rcount"] > len(node.get("replies") or [])
    threads = {cursor.chain for cursor in page.found}
    for name, node in raw.items():
        if not node["root"] and node["rcount"] > len(node.get("replies") or []):
            assert name in threads


@_of("comments-legacy-page")
def test_legacy_page(entry):
    data = _json(entry)["data"]
    truth = ast.literal_eval(re.search(r"page (\{.*?\})", entry["truth"])[1])
    number = truth["num"]
    token = f"{number}|0|0|"
    page = _comments(entry, "legacy", "/x/v2/reply", token=token, logged_in="1")
    _check_records(page, data, _number(entry, "replies"))
    assert page.claimed == truth["acount"]
    last = number * truth["size"] >= truth["count"]
    assert (page.next is None) == last
    if not last:
        assert page.next.token.split("|")[0] == str(number + 1)
    roots = [record.comment_id for record in page.records if record.comment_id in
             {str(node["rpid"]) for node in data["replies"]}]  # fmt: skip
    assert roots[0] == str(_number(entry, "first rpid")) or data["replies"][0]["rpid"] == _number(entry, "first rpid")
    assert data["replies"][-1]["rpid"] == _number(entry, "last rpid")


@_of("comments-main")
def test_main_page(entry):
    data = _json(entry)["data"]
    if "hollow" in entry["file"]:
        answer = _answer("/x/v2/reply/main", _body(entry))
        cursor = Cursor(MAIN, "main", "2|3|3|x")
        page = CommentsRoute().read("BV17x411w7KC", cursor, answer, NOW, Options(), {"comment_count": "50"})
        assert (page.records, page.next, page.note) == ((), None, "login_needed")
        with pytest.raises(errors.EmptyPage):
            CommentsRoute().read(
                "BV17x411w7KC", cursor, answer, NOW, Options(), {"comment_count": "50", "logged_in": "1"}
            )
        return
    page = _comments(entry, "main", "/x/v2/reply/wbi/main")
    _check_records(page, data, _number(entry, "replies"))
    assert page.claimed == _number(entry, "all_count")
    offset = re.search(r"next_offset (?:None|'(.*?)'), session_id", entry["truth"])[1]
    ended = "is_end True" in entry["truth"]
    if ended:
        assert page.next is None
        assert page.note == "login_needed"
        assert len(page.records) == 8  # three and the pinned one, and the four that are shown below them
    elif offset:
        assert (page.next.step, page.next.token.split("|", 3)[3]) == ("main", offset)
        assert page.note is None
    else:
        assert (page.next.step, page.next.token.split("|", 3)[3]) == ("main_next", str(_number(entry, "next")))


@_of("comments-sub")
def test_replies_page(entry):
    truth = ast.literal_eval(re.search(r"page (\{.*?\})", entry["truth"])[1])
    root = str(_number(entry, "root rpid"))
    page = _comments(entry, "replies", "/x/v2/reply/reply", chain=root, token="1")
    assert [page.records[0].comment_id, page.records[-1].comment_id] == [
        str(_number(entry, "first rpid")), str(_number(entry, "last rpid")),
    ]  # fmt: skip
    assert len(page.records) == _number(entry, "replies")
    assert {record.root_id for record in page.records} == {root}
    assert all((record.depth == 1) == (record.parent_id == root) for record in page.records)
    more = truth["size"] < truth["count"]
    assert page.next == (Cursor(root, "replies", "2") if more else None)


@_of("comments-dialog", "comments-hot")
def test_replies_of_endpoints_that_no_route_asks(entry):
    frame = Frame.of("BV17x411w7KC", Cursor(MAIN, "main"), NOW, {})
    records = [read_reply(node, frame) for node in _json(entry)["data"]["replies"]]
    assert len(records) == _number(entry, "replies")
    assert records[0].comment_id == str(_number(entry, "first rpid"))
    assert records[-1].comment_id == str(_number(entry, "last rpid"))


@_of("comments-count")
def test_the_count_alone_is_not_a_page(entry):
    assert _json(entry)["data"]["count"] == _number(entry, "count")
    with pytest.raises(errors.LayoutChanged):
        CommentsRoute().read(
            "BV17x411w7KC", Cursor(MAIN, "main"), _answer("/x/v2/reply/count", _body(entry)), NOW, Options()
        )


# -- metadata ------------------------------------------------------------------------------------------------------


@_of("view")
def test_view(entry):
    data = _json(entry)
    if "code" not in data:
        data = {"code": 0, "message": "0", "ttl": 1, "data": data}
    body = json.dumps(data).encode()
    raw = data["data"]
    aid = _number(entry, "aid")
    bvid = links.bvid(aid)
    assert raw["bvid"] in ("", bvid)
    page = MetadataRoute().read(bvid, Cursor(MAIN, "view"), _answer("/x/web-interface/view", body), NOW, Options())
    video = page.video
    parts = json.loads(page.session["parts"])
    assert parts[0]["cid"] == str(_number(entry, "cid"))
    assert video.parts == len(parts) == _number(entry, "pages")
    assert video.duration_s == _number(entry, "duration")
    assert video.comment_count == _number(entry, "stat.reply")
    assert page.session["danmaku_count"] == str(_number(entry, "stat.danmaku"))
    assert page.session["aid"] == str(aid)
    assert page.session["owner"] == video.channel_id == str(raw["owner"]["mid"])
    assert video.title == raw["title"]
    assert ("collection" in video.extras) == ("ugc_season True" in entry["truth"])
    assert video.extras.get("is_interactive", False) == ("interactive True" in entry["truth"])
    assert video.extras.get("is_upower_exclusive", False) == ("upower_exclusive True" in entry["truth"])
    redirect = re.search(r"redirect_url '(.*?)'", entry["truth"])
    assert video.extras.get("redirect_url") == (redirect[1] if redirect else None)
    assert page.session.get("ep_id") == (redirect[1].rpartition("ep")[2] if redirect else None)
    if video.extras.get("is_interactive"):
        assert video.extras["branches"] == _number(entry, "videos")
    if "festival" in entry["what"]:
        assert video.extras["festival_url"].startswith("https://www.bilibili.com/festival/")
    assert len(json.dumps(video.extras)) < 20_000  # the other videos of a collection are not part of this one


@_of("pagelist")
def test_pagelist(entry):
    parts = read_parts(_json(entry)["data"])
    assert [int(part.cid) for part in parts] == ast.literal_eval(re.search(r"cids (\[.*\])", entry["truth"])[1])
    answer = _answer("/x/player/pagelist", _body(entry))
    page = read_pagelist(Cursor("9:missing", "pagelist", "4"), answer, "player")
    assert page.next == Cursor("9:missing", "player:4", "4")
    with pytest.raises(errors.PartMissing):
        read_pagelist(Cursor(MAIN, "pagelist", "5"), answer, "player")


# -- subtitles -----------------------------------------------------------------------------------------------------


@_of("player")
def test_player(entry):
    data = _json(entry)
    if "code" not in data:
        data = {"code": 0, "message": "0", "ttl": 1, "data": data}
    aid, cid = _number(entry, "aid"), _number(entry, "cid")
    told = re.search(r"tracks (\[.*\])", entry["truth"])[1]
    truth = ast.literal_eval(told)
    answer = _answer("/x/player/wbi/v2", json.dumps(data).encode())
    session = {
        "parts": json.dumps([{"part": 1, "cid": str(cid), "duration": 0, "title": ""}]),
        "logged_in": "1" if _number(entry, "login_mid") else "0",
    }
    route = SubtitlesRoute.of(Options(tracks="all"))
    if not truth:
        with pytest.raises(errors.LoginRequired):
            route.read(links.bvid(aid), Cursor(MAIN, "player", "1"), answer, NOW, Options(), session)
        return
    page = route.read(links.bvid(aid), Cursor(MAIN, "player", "1"), answer, NOW, Options(), session)
    assert page.claimed == len(truth)
    listed = read_list(data["data"], str(aid), str(cid))
    kinds = {("type 0", "ai_type 0"): "manual", ("type 1", "ai_type 0"): "asr", ("type 1", "ai_type 1"): "translated"}
    assert [(one.lan, one.track.kind) for one in listed] == [(lan, kinds[kind, ai]) for lan, ai, kind, _ in truth]
    assert all(one.url.startswith("https://") for one in listed)
    assert {cursor.chain.split(":")[1] for cursor in page.found} == {
        one.lan for one in listed if one.track.kind != "translated"
    }
    every = SubtitlesRoute.of(Options(translate="en,ja,es,ar,pt"))
    page = every.read(links.bvid(aid), Cursor(MAIN, "player", "1"), answer, NOW, Options(), session)
    wanted = sum(one.track.kind == "translated" for one in listed)
    assert len(page.found) == 1 + wanted
    assert str(data["data"]["login_mid"]) not in json.dumps([cursor.token for cursor in page.found])


@_of("player-fragment")
def test_a_track_of_another_video_is_not_taken(entry):
    data = _json(entry)
    asked = data["_request"]
    listed = read_list(data, str(asked["aid"]), str(asked["cid"]))
    assert [one.url for one in listed] == [""] * len(listed) != []
    cursor = SubtitlesRoute.of(Options()).read(
        links.bvid(int(asked["aid"])), Cursor(MAIN, "player", "1"),
        _answer("/x/player/wbi/v2", json.dumps({"code": 0, "data": data}).encode()), NOW, Options(),
        {"parts": json.dumps([{"part": 1, "cid": str(asked["cid"]), "duration": 9, "title": ""}]), "logged_in": "1"},
    ).found[0]  # fmt: skip
    assert cursor.step == "again"


@_of("subtitle-body")
def test_subtitle_body(entry):
    end = float(re.search(r"last to ([\d.]+)", entry["truth"])[1])
    segments, version = read_body(_body(entry), int(end))
    assert len(segments) == _number(entry, "lines")
    assert segments[0].start == float(re.search(r"first from ([\d.]+)", entry["truth"])[1])
    assert round(segments[-1].start + segments[-1].duration, 3) == end
    assert sum(len(line["content"]) for line in _json(entry)["body"]) == _number(entry, "characters")
    assert version == re.search(r"version '(.*?)'", entry["truth"])[1]
    with pytest.raises(errors.WrongVideo):
        read_body(_body(entry), int(end) - 3)


# -- danmaku -------------------------------------------------------------------------------------------------------


def _session(cid: str, **more: str) -> dict[str, str]:
    return {"parts": json.dumps([{"part": 1, "cid": cid, "duration": 60, "title": ""}]), **more}


def _danmaku(entry, step: str, token: str, cid: str, **session: str):
    host = "https://comment.bilibili.com/x.xml" if step == "xml" else f"{API}/x/v2/dm/web/seg.so"
    answer = Answer(host, 200, _body(entry))
    assert judge(answer) is None
    cursor = Cursor(f"1:{step}", step, token)
    return DanmakuRoute().read("BV17x411w7KC", cursor, answer, NOW, Options(), _session(cid, **session))


@_of("danmaku-pb")
def test_segment(entry):
    match = re.search(r"cid(\d+)_(\d{4})", entry["file"])
    cid, number = (match[1], int(match[2])) if match else ("1", 1)
    anonymous = "ANONYMOUS" in entry["file"]
    page = _danmaku(entry, "seg", f"1|{number}", cid, logged_in="0" if anonymous else "1")
    records = page.records
    assert page.note == ("weight_filter" if anonymous else None)
    assert len(records) == _number(entry, "elems") == (_number(entry, "distinct ids") or 0)
    if not records:
        return
    assert records[0].danmaku_id == str(_number(entry, "first id"))
    assert records[-1].danmaku_id == str(_number(entry, "last id"))
    low, high = re.search(r"progress (\d+)\.\.(\d+) ms", entry["truth"]).groups()
    assert (min(one.progress_ms for one in records), max(one.progress_ms for one in records)) == (int(low), int(high))
    low, high = re.search(r"weight (\d+)\.\.(\d+)", entry["truth"]).groups()
    assert (min(one.weight for one in records), max(one.weight for one in records)) == (int(low), int(high))
    modes = ast.literal_eval(re.search(r"modes (\{.*?\})", entry["truth"])[1])
    assert {mode: sum(one.mode == mode for one in records) for mode in modes} == modes
    assert sum(modes.values()) == len(records)
    span = re.search(r"range field (\[.*?\])", entry["truth"])
    if span:
        assert list(read_segment(_body(entry)).range) == ast.literal_eval(span[1])


@_of("danmaku-webview-pb")
def test_danmaku_view(entry):
    view = read_view(_body(entry))
    assert (view.closed, view.total) == (False, _number(entry, "total segments"))
    answer = _answer("/x/v2/dm/web/view", _body(entry))
    page = DanmakuRoute().read("BV17x411w7KC", Cursor(MAIN, "dmview", "1"), answer, NOW, Options(), _session("7"))
    assert [cursor.step for cursor in page.found] == ["xml", *["seg"] * view.total]


@_of("danmaku-xml")
def test_pool(entry):
    pool = read_pool(_body(entry))
    assert len(pool.elements) == _number(entry, "d elements")
    assert pool.limit == _number(entry, "maxlimit")
    assert not pool.closed
    page = _danmaku(entry, "xml", "1", pool.cid)
    assert len(page.records) == len(pool.elements)
    assert page.records[0].danmaku_id == str(_number(entry, "first dmid"))
    assert page.records[-1].danmaku_id == str(_number(entry, "last dmid"))


@pytest.mark.skipif(not ENTRIES, reason="no recordings here")
@pytest.mark.parametrize(
    ("cid", "in_xml", "in_segments", "in_both"),
    [("18678311", 5, 5, 5), ("1600157973", 600, 2017, 558), ("1617171254", 1200, 2325, 1199),
     ("371495955", 9600, 5695, 3991)],
)  # fmt: skip
def test_a_danmaku_is_the_same_in_both_forms(cid, in_xml, in_segments, in_both):
    pool = _danmaku({"file": f"danmaku_xml_cid{cid}.xml"}, "xml", "1", cid).records
    segments = {}
    for path in RECORDINGS.glob(f"danmaku_seg_cid{cid}_*_loggedin.pb"):
        number = int(path.name.split("_")[3])
        page = _danmaku({"file": path.name}, "seg", f"1|{number}", cid, logged_in="1")
        segments |= {record.danmaku_id: record for record in page.records}
    both = [(record, segments[record.danmaku_id]) for record in pool if record.danmaku_id in segments]
    assert (len(pool), len(segments), len(both)) == (in_xml, in_segments, in_both)
    for one, other in both:
        assert (one.content_hash, one.progress_ms, one.text, one.pool, one.sent_at, one.author_hash) == (
            other.content_hash, other.progress_ms, other.text, other.pool, other.sent_at, other.author_hash,
        )  # fmt: skip


# -- visit and refusals --------------------------------------------------------------------------------------------


@_of("nav")
def test_nav(entry):
    keys = re.findall(r"([0-9a-f]{32})\.png", entry["truth"])
    logged_in = "isLogin True" in entry["truth"]
    answer = _answer("/x/web-interface/nav", _body(entry))
    facts = BilibiliVisit().read(Ask(NAV), answer)
    assert facts == {"logged_in": "1" if logged_in else "0", "img_key": keys[0], "sub_key": keys[1]}
    if logged_in:
        assert BilibiliVisit("abc").read(Ask(NAV), answer) == facts
    else:
        with pytest.raises(errors.LoginRefused):
            BilibiliVisit("abc").read(Ask(NAV), answer)


@_of("ids")
def test_ids(entry):
    data = _json(entry)["data"]
    if "spi" in entry["file"]:
        facts = BilibiliVisit().read(Ask(SPI), _answer("/x/frontend/finger/spi", _body(entry)))
        assert facts == {"buvid3": data["b_3"], "buvid4": data["b_4"]}
    else:
        ask = ticket(1700000000)
        facts = BilibiliVisit().read(ask, _answer("/bapis/x", _body(entry)))
        assert facts["bili_ticket"] == data["ticket"]
        assert {facts["img_key"], facts["sub_key"]} == {
            Path(urlsplit(data["nav"][name]).path).stem for name in ("img", "sub")
        }


REFUSALS = {
    "error_wbi-main_unsigned_-403.json": ("/x/v2/reply/wbi/main", errors.SignatureRefused),
    "error_-352_short.json": ("/x/v2/reply/wbi/main", errors.RiskControl),
    "error_-352_v_voucher_2024.json": ("/x/player/wbi/v2", errors.RiskControl),
    "error_code0_v_voucher_only.json": ("/x/v2/reply/wbi/main", errors.VoucherOnly),
}
TOLD_BY_PARSERS = {
    "error_silent_refusal_data_empty.json": errors.SilentRefusal,
    "error_view_62002.json": errors.VideoUnavailable,
}


@_of("error")
def test_refusal(entry):
    if entry["file"] in REFUSALS:
        path, leaf = REFUSALS[entry["file"]]
        assert type(judge(Answer(API + path, 200, _body(entry)))) is leaf
        return
    answer = _answer("/x/web-interface/view", _body(entry))
    with pytest.raises(TOLD_BY_PARSERS[entry["file"]]):
        MetadataRoute().read("BV17x411w7KC", Cursor(MAIN, "view"), answer, NOW, Options())


@_of("error-html")
@pytest.mark.parametrize("status", [412, 200])
def test_refusal_page(entry, status):
    url = f"{API}/x/v2/dm/web/seg.so"
    failure = judge(Answer(url, status, _body(entry), {"content-type": "text/html; charset=utf-8"}))
    assert type(failure) is errors.AddressBanned


@_of("requests")
def test_signatures_of_recorded_requests(entry):
    told = _json(entry)
    text = json.dumps(told["wbi_keys_that_reproduce_every_w_rid"])
    img_key, sub_key = re.findall(r"[0-9a-f]{32}", text)[:2]
    urls = [url for url in re.findall(r"https://[^\"\s]+", json.dumps(told["requests"])) if "w_rid=" in url]
    assert len(urls) >= 4
    for url in urls:
        given = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
        signed = wbi.sign(given, img_key, sub_key, float(given["wts"]))
        assert dict(parse_qsl(signed, keep_blank_values=True)) == given
