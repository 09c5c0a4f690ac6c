"""The world is the same for the same seed, and is what the pages show."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Any

import pytest

from research_scrapers.replica import Traits, World, demo_world
from research_scrapers.replica.model import EXPECTED, STATES
from research_scrapers.replica.tokens import PANEL, SECTION, BadToken, Token, decode, encode
from research_scrapers.replica.video import Video
from research_scrapers.replica.wire import Hit, Reply
from research_scrapers.replica.youtube import YouTube

CONTEXT = {"client": {"clientName": "WEB", "clientVersion": "2.20261102.01.00", "hl": "en"}}


def call(site: YouTube, hl: str = "en", **body: Any) -> Reply:
    client = {**CONTEXT["client"], "hl": hl}
    data = json.dumps({"context": {"client": client}, **body}).encode()
    return site.handle(Hit("POST", "www.youtube.com", "/youtubei/v1/next", {}, data))


def answer(site: YouTube, **body: Any) -> dict[str, Any]:
    reply = call(site, **body)
    assert reply.status == 200
    value: dict[str, Any] = json.loads(reply.body)
    return value


def find(value: Any, name: str) -> list[Any]:
    found: list[Any] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            found += [item[name]] if name in item else []
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return found


def walk(site: YouTube, token: Token, *, limit: int = 400) -> tuple[list[str], int]:
    """All comment ids in the order met, every token followed; and the number of pages."""
    ids: list[str] = []
    waiting, pages = [encode(token)], 0
    while waiting and pages < limit:
        page = answer(site, continuation=waiting.pop())
        pages += 1
        ids += [p["properties"]["commentId"] for p in find(page, "commentEntityPayload")]
        ids += [c["commentId"] for c in find(page, "commentRenderer")]
        for command in (
            *find(page, "appendContinuationItemsAction"),
            *find(page, "reloadContinuationItemsCommand"),
        ):
            if command.get("slot") != "RELOAD_CONTINUATION_SLOT_HEADER":
                waiting += [c["token"] for c in find(command, "continuationCommand")]
    return ids, pages


def newest(video: Video, target: str = SECTION) -> Token:
    return Token("main", video.id, sort=1, target=target)


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "busy": {"busy": (2, 130)},
    "old": {"generation": "commentRenderer", "busy": (1, 70)},
    "nested": {"nested": True, "busy": (3, 60)},
    "nested_old": {"nested": True, "busy": (1, 30), "generation": "commentRenderer"},
    "short": {"short_pages": True},
    "empty_pages": {"busy": (2, 130), "empty_reply_pages": 2},
    "old_ids": {"old_ids": True},
    "unpinned": {"pinned": False},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_newest_shows_exactly_the_truth(name: str) -> None:
    world = World(videos=0)
    video = world.add(65, **VARIANTS[name])
    ids, _ = walk(YouTube(world), newest(video))
    assert len(ids) == len(set(ids))
    assert set(ids) == world.truth(video.id).ids


def test_overlap_and_double_pin_repeat_but_lose_nothing() -> None:
    world = World(videos=0)
    video = world.add(65, overlap=3, pinned_twice=True)
    ids, _ = walk(YouTube(world), newest(video))
    assert len(ids) > len(set(ids))
    assert set(ids) == world.truth(video.id).ids


def test_loop_never_ends_under_ever_new_tokens() -> None:
    world = World(videos=0)
    video = world.add(30, loop_end=True, reply_share=0.0)
    ids, pages = walk(YouTube(world), newest(video), limit=40)
    assert pages == 40
    assert set(ids) == world.truth(video.id).ids


def test_top_is_truncated_newest_is_not() -> None:
    world = World(videos=0)
    video = world.add(80, top_share=0.5, reply_share=0.0)
    site = YouTube(world)
    top, _ = walk(site, Token("main", video.id, sort=0))
    assert 30 < len(set(top)) < 50
    assert len(set(walk(site, newest(video))[0])) == 80


def test_panel_page_has_neither_count_nor_sort_menu() -> None:
    world = World(videos=0)
    video = world.add(30)
    site = YouTube(world)
    section = answer(site, continuation=encode(newest(video)))
    panel = answer(site, continuation=encode(newest(video, PANEL)))
    assert find(section, "sortMenu")
    assert find(section, "countText")
    assert not find(panel, "sortMenu")
    assert not find(panel, "countText")
    commands = find(panel, "reloadContinuationItemsCommand")
    assert {command["targetId"] for command in commands} == {PANEL}


def test_header_claims_more_than_there_is() -> None:
    world = World(videos=0)
    video = world.add(1500, claimed_extra=7, reply_share=0.0)
    truth = world.truth(video.id)
    assert truth.claimed == 1507 == len(truth.ids) + 7
    runs = find(answer(YouTube(world), continuation=encode(newest(video))), "countText")
    assert "".join(run["text"] for run in runs[0]["runs"]) == "1,507 Comments"


def test_german_counts() -> None:
    world = World(videos=0)
    video = world.add(1500, reply_share=0.0)
    reply = call(YouTube(world), hl="de", continuation=encode(newest(video)))
    page = json.loads(reply.body)
    assert find(page, "countText")[0]["runs"][0]["text"] == "1.500"
    times = [p["properties"]["publishedTime"] for p in find(page, "commentEntityPayload")]
    assert len(times) > 10
    assert all(time.startswith("vor ") for time in times)


@pytest.mark.parametrize("failure", ["error500", "incomplete"])
def test_a_broken_thread_is_left_out_of_the_truth(failure: str) -> None:
    world = World(videos=0)
    video = world.add(30, broken_thread=failure, busy=(1, 15))
    truth = world.truth(video.id)
    assert truth.expected == "partial"
    assert len(truth.unobtainable) == 15
    root = next(iter(truth.unobtainable)).partition(".")[0]
    token = Token("replies", video.id, target="comment-replies-item-" + root, comment_id=root)
    reply = call(YouTube(world), continuation=encode(token))
    assert reply.status == (500 if failure == "error500" else 200)
    assert not find(json.loads(reply.body), "commentViewModel")


def test_ids_look_real() -> None:
    world = World(videos=3, comments=(40, 60), traits=Traits(old_ids=True))
    for vid in world.videos:
        assert re.fullmatch(r"[\w-]{10}[AEIMQUYcgkosw048]", vid)
        for cid in world.truth(vid).ids:
            root, _, reply = cid.partition(".")
            assert re.fullmatch(r"Ug[\w-]{17}4AaABAg|Ug[\w-]{11}HgCoAEC", root), root
            assert not reply or re.fullmatch(r"[\w-]{22}", reply)
        assert re.fullmatch(r"UC[\w-]{21}[AQgw]", world.videos[vid].channel.channel_id)


def test_same_seed_same_world() -> None:
    one, two, other = demo_world(1), demo_world(1), demo_world(2)
    assert list(one.videos) == list(two.videos) != list(other.videos)
    for vid in one.videos:
        assert one.truth(vid) == two.truth(vid)


def test_texts_have_the_hard_cases() -> None:
    world = World(videos=0)
    texts = set(world.truth(world.add(600).id).texts.values())
    assert "" in texts
    assert any("\n" in text for text in texts)
    assert any(ord(char) > 0xFFFF for text in texts for char in text)
    assert any("</script>" in text for text in texts)
    assert any("\u0600" < char < "\u06ff" for text in texts for char in text)


def test_variety_is_on_the_pages() -> None:
    """Everything a comment can carry is met somewhere, in the site's own spelling."""
    world = World(videos=0)
    video = world.add(600, busy=(1, 5))
    site = YouTube(world)
    payloads, surfaces, states, models = [], [], [], []
    token: str | None = encode(newest(video))
    while token is not None:
        page = answer(site, continuation=token)
        payloads += find(page, "commentEntityPayload")
        surfaces += find(page, "commentSurfaceEntityPayload")
        states += find(page, "heartState")
        commands = find(page, "reloadContinuationItemsCommand")
        commands += find(page, "appendContinuationItemsAction")
        body = next(c for c in commands if c.get("slot") != "RELOAD_CONTINUATION_SLOT_HEADER")
        models += find(body, "commentViewModel")
        last = body["continuationItems"][-1].get("continuationItemRenderer")
        token = find(last, "continuationCommand")[0]["token"] if last else None
    likes = {payload["toolbar"]["likeCountNotliked"] for payload in payloads}
    assert " " in likes
    assert "0" not in likes
    assert any(re.fullmatch(r"\d\.\dK", text) for text in likes)
    times = [payload["properties"]["publishedTime"] for payload in payloads]
    assert any(time.endswith("ago (edited)") for time in times)
    assert any(payload["author"]["isCreator"] for payload in payloads)
    assert any(payload["author"]["isVerified"] for payload in payloads)
    assert any("sponsorBadgeA11y" in payload["author"] for payload in payloads)
    assert {"TOOLBAR_HEART_STATE_HEARTED", "TOOLBAR_HEART_STATE_UNHEARTED"} == set(states)
    chips = find(surfaces, "pdgCommentChipRenderer")
    assert chips
    assert all("simpleText" in chip["chipText"] for chip in chips)
    assert sum("pinnedText" in model for model in models) == 1
    for payload in payloads:
        content = payload["properties"]["content"]
        units = content["content"].encode("utf-16-le")
        for run in (*content.get("commandRuns", ()), *content.get("attachmentRuns", ())):
            start, end = run["startIndex"] * 2, (run["startIndex"] + run["length"]) * 2
            piece = units[start:end].decode("utf-16-le")
            assert piece
            assert not piece.startswith(" ")
            assert not piece.endswith(" ")
    texts = world.truth(video.id).texts
    assert all(p["properties"]["content"]["content"] == texts[p["properties"]["commentId"]] for p in payloads)


