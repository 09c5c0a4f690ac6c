"""The subtitle tracks that the player lists, and how to tell a track of another video.

The site has been seen to answer with tracks of other videos. Where an address tells whose it is (recognised speech
carries the video's two numbers in its path), it must be ours; the body must not outlast the part. Human and translated
tracks tell no more than that.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from research_scrapers.errors import CursorExpired, LayoutChanged, PartialResponse, WrongVideo
from research_scrapers.models import Segment, Track
from research_scrapers.providers.languages import fit
from research_scrapers.providers.tracks import ASR, MANUAL, TRANSLATED
from research_scrapers.providers.tree import decode_object, dig, int_at, str_at

HOSTS = frozenset({"aisubtitle.hdslb.com", "i0.hdslb.com", "i1.hdslb.com", "subtitle.bilibili.com"})
"""Where subtitles lie. No other host is ever asked."""
_SPEECH = "/ai_subtitle/prod/"
_BEYOND_S = 2.0
"""So much later than the part's end a last line may end: the site rounds durations."""
_LONGEST_S = 10**8


@dataclass(frozen=True, slots=True)
class TrackAsk:
    """What a track's cursor carries: all that is needed to ask for it, and what has been tried."""

    part: int
    track_id: str
    lan: str
    """The site's own code, such as ``ai-zh``."""
    language: str
    kind: str
    name: str
    url: str = ""
    """Empty where the site listed none that is ours: then the list is asked for again."""
    renewed: int = 0
    route: str = "player"

    @property
    def token(self) -> str:
        """Compact JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of(cls, token: str) -> TrackAsk:
        """The inverse of `token`."""
        try:
            return cls(**json.loads(token))
        except (ValueError, TypeError, RecursionError):
            raise CursorExpired("the cursor of a track cannot be read") from None


@dataclass(frozen=True, slots=True)
class Listed:
    """One track of the list. An empty address is one that is missing, or of another video."""

    track: Track
    lan: str
    url: str


def read_list(data: dict[str, Any], aid: str, cid: str) -> tuple[Listed, ...]:
    """The tracks of a player answer. Nothing of the account or of our address is looked at."""
    for name, mine in (("aid", aid), ("cid", cid)):
        given = int_at(data, name)
        if given and str(given) != mine:
            raise WrongVideo(f"the player answers for {name} {given} where {mine} was asked for")
    if "subtitle" not in data and not int_at(data, "cid"):  # to a visitor it may be silent on them, but says who it is
        raise PartialResponse("the answer is not the player's")
    subtitle = data.get("subtitle")
    entries = dig(subtitle, "subtitles")
    if (subtitle is not None and type(subtitle) is not dict) or (entries is not None and type(entries) is not list):
        raise LayoutChanged("subtitles of a form that we do not know")
    found: dict[str, Listed] = {}
    for entry in entries or []:
        one = _listed(entry, aid, cid)
        found.setdefault(one.track.track_id, one)
    own = _own_language([one.track for one in found.values()])
    return tuple(
        replace(one, track=replace(one.track, is_own=own is not None and fit(own, one.track.language) is not None))
        for one in found.values()
    )


def _listed(entry: Any, aid: str, cid: str) -> Listed:
    lan = str_at(entry, "lan")
    if lan is None:
        raise LayoutChanged("a subtitle track without a language")
    machine = lan.startswith("ai-") or int_at(entry, "type") == 1
    kind = MANUAL if not machine else TRANSLATED if int_at(entry, "ai_type") == 1 else ASR
    given = str_at(entry, "subtitle_url") or ""
    url = _address(given)
    if kind == ASR and not _is_ours(url, aid, cid):
        url = ""
    name = str_at(entry, "id_str") or str(int_at(entry, "id") or lan)
    track = Track(name, lan.removeprefix("ai-"), kind, str_at(entry, "lan_doc") or "", url or "to be asked for again")
    return Listed(track, lan, url)


def _address(url: str) -> str:
    """The absolute address; nothing where there is none."""
    if not url:
        return ""
    try:
        parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise LayoutChanged("a subtitle track with a broken address") from None
    if host not in HOSTS or port is not None or parts.scheme not in ("http", "https"):
        raise LayoutChanged(f"a subtitle track on {str(host)[:60]}, where none has been before")
    return parts._replace(scheme="https").geturl()


def _is_ours(url: str, aid: str, cid: str) -> bool:
    path = urlsplit(url).path
    return _SPEECH not in path or path.rpartition("/")[2].startswith(aid + cid)


def _own_language(tracks: list[Track]) -> str | None:
    """What was recognised in the speech; else Chinese, the site's own; else the only one there is."""
    heard = [track.language for track in tracks if track.kind == ASR]
    if heard:
        return heard[0]
    human = {track.language for track in tracks if track.kind == MANUAL}
    if any(fit("zh", language) is not None for language in human):
        return "zh"
    return human.pop() if len(human) == 1 else None


def read_body(body: bytes, duration: int) -> tuple[list[Segment], str]:
    """The lines of a track and its version. A track that outlasts its part is another video's."""
    data = decode_object(body)
    lines = data.get("body")
    if type(lines) is not list:
        raise LayoutChanged("a subtitle track without a body")
    if not lines:
        raise PartialResponse("a subtitle track without a line")
    segments = [segment for line in lines if (segment := _segment(line)) is not None]
    end = max((one.start + (one.duration or 0) for one in segments), default=0)
    if duration and end > duration + _BEYOND_S:
        raise WrongVideo(f"the track ends at {end:.0f} s, the part at {duration} s")
    version = data.get("version")
    return segments, version if type(version) is str else ""


def _segment(line: Any) -> Segment | None:
    start, end, text = dig(line, "from"), dig(line, "to"), dig(line, "content")
    if type(text) is not str or type(start) not in (int, float):
        raise LayoutChanged("a subtitle line without text or time")
    if not 0 <= start < _LONGEST_S or (type(end) in (int, float) and not 0 <= end < _LONGEST_S):
        raise LayoutChanged("a subtitle line at an impossible moment")
    text = text.replace("\r\n", "\n").strip()
    if not text:
        return None
    duration = round(max(float(end) - start, 0.0), 3) if type(end) in (int, float) else None
    return Segment(float(start), duration, text)
