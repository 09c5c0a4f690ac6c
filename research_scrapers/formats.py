"""Transcripts as files that a player, an editor or a notebook opens, and back.

Times are whole milliseconds and are never moved: an overlap that a site shows stays, and none is made. SRT and WebVTT
end a text at its first blank line and take an arrow for a time, so both are broken up with a sign that is not seen
(U+2060), which the readers take out again.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

from research_scrapers.errors import InputError
from research_scrapers.models import Segment, Transcript

_LAST_MS = 2000
"""How long the last line stays, if nobody says."""
_LONGEST_S = 10**9
_JOINER = "\u2060"
_ARROW = re.compile(f"--({_JOINER}*)>")
_ARROW_BROKEN = re.compile(f"--{_JOINER}({_JOINER}*)>")
_BLANK = re.compile(rf"[\s{_JOINER}]*")
_CLOCK = r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})[.,](\d{3})"
_TIMING = re.compile(rf"\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?", re.ASCII)
_TAG = re.compile(r"</?(?:[cibuv]|ruby|rt|lang|\d[\d:.]{4,12})(?:[.\s][^<>]{0,300})?>")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#])")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def to_srt(transcript: Transcript) -> str:
    """SubRip: numbered blocks. It has no place for language or kind; the file's name has."""
    return "".join(
        f"{number}\n{_clock(start, ',')} --> {_clock(end, ',')}\n{_guard(_break_arrows(text))}\n\n"
        for number, (start, end, text) in enumerate(_timed(transcript.segments), 1)
    )


def to_vtt(transcript: Transcript) -> str:
    """WebVTT, with language and kind in its header."""
    language, kind = (_UNSAFE.sub("-", value) for value in (transcript.language, transcript.kind))
    cues = (
        f"{_clock(start, '.')} --> {_clock(end, '.')}\n{_guard(html.escape(text, quote=False))}\n\n"
        for start, end, text in _timed(transcript.segments)
    )
    return f"WEBVTT\nKind: captions\nLanguage: {language}\n\nNOTE {kind}\n\n{''.join(cues)}"


def to_txt(transcript: Transcript) -> str:
    """The words alone, a line's own line breaks kept."""
    return "".join(f"{_lines(segment.text)}\n" for segment in transcript.segments)


def to_json(transcript: Transcript) -> str:
    """Everything: words with their times, and where it came from."""
    return json.dumps(asdict(transcript), ensure_ascii=False, indent=1) + "\n"


def to_md(transcript: Transcript, title: str | None = None, link: str | None = None) -> str:
    """Markdown for reading: every line with its time, which leads to that moment if the video's link is given."""
    head = [f"# {_plain(title or transcript.video_id)}", ""]
    if link:
        head += [f"<{link}>", ""]
    name = f" · {_plain(transcript.name)}" if transcript.name else ""
    head += [f"{_plain(transcript.language)} · {_plain(transcript.kind)}{name} · {_plain(transcript.fetched_at)}", ""]
    lines = []
    for segment in transcript.segments:
        seconds = max(0, int(segment.start))
        minutes = f"{seconds // 60 % 60:02}:{seconds % 60:02}"
        shown = f"{seconds // 3600}:{minutes}" if seconds >= 3600 else minutes
        moment = f"[{shown}]({link}{'&' if '?' in link else '?'}t={seconds})" if link else shown
        text = "\n  ".join(_plain(line) for line in _lines(segment.text).split("\n") if line.strip())
        lines.append(f"- {moment} {text}")
    return "\n".join([*head, *lines, ""])


WRITERS: Mapping[str, Callable[[Transcript], str]] = {
    "srt": to_srt,
    "vtt": to_vtt,
    "txt": to_txt,
    "json": to_json,
    "md": to_md,
}


def from_srt(text: str) -> list[Segment]:
    """The lines of a SubRip file."""
    return [
        Segment(start / 1000, max(0, end - start) / 1000, _mend_arrows(_unguard(body)))
        for start, end, body in _blocks(text, "SubRip")
    ]