def test_truth_without_texts_names_the_same_comments() -> None:
    world = World(videos=0)
    vid = world.add(40, nested=True, busy=(2, 50)).id
    whole, quick = world.truth(vid), world.truth(vid, texts=False)
    assert quick.parents == whole.parents
    assert not quick.texts
    assert set(whole.texts) == whole.ids


def test_changes_show_up() -> None:
    world = World(videos=0)
    video = world.add(40, busy=(1, 12))
    site = YouTube(world)
    before = world.truth(video.id)
    roots = [cid for cid, parent in before.parents.items() if parent is None]
    first = world.mutate({"video": video.id, "op": "add", "count": 2})
    reply = world.mutate({"video": video.id, "op": "reply", "comment": roots[5], "text": "re"})
    world.mutate({"video": video.id, "op": "edit", "comment": roots[6], "text": "changed"})
    world.mutate({"video": video.id, "op": "likes", "comment": roots[7], "likes": 1499})
    world.mutate({"video": video.id, "op": "delete", "comment": roots[8]})
    after = world.truth(video.id)
    gone = {cid for cid in before.ids if cid.startswith(roots[8])}
    assert after.ids == (before.ids | {*first, *reply}) - gone
    assert after.texts[roots[6]] == "changed"
    assert after.texts[reply[0]] == "re"
    ids, _ = walk(site, newest(video))
    assert set(ids) == after.ids
    page = answer(site, continuation=encode(newest(video)))
    payloads = {payload["properties"]["commentId"]: payload for payload in find(page, "commentEntityPayload")}
    assert payloads[roots[7]]["toolbar"]["likeCountNotliked"] == "1.4K"
    assert payloads[roots[6]]["properties"]["publishedTime"].endswith("(edited)")
    shown = [p for p in payloads if p not in (video.root_id(video.pinned_seq),)]
    assert shown[:2] == [first[1], first[0]] or shown[-2:] == [first[0], first[1]]


