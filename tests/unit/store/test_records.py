from research_scrapers.models import Cursor, Options, Page, Video
from research_scrapers.store.records import comment_of
from tests.factories import VIDEO, Bench, comment, page

ALL = Options()


def again(bench, run, *records):
    bench.begin(run, VIDEO)
    lease = bench.claim()
    return bench.ledger.commit_page(lease, Page(Cursor("", "page", "1"), records=records), ALL)


def test_an_unchanged_row_is_not_written_again(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a"),)), ALL)
    bench.store.conn.execute(
        "CREATE TRIGGER no_write BEFORE UPDATE ON comments BEGIN SELECT raise(ABORT, 'written'); END"
    )
    receipt = again(bench, "run_2", comment("a", fetched_at="2026-12-01T00:00:00Z"))
    assert [c.comment_id for c in receipt.fresh] == ["a"]  # this run's feed has it all the same
    assert bench.rows("SELECT fetched_at FROM comments") == [("2026-11-16T00:00:00Z",)]


def test_a_new_like_count_is_not_an_edit(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a"),)), ALL)
    again(bench, "run_2", comment("a", like_count=7))
    assert bench.rows("SELECT like_count FROM comments") == [(7,)]
    assert bench.rows("SELECT count(*) FROM comment_revisions") == [(0,)]


def test_an_edit_keeps_the_earlier_wording(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a", text="one"),)), ALL)
    again(bench, "run_2", comment("a", text="two", is_edited=True, fetched_at="2026-12-01T00:00:00Z"))
    assert bench.rows("SELECT text, is_edited FROM comments") == [("two", 1)]
    assert bench.rows("SELECT text, fetched_at, replaced_at FROM comment_revisions") == [
        ("one", "2026-11-16T00:00:00Z", "2026-12-01T00:00:00Z")
    ]


def test_two_sightings_tighten_a_relative_time(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a"),)), ALL)
    later = comment(
        "a",
        published_text="2 days ago",
        published_after="2026-11-14T12:00:00Z",
        published_before="2026-11-15T12:00:00Z",
    )
    again(bench, "run_2", later)
    assert bench.rows("SELECT published_after, published_before FROM comments") == [
        ("2026-11-14T12:00:00Z", "2026-11-15T00:00:00Z")
    ]


def test_sightings_that_contradict_each_other_leave_the_newer(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a"),)), ALL)
    moved = comment(
        "a", published_text="now", published_after="2026-11-16T00:00:00Z", published_before="2026-11-16T01:00:00Z"
    )
    again(bench, "run_2", moved)
    assert bench.rows("SELECT published_after FROM comments") == [("2026-11-16T00:00:00Z",)]


def test_a_row_is_the_record_that_was_stored(tmp_path):
    bench = Bench(tmp_path)
    record = comment(
        "a", text="=cmd 😀 中文\nline", pictures=["https://x/1.png"], extras={"verified": True}, is_pinned=True
    )
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(record,)), ALL)
    assert comment_of(bench.store.conn.execute("SELECT * FROM comments").fetchone()) == record


def test_the_full_text_index_follows_edits(tmp_path):
    bench = Bench(tmp_path)
    bench.ledger.commit_page(bench.claim(), Page(Cursor("", "page", "1"), records=(comment("a", text="apple"),)), ALL)
    again(bench, "run_2", comment("a", text="pear"))
    found = "SELECT count(*) FROM comments_fts WHERE comments_fts MATCH ?"
    assert (bench.rows(found, "apple"), bench.rows(found, "pear")) == ([(0,)], [(1,)])


def test_a_video_keeps_what_a_later_answer_does_not_tell(tmp_path):
    bench = Bench(tmp_path)
    facts = dict.fromkeys(
        (
            "title",
            "channel_id",
            "channel_name",
            "published_at",
            "duration_s",
            "view_count",
            "like_count",
            "comment_count",
            "language",
            "parts",
        )
    )
    first = Video("youtube", VIDEO, **facts | {"title": "T", "view_count": 1}, fetched_at="x")
    second = Video("youtube", VIDEO, **facts | {"view_count": 2}, fetched_at="y")
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", [], next_token="2", video=first), ALL)
    bench.ledger.commit_page(lease, page("2", [], video=second), ALL)
    assert bench.rows("SELECT title, view_count, fetched_at FROM videos") == [("T", 2, "y")]
