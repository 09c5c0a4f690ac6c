"""The route for transcripts: what it asks, how it turns from client to client, and the library's words in ours."""

from __future__ import annotations

import copy
import inspect
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_scrapers import errors
from research_scrapers.errors import ResearchError
from research_scrapers.models import MAIN, Answer, Cursor, Options, Segment
from research_scrapers.providers.tracks import wanted_of
from research_scrapers.providers.youtube.captions import needs_token, read_tracks
from research_scrapers.providers.youtube.endpoints import player, timedtext
from research_scrapers.providers.youtube.library import failure_of_library, library_cannot
from research_scrapers.providers.youtube.panel import panel_params, read_panel
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.track_ask import TrackAsk
from research_scrapers.providers.youtube.transcripts import TranscriptRoute, without_library

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "youtube"
VIDEO = "fixtureVidA"
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
BASE = f"https://www.youtube.com/api/timedtext?v={VIDEO}&sparams=v%2Cexp&signature=A%2FB"
JSON3 = b'{"wireMagic":"pb3","events":[{"tStartMs":1000,"dDurationMs":500,"segs":[{"utf8":"hello"}]}]}'


def answer_of_player(*, exp: str = "", tracks: int = 1, status: str = "OK", wrap: bool = False) -> bytes:
    data = {
        "playabilityStatus": {"status": status},
        "videoDetails": {"videoId": VIDEO, "title": "A talk"},
        "captions": {
            "playerCaptionsTracklistRenderer": {
                "captionTracks": [
                    {
                        "baseUrl": f"{BASE}{exp}&lang=en",
                        "vssId": f".en{'' if not n else f'.name{n}'}",
                        "languageCode": "en",
                        "name": {"simpleText": "English"},
                        "isTranslatable": True,
                    }
                    for n in range(tracks)
                ]
            }
        },
    }
    if not tracks:
        del data["captions"]
    return json.dumps({"playerResponse": data} if wrap else data).encode()


def page_of_player(**how) -> bytes:
    player_json = answer_of_player(**how).decode()
    return f"<html><script>var ytInitialPlayerResponse = {player_json};</script></html>".encode()


def walk(route: TranscriptRoute, answers: dict[str, bytes | tuple[int, bytes]]):
    """Walk every chain on a table of answers by step (``track`` by client and format); records, path and failures."""
    records, path, failures, cursors = [], [], {}, [without_library(route.start(VIDEO, Options())).next]
    while cursors:
        assert len(path) < 40, "the walk never ends"
        cursor = cursors.pop(0)
        ask = route.ask(VIDEO, cursor, {}, Options())
        key = cursor.step
        if key == "track":
            told = TrackAsk.of(cursor.token)
            key = f"{told.step}:{told.fmt}"
        path.append(key)
        given_answer = answers.get(key, b"")
        status, body = given_answer if isinstance(given_answer, tuple) else (200, given_answer)
        try:
            page = route.read(VIDEO, cursor, Answer(ask.url, status, body), NOW, Options())
        except ResearchError as error:
            failures[cursor.chain] = error
            continue
        records += page.records
        cursors += [page.next] if page.next else []
        cursors += page.found
    return records, path, failures


def test_the_straight_way():
    records, path, failures = walk(TranscriptRoute(), {"watch": page_of_player(), "watch:json3": JSON3})
    assert path == ["watch", "watch:json3"]
    assert not failures
    assert records[0].segments == [Segment(1.0, 0.5, "hello")]
    assert records[0].extras == {"route": "timedtext", "client": "WEB", "format": "json3", "track_id": ".en"}


def test_dead_addresses_on_the_page_lead_to_another_client():
    answers = {
        "watch": page_of_player(exp="&exp=xpe"),
        "player_visionos": answer_of_player(),
        "player_visionos:json3": JSON3,
    }
    records, path, failures = walk(TranscriptRoute(), answers)
    assert path == ["watch", "player_visionos", "player_visionos:json3"]
    assert not failures
    assert records[0].extras["client"] == "VISIONOS"


