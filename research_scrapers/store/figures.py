"""Numbers for pictures, counted by the database, for one video or for a whole run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

MOMENTS = 60
"""Into how many pieces a video's length is divided."""


@dataclass(slots=True)
class Figures:
    """What is drawn."""

    intervals: list[tuple[str, str, int]] = field(default_factory=list)
    """First day, last day, and how many comments were published some time between them."""
    undated: int = 0
    depths: list[tuple[int, int]] = field(default_factory=list)
    danmaku: list[tuple[int, int]] = field(default_factory=list)
    """Which sixtieth of the video, and how many."""
    languages: list[tuple[str, int]] = field(default_factory=list)


_COMMENTS = {
    True: "comments c WHERE c.provider = :provider AND c.video_id = :video",
    False: "sub_jobs s JOIN sightings g ON g.sub_job_id = s.id JOIN comments c ON c.id = g.comment"
    " WHERE s.run_id = :run",
}
_DANMAKU = {
    True: "danmaku d WHERE d.provider = :provider AND d.video_id = :video",
    False: "sub_jobs s JOIN danmaku_sightings g ON g.sub_job_id = s.id JOIN danmaku d ON d.id = g.danmaku"
    " WHERE s.run_id = :run",
}
_TRANSCRIPTS = {
    True: "transcripts t WHERE t.provider = :provider AND t.video_id = :video",
    False: "sub_jobs s JOIN transcript_sightings g ON g.sub_job_id = s.id JOIN transcripts t ON t.id = g.transcript"
    " WHERE s.run_id = :run",
}


def figures(conn: sqlite3.Connection, run: str, video: tuple[str, str] | None = None) -> Figures:
    """The figures of a run, or of one video (provider and id) with everything that is held of it."""
    one = video is not None
    values = {"run": run} if video is None else {"provider": video[0], "video": video[1]}
    found = Figures()
    for after, before, number in conn.execute(
        "SELECT substr(c.published_after, 1, 10), substr(coalesce(c.published_before, c.published_after), 1, 10),"  # noqa: S608
        f" count(*) FROM {_COMMENTS[one]} GROUP BY 1, 2 ORDER BY 1, 2",
        values,
    ):
        if after is None:
            found.undated += number
        else:
            found.intervals.append((after, before, number))
    found.depths = [
        (row[0], row[1])
        for row in conn.execute(
            f"SELECT c.depth, count(*) FROM {_COMMENTS[one]} GROUP BY 1 ORDER BY 1",  # noqa: S608
            values,
        )
    ]
    length = (
        "max(1, (SELECT max(coalesce(v.duration_s * 1000, 0), 1) FROM videos v WHERE v.provider = d.provider"
        " AND v.video_id = d.video_id), (SELECT max(x.progress_ms) FROM danmaku x WHERE x.provider = d.provider"
        " AND x.video_id = d.video_id AND x.part = d.part))"
    )
    if one:
        found.danmaku = [
            (row[0], row[1])
            for row in conn.execute(
                f"SELECT min({MOMENTS - 1}, d.progress_ms * {MOMENTS} / coalesce({length}, d.progress_ms + 1)) AS m,"  # noqa: S608
                f" count(*) FROM {_DANMAKU[one]} GROUP BY 1 ORDER BY 1",
                values,
            )
        ]
    found.languages = [
        (f"{row[0]} ({row[1]})", row[2])
        for row in conn.execute(
            f"SELECT t.language, t.kind, count(*) FROM {_TRANSCRIPTS[one]} GROUP BY 1, 2 ORDER BY 3 DESC, 1",  # noqa: S608
            values,
        )
    ]
    return found


def videos_of(conn: sqlite3.Connection, run: str, most: int) -> Iterator[sqlite3.Row]:
    """The videos of a run, those with the most records first."""
    yield from conn.execute(
        "SELECT j.provider, j.video_id, v.title, sum(s.top_level + s.replies) AS records FROM jobs j"
        " JOIN sub_jobs s ON s.job_id = j.id LEFT JOIN videos v ON v.provider = j.provider AND v.video_id = j.video_id"
        " WHERE j.run_id = ? GROUP BY j.id ORDER BY records DESC, j.id LIMIT ?",
        (run, most),
    )


def coverage_of(conn: sqlite3.Connection, run: str, most: int) -> list[sqlite3.Row]:
    """The coverage of a run, what is not complete first."""
    return conn.execute(
        "SELECT * FROM coverage WHERE run_id = ? ORDER BY status = 'success', coalesce(outcome, '') = 'complete',"
        " video_id, kind LIMIT ?",
        (run, most),
    ).fetchall()
