"""A small database with every kind of record, for tests of what leaves it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from click.testing import CliRunner, Result

from research_scrapers.cli.main import cli
from research_scrapers.models import Comment, Danmaku, Kind, Link, Segment, Transcript, Video, content_hash
from research_scrapers.store.danmaku import store_danmaku
from research_scrapers.store.database import Store
from research_scrapers.store.records import store_comments, store_video
from research_scrapers.store.runs import Runs
from research_scrapers.store.transcripts import store_transcripts
from tests.factories import VIDEO, comment

AWKWARD = (
    "plain", "=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)", "'quoted", "a,b;c\t\"d\"", "two\nlines\r\nthree\rfour",
    "你好，世界", "👩‍👩‍👧 emoji", "שלום עולם", "back\\slash\\", "\u2028sep\u2029\u0085", "_x0041_", "  blanks  ", "",
)  # fmt: skip
LONG_ID = "1234567890123456789"


def danmaku(name: str, text: str, at: int, video: str = VIDEO, **changes) -> Danmaku:
    values = {
        "provider": "youtube", "video_id": video, "part": 1, "cid": "77", "danmaku_id": name, "progress_ms": at,
        "text": text, "mode": 1, "color": 0xFFFFFF, "font_size": 25, "pool": 0, "weight": 5,
        "sent_at": "2024-05-01T00:00:00Z", "author_hash": "abc123", "content_hash": content_hash(text),
        "fetched_at": "2026-11-16T00:00:00Z",
    }  # fmt: skip
    return Danmaku(**(values | changes))


class Corpus:
    """A store that is filled without a crawl."""

    def __init__(self, folder: Path, name: str = "research.db") -> None:
        self.folder = folder
        self.path = folder / name
        self.store = Store(self.path)

    def run(self, run: str = "run_1", *videos: str) -> None:
        runs = Runs(self.store)
        runs.create(run, "yt_comments", config={}, jobdir=None, links="test")
        lines = [Link("youtube", video, n, video) for n, video in enumerate(videos or (VIDEO,), 1)]
        kinds = (Kind.COMMENTS, Kind.TRANSCRIPT, Kind.DANMAKU)
        runs.take_in(run, lines, work={"youtube": kinds}, who="yt_comments")
        self.conn.execute("UPDATE jobs SET status = 'success'")
        self.conn.execute("UPDATE sub_jobs SET status = 'success', outcome = 'complete' WHERE outcome IS NULL")

    @property
    def conn(self):
        return self.store.conn

    def work(self, kind: str, run: str = "run_1", video: str = VIDEO) -> int:
        return self.conn.execute(
            "SELECT id FROM sub_jobs WHERE run_id = ? AND kind = ? AND video_id = ?", (run, kind, video)
        ).fetchone()[0]

    def end(self, kind: str, outcome: str, reason: str | None = None, run: str = "run_1", video: str = VIDEO) -> None:
        self.conn.execute(
            "UPDATE sub_jobs SET outcome = ?, reason = ? WHERE id = ?", (outcome, reason, self.work(kind, run, video))
        )

    def comments(self, records: Iterable[Comment], run: str = "run_1", video: str = VIDEO) -> None:
        records = list(records)
        with self.store.writing() as conn:
            stored = store_comments(conn, records)
            work = self.work("comments", run, video)
            conn.executemany("INSERT OR IGNORE INTO sightings VALUES (?, ?, 0)", [(work, row) for row in stored.rows])

    def texts(self, texts: Iterable[str], **changes) -> None:
        self.comments(comment(f"c{n}", text=text, **changes) for n, text in enumerate(texts))

    def danmaku(self, records: Iterable[Danmaku], run: str = "run_1") -> None:
        with self.store.writing() as conn:
            store_danmaku(conn, self.work("danmaku", run), list(records))

    def transcript(self, texts: Iterable[str], language: str = "en", run: str = "run_1") -> None:
        segments = [Segment(float(n), 1.0, text) for n, text in enumerate(texts)]
        one = Transcript(
            "youtube", VIDEO, 1, language, "manual", "", segments, content_hash(*(s.text for s in segments)),
            "2026-11-16T00:00:00Z",
        )  # fmt: skip
        with self.store.writing() as conn:
            store_transcripts(conn, self.work("transcript", run), [one])

    def video(self, **changes) -> None:
        values = {
            "provider": "youtube", "video_id": VIDEO, "title": "A title", "channel_id": "UC" + "x" * 22,
            "channel_name": "The Channel", "published_at": "2024-01-02T03:04:05Z", "duration_s": 60, "view_count": 10,
            "like_count": 2, "comment_count": 3, "language": "en", "parts": 1, "fetched_at": "2026-11-16T00:00:00Z",
        }  # fmt: skip
        with self.store.writing() as conn:
            store_video(conn, Video(**(values | changes)))

    def everything(self) -> Corpus:
        self.run()
        self.texts(AWKWARD)
        self.comments([comment(LONG_ID, text="long", like_count=50), comment("r1", parent="c0", text="a reply")])
        self.danmaku(danmaku(f"d{n}", text, n * 500, mode=(1, 4, 5, 6, 7)[n % 5]) for n, text in enumerate(AWKWARD))
        self.transcript(text for text in AWKWARD if text)
        self.video()
        self.end("comments", "partial", "threads_failed")
        return self

    def invoke(self, *arguments: str, code: int | None = 0) -> Result:
        """Run a command of `research` on this database."""
        result = CliRunner().invoke(cli, [*arguments, "--db", str(self.path)])
        if code == 0 and result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result
