"""Every recording of YouTube against what was counted in it. A kind of recording that nobody handles fails here."""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import escape
from pathlib import Path
from urllib.parse import unquote

import pytest

from research_scrapers import errors
from research_scrapers.models import MAIN, Answer, Cursor, Options
from research_scrapers.providers.tracks import Wanted, wanted_of
from research_scrapers.providers.youtube.api import ApiRoute
from research_scrapers.providers.youtube.captions import needs_token, read_tracks
from research_scrapers.providers.youtube.comments import _lists, read_header
from research_scrapers.providers.youtube.initial import _results, _ways
from research_scrapers.providers.youtube.panel import panel_params, panel_shows, read_panel
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.states import player_state
from research_scrapers.providers.youtube.timedtext import judge_timedtext, read_timedtext
from research_scrapers.providers.youtube.transcripts import TranscriptRoute
from research_scrapers.providers.youtube.tree import decode, decode_object, dig
from research_scrapers.providers.youtube.vtt import read_cues
from research_scrapers.providers.youtube.watch import read_watch
from research_scrapers.providers.youtube.web import WebRoute

_SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "recordings"
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS", _SHARED)) / "youtube"
NEXT_URL = "https://www.youtube.com/youtubei/v1/next?prettyPrint=false"
PLAYER_URL = "https://www.youtube.com/youtubei/v1/player?prettyPrint=false"
TRACK_URL = "https://www.youtube.com/api/timedtext?v=aaaaaaaaaaA&lang=en&fmt="
API_URL = "https://www.googleapis.com/youtube/v3/"

OTHER_ROOMS = {
    "config_endpoint",
    "dataapi_captions",
    "dataapi_discovery",
}
CAPTION_KINDS = {"get_transcript", "timedtext_json3", "timedtext_srv1", "timedtext_srv3", "timedtext_vtt"}
COMMENT_KINDS = {"comments_first_page", "comments_next_page", "comments_last_page", "comments_replies_page"}
PLAYER_KINDS = {
    "player_age_gated": errors.AgeRestricted,
    "player_bot_check": errors.BotCheck,
    "player_geo_blocked": errors.RegionLocked,
    "player_live": None,
    "player_live_upcoming": errors.NotStartedYet,
    "player_members_only": errors.MembersOnly,
    "player_ok_captions": None,
    "player_ok_captions_pot": None,
    "player_ok_no_captions": None,
    "player_private": errors.VideoPrivate,
    "player_removed": errors.VideoUnavailable,
    "player_unplayable": errors.AccessNeeded,
}
NEXT_FAULTS = {
    "next_comments_off": errors.CommentsDisabled,
    "next_incomplete": errors.PartialResponse,
    "next_no_comment_section": errors.NoCommentSection,
    "next_video_unavailable": errors.VideoUnavailable,
}
API_FAULTS = {
    "commentsDisabled": errors.CommentsDisabled,
    "quotaExceeded": errors.QuotaExhausted,
    "rateLimitExceeded": errors.RateLimited,
    "videoNotFound": errors.VideoUnavailable,
    "processingFailure": errors.ServerTrouble,
    "SERVICE_UNAVAILABLE": errors.AccessRefused,
    "accessNotConfigured": errors.KeyRefused,
    "keyInvalid": errors.KeyRefused,
}
INNERTUBE_FAULTS = {
    "INVALID_ARGUMENT": errors.CursorExpired,
    "FAILED_PRECONDITION": errors.BotCheck,
    "NOT_FOUND": errors.ServerTrouble,
    "INTERNAL": errors.ServerTrouble,
    "PERMISSION_DENIED": errors.AccessRefused,
    "RESOURCE_EXHAUSTED": errors.RateLimited,
}


def _entries() -> list[dict]:
    index = RECORDINGS / "index.json"
    return json.loads(index.read_text("utf-8")) if index.is_file() else []


ENTRIES = _entries()
OURS = [entry for entry in ENTRIES if entry["kind"] not in OTHER_ROOMS]


def _of(*kinds: str) -> pytest.MarkDecorator:
    chosen = [entry for entry in OURS if entry["kind"] in kinds]
    return pytest.mark.parametrize(
        "entry",
        [pytest.param(entry, id=entry["file"]) for entry in chosen]
        or [pytest.param(None, marks=pytest.mark.skip(reason="no recordings here"))],
    )


