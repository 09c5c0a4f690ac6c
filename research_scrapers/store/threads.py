"""One video's comments as trees, and what changed between two runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any


@dataclass(slots=True)
class Node:
    """One comment with its replies. ``orphan``: the comment that it answers is not held."""

    row: sqlite3.Row
    replies: list[Node] = field(default_factory=list)
    orphan: bool = False


def video_of(conn: sqlite3.Connection, video_id: str) -> dict[str, Any] | None:
    """What is known of a video, and how its comments' newest collection ended."""
    row = conn.execute(
        "SELECT s.provider, s.video_id, v.title, v.channel_name, coalesce(s.outcome, s.status) AS coverage, s.reason,"
        " s.detail, s.claimed, s.claimed_exact, (SELECT count(*) FROM comments c WHERE c.provider = s.provider"
        " AND c.video_id = s.video_id) AS held FROM sub_jobs s LEFT JOIN videos v ON v.provider = s.provider"
        " AND v.video_id = s.video_id WHERE s.video_id = ? ORDER BY s.kind = 'comments' DESC, s.id DESC LIMIT 1",
        (video_id,),
    ).fetchone()
    return None if row is None else dict(zip(row.keys(), row, strict=True))


def threads(conn: sqlite3.Connection, provider: str, video_id: str) -> Iterator[Node]:
    """The threads of a video in the order in which the site showed them; one thread at a time is in memory."""
    rows = conn.execute(
        "SELECT c.*, coalesce(r.id, c.id) AS root_row FROM comments c LEFT JOIN comments r ON r.provider = c.provider"
        " AND r.video_id = c.video_id AND r.comment_id = c.root_id WHERE c.provider = ? AND c.video_id = ?"
        " ORDER BY root_row, c.id <> root_row, c.id",
        (provider, video_id),
    )
    for _, thread in groupby(rows, itemgetter("root_row")):
        yield _tree(list(thread))


def _tree(rows: list[sqlite3.Row]) -> Node:
    nodes = {row["comment_id"]: Node(row) for row in rows}
    first = nodes[rows[0]["comment_id"]]
    first.orphan = first.row["parent_id"] is not None
    for row in rows[1:]:
        node = nodes[row["comment_id"]]
        parent = nodes.get(row["parent_id"])
        node.orphan = parent is None or parent is node
        (first if parent is None or parent is node else parent).replies.append(node)
    return first


_WORK = (
    "WITH one AS (SELECT * FROM sub_jobs WHERE run_id = :one AND kind = 'comments'),"
    " two AS (SELECT * FROM sub_jobs WHERE run_id = :two AND kind = 'comments')"
)
_MISSING = (
    _WORK + " SELECT {sort} AS change, c.*, NULL AS earlier FROM {seen} s JOIN {other} o"  # noqa: S608
    " ON o.provider = s.provider AND o.video_id = s.video_id JOIN sightings g ON g.sub_job_id = s.id"
    " JOIN comments c ON c.id = g.comment"
    " WHERE NOT EXISTS (SELECT 1 FROM sightings h WHERE h.sub_job_id = o.id AND h.comment = g.comment) ORDER BY s.id,"
    " c.id"
)
# Times are compared by the second: one is told with its thousandths, the other without.
# The wording is the one that the second run saw: what a later run changed is still among the revisions.
_EDITED = (
    _WORK + " SELECT 'edited' AS change, coalesce((SELECT y.text FROM comment_revisions y WHERE y.comment = c.id"  # noqa: S608
    " AND substr(y.replaced_at, 1, 19) > substr(coalesce(s.finished_at, '9'), 1, 19) ORDER BY y.id LIMIT 1),"
    " c.text) AS text, c.*, e.text AS earlier FROM two s JOIN one o"
    " ON o.provider = s.provider AND o.video_id = s.video_id JOIN sightings g ON g.sub_job_id = s.id"
    " JOIN sightings h ON h.sub_job_id = o.id"
    " AND h.comment = g.comment JOIN comments c ON c.id = g.comment JOIN comment_revisions e ON e.id ="
    " (SELECT min(x.id) FROM comment_revisions x WHERE x.comment = c.id"
    " AND substr(x.replaced_at, 1, 19) > substr(coalesce(o.finished_at, o.started_at, ''), 1, 19)"
    " AND substr(x.replaced_at, 1, 19) <= substr(coalesce(s.finished_at, '9'), 1, 19))"
    " ORDER BY s.id, c.id"
)


def changes(conn: sqlite3.Connection, one: str, two: str) -> Iterator[sqlite3.Row]:
    """Comments that the second run saw and the first did not, the other way round, and reworded ones, of the videos
    that both have. One that is not seen again is ``gone`` only if the second run read its video to the end, and else
    ``not_seen``; one that is seen first is ``new`` only if the first run did, and else ``not_seen_before``.
    """
    runs = {"one": one, "two": two}
    whole = "CASE WHEN o.outcome IN ('complete', 'empty') THEN '{0}' ELSE '{1}' END"
    for sort, seen, other in (
        (whole.format("new", "not_seen_before"), "two", "one"),
        (whole.format("gone", "not_seen"), "one", "two"),
    ):
        yield from conn.execute(_MISSING.format(sort=sort, seen=seen, other=other), runs)
    yield from conn.execute(_EDITED, runs)


def only_in_one(conn: sqlite3.Connection, one: str, two: str) -> list[tuple[str, str]]:
    """Videos that one of the two runs has and the other has not: nothing can be said about them."""
    found = conn.execute(
        _WORK + " SELECT video_id, run_id FROM (SELECT provider, video_id, run_id FROM one UNION ALL"  # noqa: S608
        " SELECT provider, video_id, run_id FROM two) GROUP BY provider, video_id HAVING count(*) = 1",
        {"one": one, "two": two},
    )
    return [(row[0], row[1]) for row in found]
