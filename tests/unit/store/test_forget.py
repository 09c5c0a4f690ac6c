"""After `forget`, a byte search finds nothing of the person."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib

import pytest

from research_scrapers.errors import InputError, StoreLocked
from research_scrapers.store.forget import forget_author
from research_scrapers.store.project import settle_policy
from tests.corpus import Corpus, danmaku
from tests.factories import VIDEO, comment

PERSON = "UCpersonpersonpersonpers"
SECRETS = (PERSON, "secret-handle", "whisper", "erased wording", "avatar-of-person", "悄悄话")


@pytest.fixture
def made(tmp_path):
    corpus = Corpus(tmp_path)
    corpus.run()
    mine = {"author_id": PERSON, "author_name": "@secret-handle", "extras": {"avatar": "https://x/avatar-of-person"}}
    corpus.comments([comment("p1", text="erased wording", **mine), comment("p2", text="悄悄话", **mine)])
    corpus.comments([comment("p1", text="a whisper", **mine)])
    corpus.comments([
        comment("q1", parent="p1", text="@secret-handle I heard you", author_id="UC2", author_name="@other"),
        comment("q2", text="nothing to see", extras={"links": [f"/channel/{PERSON}"]}),
    ])  # fmt: skip
    folder = tmp_path / "research.artifacts"
    folder.mkdir()
    for name, body in (("a", f'{{"id": "{PERSON}"}}'), ("b", "{}")):
        path = folder / f"{name}.gz"
        path.write_bytes(gzip.compress(body.encode()))
        corpus.conn.execute(
            "INSERT INTO artifacts (run_id, sub_job_id, kind, location, checksum, version, size, created_at)"
            " VALUES ('run_1', ?, 'raw_body', ?, '', 1, 1, '')",
            (corpus.work("comments"), str(path)),
        )
    return corpus


def searched(folder, secrets=SECRETS):
    """Every secret that a file of the folder holds, in any encoding that we write."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            body = path.read_bytes()
            body += gzip.decompress(body) if path.suffix == ".gz" else b""
            found |= {one for one in secrets if one.encode() in body or json.dumps(one)[1:-1].encode() in body}
    return found


def test_nothing_of_a_person_is_left(made):
    assert searched(made.folder) == set(SECRETS)
    result = made.invoke("forget", "--author", PERSON, "--yes")
    assert "2 comments" in result.stdout
    assert searched(made.folder) == set()
    made.invoke("export", "--format", "jsonl", "--out", str(made.folder / "out"))
    made.invoke("export", "--format", "sqlite", "--out", str(made.folder / "out"))
    assert searched(made.folder) == set()
    rows = made.conn.execute("SELECT comment_id, text FROM comments ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [("q1", "@… I heard you"), ("q2", "nothing to see")]
    assert made.conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert made.conn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert [path.name for path in (made.folder / "research.artifacts").iterdir()] == ["b.gz"]


def test_a_handle_is_enough(made):
    made.invoke("forget", "--author", "@Secret-Handle", "--yes")
    assert searched(made.folder) == set()


def test_a_danmaku_author_is_found_by_the_sites_hash(made):
    made.danmaku([danmaku("d1", "飞过", 1, author_hash=f"{zlib.crc32(b'1234567'):x}"), danmaku("d2", "留下", 2)])
    made.invoke("forget", "--author", "1234567", "--yes")
    assert searched(made.folder, ("飞过",)) == set()
    assert searched(made.folder, ("留下",)) == {"留下"}


def test_nothing_of_a_video_is_left(made):
    made.video(title="hushed title")
    made.transcript(["hushed speech"])
    made.danmaku([danmaku("d1", "hushed danmaku", 1)])
    made.invoke("forget", "--video", f"https://youtu.be/{VIDEO}", "--yes")
    assert searched(made.folder, (*SECRETS, VIDEO, "hushed")) == set()
    assert made.conn.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_pseudonymised_person_is_found_by_the_original_id(tmp_path, monkeypatch):
    monkeypatch.setenv("RESEARCH_PRIVACY_KEY", str(tmp_path / "key"))
    corpus = Corpus(tmp_path)
    corpus.run()
    veil = settle_policy(corpus.store, "pseudonymise")
    corpus.comments(veil.records([comment("a", author_id=PERSON, text="whisper"), comment("b", author_id="UC2")]))
    corpus.invoke("forget", "--author", PERSON, "--yes")
    assert searched(tmp_path) == set()
    assert corpus.conn.execute("SELECT count(*) FROM comments").fetchone()[0] == 1


def test_another_reader_is_told_of(made):
    reader = sqlite3.connect(made.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM comments").fetchone()
    made.conn.execute("PRAGMA busy_timeout = 50")
    with pytest.raises(StoreLocked):
        forget_author(made.store, PERSON)
    reader.close()
    forget_author(made.store, PERSON)
    assert searched(made.folder) == set()


@pytest.mark.parametrize(
    "arguments", [[], ["--author", "a", "--video", "b"], ["--author", "nobody"], ["--video", "aaaaaaaaaaa"]]
)
def test_what_cannot_be_forgotten(made, arguments):
    assert isinstance(made.invoke("forget", *arguments, "--yes", code=2).exception, InputError)


def test_it_asks_first(made):
    assert made.invoke("forget", "--author", PERSON, code=1).exit_code == 1
    assert searched(made.folder) == set(SECRETS)


def test_a_person_is_gone_from_titles_lists_of_mentions_and_what_a_walk_noted(made):
    made.comments([
        comment("r1", text="x", extras={"mentions": [{"mid": "10124", "name": "quiet-uploader"}]}),
    ])  # fmt: skip
    made.conn.execute(
        "INSERT OR REPLACE INTO videos (provider, video_id, title, channel_id, channel_name, fetched_at)"
        " VALUES ('bilibili', 'BV1', 'a film', '10124', 'quiet-uploader', '')"
    )
    made.conn.execute(
        "INSERT OR REPLACE INTO videos (provider, video_id, title, channel_id, channel_name, fetched_at)"
        " VALUES ('bilibili', 'BV2', 'with @quiet-uploader', '7', 'another', '')"
    )
    made.conn.execute('UPDATE sub_jobs SET session = \'{"owner": "10124", "aid": "5"}\'')
    made.invoke("forget", "--author", "10124", "--yes")
    assert searched(made.folder, ('"10124"', "quiet-uploader")) == set()
    assert made.conn.execute("SELECT title FROM videos WHERE video_id = 'BV2'").fetchone()[0] == "with @…"
    kept = made.conn.execute("SELECT session FROM sub_jobs").fetchone()[0]
    assert json.loads(kept) == {"owner": "…", "aid": "5"}


def test_a_bilibili_name_is_enough_too(made):
    made.comments([comment("b1", text="mine", provider="bilibili", author_id="10124", author_name="quiet")])
    assert "1 comment" in made.invoke("forget", "--author", "@quiet", "--yes").stdout