def _body(entry: dict) -> bytes:
    return (RECORDINGS / entry["file"]).read_bytes()


def _request(entry: dict) -> dict:
    path = (RECORDINGS / entry["file"]).with_suffix(".request.json")
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def _fetched(entry: dict) -> datetime:
    dates = _request(entry).get("response_headers", {}).get("date")
    return parsedate_to_datetime(dates[0]) if dates else datetime(2026, 11, 16, tzinfo=UTC)


def _read(entry: dict, step: str, chain: str = MAIN, video_id: str = "", sort: str = "newest", token: str = "t"):
    cursor = Cursor(chain, step, token)
    answer = Answer(NEXT_URL, 200, _body(entry))
    assert judge(answer) is None
    return WebRoute().read(video_id or "aaaaaaaaaaA", cursor, answer, _fetched(entry), Options(sort=sort))


def _chips(body: bytes) -> int:
    """Super Thanks. The counters also counted the name in the list of names to preload; only a key is a chip."""
    return len(re.findall(rb'"pdgCommentChipRenderer"\s*:', body))


@pytest.mark.skipif(not ENTRIES, reason="no recordings here")
def test_every_recording_is_somebodys():
    known = OTHER_ROOMS | CAPTION_KINDS | COMMENT_KINDS | set(PLAYER_KINDS) | set(NEXT_FAULTS)
    known |= {"block_html", "consent_html", "watch_html", "watch_json_pbj", "next_initial"}
    known |= {"dataapi_commentThreads", "dataapi_comments", "dataapi_videos", "dataapi_error", "innertube_error"}
    assert {entry["kind"] for entry in ENTRIES} <= known
    listed = {entry["file"] for entry in ENTRIES}
    stored = {
        path.relative_to(RECORDINGS).as_posix()
        for path in RECORDINGS.glob("*/*")
        if not path.name.endswith(".request.json")
    }
    assert stored <= listed


@_of(*COMMENT_KINDS)
def test_comment_pages(entry):
    truth = entry["truth"]
    targets = [t.removeprefix("comment-replies-item-") for t in truth["target"] if t.startswith("comment-replies")]
    replies = entry["kind"] == "comments_replies_page"
    chain = MAIN if not replies else (targets or [truth["first_id"].partition(".")[0]])[0]
    page = _read(entry, "replies" if replies else "page", chain)
    ids = [record.comment_id for record in page.records]
    assert len(ids) == truth["comments"]
    assert ids[0] == truth["first_id"]
    assert ids[-1] == truth["last_id"]
    assert len(set(ids)) == truth["unique_ids"]
    assert (page.next is not None) == truth["has_next"]
    television = "continuationContents" in decode(_body(entry))
    if television:
        assert len(page.found) == sum(bool(record.reply_count) for record in page.records)
    else:
        assert len(page.found) == truth["reply_continuations"]
    assert page.note is None
    assert sum(record.is_pinned for record in page.records) == truth["pinned"]
    assert sum(record.is_hearted for record in page.records) == truth["hearted"]
    assert sum(record.author_is_uploader for record in page.records) == truth["creator_comments"]
    # The counters looked for the English word only; other languages are edited too.
    assert sum("(edited)" in record.published_text for record in page.records) == truth["edited"]
    assert all(record.is_edited == record.published_text.endswith(")") for record in page.records)
    assert sum(record.paid_amount is not None for record in page.records) == _chips(_body(entry))
    assert bool(_chips(_body(entry))) == bool(truth["super_thanks"])
    assert sum("member_badge" in record.extras for record in page.records) == truth["sponsor_badges"]
    if truth["generation"] == "viewModel":
        # The counters did not look at the older generation's badge.
        assert sum("verified" in record.extras for record in page.records) == truth["verified"]
    for record in page.records:
        assert record.like_count is not None
        assert record.reply_count is not None
        assert record.author_id is None or record.author_id.startswith("UC")
        assert record.published_text
        assert (record.published_after is None) == (record.published_before is None)
        assert (record.parent_id is None) != replies
        assert record.root_id == record.comment_id.partition(".")[0]
    for cursor in page.found:
        assert cursor.claimed


