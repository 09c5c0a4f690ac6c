"""Captions of the replica without a server: tracks, addresses, formats, panels."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.etree import ElementTree as Xml

import pytest

from research_scrapers.replica import World
from research_scrapers.replica.captions import translate
from research_scrapers.replica.languages import APP_TRANSLATIONS, TRANSLATIONS
from research_scrapers.replica.model import CAPTIONED, STATES
from research_scrapers.replica.tokens import field, url_base64
from research_scrapers.replica.transcript import MODERN, panel_params
from research_scrapers.replica.video import Video
from research_scrapers.replica.wire import Hit, Reply
from research_scrapers.replica.youtube import YouTube

_SHARED = Path(__file__).resolve().parents[3] / "shared" / "recordings"
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS", _SHARED)) / "youtube"
recorded = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="recordings of the real site are not at ../shared/recordings"
)
TRACKS = (("en", "manual"), ("en", "asr"), ("de", "manual", "Kommentar"), ("de", "manual"), ("ar", "manual"))
APPS = ("ANDROID", "VISIONOS", "TVHTML5", "IOS", "ANDROID_VR")
Lines = list[tuple[int, int, str]]


@pytest.fixture
def world() -> World:
    return World(videos=0)


@pytest.fixture
def site(world: World) -> YouTube:
    return YouTube(world)


def post(site: YouTube, endpoint: str, client: str = "WEB", host: str = "www.youtube.com", **body: Any) -> Reply:
    data = json.dumps({"context": {"client": {"clientName": client}}, **body}).encode()
    return site.handle(Hit("POST", host, f"/youtubei/v1/{endpoint}?prettyPrint=false", {}, data))


def player(site: YouTube, vid: str, client: str = "ANDROID", **body: Any) -> dict[str, Any]:
    reply = post(site, "player", client, videoId=vid, **body)
    assert reply.status == 200
    answer: dict[str, Any] = json.loads(reply.body)
    return answer


def listed(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = answer["captions"]["playerCaptionsTracklistRenderer"]["captionTracks"]
    return {track["vssId"]: track for track in found}


def get(site: YouTube, url: str, **changes: str | None) -> Reply:
    """Ask an address; None takes a parameter away."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query)) | changes
    kept = {name: value for name, value in query.items() if value is not None}
    return site.handle(Hit("GET", parts.netloc, f"{parts.path}?{urlencode(kept)}", {}))


def truth(world: World, video: Video, track: str) -> Lines:
    (found,) = (entry for entry in world.truth(video.id).tracks if entry.track_id == track)
    return list(found.segments)


def rows(text: str, tag: str, start: str, length: str, unit: int = 1) -> Lines:
    """Elements of XML as lines; whatever they contain counts as text."""
    found: Lines = []
    for row in Xml.fromstring(text).iter(tag):
        if row.get("a") == "1":
            continue
        begin, lasting = (round(float(row.get(name, "0")) * unit) for name in (start, length))
        found.append((begin, lasting, "".join(row.itertext())))
    return found


# -- formats -------------------------------------------------------------------------------


def read_srv2(text: str) -> Lines:
    lines: Lines = []
    for row in Xml.fromstring(text).iter("text"):
        if row.get("append") == "1":
            start, length, said = lines[-1]
            lines[-1] = (start, length, said + (row.text or ""))
        else:
            lines.append((int(row.get("t", "0")), int(row.get("d", "0")), row.text or ""))
    return lines


def read_json3(text: str) -> Lines:
    events = [e for e in json.loads(text)["events"] if "segs" in e and not e.get("aAppend")]
    return [(e["tStartMs"], e.get("dDurationMs", 0), "".join(s["utf8"] for s in e["segs"])) for e in events]


def _ms(text: str) -> int:
    hours, minutes, seconds = text.replace(",", ".").split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000 + round(float(seconds) * 1000)


def read_cues(text: str) -> Lines:
    found = re.findall(r"(\S+) --> (\S+)[^\n]*\n(.*?)\n(?=\n|\Z)", text, re.DOTALL)
    return [(_ms(start), _ms(end) - _ms(start), said) for start, end, said in found]


