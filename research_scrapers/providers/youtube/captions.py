"""The caption tracks that a player answer lists, and which of them are in the video's own language.

A track's name is its ``vssId``: two tracks may share a language. An answer that plays and lists nothing says that there
is nothing; one that does not play says why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from research_scrapers.errors import LayoutChanged, NotStartedYet, TranscriptsDisabled
from research_scrapers.models import Track
from research_scrapers.providers.languages import fit
from research_scrapers.providers.tracks import ASR, MANUAL
from research_scrapers.providers.youtube.endpoints import SITE
from research_scrapers.providers.youtube.states import player_state
from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROOF = frozenset({"xpe", "xbt", "xpv"})
"""Experiments under which an address answers nothing to whoever brings no proof token."""
_HOSTS = frozenset({"www.youtube.com", "youtube.com", "m.youtube.com"})
"""Where captions lie. No other host is ever asked."""
_ORIGINAL = ".4"
"""How the id of the audio that the video was made with ends; dubs end in other numbers."""


@dataclass(frozen=True, slots=True)
class TrackList:
    """What a player answer says about captions."""

    tracks: tuple[Track, ...]
    translations: tuple[tuple[str, str], ...]
    """Code and name of every language that the site offers to translate into."""
    own_language: str | None
    player: dict[str, Any]
    """The answer itself, unwrapped, for the video's own facts."""

    def find(self, track_id: str, language: str, kind: str) -> Track | None:
        """The track of this name in another client's list; failing that, the only one of its language and kind."""
        for track in self.tracks:
            if track.track_id == track_id:
                return track
        alike = [track for track in self.tracks if (track.language, track.kind) == (language, kind)]
        return alike[0] if len(alike) == 1 else None


def read_tracks(data: dict[str, Any], video_id: str | None = None) -> TrackList:
    """The tracks of a player answer: the watch page's, the endpoint's, or as ``reel_item_watch`` wraps it."""
    refused = player_state(data, video_id)
    if refused is not None:
        raise refused
    player = dict_at(data, "playerResponse") or data
    renderer = _renderer(player)
    listed = list_at(renderer, "captionTracks")
    if not listed:
        raise _nothing(player)
    tracks, places = _tracks(listed)
    own = _own_language(renderer, places)
    return TrackList(
        tuple(replace(track, is_own=own is not None and fit(own, track.language) is not None) for track in tracks),
        tuple(_translations(renderer)),
        own,
        player,
    )


def needs_token(url: str) -> bool:
    """Whether an address is of those that answer nothing without a proof token. The sign is signed: it must stay."""
    try:
        query = urlsplit(url).query
    except ValueError:
        return False
    return any(name == "exp" and _PROOF & set(value.split(",")) for name, value in parse_qsl(query))


def _renderer(player: dict[str, Any]) -> dict[str, Any]:
    """The list's object; empty only where the answer truly has none, for what is not understood proves nothing."""
    captions = player.get("captions") or {}
    renderer = dig(captions, "playerCaptionsTracklistRenderer")
    if not captions or (renderer is None and dig(captions, "playerCaptionsRenderer") is not None):
        return {}
    if type(renderer) is not dict or type(renderer.get("captionTracks", [])) is not list:
        raise LayoutChanged("captions of a form that we do not know")
    return renderer


def _nothing(player: dict[str, Any]) -> Exception:
    details = dict_at(player, "videoDetails")
    if details.get("isUpcoming") is True:
        return NotStartedYet()
    if details.get("isLive") is True:
        return TranscriptsDisabled("a running live stream; transcripts come when it has ended, if at all")
    return TranscriptsDisabled()


def _tracks(listed: list[Any]) -> tuple[list[Track], dict[int, Track]]:
    """Every track once, and which track stands at which place of the site's list."""
    tracks: dict[str, Track] = {}
    places: dict[int, Track] = {}
    for place, entry in enumerate(listed):
        language = str_at(entry, "languageCode")
        if language is None:
            raise LayoutChanged("a caption track without a language")
        kind = ASR if str_at(entry, "kind") == "asr" else MANUAL
        given = str_at(entry, "trackName") or ""
        fallback = f"{'a' if kind == ASR else ''}.{language}{'.' if given else ''}{given}"
        track = Track(
            track_id=str_at(entry, "vssId") or fallback,
            language=language,
            kind=kind,
            name=label_at(entry, "name") or given,
            url=_address(str_at(entry, "baseUrl") or ""),
            translatable=entry.get("isTranslatable") is True,
        )
        known = tracks.get(track.track_id)
        if known is not None and known != track:
            track = replace(track, track_id=f"{track.track_id}#{place}")
        places[place] = tracks.setdefault(track.track_id, track)
    return list(tracks.values()), places


def _address(url: str) -> str:
    """The absolute address of a track, or nothing if it leads away from the site."""
    if url.startswith("/") and not url.startswith("//"):
        url = SITE + url
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.netloc in _HOSTS and parts.scheme == "https" and "/timedtext" in parts.path else ""


def _translations(renderer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in list_at(renderer, "translationLanguages"):
        code = str_at(entry, "languageCode")
        if code:
            yield code, label_at(entry, "languageName") or code


def _own_language(renderer: dict[str, Any], places: dict[int, Track]) -> str | None:
    """By the original audio's id, by what was recognised in it, by the track shown by default, by there being but one.

    In this order: speech recognition has been recorded to take English for Japanese.
    """
    audios = list_at(renderer, "audioTracks")
    default = dict_at(audios, int_at(renderer, "defaultAudioTrackIndex") or 0)
    ids = [str_at(audio, "audioTrackId") or "" for audio in audios]
    spoken = [name for name in ids if name.endswith(_ORIGINAL)] or [str_at(default, "audioTrackId") or ""]
    if spoken[0]:
        return spoken[0].rpartition(".")[0] or spoken[0]
    heard = [track.language for track in places.values() if track.kind == ASR]
    indices = list_at(default, "captionTrackIndices")
    near = [places[i].language for i in indices if isinstance(i, int) and i in places and places[i].kind == ASR]
    if near or heard:
        return (near or heard)[0]
    shown = int_at(default, "defaultCaptionTrackIndex")
    if shown is not None and shown in places:
        return places[shown].language
    languages = {track.language for track in places.values()}
    return languages.pop() if len(languages) == 1 else None