@_of("comments_first_page")
def test_headers(entry):
    truth = entry["truth"]
    if truth["header_count"] is None:
        return
    items = [item for found, _ in _lists(decode(_body(entry))) for item in found]
    header = next(read_header(item["commentsHeaderRenderer"]) for item in items if "commentsHeaderRenderer" in item)
    assert header.count_text == truth["header_count"]
    assert [title for title, _, _ in header.sort] == (truth["sort"] or [])
    page = _read(entry, "first")
    if header.sort:
        assert page.next is not None
        assert page.next.token == header.sort[1][1]
        assert page.claimed == int("".join(filter(str.isdigit, truth["header_count"])))
        assert page.claimed_exact
    else:
        assert page.note == "top_order_only"
        assert page.claimed is None
    top = _read(entry, "first", sort="top")
    assert (top.next is not None) == truth["has_next"]
    assert top.note is None


@_of("next_initial", *NEXT_FAULTS)
def test_watch_next(entry):
    data = decode(_body(entry))
    video_id = dig(data, "currentVideoEndpoint", "watchEndpoint", "videoId") or "aaaaaaaaaaA"
    expected = NEXT_FAULTS.get(entry["kind"])
    if expected is None and entry["truth"]["comment_section"] is None:
        expected = errors.NoCommentSection
    if expected:
        with pytest.raises(expected):
            _read(entry, "next", video_id=video_id, token="")
        return
    page = _read(entry, "next", video_id=video_id, token="")
    ways = _ways(data, _results(data))
    assert page.next is not None
    assert page.next.step == "page"
    assert page.next.token == ways.newest
    assert page.claimed == ways.count.value
    assert page.video is not None
    assert page.video.title
    assert page.video.channel_id
    assert page.video.view_count
    assert page.session["visitor_data"]
    top = _read(entry, "next", video_id=video_id, sort="top", token="")
    assert (top.next.step, top.next.token) == ("first", ways.token)
    with pytest.raises(errors.BotCheck):
        _read(entry, "next", video_id="zzzzzzzzzzA", token="")


@_of(*PLAYER_KINDS, "watch_json_pbj")
def test_player_states(entry):
    data = decode(_body(entry))
    if entry["kind"] == "watch_json_pbj":
        data = read_watch(_body(entry)).player
    state = player_state(data, entry["truth"].get("videoId"))
    expected = PLAYER_KINDS.get(entry["kind"])
    if entry["kind"] == "watch_json_pbj":
        expected = errors.VideoUnavailable if entry["truth"]["status"] == "ERROR" else None
    if entry["kind"] == "player_unplayable":
        premium = "Premium" in (entry["truth"]["reason"] or "")
        expected = errors.PremiumOnly if premium else errors.Unplayable
    assert (type(state) if state else None) is expected
    if entry["truth"].get("videoId"):
        assert isinstance(player_state(data, "zzzzzzzzzzA"), errors.BotCheck)


@_of("watch_html")
def test_watch_pages(entry):
    truth = entry["truth"]
    answer = Answer("https://www.youtube.com/watch?v=aaaaaaaaaaA", 200, _body(entry))
    assert judge(answer) is None
    if not truth["ytInitialData"]:
        with pytest.raises(errors.VideoUnavailable):
            read_watch(_body(entry))
        return
    watch = read_watch(_body(entry))
    assert watch.initial is not None
    assert (watch.player is not None) == truth["ytInitialPlayerResponse"]
    assert watch.facts["visitor_data"]
    if truth["client_version"]:
        assert watch.facts["client_version"] == truth["client_version"]
    video_id = dig(watch.player, "videoDetails", "videoId")
    page = WebRoute().read(video_id, Cursor(MAIN, "watch"), answer, _fetched(entry), Options())
    assert (page.next is not None and page.next.step in ("page", "first")) == truth["comment_section"]
    assert page.video is not None
    assert page.video.published_at
    assert page.video.duration_s
    assert page.session["client_version"].startswith("2.")


@_of("block_html", "consent_html")
def test_stand_ins(entry):
    expected = errors.ConsentNeeded if entry["truth"]["consent_form"] else errors.IpBlocked
    for url in ("https://www.youtube.com/watch?v=aaaaaaaaaaA", NEXT_URL):
        assert type(judge(Answer(url, 200, _body(entry)))) is expected
    with pytest.raises(expected):
        read_watch(_body(entry))
    assert type(judge(Answer("https://www.youtube.com/watch?v=x", 429, _body(entry)))) in (expected, errors.RateLimited)


