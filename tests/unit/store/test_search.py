"""Words are found, whatever their script."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_scrapers.errors import InputError
from research_scrapers.store.database import Store
from research_scrapers.store.search import Query, search, segmented, snippet
from tests.corpus import Corpus, danmaku
from tests.factories import comment

TEXTS = (
    "中国经济发展很快", "我喜欢看电影", "東京タワーに行った", "한국어 댓글입니다", "Climate change is real",
    "naïve café", "100% sure_thing 😀", "ภาษาไทย", "a b c",
)  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    made = Corpus(tmp_path_factory.mktemp("search"))
    made.run()
    made.texts(TEXTS)
    made.danmaku([danmaku("d1", "前方高能预警", 61_000), danmaku("d2", "哈", 5000)])
    made.transcript(["欢迎收看今天的节目", "second line"], language="zh")
    made.video()
    return made


def found(corpus, words, **more):
    return [hit.record for hit in search(corpus.conn, Query(words, **more))]


@pytest.mark.parametrize(
    ("words", "record"),
    [
        ("经", "c0"), ("经济", "c0"), ("中国经济", "c0"), ("中国 发展", "c0"), ("电影", "c1"), ("タワー", "c2"),
        ("東京", "c2"),
        ("댓글", "c3"), ("climate", "c4"), ("REAL change", "c4"), ('"climate change"', "c4"), ("clim*", "c4"),
        ("cafe", "c5"), ("😀", "c6"), ("100% 😀", "c6"), ("ไทย", "c7"),
        ("高能", "d1"), ("哈", "d2"), ("收看", "zh manual"), ("SECOND", "zh manual"),
    ],
)  # fmt: skip
def test_what_is_there_is_found(corpus, words, record):
    assert found(corpus, words) == [record]


@pytest.mark.parametrize("words", ["济经", "clim", '"change climate"', "sureXthing", "中国 电影", "", '"'])
def test_what_is_not_there_is_not_found(corpus, words):
    assert found(corpus, words) == []


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_words_break_the_search(corpus, words):
    list(search(corpus.conn, Query(words)))


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_a_snippet_holds_its_words(text):
    assert snippet(text, [text.strip() or "x"]) is not None
    assert (segmented(text) or "").replace(" ", "") == text.replace(" ", "")


def test_limits(corpus):
    assert found(corpus, "经济", provider="bilibili") == []
    assert found(corpus, "经济", since="2026-11-15", until="2026-11-16") == ["c0"]
    assert found(corpus, "经济", since="2026-11-16") == []
    assert found(corpus, "哈", since="2024-04-30", until="2024-05-02") == ["d2"]
    assert found(corpus, "哈", kinds=("comments",)) == []
    assert len(found(corpus, "a*", limit=1, kinds=("comments",))) == 1


def test_the_command_shows_snippets(corpus):
    result = corpus.invoke("search", "经济")
    assert "中国[经济]发展很快" in result.stdout
    assert "danmaku at 1:01" in corpus.invoke("search", "高能").stdout
    for wrong in (
        ["search", "nowhere-at-all"],
        ["search", "a", "--since", "yesterday"],
        ["search", "a", "--in", "books"],
    ):
        assert isinstance(corpus.invoke(*wrong, code=2).exception, InputError)


def test_the_index_follows_edits_and_deletions(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.comments([comment("a", text="旧的文字")])
    made.comments([comment("a", text="新的文字")])
    assert found(made, "旧的") == []
    assert found(made, "新的") == ["a"]
    made.conn.execute("DELETE FROM sightings")
    made.conn.execute("DELETE FROM comment_revisions")
    made.conn.execute("DELETE FROM comments")
    assert made.conn.execute("SELECT count(*) FROM comments_fts").fetchone()[0] == 0


def test_an_older_database_gets_the_new_index(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.texts(["中国经济"])
    made.store.close()
    conn = sqlite3.connect(made.path, isolation_level=None)
    for name in ("ai", "ad", "au"):
        conn.execute(f"DROP TRIGGER comments_{name}")
    conn.execute("DROP TABLE comments_fts")
    conn.execute("CREATE VIRTUAL TABLE comments_fts USING fts5 (text, author_name, content='comments')")
    conn.execute("CREATE TRIGGER comments_ai AFTER INSERT ON comments BEGIN SELECT 1; END")
    conn.execute("DELETE FROM _sqlite_migrations WHERE name = 'm0008_search'")
    conn.close()
    made.store = Store(made.path)
    assert found(made, "经济") == ["c0"]
