"""Exports of many small files: a file per video, part or track, as players and other tools want them.

A file of a video that is not wholly collected says so in its name: ``….partial.srt``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from research_scrapers.errors import SettingInvalid
from research_scrapers.exports.files import opened
from research_scrapers.exports.filters import conditions_for
from research_scrapers.exports.players import to_ass, to_xml
from research_scrapers.formats import WRITERS, file_name, to_md
from research_scrapers.models import Danmaku, Segment, Transcript
from research_scrapers.privacy import Veil
from research_scrapers.store.columns import DANMAKU, VIDEOS, WHOLE_TRANSCRIPTS, Table
from research_scrapers.store.selection import Condition, rows
from research_scrapers.store.shapes import YTDLP_COMMENTS, YTDLP_VIDEOS

TRACKS = ("srt", "vtt", "txt", "md")
FLYING = ("xml", "ass")
LOOSE = (*TRACKS, *FLYING, "info.json")
_ADDRESS = {"youtube": "https://www.youtube.com/watch?v=", "bilibili": "https://www.bilibili.com/video/"}
_EXTRACTORS = {"youtube": ("youtube", "Youtube"), "bilibili": ("BiliBili", "BiliBili")}


@dataclass(slots=True)
class Loose:
    """What was written."""

    files: list[Path] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Source:
    """Where rows come from, and what is hidden of them."""

    conn: sqlite3.Connection
    run: str | None
    conditions: Sequence[Condition]
    veil: Veil

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        for batch in rows(self.conn, table, self.run, table.columns, conditions_for(table, self.conditions)):
            named = [place for place, column in enumerate(table.columns) if column.person == "name"]
            names = {row[place] for row in batch for place in named if row[place]}
            for row in batch:
                yield {
                    column.name: self.veil.cell(column.person, value, names)
                    for column, value in zip(table.columns, row, strict=True)
                }

    def video(self, provider: str, video_id: str, table: Table) -> dict[str, Any]:
        which = [Condition("provider", "=", provider), Condition("video_id", "=", video_id)]
        found = next(_Source(self.conn, None, which, self.veil).rows(table), None)
        return found or {}


def write_loose(
    conn: sqlite3.Connection, form: str, run: str | None, conditions: Sequence[Condition], out: Path | None, veil: Veil
) -> Loose:
    """Write every file of the form into the folder."""
    if out is None or out.is_file():
        raise SettingInvalid(f"{form} is a file per video: name a folder with --out")
    source, written = _Source(conn, run, conditions, veil), Loose()
    if form in TRACKS:
        _tracks(source, form, out, written)
    elif form in FLYING:
        _flying(source, form, out, written)
    else:
        _info(source, out, written)
    return written


def _tracks(source: _Source, form: str, out: Path, written: Loose) -> None:
    taken: set[str] = set()
    for row in source.rows(WHOLE_TRANSCRIPTS):
        segments = [
            Segment(one["start"], one["duration"], one["text"])
            for one in json.loads(row["segments"])
        ]  # fmt: skip
        one = Transcript(
            row["provider"], row["video_id"], row["part"], row["language"], row["kind"], row["name"], segments,
            row["content_hash"], row["fetched_at"],
        )  # fmt: skip
        coverage = _coverage(row)
        if form == "md":
            title = source.video(one.provider, one.video_id, VIDEOS).get("title")
            text = to_md(one, title, f"{_ADDRESS.get(one.provider, '')}{one.video_id}")
            text += f"\nCoverage: {coverage}\n"
        else:
            text = WRITERS[form](one)
            if form == "vtt":
                text = text.replace("\n\nNOTE ", f"\n\nNOTE coverage: {coverage}\n\nNOTE ", 1)
        mark = "partial" if _lacking(row) else ""
        name = file_name(one, form, track=mark)
        if name.casefold() in taken:  # a second track of one language, or an earlier version
            name = file_name(one, form, track=f"{row['name']}-v{row['version']}{'-partial' if mark else ''}")
        if name.casefold() in taken:
            name = file_name(one, form, track=f"{len(taken)}{'-partial' if mark else ''}")
        taken.add(name.casefold())
        _write(out / name, [text], written)
        written.counts["transcripts"] = written.counts.get("transcripts", 0) + 1


def _flying(source: _Source, form: str, out: Path, written: Loose) -> None:
    kept = (name for name in Danmaku.__slots__ if name != "extras")
    names = tuple(kept)
    for (video, part, cid), group in groupby(source.rows(DANMAKU), itemgetter("video_id", "part", "cid")):
        first = next(group)
        coverage = _coverage(first)
        danmaku = (_counted(written, Danmaku(**{name: row[name] for name in names})) for row in chain([first], group))
        mark = ".partial" if _lacking(first) else ""
        text = to_xml(danmaku, cid, coverage) if form == "xml" else to_ass(danmaku, f"{video} p{part}", coverage)
        _write(out / f"{_safe(video)}.p{part}.{_safe(cid)}{mark}.{form}", text, written)


def _counted(written: Loose, one: Danmaku) -> Danmaku:
    written.counts["danmaku"] = written.counts.get("danmaku", 0) + 1
    return one


def _info(source: _Source, out: Path, written: Loose) -> None:
    encode = msgspec.json.encode
    for (provider, video), group in groupby(source.rows(YTDLP_COMMENTS), itemgetter("provider", "video_id")):
        first = next(group)
        facts = source.video(provider, video, YTDLP_VIDEOS)
        extractor, key = _EXTRACTORS.get(provider, (provider, provider))
        head = {
            **{name: value for name, value in facts.items() if name not in ("provider", "video_id")},
            "id": video, "extractor": extractor, "extractor_key": key,
            "webpage_url": facts.get("webpage_url") or f"{_ADDRESS.get(provider, '')}{video}",
            "_coverage": first["coverage"], "_coverage_reason": first["coverageReason"],
        }  # fmt: skip
        mark = ".partial" if _lacking(first) else ""
        path = out / f"{_safe(video)}{mark}.info.json"
        number = 0
        with opened(path) as file:
            file.write(encode(head)[:-1] + b',"comments":[')
            for row in chain([first], group):
                file.write((b"," if number else b"") + encode(_comment(row)))
                number += 1
            file.write(b'],"comment_count":' + str(number).encode() + b"}\n")
        written.files.append(path)
        written.counts["comments"] = written.counts.get("comments", 0) + number


def _comment(row: dict[str, Any]) -> dict[str, Any]:
    flags = ("author_is_uploader", "is_favorited", "is_pinned")
    left_out = ("provider", "video_id", "coverage", "coverageReason")
    return {
        name: bool(value) if name in flags else value for name, value in row.items() if name not in left_out
    }  # fmt: skip


def _lacking(row: dict[str, Any]) -> bool:
    """Whether something may be missing: also where the work failed, was cancelled or is not done yet."""
    return row["coverage"] not in ("complete", "empty", None)


def _coverage(row: dict[str, Any]) -> str:
    reason = row["coverage_reason"]
    return f"{row['coverage'] or 'unknown'}{f' ({reason})' if reason else ''}"


def _safe(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name)[:80]


def _write(path: Path, pieces: Any, written: Loose) -> None:
    with opened(path) as file:
        for piece in pieces:
            file.write(piece.encode("utf-8"))
    written.files.append(path)