def read_ttml(text: str) -> Lines:
    space = "{http://www.w3.org/ns/ttml}"
    found: Lines = []
    for row in Xml.fromstring(text).iter(f"{space}p"):
        said = (row.text or "") + "".join("\n" + (part.tail or "") for part in row)
        start, end = _ms(row.get("begin", "")), _ms(row.get("end", ""))
        found.append((start, end - start, said))
    return found


READERS: dict[str, Any] = {
    "srv1": lambda text: [(s, d, unescape(t)) for s, d, t in rows(text, "text", "start", "dur", 1000)],
    "srv2": read_srv2,
    "srv3": lambda text: rows(text, "p", "t", "d"),
    "json3": read_json3,
    "srt": read_cues,
    "ttml": read_ttml,
    "vtt": lambda text: [(s, d, unescape(t)) for s, d, t in read_cues(text)],
}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("track", [".en", "a.en", ".ar"])
def test_every_format_holds_the_same_lines(world: World, site: YouTube, form: str, track: str) -> None:
    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id))[track]["baseUrl"]
    reply = get(site, url, fmt=form)
    assert reply.status == 200
    if (form, track) == ("vtt", "a.en"):
        return  # has a test of its own
    assert READERS[form](reply.body.decode()) == truth(world, video, track)


def test_srv1_is_the_default_and_escaped_twice(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    world.mutate({"video": video.id, "op": "caption", "track": ".en", "segment": 0, "text": 'it\'s <b> & "so"'})
    url = listed(player(site, video.id))[".en"]["baseUrl"]
    reply = get(site, url, fmt=None)
    assert reply.header("content-type").startswith("text/xml")
    assert b">it&amp;#39;s &amp;lt;b&amp;gt; &amp;amp; &amp;quot;so&amp;quot;</text>" in reply.body
    assert get(site, url, fmt="srv1").body == reply.body
    assert b">it&#39;s &lt;b&gt; &amp; &quot;so&quot;</p>" in get(site, url, fmt="srv3").body


def test_automatic_json3_has_a_window_and_breaks(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id))["a.en"]["baseUrl"]
    events = json.loads(get(site, url, fmt="json3").body)["events"]
    kinds = Counter("break" if e.get("aAppend") else "line" if "segs" in e else "window" for e in events)
    assert kinds == {"window": 1, "line": 40, "break": 39}
    words = [e["segs"] for e in events if "segs" in e and len(e["segs"]) > 1]
    assert all("tOffsetMs" not in segs[0] and "tOffsetMs" in segs[1] for segs in words)
    lines = truth(world, video, "a.en")
    overlaps = sum(a[0] + a[1] > b[0] for a, b in pairwise(lines))
    assert overlaps == 36  # three long pauses
    assert any(text == "[Music]" for _, _, text in lines)
    assert any(text.startswith(">> ") for _, _, text in lines)
    manual = json.loads(get(site, url, fmt="json3", kind=None).body)["events"]
    assert {tuple(event) for event in manual} == {("tStartMs", "dDurationMs", "segs")}


def test_automatic_vtt_rolls(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id))["a.en"]["baseUrl"]
    text = get(site, url, fmt="vtt").body.decode()
    assert text.startswith("WEBVTT\nKind: captions\nLanguage: en\n\n")
    cues = read_cues(text)
    assert [length == 10 for _, length, _ in cues] == [bool(place % 2) for place in range(79)]
    lines = [said for _, _, said in truth(world, video, "a.en")]
    for place, (_, _, shown) in enumerate(cues):
        above, _, below = unescape(re.sub(r"<[\d:.]+>|</?c>", "", shown)).partition("\n")
        number = place // 2
        if place % 2:
            assert (above, below) == (lines[number], " ")
        else:
            assert (above, below) == (lines[number - 1] if number else " ", lines[number])
    assert "><c> " in text


def test_every_kind_of_text_occurs(world: World) -> None:
    video = world.add(0, tracks=TRACKS)
    said = "\x00".join(text for _, _, text in truth(world, video, ".en"))
    for sign in ("&amp;", "&", "<laughs>", "[Music]", ">> ", "\n", "😀", "日本語", "עברית", "</text>", "-->", "'"):
        assert sign in said
    assert "\n\n" not in said


