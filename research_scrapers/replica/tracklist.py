"""The list of caption tracks in a player's answer, and the signed addresses in it."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from .captions import Track, track_id
from .identity import chars, digest
from .languages import APP_TRANSLATIONS, RTL, TRANSLATIONS
from .template import runs

if TYPE_CHECKING:
    from .video import Video

Verdict = Literal["good", "unsigned", "forged", "expired", "token"]
# Clients that print names as `simpleText`; all others as `runs`.
WEB_CLIENTS = frozenset(("WEB", "MWEB", "WEB_EMBEDDED_PLAYER", "WEB_CREATOR", "WEB_REMIX", "WEB_SAFARI"))
_SIGNED = ("ip", "ipbits", "expire", "v", "ei", "caps", "opi", "exp", "xoaf")
_TOKEN_LENGTH = 16  # no real proof token is shorter


def _signature(values: Mapping[str, str]) -> str:
    """Two words of 40 hex digits over the values that `sparams` names, and over `sparams`."""
    named = values.get("sparams", "").split(",")
    raw = digest("signature", values.get("sparams"), *(f"{name}={values.get(name)}" for name in named), size=40)
    return f"{raw[:20].hex()}.{raw[20:].hex()}".upper()


def base_url(track: Track, video: Video, client: str, hl: str) -> str:
    traits = video.traits
    expire = int(time()) + traits.captions_lifetime
    values = {
        "v": video.id,
        "ei": chars(digest("ei", video.id, client, expire, size=18), 22),
        "caps": "asr",
        "opi": "112496729",
    }
    if traits.captions_exp and (not traits.captions_exp_clients or client in traits.captions_exp_clients):
        values["exp"] = traits.captions_exp
    values |= {"xoaf": "5", "xowf": "1", "hl": hl, "ip": "0.0.0.0", "ipbits": "0", "expire": str(expire)}  # noqa: S104
    values["sparams"] = ",".join(name for name in _SIGNED if name in values)
    values |= {"signature": _signature(values), "key": "yt8"}
    if track.asr:
        values["kind"] = "asr"
    values["lang"] = track.language
    if track.name:
        values["name"] = track.name
    if client == "ANDROID":
        values["fmt"] = "srv3"
    return "https://www.youtube.com/api/timedtext?" + urlencode(values, safe=",", quote_via=quote)


def verdict(query: Mapping[str, str]) -> Verdict:
    """What the server thinks of an address that a client brings back."""
    if not query.get("signature") or not query.get("expire"):
        return "unsigned"
    if query["signature"] != _signature(query):
        return "forged"
    if not query["expire"].isdigit() or int(query["expire"]) <= time():
        return "expired"
    if query.get("exp") in ("xpe", "xpv") and len(query.get("pot", "")) < _TOKEN_LENGTH:
        return "token"
    return "good"


def asked_track(query: Mapping[str, str]) -> str:
    """The vssId that an address is about; the language, kind and name are not signed."""
    kind = "asr" if query.get("kind") == "asr" else "manual"
    return track_id(query.get("v", ""), query.get("lang", ""), kind, query.get("name", ""))


def track_list(video: Video, client: str, hl: str) -> dict[str, Any] | None:
    """`captions` of a player's answer; None when the video has no tracks."""
    tracks = video.captions.tracks
    if not tracks:
        return None

    def named(text: str) -> dict[str, Any]:
        return {"simpleText": text} if client in WEB_CLIENTS else runs(text)

    entries: list[dict[str, Any]] = []
    for track in tracks:
        entry: dict[str, Any] = {
            "baseUrl": base_url(track, video, client, hl),
            "name": named(track.title),
            "vssId": track.id,
            "languageCode": track.language,
        }
        if track.asr:
            entry["kind"] = "asr"
        if track.language in RTL:
            entry["rtl"] = True
        entries.append({**entry, "isTranslatable": video.traits.translatable, "trackName": track.name})
    audio: dict[str, Any] = {"captionTrackIndices": list(range(len(tracks)))}
    default = video.captions.default()
    assert default is not None
    if not default.asr:
        audio |= {
            "defaultCaptionTrackIndex": tracks.index(default),
            "hasDefaultTrack": True,
            "captionsInitialState": "CAPTIONS_INITIAL_STATE_OFF_RECOMMENDED",
        }
    found: dict[str, Any] = {"captionTracks": entries, "audioTracks": [audio]}
    if video.traits.translatable:
        codes = APP_TRANSLATIONS if client == "ANDROID" else tuple(TRANSLATIONS)
        found["translationLanguages"] = [
            {"languageCode": code, "languageName": named(TRANSLATIONS[code])} for code in codes
        ]
    found["defaultAudioTrackIndex"] = 0
    if client == "ANDROID" and video.traits.translatable:
        found["defaultTranslationSourceTrackIndices"] = [tracks.index(default)]
    return {"playerCaptionsTracklistRenderer": found}
