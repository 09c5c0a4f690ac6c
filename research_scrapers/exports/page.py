"""``research report``: one HTML file with what a run holds, what is missing, and how it looks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from html import escape

from research_scrapers.exports.pictures import bars, histogram, over_time
from research_scrapers.store.figures import MOMENTS, Figures, coverage_of, figures, videos_of
from research_scrapers.store.report import summary

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --bar: #2b6cb0; --line: #ddd; --odd: #b7791f }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --paper: #181818; --bar: #63b3ed; --line: #444 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60em;
       margin: 2em auto; padding: 0 1em }
svg { width: 100%; height: auto; display: block; margin: .5em 0 1em }
svg text { font-size: 12px; fill: var(--ink) }
.sure { fill: var(--bar) } .pale { fill: var(--bar); opacity: .35 }
table { border-collapse: collapse; font-size: 13px } td, th { text-align: left; padding: .2em .8em .2em 0;
       border-bottom: 1px solid var(--line); vertical-align: top } td.n { text-align: right }
.odd { color: var(--odd); font-weight: 600 } pre { white-space: pre-wrap } h2 { margin-top: 2em }
.note { font-size: 13px; opacity: .8 }
"""
_COLUMNS = ("video_id", "kind", "outcome", "claimed", "collected", "gap", "reason")


def page(conn: sqlite3.Connection, run: str, *, most: int) -> Iterator[str]:
    """The report, piece by piece: coverage first, then the whole, then the videos with the most records."""
    yield (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(run)}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
        f"<h1>{escape(run)}</h1>\n<pre>{escape(summary(conn, run))}</pre>\n<h2>Coverage</h2>\n"
    )
    yield from _coverage(conn, run)
    yield "<h2>All videos</h2>\n"
    yield from _pictures(figures(conn, run), "videos")
    for video in videos_of(conn, run, most):
        yield f"<h2>{escape(video['title'] or video['video_id'])}</h2>\n"
        yield f'<p class="note">{escape(video["provider"])} {escape(video["video_id"])}</p>\n'
        yield from _pictures(figures(conn, run, (video["provider"], video["video_id"])), "video")
    yield "</body></html>\n"


def _coverage(conn: sqlite3.Connection, run: str) -> Iterator[str]:
    most = 500
    rows = coverage_of(conn, run, most + 1)
    yield f"<table><tr>{''.join(f'<th>{name}</th>' for name in _COLUMNS)}</tr>\n"
    for row in rows[:most]:
        cells = []
        for name in _COLUMNS:
            value = row[name] if name != "outcome" else row["outcome"] or row["status"]
            odd = ' class="odd"' if name == "outcome" and value not in ("complete", "empty") else ""
            number = ' class="n"' if isinstance(value, int) else ""
            cells.append(f"<td{odd}{number}>{escape('' if value is None else str(value))}</td>")
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</table>\n"
    if len(rows) > most:
        yield f'<p class="note">The first {most}, what is not complete first; `research coverage` lists all.</p>\n'


def _pictures(found: Figures, of: str) -> Iterator[str]:
    if found.intervals:
        yield "<h3>Comments over time</h3>\n" + over_time(found.intervals)
        undated = f" {found.undated:,} have no time at all." if found.undated else ""
        yield (
            '<p class="note">Solid: the site tells the time closely enough. Pale: it says something like «2 years ago»;'
            f" such comments are spread over the days that this can mean.{undated}</p>\n"
        )
    if found.depths:
        yield "<h3>Depth in the thread</h3>\n"
        yield histogram("Depth in the thread", [
            ("top level" if depth == 0 else f"depth {depth}", number) for depth, number in found.depths[:12]
        ])  # fmt: skip
    if found.danmaku:
        counts = dict(found.danmaku)
        moments = [(f"{place * 100 // MOMENTS} %: {counts.get(place, 0):,}", float(counts.get(place, 0)), 0.0)
                   for place in range(MOMENTS)]  # fmt: skip
        yield "<h3>Danmaku over the video's length</h3>\n" + bars("Danmaku density", moments, "beginning", "end")
    if found.languages:
        yield f"<h3>Transcripts of the {of}</h3>\n" + histogram("Languages of transcripts", found.languages[:20])
    if not (found.intervals or found.danmaku or found.languages or found.depths):
        yield '<p class="note">Nothing to draw.</p>\n'
