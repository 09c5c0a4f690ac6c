"""A feed is a copy of the database: whatever happened to the file, opening it again makes it whole."""

import csv
import json
from types import SimpleNamespace

import pytest

from research_scrapers.crawling.feeds import CsvFeed, JsonLinesFeed
from research_scrapers.errors import FeedUnwritable
from research_scrapers.models import Cursor, Kind, Options, Page
from tests.factories import VIDEO, Bench, comment, danmaku

TEXTS = [
    "plain",
    "two\nlines",
    'quote " and, comma',
    "=cmd()",
    "😀 中文 \u202eRTL",
    "\u2028 \u2029 \x85 \x0b",
    "",
    "\r\n",
]


class Scene:
    def __init__(self, tmp_path, kind, suffix):
        self.bench = Bench(tmp_path)
        self.path = tmp_path / f"out.{suffix}"
        self.kind = kind
        self.number = 0
        self.lease = self.bench.claim("0")
        self.active = (Kind.COMMENTS,)

    def open(self, mode="ab", stop=None, **kwargs):
        session = SimpleNamespace(store=self.bench.store, run=SimpleNamespace(id=self.bench.run))
        crawler = SimpleNamespace(spider=SimpleNamespace(session=session, active=self.active, stop=stop))
        self.file = self.path.open(mode)
        self.feed = self.kind.from_crawler(crawler, self.file, **kwargs)
        self.feed.start_exporting()

    def store(self, *records, export=True):
        page = Page(
            Cursor("", "page", str(self.number)), records=records, next=Cursor("", "page", str(self.number + 1))
        )
        self.number += 1
        receipt = self.bench.ledger.commit_page(self.lease, page, Options())
        if export:
            self.feed.export_item(SimpleNamespace(receipt=SimpleNamespace(result=lambda: receipt)))

    def close(self):
        self.feed.finish_exporting()
        self.file.close()

    def read(self):
        text = self.path.read_text(encoding="utf-8")
        if self.kind is JsonLinesFeed:
            return [json.loads(line) for line in text.splitlines()]
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def ids(self):
        return [row["comment_id"] for row in self.read()]


@pytest.fixture(params=[(JsonLinesFeed, "jsonl"), (CsvFeed, "csv")], ids=["jsonl", "csv"])
def scene(request, tmp_path):
    return Scene(tmp_path, *request.param)


def test_one_record_a_line_with_its_type(scene):
    scene.open()
    scene.store(comment("a"), comment("b", parent="a"))
    scene.close()
    rows = scene.read()
    assert [(row["type"], row["comment_id"], row["parent_id"] or None) for row in rows] == [
        ("comment", "a", None),
        ("comment", "b", "a"),
    ]


def test_any_text_comes_back_as_it_was(scene):
    scene.open()
    scene.store(*(comment(f"c{n}", text=text) for n, text in enumerate(TEXTS)))
    scene.close()
    assert [row["text"] for row in scene.read()] == TEXTS


def test_what_was_stored_but_not_written_before_the_crash_is_written_on_resume(scene):
    scene.open()
    scene.store(comment("a"))
    scene.store(comment("b"), comment("c"), export=False)
    scene.file.close()
    scene.open()
    scene.store(comment("d"))
    scene.close()
    assert scene.ids() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("cut", [1, 2, 7, 40, 200])
def test_a_record_that_broke_off_is_cut_away_and_written_anew(scene, cut):
    scene.open()
    scene.store(*(comment(f"c{n}", text=text) for n, text in enumerate(TEXTS)))
    scene.close()
    body = scene.path.read_bytes()
    scene.path.write_bytes(body[:-cut])
    scene.open()
    scene.close()
    assert sorted(scene.ids()) == sorted(f"c{n}" for n in range(len(TEXTS)))
    assert {row["comment_id"]: row["text"] for row in scene.read()} == {f"c{n}": text for n, text in enumerate(TEXTS)}


def test_a_finished_feed_opened_again_is_not_touched(scene):
    scene.open()
    scene.store(comment("a"))
    scene.close()
    before = scene.path.read_bytes()
    scene.open()
    scene.close()
    assert scene.path.read_bytes() == before


