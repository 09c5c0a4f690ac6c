"""Which requests the routes send, where they turn, and that no answer, however damaged, makes them stumble."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from research_scrapers import errors
from research_scrapers.models import MAIN, Answer, Cursor, Options
from research_scrapers.providers.bilibili import PROVIDER
from research_scrapers.providers.bilibili.captions import TrackAsk
from research_scrapers.providers.bilibili.comments import CommentsRoute, Place
from research_scrapers.providers.bilibili.danmaku import DanmakuRoute
from research_scrapers.providers.bilibili.history import Days, days_of, next_month
from research_scrapers.providers.bilibili.links import aid, part_of
from research_scrapers.providers.bilibili.metadata import MetadataRoute
from research_scrapers.providers.bilibili.refusals import judge
from research_scrapers.providers.bilibili.subtitles import PartsWalk, SubtitlesRoute

BV = "BV17x411w7KC"
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PARTS = json.dumps([{"part": n, "cid": str(100 + n), "duration": 400 * n, "title": ""} for n in (1, 2, 3)])
SESSION = {"parts": PARTS, "logged_in": "1", "aid": "170001"}
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "bilibili"


def query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


# -- links ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (f"https://www.bilibili.com/video/{BV}/?p=2", 2),
        (f"https://www.bilibili.com/video/{BV}?spm=1&amp;p=12", 12),
        (f"bilibili.com/video/{BV}?p=3", 3),
        (f"<https://www.bilibili.com/video/{BV}?p=2>.", 2),
        (f"https://player.bilibili.com/player.html?bvid={BV}&page=4", 4),
        (f"https://www.bilibili.com/video/{BV}?page=4", None),
        (f"https://www.bilibili.com/video/{BV}?p=0", None),
        (f"https://www.bilibili.com/video/{BV}?p=-1", None),
        (f"https://www.bilibili.com/video/{BV}?p=x", None),
        (f"https://www.bilibili.com/video/{BV}?p=99999999", None),
        (f"https://www.bilibili.com/video/{BV}?p=", None),
        (BV, None),
        ("http://[", None),
    ],
)
def test_the_part_that_a_link_names(text: str, part: int | None) -> None:
    assert part_of(text) == part


def test_every_host_that_is_asked_is_known() -> None:
    options = Options(history="all")
    routes = [PROVIDER.comments(None), PROVIDER.transcripts(options), PROVIDER.danmaku(options), PROVIDER.metadata()]
    for route in routes:
        assert route.probes()
        for url in route.probes():
            assert urlsplit(url).hostname in PROVIDER.hosts
    for ask in PROVIDER.visit(None).asks(1.0):
        assert urlsplit(ask.url).hostname in PROVIDER.hosts
    assert set(PROVIDER.paces) == set(PROVIDER.hosts.values())


@pytest.mark.parametrize(
    ("video_id", "step", "url"),
    [
        (BV, "view", f"https://api.bilibili.com/x/web-interface/view?bvid={BV}"),
        ("b23:AbC1234", "short", "https://b23.tv/AbC1234"),
        ("ep337050", "season", "https://api.bilibili.com/pgc/view/web/season?ep_id=337050"),
        ("ss33802", "season", "https://api.bilibili.com/pgc/view/web/season?season_id=33802"),
        ("md28229899", "media", "https://api.bilibili.com/pgc/review/user?media_id=28229899"),
    ],
)
def test_metadata_begins(video_id: str, step: str, url: str) -> None:
    route = MetadataRoute()
    cursor = route.start(video_id, Options())
    assert cursor.step == step
    assert route.ask(video_id, cursor, {}, Options()).url == url


# -- comments ------------------------------------------------------------------------------------------------------


def test_requests_for_comments() -> None:
    route, number = CommentsRoute(), str(aid(BV))
    first = route.ask(BV, route.start(BV, Options()), {}, Options())
    assert first.signed
    assert query(first.url) == {
        "oid": number, "type": "1", "mode": "2", "pagination_str": '{"offset":""}', "plat": "1", "seek_rpid": "",
        "web_location": "1315875",
    }  # fmt: skip
    offset = '{"type":3,"direction":1,"Data":{"cursor":71859}}'
    later = route.ask(BV, Cursor(MAIN, "main", Place(2, 20, 30, offset).token), {}, Options(sort="top"))
    told = query(later.url)
    assert json.loads(told["pagination_str"]) == {"offset": offset}
    assert told["mode"] == "3"
    assert "seek_rpid" not in told
    by_number = query(route.ask(BV, Cursor(MAIN, "main_next", "2|20|30|5"), {}, Options()).url)
    assert by_number["next"] == "5"
    assert "pagination_str" not in by_number
    plain = route.ask(BV, Cursor(MAIN, "plain"), {}, Options())
    assert not plain.signed
    assert urlsplit(plain.url).path == "/x/v2/reply/main"
    old = route.ask(BV, Cursor(MAIN, "legacy", "7|140|200|"), {}, Options())
    assert (urlsplit(old.url).path, query(old.url)["pn"], query(old.url)["sort"]) == ("/x/v2/reply", "7", "0")
    thread = route.ask(BV, Cursor("55", "replies", "3"), {}, Options())
    assert query(thread.url) == {"type": "1", "oid": number, "root": "55", "pn": "3", "ps": "20"}


def test_a_place_comes_back() -> None:
    for place in (Place(), Place(2, 20, 30, "a|b|c"), Place(13, 1, 2)):
        assert Place.of(place.token) == place
    with pytest.raises(errors.CursorExpired):
        Place.of("nonsense")


def test_where_comments_turn() -> None:
    route = CommentsRoute()
    refused, odd = errors.SignatureRefused(), errors.LayoutChanged()
    assert route.fallback(Cursor(MAIN, "main"), refused) == Cursor(MAIN, "plain")
    assert route.fallback(Cursor(MAIN, "main_next", "2|20|30|2"), odd) == Cursor(MAIN, "plain_next", "2|20|30|2")
    assert route.fallback(Cursor(MAIN, "plain", "4|58|99|x"), odd) == Cursor(MAIN, "legacy", "2|58|99|")
    assert route.fallback(Cursor(MAIN, "plain"), refused) == Cursor(MAIN, "legacy")
    assert route.fallback(Cursor(MAIN, "legacy"), odd) is None
    assert route.fallback(Cursor("5", "replies", "1"), odd) is None
    for block in (errors.RiskControl, errors.AddressBanned, errors.RequestBanned, errors.VoucherOnly, errors.OverLimit):
        assert route.fallback(Cursor(MAIN, "main"), block()) is None


# -- danmaku -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "only", "cursor"),
    [
        (Options(), "", Cursor(MAIN, "dmview:1", "1")),
        (Options(parts="first"), "", Cursor(MAIN, "dmview:1", "1")),
        (Options(), "3,2", Cursor(MAIN, "dmview:2", "2")),
        (Options(), "9,2", Cursor(MAIN, "dmview:2", "2")),
        (Options(), "9", Cursor(MAIN, "pagelist", "9")),
    ],
)
def test_danmaku_begin_with_the_first_wanted_part(options: Options, only: str, cursor: Cursor) -> None:
    assert DanmakuRoute().start(BV, options, {**SESSION, "only_parts": only}) == cursor


def test_requests_for_danmaku() -> None:
    route = DanmakuRoute()

    def url(step: str, token: str) -> str:
        return route.ask(BV, Cursor("c", step, token), SESSION, Options()).url

    assert query(url("dmview:2", "2|1")) == {"type": "1", "oid": "102", "pid": "170001"}
    assert query(url("seg", "2|7")) == {"type": "1", "oid": "102", "pid": "170001", "segment_index": "7"}
    assert url("xml", "3") == "https://comment.bilibili.com/103.xml"
    assert url("bin", "1|https://i0.hdslb.com/bfs/dm/1.bin") == "https://i0.hdslb.com/bfs/dm/1.bin"
    assert query(url("month:2024-11", "1|2024-11|2024-11-20|2025-01-05"))["month"] == "2024-11"
    assert query(url("day", "1|2024-11-21")) == {"type": "1", "oid": "101", "date": "2024-11-21"}
    assert "/pagelist" in url("seg", "8|1")
    assert "/pagelist" in url("seg", "1|x")


def test_a_walk_of_parts_visits_each_once() -> None:
    route, seen = DanmakuRoute(), []
    cursor: Cursor | None = route.start(BV, Options(), SESSION)
    while cursor is not None:
        seen.append(cursor.step)
        page = route.read(BV, cursor, Answer("https://api.bilibili.com/x", 200, b"\x08\x00"), NOW, Options(), SESSION)
        assert [one.chain for one in page.found][:2] == [f"{len(seen)}:xml", f"{len(seen)}:seg:1"]
        cursor = page.next
    assert seen == ["dmview:1", "dmview:2", "dmview:3"]
    assert len(page.found) == 1 + 4  # twenty minutes are four segments


def test_days_of_history() -> None:
    assert days_of(None) is days_of("") is days_of("0") is None
    assert days_of("all") == Days()
    assert days_of("2024-02-03") == Days("2024-02-03", "2024-02-03")
    assert days_of("2024-01-01..2024-01-31") == Days("2024-01-01", "2024-01-31")
    assert Days().within("2020-05-01", "2026-11-16") == Days("2020-05-01", "2026-11-16")
    assert "2020-05-02" in Days("2020-05-01", "2020-05-03")
    assert next_month("2024-12") == "2025-01"
    assert next_month("2024-01") == "2024-02"
    for wrong in ("yesterday", "2024-13-01", "2024-02-02..2024-01-01", "2024-01-01.."):
        with pytest.raises(errors.SettingInvalid):
            PROVIDER.danmaku(Options(history=wrong))


# -- subtitles -----------------------------------------------------------------------------------------------------


def test_requests_for_subtitles() -> None:
    route = SubtitlesRoute()
    ask = route.ask(BV, route.start(BV, Options(), SESSION), {**SESSION, "ep_id": "5"}, Options())
    assert ask.signed
    assert urlsplit(ask.url).path == "/x/player/wbi/v2"
    assert query(ask.url) == {
        "aid": "170001", "cid": "101", "bvid": BV, "ep_id": "5", "web_location": "1315873",
    }  # fmt: skip
    old = route.ask(BV, Cursor(MAIN, "player_old:2", "2|3|1||"), SESSION, Options())
    assert not old.signed
    assert query(old.url) == {"aid": "170001", "cid": "102", "bvid": BV}
    track = TrackAsk(2, "11", "ai-zh", "zh", "asr", "中文", url="https://aisubtitle.hdslb.com/x")
    assert TrackAsk.of(track.token) == track
    assert route.ask(BV, Cursor("c", "track", track.token), SESSION, Options()).url == track.url
    assert query(route.ask(BV, Cursor("c", "again", track.token), SESSION, Options()).url)["cid"] == "102"
    assert "/pagelist" in route.ask(BV, Cursor("c", "track", "nonsense"), SESSION, Options()).url
    with pytest.raises(errors.CursorExpired):
        route.read(BV, Cursor("c", "track", "nonsense"), Answer("", 200, b"{}"), NOW, Options(), SESSION)
    with pytest.raises(errors.CursorExpired):
        PartsWalk.of("1|x")


def test_where_subtitles_turn() -> None:
    route = SubtitlesRoute()
    turned = route.fallback(Cursor(MAIN, "player:2", "2|0|0||"), errors.SignatureRefused())
    assert turned == Cursor(MAIN, "player_old:2", "2|0|0||")
    assert route.fallback(turned, errors.LayoutChanged()) is None
    assert route.fallback(Cursor(MAIN, "player:2", "2"), errors.RiskControl()) is None
    assert route.fallback(Cursor("c", "track", "{}"), errors.LayoutChanged()) is None


def test_logged_out_the_site_is_not_asked_for_every_part() -> None:
    parts = json.dumps([{"part": n, "cid": str(n), "duration": 9, "title": ""} for n in range(1, 50)])
    session, route = {"parts": parts, "logged_in": "0"}, SubtitlesRoute()
    cursor, asked = route.start(BV, Options(), session), 0
    with pytest.raises(errors.LoginRequired):
        while cursor is not None:
            asked += 1
            body = {"code": 0, "data": {"aid": 170001, "login_mid": 0, "subtitle": {"subtitles": []}}}
            answer = Answer("https://api.bilibili.com/x/player/wbi/v2", 200, json.dumps(body).encode())
            cursor = route.read(BV, cursor, answer, NOW, Options(), session).next
    assert asked == 3


def test_nothing_of_the_account_is_kept() -> None:
    for case in (FIXTURES / "subtitles").glob("*/output.json"):
        text = case.read_text("utf-8")
        assert not any(word in text for word in ("203.0.113.7", "某市", "83dc", "login_mid", "ip_info"))


# -- hardness ------------------------------------------------------------------------------------------------------


CASES = sorted(path.parent for path in FIXTURES.glob("*/*/meta.json") if path.parts[-3] not in ("refusal", "visit"))
ROUTES = {
    "metadata": MetadataRoute(), "comments": CommentsRoute(), "replies": CommentsRoute(), "danmaku": DanmakuRoute(),
    "subtitles": SubtitlesRoute(),
}  # fmt: skip


def _damaged(body: bytes, chance: random.Random) -> bytes:
    match chance.randrange(4):
        case 0:
            return body[: chance.randrange(len(body) + 1)]
        case 1 if body:
            place = chance.randrange(len(body))
            return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]
        case 2 if body[:1] == b"{":
            return json.dumps(_crooked(json.loads(body), chance)).encode()
        case _:
            place = chance.randrange(len(body) + 1)
            return body[:place] + chance.randbytes(5) + body[place:]


def _crooked(node, chance: random.Random):
    """The same tree with some values of another kind."""
    if chance.random() < 0.08:
        return chance.choice([None, 0, -1, 2**70, 1.5, "", "x", [], {}, [None], {"a": 1}, True])
    if isinstance(node, dict):
        return {key: _crooked(value, chance) for key, value in node.items() if chance.random() > 0.03}
    if isinstance(node, list):
        return [_crooked(value, chance) for value in node]
    return node


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_damaged_answers_end_in_a_leaf(case: Path) -> None:
    meta = json.loads((case / "meta.json").read_text("utf-8"))
    path = next(case.glob("input.*"))
    body = bytes.fromhex(path.read_text("utf-8")) if path.suffix == ".hex" else path.read_bytes()
    chance = random.Random(case.name)
    session = {name: v if isinstance(v, str) else json.dumps(v) for name, v in meta.get("session", {}).items()}
    cursor = Cursor(meta.get("chain", MAIN), meta["step"], meta.get("token", ""))
    for _ in range(40):
        answer = Answer(meta["url"], meta.get("status", 200), _damaged(body, chance), meta.get("headers", {}))
        ended = judge(answer)
        try:
            ROUTES[case.parent.name].read(meta["video_id"], cursor, answer, NOW, Options(), session)
        except errors.SourceError as error:
            ended = ended or error
        assert ended is None or isinstance(ended, errors.RateLimited) or not type(ended).__subclasses__()