def test_an_empty_body_leads_to_every_client_and_then_to_another_format():
    answers = {
        "watch": page_of_player(),
        "player_visionos": answer_of_player(),
        "player_android": answer_of_player(wrap=True),
        "player_android:srv1": b'<transcript><text start="1" dur="0.5">hello</text></transcript>',
    }
    records, path, failures = walk(TranscriptRoute(), answers)
    assert path == [
        "watch",
        "watch:json3",
        "player_visionos",
        "player_visionos:json3",
        "player_android",
        "player_android:json3",
        "player_android:srv1",
    ]
    assert not failures
    straight, _, _ = walk(TranscriptRoute(), {"watch": page_of_player(), "watch:json3": JSON3})
    assert records[0].content_hash == straight[0].content_hash


def test_what_cannot_be_read_leads_to_another_format():
    answers = {"watch": page_of_player(), **dict.fromkeys(("watch:json3", "watch:srv3", "watch:srv1"), b"{}")}
    answers["watch:vtt"] = b"WEBVTT\n\n00:01.000 --> 00:01.500\nhello\n"
    records, path, failures = walk(TranscriptRoute(), answers)
    assert path == ["watch", "watch:json3", "watch:srv3", "watch:srv1", "watch:vtt"]
    assert records[0].segments == [Segment(1.0, 0.5, "hello")]
    answers["watch:vtt"] = b"{}"
    _, _, failures = walk(TranscriptRoute(), answers)
    assert isinstance(failures[".en"], errors.LayoutChanged)


@pytest.mark.parametrize(
    ("answers", "chain", "leaf"),
    [
        ({"watch": page_of_player(tracks=0)}, MAIN, errors.TranscriptsDisabled),
        (
            {
                "watch": page_of_player(exp="&exp=xpe"),
                "player_visionos": answer_of_player(exp="&exp=xpe"),
                "player_android": answer_of_player(tracks=0),
            },
            MAIN,
            errors.TokenNeeded,
        ),
        (
            {
                "watch": page_of_player(status="UNPLAYABLE"),
                "player_visionos": answer_of_player(status="UNPLAYABLE"),
                "player_android": answer_of_player(status="UNPLAYABLE"),
            },
            MAIN,
            errors.Unplayable,
        ),
        ({"watch": page_of_player(status="ERROR")}, MAIN, errors.VideoUnavailable),
        (
            {
                "watch": page_of_player(),
                "player_visionos": answer_of_player(tracks=0),
                "player_android": answer_of_player(tracks=0),
                "panel": (400, b'{"error":{"code":400}}'),
            },
            ".en",
            errors.TokenNeeded,
        ),
        ({"watch": page_of_player(), "watch:json3": (429, b"")}, ".en", errors.RateLimited),
    ],
)
def test_ends(answers, chain, leaf):
    records, _, failures = walk(TranscriptRoute(), answers)
    assert not records
    assert type(failures[chain]) is leaf