def test_overwriting_gives_the_whole_run_again(scene):
    scene.open()
    scene.store(comment("a"))
    scene.close()
    scene.path.write_bytes(b"something else entirely\n")
    scene.open(mode="wb")
    scene.close()
    assert scene.ids() == ["a"]


def test_a_later_run_adds_only_what_is_new_or_edited(scene):
    scene.open()
    scene.store(comment("a"), comment("b"))
    scene.close()
    scene.bench.begin("run_2", VIDEO)
    scene.lease, scene.number = scene.bench.claim("0"), 0
    scene.open()
    scene.store(comment("c"), comment("b", text="edited"), comment("a", like_count=99))
    scene.close()
    assert [(row["comment_id"], row["text"]) for row in scene.read()][2:] == [("c", "text of c"), ("b", "edited")]


def test_a_file_that_cannot_be_read_again_stops_the_run_and_is_whole_the_next_time(scene, monkeypatch):
    scene.open()
    scene.store(comment("a"))
    scene.close()
    stopped = []
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.is_file", lambda path: (_ for _ in ()).throw(OSError(24, "Too many open files")))
        scene.open(stop=stopped.append)
        scene.feed.start_exporting()  # as Scrapy does, once more
    scene.close()
    assert [type(error) for error in stopped] == [FeedUnwritable, FeedUnwritable]
    scene.open()
    scene.close()
    assert [row["comment_id"] for row in scene.read()] == ["a"]


def test_chosen_columns(scene):
    scene.open(fields_to_export=["comment_id", "text", "nonsense"])
    scene.store(comment("a"))
    scene.close()
    assert scene.read() == [{"comment_id": "a", "text": "text of a"}]


def test_a_foreign_file_is_added_to_not_destroyed(scene):
    if scene.kind is CsvFeed:
        scene.path.write_text("comment_id,note\nold,x\n")
    else:
        scene.path.write_text('{"note": "x"}\nnot json\n')
    scene.open()
    scene.store(comment("a"))
    scene.close()
    text = scene.path.read_text()
    assert text.startswith("comment_id,note\nold,x\na" if scene.kind is CsvFeed else '{"note": "x"}\nnot json\n{')


def test_a_run_that_never_opened_writes_nothing(tmp_path):
    path = tmp_path / "out.jsonl"
    with path.open("ab") as file:
        JsonLinesFeed.from_crawler(SimpleNamespace(spider=SimpleNamespace()), file).start_exporting()
    assert path.read_bytes() == b""


def test_csv_cells_are_plain(tmp_path):
    scene = Scene(tmp_path, CsvFeed, "csv")
    scene.open()
    scene.store(comment("a", is_pinned=True, pictures=["x"], extras={"k": "中"}, like_count=None))
    scene.close()
    row = scene.read()[0]
    assert (row["is_pinned"], row["is_hearted"], row["pictures"], row["extras"], row["like_count"]) == (
        "true",
        "false",
        '["x"]',
        '{"k":"中"}',
        "",
    )


def test_comments_and_danmaku_share_a_file_and_each_is_there_once(scene):
    scene.active = (Kind.COMMENTS, Kind.DANMAKU, Kind.METADATA)
    scene.open()
    scene.store(comment("a"), danmaku("1"), danmaku("1", part=2, cid="22"))
    scene.store(comment("b"), danmaku("a", text='"\n,'), export=False)
    scene.close()
    for _ in range(2):
        scene.open()
        scene.close()
    rows = scene.read()
    assert [(row["type"], row.get("comment_id") or row["danmaku_id"], row.get("cid") or None) for row in rows] == [
        ("comment", "a", None),
        ("danmaku", "1", "11"),
        ("danmaku", "1", "22"),
        ("comment", "b", None),
        ("danmaku", "a", "11"),
    ]
    assert rows[-1]["text"] == '"\n,'


def test_without_danmaku_a_file_has_no_columns_for_them(tmp_path):
    scene = Scene(tmp_path, CsvFeed, "csv")
    scene.open()
    scene.close()
    assert "danmaku_id" not in scene.path.read_text(encoding="utf-8")
