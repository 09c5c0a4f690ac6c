"""/api/timedtext: one track in the seven formats, each with its own peculiarities."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from . import gates
from .captions import Track, translate
from .languages import TRANSLATIONS
from .model import CAPTIONED, Segment
from .tracklist import asked_track, verdict
from .wire import Hit, Place, Reply, html_reply

if TYPE_CHECKING:
    from .world import World

PATH = "/api/timedtext"
_XML = '<?xml version="1.0" encoding="utf-8" ?>'
_BREAK = 10  # an automatic line is closed this many milliseconds before the next begins
Lines = list[Segment]


def place(hit: Hit) -> Place:
    """`timedtext:<video>:<vssId>:<format>`, with `:tlang=xx` for a translation."""
    query = hit.query
    wanted = f":tlang={query['tlang']}" if query.get("tlang") else ""
    vid = query.get("v", "")
    return Place(f"timedtext:{vid}:{asked_track(query)}:{query.get('fmt') or 'srv1'}{wanted}", vid)


def answer(world: World, hit: Hit) -> Reply:
    query = hit.query
    video = world.videos.get(query.get("v", ""))
    if video is None or video.state not in CAPTIONED:
        return html_reply("<html><title>Error 404 (Not Found)!!1</title></html>", 404)
    match video.traits.captions_blocked:
        case "429":
            return gates.sorry_page(hit)
        case "403":
            return html_reply("<html><title>Error 403 (Forbidden)!!1</title></html>", 403)
        case "html":
            return gates.captcha_page(200)
        case "empty":
            return _document("", "text/html")
    match verdict(query):
        case "forged":
            return html_reply("<html><title>Error 403 (Forbidden)!!1</title></html>", 403)
        case "unsigned" | "expired" | "token":
            return _document("", "text/html")
    track, asked = video.captions.find(asked_track(query)), query.get("tlang", "")
    target = _target(asked) if video.traits.translatable else ""
    if track is None or (asked and not target):
        return html_reply("<html><title>Error 404 (Not Found)!!1</title></html>", 404)
    kind, write = _FORMATS.get(query.get("fmt") or "srv1", _FORMATS["srv1"])
    lines = video.captions.segments(track, blanks=True)
    if target:
        # A translation knows no words, only lines.
        lines = [Segment(s.start, s.duration, translate(s.text, target, track.language)) for s in lines]
    return _document(write(lines, track, target or track.language), kind)


def _target(asked: str) -> str:
    """The language that `tlang` means; yt-dlp asks for `de-en` when it wants German from English."""
    while asked and asked not in TRANSLATIONS:
        asked = asked.rpartition("-")[0]
    return asked


def _document(text: str, kind: str) -> Reply:
    return Reply(200, text.encode(), [("Content-Type", f"{kind}; charset=UTF-8")])


def _ends(lines: Lines) -> Iterator[tuple[Segment, int]]:
    """Formats that must say an end take the next line's start where there is no duration."""
    for line, after in pairwise([*lines, None]):
        assert line is not None
        yield line, line.end if line.duration or after is None else after.start


def _clock(ms: int, point: str = ".") -> str:
    seconds, ms = divmod(ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{point}{ms:03d}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".")


def _xml(text: str) -> str:
    return escape(text).replace("&#x27;", "&#39;")


def _srv1(lines: Lines, track: Track, language: str) -> str:
    """Escaped twice: a reader of XML still finds `&#39;` in the text."""
    rows: list[str] = []
    for line in lines:
        duration = f' dur="{_seconds(line.duration)}"' if line.duration else ""
        text = escape(_xml(line.text), quote=False)
        rows.append(f'<text start="{_seconds(line.start)}"{duration}>{text}</text>')
    return f"{_XML}<transcript>{''.join(rows)}</transcript>"


def _d(duration: int) -> str:
    return f' d="{duration}"' if duration > 0 else ""


def _srv2(lines: Lines, track: Track, language: str) -> str:
    rows: list[str] = []
    if track.asr:
        rows.append('<window t="0" id="1" op="define" rc="2" cc="40" ap="6" ah="20" av="100"/>')
    for line in lines:
        pieces = line.words or ((0, line.text),)
        window = ' w="1"' if track.asr else ""
        for place_, (offset, piece) in enumerate(pieces):
            more = ' append="1"' if place_ else ""
            length = line.duration - offset if line.duration else 0
            rows.append(f'<text t="{line.start + offset}"{_d(length)}{window}{more}>{_xml(piece)}</text>')
    return f"{_XML}<timedtext>{''.join(rows)}</timedtext>"


def _srv3(lines: Lines, track: Track, language: str) -> str:
    if not track.asr:
        rows = [f'<p t="{line.start}"{_d(line.duration)}>{_xml(line.text)}</p>' for line in lines]
        return f'{_XML}<timedtext format="3">\n<body>\n' + "\n".join(rows) + "\n</body>\n</timedtext>\n"
    rows = ['<w t="0" id="1" wp="1" ws="1"/>']
    for line, after in pairwise([*lines, None]):
        assert line is not None
        rows.append(f'<p t="{line.start}" d="{line.duration}" w="1">{_words(line)}</p>')
        if after is not None:
            at = after.start - _BREAK
            rows.append(f'<p t="{at}"{_d(line.end - at)} w="1" a="1">\n</p>')
    head = (
        '<head>\n<ws id="0"/>\n<ws id="1" mh="2" ju="0" sd="3"/>\n<wp id="0"/>\n'
        '<wp id="1" ap="6" ah="20" av="100" rc="2" cc="40"/>\n</head>\n'
    )
    return f'{_XML}<timedtext format="3">\n{head}<body>\n' + "\n".join(rows) + "\n</body>\n</timedtext>\n"


