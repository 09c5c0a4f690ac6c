"""Captions of the replica are believed because programs written by others read them without loss."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from research_scrapers.replica.captions import translate
from research_scrapers.replica.languages import APP_TRANSLATIONS, TRANSLATIONS
from research_scrapers.replica.launch import ReplicaProcess

pytest.importorskip("yt_dlp")
pytest.importorskip("youtube_transcript_api")

LIBRARY = """
import json, sys
from youtube_transcript_api import YouTubeTranscriptApi
video, wanted, target = sys.argv[1:4]
try:
    found = YouTubeTranscriptApi().list(video)
    picked = [found.find_transcript(wanted.split(","))] if wanted else list(found)
    if target:
        picked = [picked[0].translate(target)]
    out = [
        {
            "language": t.language_code, "asr": t.is_generated, "title": t.language,
            "translations": [entry.language_code for entry in t.translation_languages],
            "segments": [[s.start, s.duration, s.text] for s in t.fetch()],
        }
        for t in picked
    ]
except Exception as exc:
    out = {"error": type(exc).__name__, "text": str(exc)}
print(json.dumps(out))
"""
MANY = [["en", "manual"], ["en", "asr"], ["de", "manual"], ["de", "manual", "Kommentar & mehr"]]
MANY += [["ja", "manual"], ["ar", "manual"], ["iw", "manual"]]
VIDEOS: dict[str, dict[str, Any]] = {
    "many": {"tracks": MANY, "translatable": False},
    "plain": {"tracks": [["en", "manual"], ["en", "asr"]], "caption_segments": 25},
    "japanese": {"tracks": [["ja", "asr"], ["zh-Hans", "manual"]], "translatable": False},
    "cantonese": {"tracks": [["yue", "asr"]], "caption_segments": 5, "translatable": False},
    "short": {"tracks": [["en", "asr"]], "caption_segments": 3},
    "none": {"tracks": []},
    "drawn": {"video": "drawnTrackg"},  # four tracks, by the seed
    "blanks": {"tracks": [["en", "manual"]], "blank_segments": True, "missing_durations": True},
    "token": {"tracks": [["en", "manual"]], "captions_exp_clients": []},
    "untold": {"tracks": [["en", "manual"]], "captions_exp": "xbt", "captions_exp_clients": []},
    "zero_bytes": {"tracks": [["en", "manual"]], "captions_exp": "xpv", "captions_exp_clients": []},
    "blocked": {"tracks": [["en", "manual"]], "captions_blocked": "429"},
    "empty": {"tracks": [["en", "manual"]], "captions_blocked": "empty"},
    "kids": {"tracks": [["en", "manual"], ["en", "asr"]], "kids": True},
    "consent": {"tracks": [["en", "manual"]], "state": "consent_form"},
    "consent_redirect": {"tracks": [["en", "manual"]], "state": "consent_redirect"},
    "android_only": {"tracks": [["en", "manual"]], "refusal": "bot_check", "refusal_clients": ["ANDROID"]},
    "reload": {"tracks": [["en", "manual"]], "refusal": "page_reload", "refusal_clients": ["WEB", "MWEB"]},
    **{
        state: {"tracks": [["en", "manual"]], "state": state}
        for state in ("age_gated", "removed", "bot_check", "sorry", "private", "members_only", "region_blocked")
    },
    **{state: {"tracks": [["en", "manual"]], "state": state} for state in ("upcoming", "no_section")},
    **{
        refusal: {"tracks": [["en", "manual"]], "refusal": refusal}
        for refusal in ("session_limit", "music_premium", "processing", "captcha", "other_video")
    },
}
NAMES = list(VIDEOS)


@pytest.fixture(scope="module")
def replica() -> Iterator[ReplicaProcess]:
    with ReplicaProcess(spec=[{"comments": 0, **settings} for settings in VIDEOS.values()]) as process:
        yield process


@pytest.fixture(autouse=True)
def _no_faults(replica: ReplicaProcess) -> None:
    replica.reset()


def video_of(replica: ReplicaProcess, name: str) -> str:
    return replica.videos[NAMES.index(name)]


def library(replica: ReplicaProcess, name: str, wanted: str = "", target: str = "") -> Any:
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, video_of(replica, name), wanted, target],
        env=replica.environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def as_library(segments: list[list[Any]]) -> list[list[Any]]:
    """The library says seconds, and deletes what stands in angle brackets."""
    return [[start / 1000, duration / 1000, re.sub(r"<[^>]*>", "", text)] for start, duration, text in segments]


# -- youtube-transcript-api ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["many", "plain", "japanese", "cantonese", "drawn", "kids", "consent", "reload"])
def test_library_reads_every_track(replica: ReplicaProcess, name: str) -> None:
    truth = replica.truth(video_of(replica, name))
    assert truth["captions"] == "complete"
    # Of two tracks with one language and kind it keeps the one listed last.
    kept = {(track["language"], track["kind"] == "asr"): track for track in truth["tracks"]}
    found = library(replica, name)
    assert {(entry["language"], entry["asr"]) for entry in found} == set(kept)
    for entry in found:
        track = kept[entry["language"], entry["asr"]]
        assert len(track["segments"]) == VIDEOS[name].get("caption_segments", 40)
        assert entry["segments"] == as_library(track["segments"])
        assert entry["translations"] in ([], list(APP_TRANSLATIONS))


def test_library_reads_blank_lines_and_missing_durations(replica: ReplicaProcess) -> None:
    (track,) = replica.tracks(video_of(replica, "blanks")).values()
    (found,) = library(replica, "blanks")
    spoken = [segment for segment in found["segments"] if segment[2] != " "]
    assert len(found["segments"]) > len(spoken)
    assert spoken == as_library(track["segments"])
    assert 0.0 in [duration for _, duration, _ in spoken]


def test_library_translates(replica: ReplicaProcess) -> None:
    track = replica.tracks(video_of(replica, "plain"))[".en"]
    (found,) = library(replica, "plain", "en", "de")
    expected = [[start, duration, translate(text, "de")] for start, duration, text in track["segments"]]
    assert found["segments"] == as_library(expected)
    keys = [entry[3] for entry in replica.counters(log=True)["log"]]
    vid = video_of(replica, "plain")
    assert keys == [f"watch:{vid}", f"player:{vid}:ANDROID", f"timedtext:{vid}:.en:srv1:tlang=de"]


@pytest.mark.parametrize(
    ("name", "wanted", "target", "error"),
    [
        ("none", "", "", "TranscriptsDisabled"),
        ("no_section", "", "", "TranscriptsDisabled"),
        ("plain", "fr,nl", "", "NoTranscriptFound"),
        ("many", "en", "de", "NotTranslatable"),
        ("plain", "en", "cy", "TranslationLanguageNotAvailable"),
        ("age_gated", "", "", "AgeRestricted"),
        ("removed", "", "", "VideoUnavailable"),
        ("bot_check", "", "", "RequestBlocked"),
        ("android_only", "", "", "RequestBlocked"),
        ("sorry", "", "", "IpBlocked"),
        ("blocked", "", "", "IpBlocked"),
        ("token", "", "", "PoTokenRequired"),
        ("zero_bytes", "", "", "ParseError"),  # it knows xpe only, and does not expect zero bytes
        ("empty", "", "", "ParseError"),
        ("private", "", "", "VideoUnplayable"),
        ("members_only", "", "", "VideoUnplayable"),
        ("region_blocked", "", "", "VideoUnplayable"),
        ("upcoming", "", "", "VideoUnplayable"),
        ("session_limit", "", "", "VideoUnplayable"),
        ("music_premium", "", "", "VideoUnplayable"),
        ("processing", "", "", "VideoUnplayable"),
        ("captcha", "", "", "VideoUnplayable"),
    ],
)
def test_library_understands_why_not(replica: ReplicaProcess, name: str, wanted: str, target: str, error: str) -> None:
    assert library(replica, name, wanted, target)["error"] == error


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({"action": "captcha", "path": "/watch"}, "IpBlocked"),
        ({"action": "bot_check", "path": "/youtubei/v1/player"}, "RequestBlocked"),
        ({"action": "status", "status": 429, "path": "/api/timedtext"}, "IpBlocked"),
        ({"action": "status", "status": 429, "key": "player:"}, "IpBlocked"),
        ({"action": "status", "status": 503, "key": ":a.en:"}, "YouTubeRequestFailed"),
        ({"action": "empty", "path": "/api/timedtext"}, "ParseError"),
    ],
)
def test_library_meets_faults(replica: ReplicaProcess, rule: dict[str, Any], error: str) -> None:
    replica.faults(rule)
    assert library(replica, "plain")["error"] == error


def test_translations_can_be_throttled_alone(replica: ReplicaProcess) -> None:
    replica.faults({"action": "status", "status": 429, "key": "tlang=", "retry_after": 60})
    assert library(replica, "plain", "en", "de")["error"] == "IpBlocked"
    assert library(replica, "plain", "en")[0]["language"] == "en"


def test_library_sees_a_changed_transcript(replica: ReplicaProcess) -> None:
    """Guards the tests above, and gives tests of refreshing something to find."""
    vid = video_of(replica, "drawn")
    before = replica.truth(vid)["tracks"]
    assert replica.mutate(vid, "tracks", tracks=[["en", "manual"], ["nl", "manual"]]) == [".nl", ".en"]
    replica.mutate(vid, "caption", track=".en", segment=3, text="quite & new")
    (english,) = (entry for entry in library(replica, "drawn") if entry["language"] == "en")
    assert english["segments"][3][2] == "quite & new"
    assert english["segments"] == as_library(replica.tracks(vid)[".en"]["segments"])
    assert replica.truth(vid)["tracks"] != before


# -- yt-dlp --------------------------------------------------------------------------------


def yt_dlp(replica: ReplicaProcess, name: str, folder: Path, *options: str) -> tuple[dict[str, Path], str]:
    """({language: subtitle file}, what it printed)"""
    command = [sys.executable, "-m", "yt_dlp", "--ignore-config", "--no-cache-dir", "--skip-download"]
    command += ["--write-subs", "--write-auto-subs", "--ignore-no-formats-error", "--compat-options", "no-certifi"]
    command += ["--extractor-retries", "1", "--proxy", replica.proxy, "-o", str(folder / "x.%(ext)s"), *options]
    done = subprocess.run(
        [*command, f"https://www.youtube.com/watch?v={video_of(replica, name)}"],
        env=replica.environment(),
        capture_output=True,
        text=True,
        timeout=240,
    )
    return {path.name.split(".")[1]: path for path in folder.iterdir()}, done.stdout + done.stderr


def from_json3(path: Path) -> list[list[Any]]:
    events = json.loads(path.read_text())["events"]
    lines = [event for event in events if "segs" in event and not event.get("aAppend")]
    return [[e["tStartMs"], e.get("dDurationMs", 0), "".join(s["utf8"] for s in e["segs"])] for e in lines]


def cues(path: Path) -> list[tuple[int, int, str]]:
    def ms(text: str) -> int:
        hours, minutes, seconds = text.split(":")
        return (int(hours) * 60 + int(minutes)) * 60_000 + round(float(seconds) * 1000)

    found: list[tuple[int, int, str]] = []
    for block in re.split(r"\n\n(?=\d\d:)", path.read_text().rstrip("\n"))[1:]:
        times, _, text = block.partition("\n")
        start, _, end = times.split()[:3]
        found.append((ms(start), ms(end), text))
    return found


def from_plain_vtt(path: Path) -> list[list[Any]]:
    return [[start, end - start, unescape(text)] for start, end, text in cues(path)]


def from_rolling_vtt(path: Path) -> list[tuple[int, str]]:
    """Start and text of each line; the time on the screen cannot be told from this form."""
    lines: list[tuple[int, str]] = []
    for start, end, text in cues(path):
        if end - start > 10:
            lines.append((start, unescape(re.sub(r"<[^>]+>", "", text.split("\n")[-1]))))
    return lines


def language_of(track: dict[str, Any]) -> str:
    """How yt-dlp names the file of a track."""
    if track["kind"] == "asr":
        return str(track["language"])
    return str(track["track_id"]).removeprefix(".").replace(".", "-")


@pytest.mark.parametrize("name", ["many", "japanese", "cantonese", "consent", "consent_redirect", "untold"])
def test_yt_dlp_reads_every_track_as_json3(replica: ReplicaProcess, name: str, tmp_path: Path) -> None:
    tracks = replica.truth(video_of(replica, name))["tracks"]
    asr = {track["language"] for track in tracks if track["kind"] == "asr"}
    quick = ["--extractor-args", "youtube:skip=translated_subs"]
    files, printed = yt_dlp(replica, name, tmp_path, "--sub-langs", "all", "--sub-format", "json3", *quick)
    manual = [track for track in tracks if track["kind"] == "manual"]
    assert files, printed
    for track in manual:
        assert from_json3(files[language_of(track)]) == track["segments"], track["track_id"]
    for track in tracks:
        # A manual track hides the automatic one of its language, unless asked for by "-orig".
        if track["kind"] == "asr" and track["language"] not in {t["language"] for t in manual}:
            assert from_json3(files[track["language"]]) == track["segments"]
    assert asr <= {language.removesuffix("-orig") for language in files}


@pytest.mark.parametrize("name", ["many", "japanese"])
def test_yt_dlp_reads_every_track_as_vtt(replica: ReplicaProcess, name: str, tmp_path: Path) -> None:
    tracks = replica.tracks(video_of(replica, name)).values()
    files, printed = yt_dlp(replica, name, tmp_path, "--sub-langs", "all", "--sub-format", "vtt")
    manual = [track for track in tracks if track["kind"] == "manual"]
    assert files, printed
    for track in manual:
        assert from_plain_vtt(files[language_of(track)]) == track["segments"]
    for track in tracks:
        if track["kind"] == "asr" and track["language"] not in {t["language"] for t in manual}:
            lines = [(start, text) for start, _, text in track["segments"]]
            assert from_rolling_vtt(files[track["language"]]) == lines


@pytest.mark.parametrize(("form", "read"), [("json3", from_json3), ("vtt", from_rolling_vtt)])
def test_yt_dlp_reads_automatic_beside_manual(replica: ReplicaProcess, form: str, read: Any, tmp_path: Path) -> None:
    track = replica.tracks(video_of(replica, "plain"))["a.en"]
    wanted = ["--sub-langs", "en-orig", "--sub-format", form]
    files, printed = yt_dlp(replica, "plain", tmp_path, *wanted)
    assert list(files) == ["en-orig"], printed
    segments = track["segments"]
    assert read(files["en-orig"]) == (segments if form == "json3" else [(s, text) for s, _, text in segments])


def test_yt_dlp_takes_translations(replica: ReplicaProcess, tmp_path: Path) -> None:
    tracks = replica.tracks(video_of(replica, "plain"))
    wanted = ["--sub-langs", "de,cy-en", "--sub-format", "json3"]
    files, printed = yt_dlp(replica, "plain", tmp_path, *wanted)
    assert set(files) == {"de", "cy-en"}, printed
    for name, track, target in (("de", tracks["a.en"], "de"), ("cy-en", tracks[".en"], "cy")):
        expected = [[start, length, translate(text, target)] for start, length, text in track["segments"]]
        assert from_json3(files[name]) == expected
    assert "cy" in TRANSLATIONS
    assert "cy" not in APP_TRANSLATIONS


def test_yt_dlp_takes_all_that_there_is(replica: ReplicaProcess, tmp_path: Path) -> None:
    (track,) = replica.tracks(video_of(replica, "short")).values()
    files, printed = yt_dlp(replica, "short", tmp_path, "--sub-langs", "all", "--sub-format", "json3")
    assert set(files) == {*TRANSLATIONS, "en-orig"}, printed
    for language, path in files.items():
        own = language in ("en", "en-orig")
        texts = [text if own else translate(text, language) for _, _, text in track["segments"]]
        assert [text for _, _, text in from_json3(path)] == texts
    counters = replica.counters(log=True)
    assert counters["by_path"]["www.youtube.com/api/timedtext"] == len(TRANSLATIONS) + 1
    assert counters["repeats"] == 1  # "en" and "en-orig" are one address


@pytest.mark.parametrize("client", ["tv_samsung", "web", "mweb", "android", "ios", "web_embedded"])
def test_other_clients_of_yt_dlp(replica: ReplicaProcess, client: str, tmp_path: Path) -> None:
    """WEB and MWEB get addresses that need a token, the others do not."""
    settings = f"youtube:player_client={client};player_skip=js"
    wanted = ["--sub-langs", "en", "--sub-format", "json3", "--extractor-args", settings]
    files, printed = yt_dlp(replica, "plain", tmp_path, *wanted)
    if client in ("web", "mweb"):
        assert not files
        token = f"youtube:player_client={client};player_skip=js;po_token={client}.subs+{'T0ken' * 8}"
        files, printed = yt_dlp(replica, "plain", tmp_path, *wanted[:-1], token)
    (track,) = (t for t in replica.truth(video_of(replica, "plain"))["tracks"] if t["track_id"] == ".en")
    assert files, printed
    assert from_json3(files["en"]) == track["segments"]


def test_yt_dlp_misses_what_is_made_for_kids(replica: ReplicaProcess, tmp_path: Path) -> None:
    files, printed = yt_dlp(replica, "kids", tmp_path, "--sub-langs", "en", "--sub-format", "json3")
    assert not files
    assert "not available" in printed


def test_yt_dlp_finds_no_captions(replica: ReplicaProcess, tmp_path: Path) -> None:
    files, printed = yt_dlp(replica, "none", tmp_path, "--sub-langs", "all", "--sub-format", "json3")
    assert not files
    assert "There are no subtitles" in printed