@_of("dataapi_commentThreads", "dataapi_comments")
def test_api_pages(entry):
    truth = entry["truth"]
    replies = entry["kind"] == "dataapi_comments"
    chain = truth["first_id"].partition(".")[0] if replies else MAIN
    cursor = Cursor(chain, "replies" if replies else "threads")
    answer = Answer(API_URL + "commentThreads", 200, _body(entry))
    assert judge(answer) is None
    page = ApiRoute().read("aaaaaaaaaaA", cursor, answer, _fetched(entry), Options())
    tops = [record for record in page.records if record.parent_id is None]
    kept = page.records if replies else tops
    assert len(kept) == truth["items"]
    assert (kept[0].comment_id, kept[-1].comment_id) == (truth["first_id"], truth["last_id"])
    assert (page.next is not None) == truth["nextPageToken"]
    if not replies:
        assert len(page.records) - len(tops) == truth["inline_replies"]
        assert sum(record.reply_count for record in tops) == truth["total_replies"]
        inline = Counter(record.parent_id for record in page.records if record.parent_id)
        short = {record.comment_id for record in tops if inline[record.comment_id] < record.reply_count}
        assert {found.chain for found in page.found} == short
    for record in page.records:
        assert record.published_after == record.published_before is not None
        assert record.text is not None
        assert record.author_name


@_of("dataapi_videos")
def test_api_videos(entry):
    truth = entry["truth"]
    answer = Answer(API_URL + "videos", 200, _body(entry))
    for video_id in (truth["first_id"], truth["last_id"]):
        page = ApiRoute().read(video_id, Cursor(MAIN, "video"), answer, _fetched(entry), Options())
        assert page.video is not None
        assert page.video.title
        assert page.next == Cursor(MAIN, "threads", "", page.claimed)
    with pytest.raises(errors.VideoUnavailable):
        ApiRoute().read("zzzzzzzzzzA", Cursor(MAIN, "video"), answer, _fetched(entry), Options())


@_of("dataapi_error")
def test_api_errors(entry):
    truth = entry["truth"]
    answer = Answer(API_URL + "commentThreads?videoId=x", truth["error_code"], _body(entry))
    assert type(judge(answer)) is API_FAULTS[truth["reason"][0]]
    with pytest.raises(API_FAULTS[truth["reason"][0]]):
        ApiRoute().read("aaaaaaaaaaA", Cursor(MAIN, "threads"), answer, _fetched(entry), Options())


@_of("innertube_error")
def test_innertube_errors(entry):
    answer = Answer(NEXT_URL, entry["truth"]["error_code"], _body(entry))
    assert type(judge(answer)) is INNERTUBE_FAULTS[entry["truth"]["status"]]


OWN = {
    "Kn56bMZ9OE8": ("en", {".en", ".en-GB"}),
    "ud9d5cMDP_0": ("de", {".de.CcQ45jRV4-E"}),
    "rCAS2eD-mcw": ("en-US", {".en", "a.en"}),
    "GJLlxj_dtq8": ("en", {".en", "a.en"}),
    "M4gD1WSo5mA": ("en", {".en", "a.en"}),
    "K4DyBUG242c": ("nl", {"a.nl"}),
    "KI7fMGRg0Wk": ("de", {"a.de"}),
}
"""Videos whose language was looked up by hand; one of them has Japanese recognised in English speech."""


def _player_page(entry: dict, wanted: Wanted | None = None, step: str = "player_visionos", token: str = ""):
    answer = Answer(PLAYER_URL, 200, _body(entry))
    assert judge(answer) is None
    video_id = entry["truth"].get("videoId") or "aaaaaaaaaaA"
    route = TranscriptRoute(wanted or Wanted())
    return route.read(video_id, Cursor(MAIN, step, token), answer, _fetched(entry), Options())


