"""The tables that people take with them: every column in its fixed order, with its kind and its meaning.

Exports, their data dictionary and the Datasette metadata are all written from here.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("text", "integer", "real", "boolean", "json")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: how it is called, what kind of value it holds, what it means, and how to read it."""

    name: str
    kind: str
    meaning: str
    sql: str = ""
    person: str = ""
    """How it can tell who somebody is: ``id``, ``name``, ``hash``, ``link``, ``text`` (by a mention), ``extras``."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of an export. ``type`` is what a line of JSON says it is."""

    name: str
    type: str
    about: str
    columns: tuple[Column, ...]
    of_run: str
    """The rows that one run saw: what follows SELECT …"""
    of_all: str
    """Every row of the database."""
    sightings: str = ""
    """Where a run's rows are listed one by one, so that they can be counted without being read."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


_PERSONS = {
    "author_id": "id", "channel_id": "id", "author_name": "name", "channel_name": "name", "author_hash": "hash",
    "text": "text", "title": "text", "segments": "text", "extras": "extras",
    "authorName": "name", "isReplyToName": "name", "authorChannelId": "id", "authorChannelUrl": "link",
    "channelId": "id", "channelTitle": "name", "videoTitle": "text", "videoDescription": "text",
    "author": "name", "channel": "id", "photo": "link", "author_thumbnail": "link", "author_url": "link",
}  # fmt: skip


def columns(alias: str, *told: tuple[str, str, str] | tuple[str, str, str, str]) -> tuple[Column, ...]:
    made = []
    for name, kind, meaning, *sql in told:
        made.append(Column(name, kind, meaning, sql[0] if sql else f"{alias}.{name}", _PERSONS.get(name, "")))
    return tuple(made)


COVERAGE_COLUMNS = columns(
    "k",
    ("coverage", "text", "what is held of this video: complete, empty, partial, failed, pending", "k.coverage"),
    ("coverage_reason", "text", "why it is not all, where it is not (docs/reference.md lists the reasons)",
     "k.coverage_reason"),
)  # fmt: skip
_PROVIDER = ("provider", "text", "the site: youtube or bilibili")
_VIDEO = ("video_id", "text", "the site's id of the video")
_FETCHED = ("fetched_at", "text", "when this was read, UTC")
_HASH = ("content_hash", "text", "digest of the content; equal digests are equal content")
_EXTRAS = ("extras", "json", "what only some sites tell, as JSON")
# `k` is how the video's sub-job ended: in the run that is exported, or the newest one that began.
# In this order of tables every row comes in the wanted order by itself: nothing is sorted, however many they are.
SEEN = (
    "sub_jobs s NOT INDEXED CROSS JOIN {sightings} g ON g.sub_job_id = s.id"
    " CROSS JOIN {table} {alias} ON {alias}.id = g.{of}"
    " CROSS JOIN (SELECT id, coalesce(outcome, status) AS coverage, reason AS coverage_reason FROM sub_jobs) k"
    " ON k.id = s.id"
)
HELD = (
    "{table} {alias} LEFT JOIN temp.newest k ON k.provider = {alias}.provider AND k.video_id = {alias}.video_id"
    " AND k.kind = '{kind}'"
)

COMMENTS = Table(
    "comments", "comment", "One comment or reply.",
    columns(
        "c", _PROVIDER, _VIDEO,
        ("comment_id", "text", "the site's id of the comment"),
        ("parent_id", "text", "the comment that this one answers; empty at top level"),
        ("root_id", "text", "the top-level comment of its thread; its own id at top level"),
        ("depth", "integer", "0 at top level, 1 for replies, more where the site nests them"),
        ("text", "text", "the comment as plain text"),
        ("author_id", "text", "the site's id of the author, or a pseudonym"),
        ("author_name", "text", "the shown name of the author, or a pseudonym"),
        ("author_is_uploader", "boolean", "whether the video's own channel wrote it"),
        ("like_count", "integer", "likes; rounded where the site rounds; empty where it does not tell"),
        ("reply_count", "integer", "replies that the site claims"),
        ("published_text", "text", "what the site shows, such as «2 years ago»"),
        ("published_after", "text", "it was published at this time or later, UTC"),
        ("published_before", "text", "it was published at this time or earlier, UTC; equal to the former where exact"),
        ("is_pinned", "boolean", "pinned by the uploader"),
        ("is_hearted", "boolean", "hearted by the uploader"),
        ("is_edited", "boolean", "the site says that it was edited"),
        ("paid_amount", "text", "an amount that was paid with it, as shown"),
        ("pictures", "json", "addresses of attached pictures, as a JSON list"),
        ("position", "integer", "its place in its list when it was first read"),
        _HASH, _FETCHED, _EXTRAS,
    ) + COVERAGE_COLUMNS,
    SEEN.format(sightings="sightings", table="comments", alias="c", of="comment") + " WHERE s.run_id = :run {where}"
    " ORDER BY s.id, g.comment",
    HELD.format(table="comments", alias="c", kind="comments") + " WHERE 1 {where} ORDER BY c.id",
    "sightings",
)  # fmt: skip

_TRACK = (
    _PROVIDER, _VIDEO,
    ("part", "integer", "which part of a video in several parts; else 1"),
    ("language", "text", "the language of the track, as the site names it"),
    ("kind", "text", "manual, asr (by speech recognition) or translated (by machine)"),
    ("name", "text", "the name of the track, where it has one"),
    ("version", "integer", "1, 2 …: a changed transcript is a new version"),
)  # fmt: skip
_SEGMENTS = (
    "(SELECT json_group_array(json_object('start', x.start, 'duration', x.duration, 'text', x.text,"
    " 'words', json(x.words))) FROM (SELECT * FROM transcript_segments n WHERE n.transcript = t.id ORDER BY n.position)"
    " x)"
)
_TRANSCRIPTS_OF_RUN = SEEN.format(sightings="transcript_sightings", table="transcripts", alias="t", of="transcript")
_TRANSCRIPTS_HELD = HELD.format(table="transcripts", alias="t", kind="transcript")
_JOIN_SEGMENTS = " JOIN transcript_segments n ON n.transcript = t.id"

TRANSCRIPTS = Table(
    "transcripts", "transcript", "One line of a transcript.",
    columns(
        "t", *_TRACK,
        ("position", "integer", "the place of the line in its transcript", "n.position"),
        ("start", "real", "when the line begins, in seconds", "n.start"),
        ("duration", "real", "how long it stays, in seconds; empty where the site does not tell", "n.duration"),
        ("text", "text", "the line", "n.text"),
        _HASH, _FETCHED,
    ) + COVERAGE_COLUMNS,
    _TRANSCRIPTS_OF_RUN + _JOIN_SEGMENTS + " WHERE s.run_id = :run {where} ORDER BY s.id, t.id, n.position",
    _TRANSCRIPTS_HELD + _JOIN_SEGMENTS + " WHERE 1 {where} ORDER BY t.id, n.position",
)  # fmt: skip
WHOLE_TRANSCRIPTS = Table(
    "transcripts", "transcript", "One transcript with all its lines.",
    columns(
        "t", *_TRACK,
        ("segments", "json", "the lines: start and duration in seconds, text, words with their times", _SEGMENTS),
        _HASH, _FETCHED, _EXTRAS,
    ) + COVERAGE_COLUMNS,
    _TRANSCRIPTS_OF_RUN + " WHERE s.run_id = :run {where} ORDER BY s.id, t.id",
    _TRANSCRIPTS_HELD + " WHERE 1 {where} ORDER BY t.id",
)  # fmt: skip

DANMAKU = Table(
    "danmaku", "danmaku", "One comment that flies over the video.",
    columns(
        "d", _PROVIDER, _VIDEO,
        ("part", "integer", "which part of a video in several parts; else 1"),
        ("cid", "text", "the site's id of the part"),
        ("danmaku_id", "text", "the site's id of the danmaku"),
        ("progress_ms", "integer", "when it flies over the video, in milliseconds from its beginning"),
        ("text", "text", "the words"),
        ("mode", "integer", "1–3 scrolling, 4 bottom, 5 top, 6 reverse, 7 placed, 8 code, 9 BAS"),
        ("color", "integer", "its colour as one number (0xRRGGBB)"),
        ("font_size", "integer", "25 is ordinary, 18 is small"),
        ("pool", "integer", "0 ordinary, 1 subtitle, 2 special"),
        ("weight", "integer", "the site's own filter weight, where it tells it"),
        ("sent_at", "text", "when it was sent, UTC"),
        ("author_hash", "text", "the site's short hash of the author's id (weak: it can be undone by counting)"),
        _HASH, _FETCHED, _EXTRAS,
    ) + COVERAGE_COLUMNS,
    SEEN.format(sightings="danmaku_sightings", table="danmaku", alias="d", of="danmaku")
    + " WHERE s.run_id = :run {where} ORDER BY s.id, d.part, d.cid, d.progress_ms, d.id",
    HELD.format(table="danmaku", alias="d", kind="danmaku")
    + " WHERE 1 {where} ORDER BY d.provider, d.video_id, d.part, d.cid, d.progress_ms, d.id",
    "danmaku_sightings",
)  # fmt: skip

_ENDS = (
    "(SELECT group_concat(s.kind || ': ' || coalesce(s.outcome, s.status) || coalesce(' (' || s.reason || ')', ''),"
    " '; ') FROM (SELECT * FROM sub_jobs WHERE {of} ORDER BY id) s)"
)
_NEWEST = (
    "id IN (SELECT max(x.id) FROM sub_jobs x WHERE x.provider = w.provider AND x.video_id = w.video_id"
    " AND (x.status <> 'pending' OR x.pages) GROUP BY x.kind)"
)
VIDEOS = Table(
    "videos", "video", "One video.",
    columns(
        "v", _PROVIDER, _VIDEO,
        ("title", "text", "its title"),
        ("channel_id", "text", "the site's id of the channel or uploader"),
        ("channel_name", "text", "the shown name of the channel or uploader"),
        ("published_at", "text", "when it was published, UTC"),
        ("duration_s", "integer", "its length in seconds"),
        ("view_count", "integer", "views"),
        ("like_count", "integer", "likes"),
        ("comment_count", "integer", "comments that the site claims"),
        ("language", "text", "its own language, where the site tells it"),
        ("parts", "integer", "how many parts it has"),
        _FETCHED, _EXTRAS,
        ("coverage", "text", "for each kind of record how its collection ended", "k.coverage"),
    ),
    f"(SELECT j.provider, j.video_id, j.id, {_ENDS.format(of='job_id = j.id')} AS coverage FROM jobs j"  # noqa: S608
    " WHERE j.run_id = :run AND j.video_id IS NOT NULL) k"
    " JOIN videos v ON v.provider = k.provider AND v.video_id = k.video_id WHERE 1 {where} ORDER BY k.id",
    f"(SELECT w.provider, w.video_id, {_ENDS.format(of=_NEWEST)}"  # noqa: S608
    " AS coverage FROM videos w) k JOIN videos v ON v.provider = k.provider AND v.video_id = k.video_id"
    " WHERE 1 {where} ORDER BY v.provider, v.video_id",
)  # fmt: skip

COVERAGE = Table(
    "coverage", "coverage", "What is held of one video and one kind of record, and why it is not all.",
    columns(
        "v",
        ("run_id", "text", "the run"), _PROVIDER, _VIDEO,
        ("title", "text", "the video's title"),
        ("kind", "text", "comments, transcript, danmaku or metadata"),
        ("status", "text", "pending, in_progress, success, failed or cancelled"),
        ("outcome", "text", "of a success: complete, empty or partial"),
        ("reason", "text", "why, in one word (docs/reference.md lists them)"),
        ("detail", "text", "why, in a sentence"),
        ("note", "text", "why even a finished walk may not be all"),
        ("claimed", "integer", "records that the site claims; for transcripts: tracks that it lists"),
        ("claimed_exact", "boolean", "whether the claim is an exact number"),
        ("collected", "integer", "records that the run saw"),
        ("top_level", "integer", "of these, at top level"),
        ("replies", "integer", "of these, replies"),
        ("gap", "integer", "claimed and not collected"),
        ("threads_found", "integer", "reply threads (or tracks) found"),
        ("threads_done", "integer", "of these, read to their end"),
        ("threads_failed", "integer", "of these, not readable"),
        ("pages", "integer", "pages read"),
        ("attempt", "integer", "how often it was begun"),
        ("finished_at", "text", "when it ended, UTC"),
    ),
    "coverage v WHERE v.run_id = :run {where} ORDER BY v.video_id, v.kind",
    "coverage v WHERE 1 {where} ORDER BY v.run_id, v.video_id, v.kind",
)  # fmt: skip

TABLES = {table.name: table for table in (COMMENTS, TRANSCRIPTS, DANMAKU, VIDEOS, COVERAGE)}
"""What can be exported, in the order in which it is told."""