def from_vtt(text: str) -> list[Segment]:
    """The lines of a WebVTT file as it is written; repeats that a site put into it are not undone here."""
    if not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise InputError("this is not a WebVTT file")
    return [
        Segment(start / 1000, max(0, end - start) / 1000, html.unescape(_TAG.sub("", _unguard(body))))
        for start, end, body in _blocks(text, "WebVTT")
    ]


def from_json(text: str) -> Transcript:
    """What `to_json` wrote."""
    try:
        told = json.loads(text)
        segments = [_segment(entry) for entry in told.pop("segments")]
        transcript = Transcript(segments=segments, **told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"this is not a transcript: {type(error).__name__}") from None
    for one in fields(Transcript):
        kind = {"part": int, "segments": list, "extras": dict}.get(one.name, str)
        if type(getattr(transcript, one.name)) is not kind:
            raise InputError(f"this is not a transcript: {one.name} is not a {kind.__name__}")
    return transcript


def file_name(transcript: Transcript, suffix: str, track: str = "") -> str:
    """``{video_id}.{language}.{kind}.srt``, safe on every file system.

    ``track`` goes before the suffix, for the rare video with two tracks of one language and kind.
    """
    parts = [transcript.video_id, transcript.language, transcript.kind, track, suffix.lstrip(".")]
    if transcript.part > 1:
        parts.insert(1, f"p{transcript.part}")
    return ".".join(_UNSAFE.sub("_", part)[:60] for part in parts if part)


def _timed(segments: list[Segment]) -> Iterator[tuple[int, int, str]]:
    """Start and end in milliseconds. A line without a length stays until the next later one begins."""
    starts = [max(0, round(segment.start * 1000)) for segment in segments]
    later: list[int | None] = [None] * len(segments)
    for place in range(len(segments) - 2, -1, -1):
        following = starts[place + 1]
        later[place] = following if following > starts[place] else later[place + 1]
    for segment, start, next_start in zip(segments, starts, later, strict=True):
        if segment.duration is not None:
            end = max(start, round((segment.start + segment.duration) * 1000))
        else:
            end = next_start if next_start is not None and next_start > start else start + _LAST_MS
        yield start, end, _lines(segment.text)


def _blocks(text: str, kind: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and raw text of every block; what stands outside a block is not text."""
    timing: re.Match[str] | None = None
    found = False
    body: list[str] = []
    for line in [*_lines(text.lstrip("\ufeff")).split("\n"), ""]:
        begins = _TIMING.fullmatch(line) if "-->" in line else None
        if timing is not None and (begins or not line):
            yield _milliseconds(timing.groups()[:4]), _milliseconds(timing.groups()[4:]), "\n".join(body)
            timing = None
        if begins:
            timing, body, found = begins, [], True
        elif timing is not None:
            body.append(line)
    if not found and kind == "SubRip" and text.strip():
        raise InputError(f"this is not a {kind} file")


def _segment(entry: Any) -> Segment:
    words = entry.get("words")
    duration = entry["duration"]
    return Segment(
        _seconds(entry["start"]),
        None if duration is None else _seconds(duration),
        _text(entry["text"]),
        None if words is None else [(_seconds(at), _text(word)) for at, word in words],
    )


def _seconds(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LONGEST_S:
        raise TypeError
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _clock(milliseconds: int, mark: str) -> str:
    seconds, thousandths = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{mark}{thousandths:03}"


def _milliseconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, thousandths = (int(part or 0) for part in parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guard(text: str) -> str:
    """No line of it is blank any more."""
    return "\n".join(_JOINER + line if _BLANK.fullmatch(line) else line for line in text.split("\n"))


def _unguard(text: str) -> str:
    return "\n".join(
        line[1:] if line.startswith(_JOINER) and _BLANK.fullmatch(line) else line for line in text.split("\n")
    )


def _break_arrows(text: str) -> str:
    return _ARROW.sub(rf"--{_JOINER}\1>", text)


def _mend_arrows(text: str) -> str:
    return _ARROW_BROKEN.sub(r"--\1>", text)


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