@_of("player_ok_captions", "player_ok_captions_pot")
def test_caption_tracks(entry):
    truth = entry["truth"]
    listed = read_tracks(decode_object(_body(entry)), truth["videoId"])
    told = [track.track_id + ("(asr)" if track.kind == "asr" else "") for track in listed.tracks]
    assert told == truth["caption_tracks"]
    assert len(listed.translations) == truth["translation_languages"]
    assert all(code and name for code, name in listed.translations)
    assert all(track.name and track.translatable and "/api/timedtext?" in track.url for track in listed.tracks)
    own = {track.track_id for track in listed.tracks if track.is_own}
    assert own
    if truth["videoId"] in OWN:
        assert (listed.own_language, own) == OWN[truth["videoId"]]
    page = _player_page(entry, wanted_of(languages="*", tracks="all", translate="de"))
    assert page.claimed == len(truth["caption_tracks"])
    assert page.video.title
    assert page.video.language == listed.own_language
    if entry["kind"] == "player_ok_captions_pot":
        assert [needs_token(track.url) for track in listed.tracks].count(True) == 1
        assert page.next == Cursor(MAIN, "player_android", "listed")
        return
    assert page.next is None
    tracks = [found for found in page.found if ">" not in found.chain]
    assert {found.chain for found in tracks} == {track.track_id for track in listed.tracks}
    best = _player_page(entry)
    assert len(best.found) == 1
    assert best.found[0].chain in own
    if any(track.is_own and track.kind == "manual" for track in listed.tracks):
        assert not best.found[0].chain.startswith("a.")
    ask = TranscriptRoute().ask(truth["videoId"], best.found[0], {}, Options())
    assert ask.url.count("fmt=") == 1
    assert ask.url.endswith("fmt=json3")


@_of(*(set(PLAYER_KINDS) - {"player_ok_captions", "player_ok_captions_pot"}))
def test_players_without_captions_say_why(entry):
    expected = PLAYER_KINDS[entry["kind"]] or errors.TranscriptsDisabled
    with pytest.raises(expected) as caught:
        _player_page(entry, step="player_android")
    assert ("live" in caught.value.detail) == (entry["kind"] in ("player_live", "player_live_upcoming"))


@_of("watch_html", "watch_json_pbj")
def test_watch_pages_for_transcripts(entry):
    truth = entry["truth"]
    answer = Answer("https://www.youtube.com/watch?v=aaaaaaaaaaA", 200, _body(entry))
    try:
        video_id = dig(read_watch(_body(entry)).player, "videoDetails", "videoId") or "aaaaaaaaaaA"
    except errors.VideoUnavailable:
        video_id = "aaaaaaaaaaA"
    route = TranscriptRoute()

    def read():
        return route.read(video_id, Cursor(MAIN, "watch"), answer, _fetched(entry), Options())

    if "age_restricted" in entry["file"]:
        with pytest.raises(errors.AgeRestricted):
            read()
    elif not truth["caption_tracks"]:
        with pytest.raises(errors.VideoUnavailable):
            read()
    elif truth["exp_xpe"]:
        page = read()
        assert page.next == Cursor(MAIN, "player_visionos", "listed")
        assert page.claimed >= 1
        assert page.session["visitor_data"]
        assert page.video.published_at
    else:
        page = read()
        assert page.next is None
        assert len(page.found) == 1
        assert page.found[0].step == "track"


def _segments(entry: dict, fmt: str):
    answer = Answer(TRACK_URL + fmt, 200, _body(entry))
    assert judge(answer) is None
    assert judge_timedtext(answer) is None
    segments = read_timedtext(_body(entry))
    assert segments == read_timedtext(_body(entry), fmt)
    assert all(one.text == one.text.strip() != "" and one.duration is not None for one in segments)
    assert [one.start for one in segments] == sorted(one.start for one in segments)
    return segments


@_of("timedtext_json3")
def test_json3(entry):
    segments = _segments(entry, "json3")
    assert len(segments) == entry["truth"]["events_with_text"]
    lines = [event for event in decode(_body(entry))["events"] if "segs" in event and not event.get("aAppend")]
    assert [one.start for one in segments] == [event["tStartMs"] / 1000 for event in lines]
    assert ["".join(piece["utf8"] for piece in event["segs"]).strip() for event in lines] == [s.text for s in segments]
    spoken = sum(len(one.words or [1]) for one in segments)
    assert spoken == sum(len(event["segs"]) for event in lines)
    for one in segments:
        if one.words:
            assert one.words[0][0] >= one.start
            assert " ".join(word for _, word in one.words) == " ".join(one.text.split())


@_of("timedtext_srv3")
def test_srv3(entry):
    truth, segments = entry["truth"], _segments(entry, "srv3")
    assert len(segments) == truth["p_with_text"]
    words = [one.words for one in segments if one.words]
    assert sum(map(len, words)) == truth["s"]
    assert (round(segments[-1].start * 1000), round(segments[-1].duration * 1000)) == (
        int(truth["last"]["t"]),
        int(truth["last"]["d"]),
    )
    assert not any("&#" in one.text or "<" in one.text for one in segments)