def _words(line: Segment) -> str:
    if len(line.words) < 2:
        return _xml(line.text)
    (_, first), *rest = line.words
    return f'<s ac="0">{_xml(first)}</s>' + "".join(f'<s t="{at}" ac="0">{_xml(piece)}</s>' for at, piece in rest)


def _json3(lines: Lines, track: Track, language: str) -> str:
    events: list[dict[str, Any]] = []
    window: dict[str, Any] = {"wWinId": 1} if track.asr else {}
    if track.asr and lines:
        whole = max(line.end for line in lines)
        events.append({"tStartMs": 0, "dDurationMs": whole, "id": 1, "wpWinPosId": 1, "wsWinStyleId": 1})
    for line, after in pairwise([*lines, None]):
        assert line is not None
        events.append({**_time(line.start, line.duration), **window, "segs": _segs(line)})
        if track.asr and after is not None:
            at = after.start - _BREAK
            events.append({**_time(at, line.end - at), **window, "aAppend": 1, "segs": [{"utf8": "\n"}]})
    styles: list[Any] = [{}, {"mhModeHint": 2, "juJustifCode": 0, "sdScrollDir": 3}]
    positions: list[Any] = [{}, {"apPoint": 6, "ahHorPos": 20, "avVerPos": 100, "rcRows": 2, "ccCols": 40}]
    shown = 2 if track.asr else 1
    document = {
        "wireMagic": "pb3",
        "pens": [{}],
        "wsWinStyles": styles[:shown],
        "wpWinPositions": positions[:shown],
        "events": events,
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def _time(start: int, duration: int) -> dict[str, Any]:
    return {"tStartMs": start, **({"dDurationMs": duration} if duration > 0 else {})}


def _segs(line: Segment) -> list[dict[str, Any]]:
    if len(line.words) < 2:
        return [{"utf8": line.text}]
    return [
        {"utf8": piece, **({"tOffsetMs": offset} if offset else {}), "acAsrConf": 0} for offset, piece in line.words
    ]


def _vtt_text(text: str) -> str:
    return escape(text, quote=False)


def _vtt(lines: Lines, track: Track, language: str) -> str:
    head = f"WEBVTT\nKind: captions\nLanguage: {language}\n\n"
    if track.asr and any(line.words for line in lines):
        return head + "".join(_rolling(lines))
    cues = (f"{_clock(line.start)} --> {_clock(end)}\n{_vtt_text(line.text)}\n\n" for line, end in _ends(lines))
    return head + "".join(cues)


def _rolling(lines: Lines) -> Iterator[str]:
    """Each line comes growing under the one before it, and once more finished for 10 ms."""
    above = " "
    for line, after in pairwise([*lines, None]):
        assert line is not None
        (_, first), *rest = line.words
        tagged = "".join(f"<{_clock(line.start + at)}><c>{_vtt_text(piece)}</c>" for at, piece in rest)
        until = line.end if after is None else min(line.end, after.start - _BREAK)
        place_ = "align:start position:0%"
        yield f"{_clock(line.start)} --> {_clock(until)} {place_}\n{above}\n{_vtt_text(first)}{tagged}\n\n"
        if after is None:
            break
        above = _vtt_text(line.text)
        yield f"{_clock(until)} --> {_clock(until + _BREAK)} {place_}\n{above}\n \n\n"


def _srt(lines: Lines, track: Track, language: str) -> str:
    return "".join(
        f"{number}\n{_clock(line.start, ',')} --> {_clock(end, ',')}\n{line.text}\n\n"
        for number, (line, end) in enumerate(_ends(lines), 1)
    )


def _ttml(lines: Lines, track: Track, language: str) -> str:
    rows: list[str] = []
    for line, end in _ends(lines):
        text = _xml(line.text).replace("\n", "<br />")
        rows.append(f'<p begin="{_clock(line.start)}" end="{_clock(end)}" style="s2">{text}</p>')
    return (
        f'{_XML}\n<tt xml:lang="{escape(language)}" xmlns="http://www.w3.org/ns/ttml" '
        'xmlns:tts="http://www.w3.org/ns/ttml#styling">\n<head>\n<styling>\n'
        '<style id="s2" tts:color="white"/>\n</styling>\n</head>\n<body>\n<div>\n'
        + "\n".join(rows)
        + "\n</div>\n</body>\n</tt>\n"
    )


_FORMATS: dict[str, tuple[str, Callable[[Lines, Track, str], str]]] = {
    "srv1": ("text/xml", _srv1),
    "srv2": ("text/xml", _srv2),
    "srv3": ("text/xml", _srv3),
    "json3": ("application/json", _json3),
    "vtt": ("text/vtt", _vtt),
    "ttml": ("application/ttml+xml", _ttml),
    "srt": ("text/plain", _srt),
}
