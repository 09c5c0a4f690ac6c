"""Comment trees, and what changed between two runs."""

from __future__ import annotations

import json

import pytest

from research_scrapers.cli.look import shown
from research_scrapers.errors import InputError
from tests.corpus import Corpus
from tests.factories import VIDEO, comment


def test_a_tree_is_printed_with_its_replies_below(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.video()
    made.comments([
        comment("a", text="first\nline two", author_name="@ann", like_count=1200, is_pinned=True), comment("b"),
        comment("a.1", parent="a", text="a reply", author_name="@bob"),
        comment("a.2", parent="a.1", root_id="a", depth=2, text="deeper", author_name="@cat"),
        comment("z.1", parent="z", text="lost", author_name="@dan"),
    ])  # fmt: skip
    made.end("comments", "partial", "threads_failed")
    text = made.invoke("show", f"https://youtu.be/{VIDEO}").stdout
    assert text.startswith("A title — The Channel\nyoutube dQw4w9WgXcQ · 5 comments held, the site claims ? · partial")
    assert "@ann · 1 day ago · 1,200 likes · pinned\n  first\n  line two\n  └ @bob" in text
    assert "    └ @cat · 1 day ago · 1 likes\n        deeper" in text
    assert "answers a comment that is not held" in text
    assert "the first 1 threads" in made.invoke("show", VIDEO, "--limit", "1").stdout
    assert isinstance(made.invoke("show", "nothing", code=2).exception, InputError)


def test_a_very_deep_thread_is_no_trouble(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.comments([comment("0"), *(
        comment(str(n), parent=str(n - 1), root_id="0", depth=n) for n in range(1, 3000)
    )])  # fmt: skip
    assert made.invoke("show", VIDEO, "--limit", "0").stdout.count("└") == 2999


@pytest.mark.parametrize("text", ["\x1b[31mred", "\x9b2J", "\u202eevil", "a\rb", "bell\x07", "\ufeffx"])
def test_a_terminal_gets_no_orders(text):
    assert not set("\x1b\x9b\u202e\r\x07\ufeff") & set(shown(text))


@pytest.fixture
def two_runs(tmp_path):
    made = Corpus(tmp_path)
    made.run("run_1", VIDEO, "onlyinrun01")
    made.comments([comment("kept"), comment("lost"), comment("changed", text="before")])
    made.conn.execute("UPDATE sub_jobs SET started_at = '2026-11-16T00:00:00Z', finished_at = '2026-11-16T01:00:00Z'")
    made.run("run_2")
    later = "2026-11-17T00:30:00Z"
    made.comments(
        [comment("kept"), comment("fresh"), comment("changed", text="after", fetched_at=later)], run="run_2"
    )  # fmt: skip
    made.conn.execute("UPDATE sub_jobs SET finished_at = '2026-11-17T01:00:00Z' WHERE run_id = 'run_2'")
    return made


def changes(made, *runs):
    lines = made.invoke("diff", *runs, "--format", "jsonl").stdout.splitlines()
    return {(told["change"], told["comment_id"]) for told in map(json.loads, lines)}


def test_new_gone_and_edited(two_runs):
    assert changes(two_runs, "run_1", "run_2") == {("new", "fresh"), ("gone", "lost"), ("edited", "changed")}
    result = two_runs.invoke("diff", "run_1", "run_2")
    assert "was: before" in result.stdout
    assert "run_1 → run_2: 1 new, 1 gone, 1 edited" in result.stdout
    assert "1 video of one run only" in result.stderr


def test_what_a_partial_run_did_not_see_is_not_gone(two_runs):
    two_runs.end("comments", "partial", "limit", run="run_2")
    assert ("not_seen", "lost") in changes(two_runs, "run_1", "run_2")
    two_runs.end("comments", "partial", "limit", run="run_1")
    assert ("not_seen_before", "fresh") in changes(two_runs, "run_1", "run_2")
    assert "In brackets" in two_runs.invoke("diff", "run_1", "run_2").stderr


def test_a_run_does_not_differ_from_itself(two_runs):
    assert changes(two_runs, "run_1", "run_1") == set()
    assert isinstance(two_runs.invoke("diff", "run_1", "run_9", code=2).exception, InputError)


def test_a_wording_that_came_after_both_runs_is_not_theirs(two_runs):
    two_runs.conn.execute(
        "INSERT INTO comment_revisions (comment, text, content_hash, fetched_at, replaced_at)"
        " SELECT id, text, 'x', fetched_at, '9999' FROM comments WHERE comment_id = 'changed'"
    )
    two_runs.conn.execute("UPDATE sub_jobs SET finished_at = '9998' WHERE run_id = 'run_2'")
    two_runs.conn.execute("UPDATE comments SET text = 'much later' WHERE comment_id = 'changed'")
    told = two_runs.invoke("diff", "run_1", "run_2").stdout
    assert "was: before" in told
    assert "much later" not in told


def test_an_edit_in_the_last_second_of_a_walk_counts(two_runs):
    two_runs.conn.execute("UPDATE sub_jobs SET finished_at = '2026-01-01T00:00:01.919Z' WHERE run_id = 'run_1'")
    two_runs.conn.execute("UPDATE comment_revisions SET replaced_at = '2026-01-01T00:00:04Z'")
    two_runs.conn.execute("UPDATE sub_jobs SET finished_at = '2026-01-01T00:00:04.393Z' WHERE run_id = 'run_2'")
    assert ("edited", "changed") in changes(two_runs, "run_1", "run_2")