@_of("timedtext_srv1")
def test_srv1(entry):
    truth, segments = entry["truth"], _segments(entry, "srv1")
    assert len(segments) == truth["cues"] - truth["empty"]
    assert (segments[-1].start, segments[-1].duration) == (float(truth["last"]["start"]), float(truth["last"]["dur"]))
    if not truth["empty"]:
        assert (segments[0].start, segments[0].duration) == (
            float(truth["first"]["start"]),
            float(truth["first"]["dur"]),
        )
    assert not any("&#39;" in one.text or "&quot;" in one.text or "&amp;" in one.text for one in segments)
    assert any("'" in one.text for one in segments)


@_of("timedtext_vtt")
def test_vtt(entry):
    truth, segments = entry["truth"], _segments(entry, "vtt")
    assert len(list(read_cues(_body(entry).decode()))) == truth["cues"]
    if not truth["word_tags"]:
        assert len(segments) == truth["cues"]
        return
    assert [(one.start, one.text) for one in segments] == [
        (286.07, "yeah"),
        (286.47, "what"),
        (304.08, "this will happen is I'm telling"),
    ]
    assert [at for at, _ in segments[-1].words] == [304.08, 304.199, 304.379, 304.62, 304.86, 305.069]


@_of("get_transcript")
def test_transcript_panel(entry):
    data = decode_object(_body(entry))
    segments = read_panel(data)
    assert len(segments) == entry["truth"]["segments"]
    assert (segments[0].start, segments[0].duration) == (0.06, 3.24)
    assert panel_shows(data) == "English (auto-generated)"


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="no recordings on this machine")
def test_what_a_panel_is_asked_with_is_what_pages_say():
    """Written by us, it is what the recorded pages carry; only field 6, a flag, is 0 on some."""
    told = set()
    for path in RECORDINGS.glob("next_*/*.json"):
        told |= set(re.findall(r'"getTranscriptEndpoint":\s*{\s*"params":\s*"([^"]+)"', path.read_text("utf-8")))
    assert len(told) >= 5
    for params in told:
        whole = base64.urlsafe_b64decode(unquote(params)).replace(b"panel0\x00", b"panel0\x01")
        video, track = whole[2:13].decode(), base64.urlsafe_b64decode(unquote(whole[15 : 15 + whole[14]].decode()))
        kind = "asr" if track.startswith(b"\x0a\x03asr") else "manual"
        language = track[track.index(b"\x12") + 2 : track.index(b"\x1a")].decode()
        assert base64.urlsafe_b64decode(unquote(panel_params(video, language, kind))) == whole


def _vtt_clock(seconds: float) -> str:
    whole = round(seconds * 1000)
    return f"{whole // 3600000:02}:{whole // 60000 % 60:02}:{whole // 1000 % 60:02}.{whole % 1000:03}"


@_of("timedtext_json3")
def test_rolling_vtt_comes_to_the_same_as_json3(entry):
    """The recorded lines, written as the site writes automatic WebVTT: rolled, repeated, with times in the lines."""
    segments = read_timedtext(_body(entry))
    cues, above = ["WEBVTT\nKind: captions\nLanguage: en\n"], " "
    for one, after in zip(segments, [*segments[1:], None], strict=True):
        end = after.start - 0.01 if after else one.start + one.duration
        (_, first), *rest = one.words or [(one.start, one.text)]
        spoken = escape(first) + "".join(f"<{_vtt_clock(at)}><c> {escape(word)}</c>" for at, word in rest)
        cues.append(f"{_vtt_clock(one.start)} --> {_vtt_clock(end)} align:start position:0%\n{above}\n{spoken}\n")
        above = escape(" ".join(one.text.split()))
        if after:
            cues.append(f"{_vtt_clock(end)} --> {_vtt_clock(after.start)} align:start position:0%\n{above}\n \n")
    rolled = read_timedtext("\n".join(cues).encode())
    assert [(one.start, one.text) for one in rolled] == [(one.start, " ".join(one.text.split())) for one in segments]
    for one, before in zip(rolled, segments, strict=True):
        assert [word for _, word in one.words or []] == [word for _, word in before.words or []]
        assert [at for at, _ in (one.words or [])[1:]] == [at for at, _ in (before.words or [])[1:]]