def test_a_new_comment_does_not_shift_later_pages() -> None:
    world = World(videos=0)
    video = world.add(60, reply_share=0.0)
    site = YouTube(world)
    page = answer(site, continuation=encode(newest(video)))
    commands = find(page, "reloadContinuationItemsCommand")
    body = next(c for c in commands if c["slot"] == "RELOAD_CONTINUATION_SLOT_BODY")
    token = find(body["continuationItems"][-1], "continuationCommand")[0]["token"]
    expected = call(site, continuation=token).body
    video.add_comments(5)
    assert call(site, continuation=token).body == expected


def test_a_huge_video_costs_nothing_until_asked() -> None:
    world = World(videos=0)
    video = world.add(1_000_000)
    reply = call(YouTube(world), continuation=encode(Token("main", video.id, 1, cursor=500_000)))
    assert len(find(json.loads(reply.body), "commentEntityPayload")) == 20


def test_tokens_survive_and_tampering_does_not() -> None:
    token = Token("main", "abcdefghijk", sort=1, cursor=77, offset=40, hop=2)
    assert decode(encode(token)) == token
    assert decode(encode(newest_token := Token("main", "abcdefghijk"))) == newest_token
    whole = encode(token)
    for bad in ("", "x", "EhINCwAA", "!!!", whole[:-9]):
        with pytest.raises(BadToken):
            decode(bad)
    for at in range(len(whole)):
        try:
            other = decode(whole[:at] + ("B" if whole[at] == "A" else "A") + whole[at + 1 :])
        except BadToken:
            continue
        assert (other.cursor, other.hop) == (77, 2)