def test_blank_lines_and_missing_durations(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=(("en", "manual"),), blank_segments=True, missing_durations=True)
    url = listed(player(site, video.id))[".en"]["baseUrl"]
    wanted = truth(world, video, ".en")
    assert any(duration == 0 for _, duration, _ in wanted)
    for form in ("srv1", "srv2", "srv3", "json3"):
        found = READERS[form](get(site, url, fmt=form).body.decode())
        assert len(found) == 45
        assert [line for line in found if line[2] != " "] == wanted
    for form in ("vtt", "srt"):
        found = READERS[form](get(site, url, fmt=form).body.decode())
        assert all(duration > 0 for _, duration, _ in found)


# -- addresses -----------------------------------------------------------------------------


def test_an_address_that_was_changed_is_refused(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id, "WEB"))[".en"]["baseUrl"]
    assert "&exp=xpe&" in url
    assert "exp," in url
    assert (get(site, url).status, get(site, url).body) == (200, b"")
    assert get(site, url, exp=None).status == 403
    assert get(site, url, exp=None, sparams="ip,ipbits,expire,v,ei,caps,opi,xoaf").status == 403
    good = listed(player(site, video.id, "VISIONOS"))[".en"]["baseUrl"]
    assert get(site, good).body
    assert get(site, good, signature="00.00").status == 403
    assert get(site, good, expire="9999999999").status == 403
    assert (get(site, good, signature=None).status, get(site, good, signature=None).body) == (200, b"")
    # Language, kind, name, format and translation are not signed.
    assert READERS["json3"](get(site, good, kind="asr", fmt="json3").body.decode()) == truth(world, video, "a.en")
    assert get(site, good, lang="fr").status == 404
    assert get(site, good, name="nobody").status == 404
    assert get(site, good, tlang="xx").status == 404
    assert get(site, good, v="aaaaaaaaaaA").status == 404


def test_a_token_opens_the_address(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id, "WEB"))[".en"]["baseUrl"]
    assert get(site, url, pot="short").body == b""
    reply = get(site, url, pot="T0ken" * 8, potc="1", c="WEB", fmt="json3")
    assert READERS["json3"](reply.body.decode()) == truth(world, video, ".en")


def test_an_address_expires(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS, captions_lifetime=0)
    reply = get(site, listed(player(site, video.id))[".en"]["baseUrl"])
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    ("how", "status", "sign"), [("429", 429, "g-recaptcha"), ("403", 403, "Forbidden"), ("html", 200, "<!DOCTYPE")]
)
def test_blocked_captions(world: World, site: YouTube, how: Any, status: int, sign: str) -> None:
    video = world.add(0, tracks=TRACKS, captions_blocked=how)
    reply = get(site, listed(player(site, video.id))[".en"]["baseUrl"])
    assert reply.status == status
    assert sign in reply.body.decode()
    assert world.truth(video.id).captions == "blocked"