PANEL = json.dumps(
    {
        "actions": [
            {
                "updateEngagementPanelAction": {
                    "content": {
                        "transcriptRenderer": {
                            "content": {
                                "transcriptSearchPanelRenderer": {
                                    "body": {
                                        "transcriptSegmentListRenderer": {
                                            "initialSegments": [
                                                {
                                                    "transcriptSegmentRenderer": {
                                                        "startMs": "1000",
                                                        "endMs": "1500",
                                                        "snippet": {"runs": [{"text": "hello"}]},
                                                    }
                                                }
                                            ]
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        ]
    }
).encode()
ANOTHER = PANEL.replace(
    b'"body"',
    b'"footer": {"transcriptFooterRenderer": {"languageMenu": {"sortFilterSubMenuRenderer": {"subMenuItems":'
    b' [{"title": "German", "selected": true}]}}}}, "body"',
)
REFUSED = b'{"error":{"code":400,"message":"Precondition check failed.","status":"FAILED_PRECONDITION"}}'
PROOF = {
    "watch": page_of_player(exp="&exp=xpe", tracks=2),
    "player_visionos": answer_of_player(exp="&exp=xpe", tracks=2),
    "player_android": answer_of_player(exp="&exp=xpe", tracks=2),
}


def test_what_every_client_wants_a_proof_for_is_asked_of_the_panel():
    route = TranscriptRoute(wanted_of(tracks="all", translate="de"))
    records, path, failures = walk(route, {**PROOF, "panel": PANEL})
    assert path == ["watch", "player_visionos", "player_android", "panel", "panel"]
    assert not failures
    assert [one.extras["track_id"] for one in records] == [".en", ".en.name1"]
    assert {one.extras["route"] for one in records} == {"panel"}
    straight, _, _ = walk(TranscriptRoute(), {"watch": page_of_player(), "watch:json3": JSON3})
    assert records[0].content_hash == straight[0].content_hash


@pytest.mark.parametrize(
    ("answer", "leaf"),
    [
        ((400, REFUSED), errors.TokenNeeded),
        ((200, REFUSED), errors.BotCheck),
        (ANOTHER, errors.TokenNeeded),
        (b"{}", errors.PartialResponse),
    ],
)
def test_a_panel_that_does_not_help(answer, leaf):
    records, _, failures = walk(TranscriptRoute(), {**PROOF, "panel": answer})
    assert not records
    assert type(failures[MAIN]) is leaf


def test_a_track_that_turns_out_to_want_a_proof_is_asked_of_the_panel():
    answers = {
        "watch": page_of_player(),
        "player_visionos": answer_of_player(exp="&exp=xpe"),
        "player_android": answer_of_player(exp="&exp=xpe"),
        "panel": PANEL,
    }
    records, path, failures = walk(TranscriptRoute(), answers)
    assert path == ["watch", "watch:json3", "player_visionos", "player_android", "panel"]
    assert not failures
    assert records[0].extras["track_id"] == ".en"


@pytest.mark.parametrize("token", ["", "7", "[[1]]", '{"a":1}', '[["x","{}z"]]'])
def test_damaged_cursors_of_a_panel(token):
    with pytest.raises(errors.CursorExpired):
        TranscriptRoute().ask(VIDEO, Cursor(MAIN, "panel", token), {}, Options())


def test_a_refused_panel_is_no_refusal_of_the_address():
    url = "https://www.youtube.com/youtubei/v1/get_transcript?prettyPrint=false"
    assert judge(Answer(url, 400, REFUSED)) is None
    assert isinstance(judge(Answer(url, 429, b"{}")), errors.RateLimited)


def test_long_names_in_the_panels_question():
    import base64
    from urllib.parse import unquote

    whole = base64.urlsafe_b64decode(unquote(panel_params(VIDEO, "en", "manual", "n" * 300)))
    assert whole.endswith(b"\x30\x01\x38\x01\x40\x01")
    assert whole[14] & 128  # a length of more than one byte


def test_translations_have_chains_of_their_own():
    records, _, failures = walk(
        TranscriptRoute(wanted_of(translate="de", tracks="all")),
        {"watch": page_of_player(tracks=2), "watch:json3": JSON3},
    )
    assert not failures
    assert [(one.language, one.kind, one.extras["track_id"]) for one in records] == [
        ("en", "manual", ".en"),
        ("en", "manual", ".en.name1"),
        ("de", "translated", ".en"),
    ]
    assert records[2].extras["source_language"] == "en"


def test_addresses_keep_their_signature():
    ask = timedtext(f"{BASE}&fmt=srv3&xosf=1&lang=en&tlang=fr", "json3", "zh-Hans")
    assert ask.url == f"{BASE}&lang=en&fmt=json3&tlang=zh-Hans"
    assert timedtext(f"{BASE}&lang=en", "vtt").url == f"{BASE}&lang=en&fmt=vtt"


@pytest.mark.parametrize(("client", "number"), [("VISIONOS", "101"), ("ANDROID", "3")])
def test_players(client, number):
    ask = player(VIDEO, client, {"visitor_data": "Cgt"}, "en")
    sent = json.loads(ask.body)
    assert ask.method == "POST"
    assert sent["videoId"] == VIDEO
    assert sent["context"]["client"]["clientName"] == client
    assert sent["context"]["client"]["visitorData"] == ask.headers["X-Goog-Visitor-Id"] == "Cgt"
    assert ask.headers["X-YouTube-Client-Name"] == number
    assert "key" not in parse_qs(urlsplit(ask.url).query)
    assert "X-Goog-Visitor-Id" not in player(VIDEO, client, {}).headers


def test_tracks_without_a_proper_name_or_address():
    listed = [
        {"languageCode": "en", "trackName": "plain", "baseUrl": "/api/timedtext?lang=en"},
        {"languageCode": "en", "kind": "asr", "baseUrl": "https://[/api/timedtext"},
        {"languageCode": "de", "vssId": ".de", "baseUrl": BASE},
        {"languageCode": "de", "vssId": ".de", "baseUrl": BASE},
        {"languageCode": "de", "vssId": ".de", "baseUrl": f"{BASE}&name=2"},
        {"languageCode": "fr", "vssId": ".fr", "baseUrl": "//evil.example/api/timedtext"},
        {"languageCode": "it", "vssId": ".it", "baseUrl": "https://www.youtube.com.evil.example/api/timedtext"},
    ]
    data = json.loads(answer_of_player())
    data["captions"]["playerCaptionsTracklistRenderer"]["captionTracks"] = listed
    found = read_tracks(data, VIDEO)
    assert [(track.track_id, track.url) for track in found.tracks] == [
        (".en.plain", "https://www.youtube.com/api/timedtext?lang=en"),
        ("a.en", ""),
        (".de", BASE),
        (".de#4", f"{BASE}&name=2"),
        (".fr", ""),
        (".it", ""),
    ]
    assert found.find(".en.other", "en", "manual").track_id == ".en.plain"
    assert found.find(".de.other", "de", "manual") is None
    assert not needs_token("https://[?exp=xpe")


def test_probes_stand_for_every_path():
    paths = {urlsplit(url).path for url in TranscriptRoute().probes()}
    assert paths == {"/watch", "/youtubei/v1/player", "/api/timedtext", "/youtubei/v1/get_transcript"}


@given(st.builds(TrackAsk, st.text(), st.text(), st.text(), st.text(), into=st.text(), renewed=st.booleans()))
def test_cursors_come_back(told):
    assert TrackAsk.of(told.token) == told


@pytest.mark.parametrize("token", ["", "{", "[]", "7", '{"strange":1}', '{"url":7}', '{"renewed":"yes"}'])
def test_damaged_cursors(token):
    with pytest.raises(errors.CursorExpired):
        TranscriptRoute().ask(VIDEO, Cursor(".en", "track", token), {}, Options())


# -- whatever comes ----------------------------------------------------------------------------------------------

DOCUMENTS = [json.loads(path.read_text("utf-8")) for path in sorted(FIXTURES.glob("track_list/*/input.json"))]
PANELS = [json.loads(path.read_text("utf-8")) for path in sorted(FIXTURES.glob("panel/*/input.json"))]
JUNK = st.sampled_from([None, 7, -1, 1e300, "x", "", [], {}, [None, 1, "x", [], {}], {"runs": 3}, "https://[", True])


def _places(node, path=()):
    found = [path] if path else []
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        found += _places(value, (*path, key))
    return found


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_mutated_players_and_panels(data):
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS + PANELS)))
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            break
        *above, last = data.draw(st.sampled_from(places))
        inner = document
        for step in above:
            inner = inner[step]
        inner[last] = copy.deepcopy(data.draw(JUNK))
    body = json.dumps(document).encode()
    token = TrackAsk(BASE, "en", "manual", "English").token
    route = TranscriptRoute(wanted_of(languages="en,*", tracks="all", translate="de"))
    for cursor in (
        Cursor(MAIN, "player_visionos"),
        Cursor(MAIN, "player_android", "listed"),
        Cursor(".en", "player_android", token),
        Cursor(MAIN, "watch"),
    ):
        try:
            page = route.read(VIDEO, cursor, Answer(BASE, 200, body), NOW, Options())
        except ResearchError:
            continue
        for found in (*page.found, *([page.next] if page.next else [])):
            assert urlsplit(route.ask(VIDEO, found, {}, Options()).url).hostname.endswith("youtube.com")
    if isinstance(document, dict):
        try:
            read_panel(document)
        except ResearchError:
            return


# -- the library -------------------------------------------------------------------------------------------------


LIBRARY = {
    "YouTubeTranscriptApiException": errors.LayoutChanged,
    "CookieError": errors.LoginRequired,
    "CookiePathInvalid": errors.LoginRequired,
    "CookieInvalid": errors.LoginRequired,
    "CouldNotRetrieveTranscript": errors.LayoutChanged,
    "YouTubeDataUnparsable": errors.LayoutChanged,
    "YouTubeRequestFailed": errors.RateLimited,
    "VideoUnplayable": errors.MembersOnly,
    "VideoUnavailable": errors.VideoUnavailable,
    "InvalidVideoId": errors.VideoUnavailable,
    "RequestBlocked": errors.BotCheck,
    "IpBlocked": errors.IpBlocked,
    "TranscriptsDisabled": errors.TranscriptsDisabled,
    "AgeRestricted": errors.AgeRestricted,
    "NotTranslatable": errors.NoTranscriptInLanguage,
    "TranslationLanguageNotAvailable": errors.NoTranscriptInLanguage,
    "FailedToCreateConsentCookie": errors.ConsentNeeded,
    "NoTranscriptFound": errors.NoTranscriptInLanguage,
    "PoTokenRequired": errors.TokenNeeded,
}


def test_every_error_of_the_library_is_a_leaf():
    theirs = pytest.importorskip("youtube_transcript_api._errors")
    more = {
        "YouTubeRequestFailed": ("429 Client Error: Too Many Requests for url: https://x",),
        "VideoUnplayable": ("Join this channel to get access", ["to members-only content"]),
        "NoTranscriptFound": (["en"], "en, de"),
    }
    found = {
        name: kind
        for name, kind in inspect.getmembers(theirs, inspect.isclass)
        if issubclass(kind, theirs.YouTubeTranscriptApiException)
    }
    assert set(found) == set(LIBRARY)
    for name, kind in found.items():
        leaf = failure_of_library(kind(VIDEO, *more.get(name, ())))
        assert type(leaf) is LIBRARY[name], name
        assert "\n" not in leaf.detail
        assert "http" not in leaf.detail
        assert len(leaf.detail) < 301


@pytest.mark.parametrize(
    ("reason", "leaf"),
    [
        ("403 Client Error: Forbidden for url: u", errors.AccessRefused),
        ("400 Client Error: Bad Request for url: u", errors.LayoutChanged),
        ("503 Server Error for url: u", errors.ServerTrouble),
        ("no idea", errors.ServerTrouble),
    ],
)
def test_requests_that_failed_under_the_library(reason, leaf):
    kind = type("YouTubeRequestFailed", (Exception,), {"reason": reason})
    assert type(failure_of_library(kind())) is leaf


@pytest.mark.parametrize(
    ("reason", "leaf"),
    [
        ("This live event will begin in 3 hours.", errors.NotStartedYet),
        ("The uploader has not made this video available in your country", errors.RegionLocked),
        (None, errors.Unplayable),
        ("Something new", errors.Unplayable),
    ],
)
def test_unplayable_by_the_library(reason, leaf):
    kind = type("VideoUnplayable", (Exception,), {"reason": reason, "sub_reasons": []})
    assert type(failure_of_library(kind())) is leaf


def test_what_comes_through_the_library():
    ours = errors.RateLimited("slow")
    assert failure_of_library(ours) is ours
    assert isinstance(failure_of_library(type("ParseError", (SyntaxError,), {})("no element")), errors.PartialResponse)
    assert isinstance(failure_of_library(type("ReadTimeout", (type("Timeout", (OSError,), {}),), {})()), errors.Timeout)
    assert isinstance(failure_of_library(KeyError("captions")), errors.LayoutChanged)
    assert library_cannot(errors.TokenNeeded())
    assert not library_cannot(errors.RateLimited())
    assert not library_cannot(errors.TranscriptsDisabled())