def test_a_first_token_built_by_a_client_is_accepted() -> None:
    """As yt-dlp builds it: plain base64, and one field more than the site's own."""
    vid = "abcdefghijk"
    core = b'"\x11"\x0b' + vid.encode() + b"0\x00x\x020\x00B\x10comments-section"
    raw = b"\x12\r\x12\x0b" + vid.encode() + b"\x18\x062" + bytes((len(core),)) + core
    assert decode(b64encode(raw).decode()) == Token("main", vid)


def test_a_bad_token_is_refused_like_the_real_one() -> None:
    world = World(videos=1)
    reply = call(YouTube(world), continuation="nonsense")
    assert reply.status == 400
    assert json.loads(reply.body)["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_its_face(state: Any) -> None:
    world = World(videos=0)
    video = world.add(25, state=state)
    site = YouTube(world)
    assert world.truth(video.id).expected == EXPECTED[state]
    page = site.handle(Hit("GET", "www.youtube.com", f"/watch?v={video.id}", {}))
    text = page.body.decode()
    match state:
        case "sorry":
            assert page.status == 302
            assert "/sorry/" in page.header("Location")
            return
        case "consent_redirect":
            assert page.status == 302
            assert "consent.youtube.com/m" in page.header("Location")
            return
        case "consent_form":
            assert "https://consent.youtube.com/s" in text
            assert "INNERTUBE" not in text
            allowed = Hit("GET", "www.youtube.com", f"/watch?v={video.id}", {"cookie": "SOCS=CAI"})
            assert "ytInitialData" in site.handle(allowed).body.decode()
            return
    player = json.JSONDecoder().raw_decode(text.partition("var ytInitialPlayerResponse = ")[2])[0]
    data = json.JSONDecoder().raw_decode(text.partition("var ytInitialData = ")[2])[0]
    status = player["playabilityStatus"]["status"]
    expected = {
        "private": "LOGIN_REQUIRED",
        "removed": "ERROR",
        "age_gated": "LOGIN_REQUIRED",
        "members_only": "UNPLAYABLE",
        "region_blocked": "UNPLAYABLE",
        "upcoming": "LIVE_STREAM_OFFLINE",
        "bot_check": "LOGIN_REQUIRED",
    }
    assert status == expected.get(state, "OK")
    assert bool(find(data, "backgroundPromoRenderer")) == (state in ("private", "removed", "unavailable_next"))
    assert bool(find(data, "messageRenderer")) == (state == "comments_off")
    tokens = [t["token"] for t in find(data, "continuationCommand")]
    assert bool(tokens) == (state in ("ok", "zero", "bot_check"))