def test_translation(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    for track in (".en", "a.en"):
        url = listed(player(site, video.id))[track]["baseUrl"]
        lines = READERS["srv1"](get(site, url, fmt=None, tlang="de").body.decode())
        assert lines == [(s, d, translate(text, "de")) for s, d, text in truth(world, video, track)]
        assert b"tOffsetMs" not in get(site, url, fmt="json3", tlang="de").body
        own = READERS["srv1"](get(site, url, fmt=None, tlang="en").body.decode())
        assert own != truth(world, video, track)  # damaged, as on the real site


def test_places_name_video_track_and_translation(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    named = next(track for track in video.captions.tracks if track.name)
    url = listed(player(site, video.id))[named.id]["baseUrl"]
    hit = Hit("GET", "www.youtube.com", url.removeprefix("https://www.youtube.com") + "&tlang=fr", {})
    assert site.place(hit).key == f"timedtext:{video.id}:{named.id}:srv3:tlang=fr"
    assert site.place(hit).video == video.id
    body = json.dumps({"playerRequest": {"videoId": video.id}, "context": {"client": {"clientName": "ANDROID"}}})
    reel = Hit("POST", "youtubei.googleapis.com", "/youtubei/v1/reel/reel_item_watch", {}, body.encode())
    assert site.place(reel).key == f"reel_item_watch:{video.id}:ANDROID"


# -- the player ----------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["WEB", "MWEB", *APPS])
def test_each_client_has_its_own_shape(world: World, site: YouTube, client: str) -> None:
    video = world.add(0, tracks=TRACKS)
    found = player(site, video.id, client)["captions"]["playerCaptionsTracklistRenderer"]
    web = client in ("WEB", "MWEB")
    tracks = found["captionTracks"]
    assert [track["vssId"] for track in tracks[:2]] == [".ar", ".en"]
    assert tracks[0]["rtl"] is True
    assert tracks[2]["kind"] == "asr"
    assert re.fullmatch(r"\.de\.[\w-]{11}", tracks[4]["vssId"])
    text = "German - Kommentar"
    assert tracks[4]["name"] == ({"simpleText": text} if web else {"runs": [{"text": text}]})
    assert tracks[4]["trackName"] == "Kommentar"
    for track in tracks:
        assert track["baseUrl"].endswith("&fmt=srv3") == (client == "ANDROID")
        assert ("&exp=xpe" in track["baseUrl"]) == web
        assert track["isTranslatable"] is True
    codes = [entry["languageCode"] for entry in found["translationLanguages"]]
    assert codes == list(APP_TRANSLATIONS if client == "ANDROID" else TRANSLATIONS)
    assert (len(TRANSLATIONS), len(APP_TRANSLATIONS)) == (156, 18)
    assert found["audioTracks"][0]["defaultCaptionTrackIndex"] == 1
    assert world.truth(video.id).default_track == ".en"


def test_watch_page_lists_the_tracks_of_web(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    page = site.handle(Hit("GET", "www.youtube.com", f"/watch?v={video.id}", {})).body.decode()
    answer, _ = json.JSONDecoder().raw_decode(page.partition("var ytInitialPlayerResponse = ")[2])
    assert list(listed(answer)) == list(listed(player(site, video.id, "WEB")))
    assert "&exp=xpe" in listed(answer)[".en"]["baseUrl"]


STATUS = {
    "private": ("LOGIN_REQUIRED", "LOGIN_REQUIRED"),
    "removed": ("ERROR", "ERROR"),
    "age_gated": ("LOGIN_REQUIRED", "LOGIN_REQUIRED"),
    "members_only": ("UNPLAYABLE", "UNPLAYABLE"),
    "region_blocked": ("UNPLAYABLE", "UNPLAYABLE"),
    "upcoming": ("LIVE_STREAM_OFFLINE", "LIVE_STREAM_OFFLINE"),
    "bot_check": ("LOGIN_REQUIRED", "LOGIN_REQUIRED"),
}


@pytest.mark.parametrize("state", STATES)
def test_states_of_the_player(world: World, site: YouTube, state: Any) -> None:
    video = world.add(0, state=state, tracks=TRACKS)
    for client in ("WEB", *APPS):
        answer = player(site, video.id, client)
        expected = STATUS.get(state, ("OK", "OK"))[client != "WEB"]
        assert answer["playabilityStatus"]["status"] == expected
        assert ("captions" in answer) == (state in CAPTIONED)
    assert bool(world.truth(video.id).tracks) == (state in CAPTIONED)
    reel = post(site, "reel/reel_item_watch", "ANDROID", "youtubei.googleapis.com", playerRequest={"videoId": video.id})
    inner = json.loads(reel.body)
    assert inner == {} if state == "removed" else list(inner) == ["playerResponse"]


def test_words_differ_between_web_and_apps(world: World, site: YouTube) -> None:
    def said(state: Any, client: str) -> str | None:
        found = player(site, world.add(0, state=state).id, client)["playabilityStatus"].get("reason")
        assert found is None or isinstance(found, str)
        return found

    assert said("age_gated", "WEB") == "Sign in to confirm your age"
    assert said("age_gated", "ANDROID") == "This video may be inappropriate for some users."
    assert (said("private", "WEB"), said("private", "VISIONOS")) == (None, "This video is private")
    assert (said("removed", "WEB"), said("removed", "ANDROID")) == ("Video unavailable", "This video is unavailable")
    assert said("region_blocked", "WEB") == "Video unavailable"
    assert "in your country" in (said("region_blocked", "TVHTML5") or "")


def test_kids_and_refusals(world: World, site: YouTube) -> None:
    kids = world.add(0, tracks=TRACKS, kids=True).id
    assert player(site, kids, "VISIONOS")["playabilityStatus"] == {
        "status": "UNPLAYABLE",
        "reason": "This video is not available",
    }
    assert listed(player(site, kids, "ANDROID"))
    clients = ("WEB", "MWEB")
    web = world.add(0, tracks=TRACKS, refusal="page_reload", refusal_clients=clients).id
    assert "needs to be reloaded" in json.dumps(player(site, web, "WEB"))
    assert listed(player(site, web, "WEB", serviceIntegrityDimensions={"poToken": "T0ken" * 8}))
    assert listed(player(site, web, "ANDROID"))
    other = world.add(0, tracks=TRACKS, refusal="other_video").id
    answer = player(site, other)
    assert answer["videoDetails"]["videoId"] != other
    assert "captions" not in answer


def test_what_a_careful_collector_concludes(world: World) -> None:
    def conclusion(**settings: Any) -> str:
        return world.truth(world.add(0, **{"tracks": TRACKS, **settings}).id).captions

    assert conclusion() == "complete"
    assert conclusion(tracks=()) == "none"
    assert conclusion(captions_exp_clients=()) == "token_needed"
    assert conclusion(captions_exp="xbt", captions_exp_clients=()) == "complete"
    assert conclusion(refusal="session_limit") == "session_limit"
    assert conclusion(refusal="bot_check", refusal_clients=("ANDROID",)) == "complete"
    assert conclusion(state="age_gated") == "age_gated"
    assert conclusion(state="no_section") == "none"


# -- panels --------------------------------------------------------------------------------


def panel_endpoint(site: YouTube, vid: str) -> str:
    text = post(site, "next", videoId=vid).body.decode()
    found = re.search(r'"getTranscriptEndpoint":\{"params":"([^"]+)"', text)
    assert found is not None
    return found[1]


def test_get_transcript_is_refused_by_default(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS)
    reply = post(site, "get_transcript", params=panel_endpoint(site, video.id))
    assert reply.status == 400
    assert json.loads(reply.body)["error"]["status"] == "FAILED_PRECONDITION"
    assert post(site, "get_transcript", params="%%").status == 400


def test_classic_get_transcript(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS, get_transcript="classic")
    params = panel_endpoint(site, video.id)
    seen: dict[str, list[tuple[int, str]]] = {}
    waiting = [params]
    while waiting:
        answer = json.loads(post(site, "get_transcript", params=waiting.pop()).body)
        content = answer["actions"][0]["updateEngagementPanelAction"]["content"]
        panel = content["transcriptRenderer"]["content"]["transcriptSearchPanelRenderer"]
        menu = panel["footer"]["transcriptFooterRenderer"]["languageMenu"]["sortFilterSubMenuRenderer"]
        (title,) = (item["title"] for item in menu["subMenuItems"] if item["selected"])
        lines = [
            row["transcriptSegmentRenderer"]
            for row in panel["body"]["transcriptSegmentListRenderer"]["initialSegments"]
        ]
        seen[title] = [(int(line["startMs"]), line["snippet"]["runs"][0]["text"]) for line in lines]
        assert all(int(line["startMs"]) < int(line["endMs"]) for line in lines)
        others = [item["continuation"] for item in menu["subMenuItems"] if item["title"] not in seen]
        waiting += [other["reloadContinuationData"]["continuation"] for other in others]
    wanted = {track.title: truth(world, video, track.id) for track in video.captions.tracks}
    assert seen == {title: [(start, text) for start, _, text in lines] for title, lines in wanted.items()}
    # What was enough until December 2025 no longer is.
    short = url_base64(field(1, video.id) + field(2, url_base64(field(1, "asr") + field(2, "en") + field(3, ""))))
    assert post(site, "get_transcript", params=short).status == 400


def test_modern_panel(world: World, site: YouTube) -> None:
    video = world.add(0, tracks=TRACKS, modern_panel=True)
    reply = post(site, "get_panel", panelId=MODERN, params=panel_params(video.id))
    found = re.findall(r'"transcriptSegmentViewModel": (\{.*?\})\}', reply.body.decode())
    assert [json.loads(text)["simpleText"] for text in found] == [t for _, _, t in truth(world, video, ".en")]
    assert MODERN in post(site, "next", videoId=video.id).body.decode()
    classic = world.add(0, tracks=TRACKS)
    assert post(site, "get_panel", panelId=MODERN, params=panel_params(classic.id)).status == 400


# -- the world -----------------------------------------------------------------------------


def test_tracks_are_drawn_from_the_seed() -> None:
    one, two = World(seed=3, videos=60, comments=(0, 0)), World(seed=3, videos=60, comments=(0, 0))
    kinds: Counter[str] = Counter()
    for vid in one.videos:
        assert one.truth(vid) == two.truth(vid)
        tracks = one.truth(vid, texts=False).tracks
        kinds["none"] += not tracks
        kinds["asr"] += any(track.kind == "asr" for track in tracks)
        kinds["named"] += any(track.name for track in tracks)
        languages = [track.language for track in tracks if track.kind == "manual"]
        kinds["twice"] += len(languages) != len(set(languages))
    assert all(kinds[kind] for kind in ("none", "asr", "named", "twice"))


def test_changes_of_captions(world: World) -> None:
    video = world.add(0, tracks=TRACKS)
    change = {"video": video.id, "op": "caption", "track": "a.en", "segment": 2, "text": "now it is new"}
    assert world.mutate(change) == ["a.en"]
    assert truth(world, video, "a.en")[2][2] == "now it is new"
    with pytest.raises(KeyError):
        world.mutate({**change, "segment": 40})
    assert world.mutate({"video": video.id, "op": "tracks", "tracks": []}) == []
    assert world.truth(video.id).captions == "none"
    for wrong in ([["en", "forced"]], [["en", "manual"], ["en", "manual"]]):
        with pytest.raises(ValueError, match="track"):
            world.mutate({"video": video.id, "op": "tracks", "tracks": wrong})


# -- recordings ----------------------------------------------------------------------------


def paths(value: Any, at: str = "") -> set[str]:
    out: set[str] = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            out |= {f"{at}.{key}"} | paths(inner, f"{at}.{key}")
    elif isinstance(value, list):
        for inner in value:
            out |= paths(inner, at)
    return out


@recorded
@pytest.mark.parametrize(("client", "pattern"), [("ANDROID", "*_1.json"), ("VISIONOS", "*_3.json")])
def test_track_lists_have_all_real_paths(world: World, site: YouTube, client: str, pattern: str) -> None:
    video = world.add(0, tracks=TRACKS)
    ours = paths(player(site, video.id, client)["captions"])
    real: set[str] = set()
    names: set[str] = set()
    for file in (RECORDINGS / "player_ok_captions").glob(pattern):
        answer = json.loads(file.read_text("utf-8"))
        captions = answer.get("playerResponse", answer)["captions"]
        real |= paths(captions)
        for track in captions["playerCaptionsTracklistRenderer"]["captionTracks"]:
            names |= set(dict(parse_qsl(urlsplit(track["baseUrl"]).query, keep_blank_values=True)))
    # Only videos with several sound tracks or spoken languages have these.
    several = {
        p for p in real if p.endswith((".audioTrackId", ".excludeAudioTrackIndices", ".translationSourceTrackIndices"))
    }
    assert sorted(real - ours - several) == []
    asked = set()
    for track in listed(player(site, video.id, client)).values():
        asked |= set(dict(parse_qsl(urlsplit(track["baseUrl"]).query)))
    assert names - {"xoadf", "variant"} <= asked


@recorded
@pytest.mark.parametrize("form", ["json3", "srv3"])
def test_automatic_tracks_are_built_like_real_ones(world: World, site: YouTube, form: str) -> None:
    def kinds(text: str) -> set[tuple[Any, ...]]:
        if form == "json3":
            events = json.loads(text)["events"]
            return {tuple(event) for event in events} | {tuple(s) for e in events for s in e.get("segs", ())}
        ignored = {"p"}  # pens: modern tracks have none
        found = Xml.fromstring(text).iter()
        return {(row.tag, *sorted(set(row.keys()) - ignored)) for row in found if row.tag != "pen"}

    video = world.add(0, tracks=TRACKS)
    url = listed(player(site, video.id))["a.en"]["baseUrl"]
    ours = kinds(get(site, url, fmt=form).body.decode())
    for file in (RECORDINGS / f"timedtext_{form}").glob("*asr*"):
        assert kinds(file.read_text("utf-8")) <= ours
