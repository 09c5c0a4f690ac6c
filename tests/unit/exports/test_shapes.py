"""The shapes of other tools, checked by those tools' own rules."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_scrapers.errors import ChecksumWrong, SettingInvalid
from research_scrapers.exports.players import to_ass, to_xml
from research_scrapers.formats import from_srt, from_vtt
from tests.corpus import AWKWARD, LONG_ID, Corpus, danmaku
from tests.factories import VIDEO, comment

# What 4CAT's importer asks of the two files (datasources/upload/import_formats.py).
COMMENT_COLUMNS = {"id", "isReplyTo", "authorName", "text", "publishedAt"}
VIDEO_COLUMNS = {"publishedAt", "videoId", "channelId", "channelTitle", "videoDescription"}
DIALECT = {"doublequote": True, "escapechar": "\\"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus")).everything()


def test_4cat_takes_the_ytdt_shape(corpus, tmp_path):
    corpus.invoke("export", "--shape", "ytdt", "--out", str(tmp_path))
    with (tmp_path / "ytdt_comments.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, **DIALECT)
        rows = list(reader)
    assert set(reader.fieldnames) >= COMMENT_COLUMNS
    assert [row["text"] for row in rows] == [*AWKWARD, "long", "a reply"]
    assert all(datetime.strptime(row["publishedAt"], "%Y-%m-%d %H:%M:%S") for row in rows)
    assert rows[-1]["isReplyTo"] == "c0"
    assert rows[-1]["isReplyToName"] == "@a"
    assert rows[0]["isReplyTo"] == ""
    assert (rows[0]["publishedAfter"], rows[0]["publishedBefore"]) == ("2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z")
    assert {row["coverage"] for row in rows} == {"partial"}
    with (tmp_path / "ytdt_videos.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, **DIALECT)
        rows = list(reader)
    assert set(reader.fieldnames) >= VIDEO_COLUMNS
    assert datetime.strptime(rows[0]["publishedAt"], "%Y-%m-%dT%H:%M:%SZ").year == 2024
    assert (tmp_path / "coverage.csv").is_file()


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(st.text(), max_size=5))
def test_4cats_reader_gets_any_text_back(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    made = Corpus(folder)
    made.run()
    made.texts(texts)
    made.invoke("export", "--shape", "ytdt", "--out", str(folder / "out"))
    made.store.close()
    if texts:
        with (folder / "out" / "ytdt_comments.csv").open(encoding="utf-8", newline="") as file:
            assert [row["text"] for row in csv.DictReader(file, **DIALECT)] == texts


def test_the_shape_of_youtube_comment_downloader(corpus, tmp_path):
    corpus.invoke("export", "--shape", "ycd", "--out", str(tmp_path / "ycd.jsonl"), "--where", "text~reply")
    lines = (tmp_path / "ycd.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    comments = rows
    assert (tmp_path / "ycd.coverage.jsonl").is_file()
    assert {"cid", "text", "time", "author", "channel", "votes", "replies", "photo", "heart", "reply"} <= set(
        comments[0]
    )
    assert "type" not in comments[0]
    assert comments[-1]["reply"] is True
    assert comments[-1]["votes"] == "1"
    assert comments[-1]["coverage"] == "partial"


def test_the_shape_of_yt_dlp(corpus, tmp_path):
    corpus.invoke("export", "--shape", "ytdlp", "--out", str(tmp_path))
    told = json.loads((tmp_path / f"{VIDEO}.partial.info.json").read_text(encoding="utf-8"))
    assert (told["id"], told["title"], told["upload_date"]) == (VIDEO, "A title", "20240102")
    assert told["_coverage"] == "partial"
    assert told["comment_count"] == len(told["comments"]) == len(AWKWARD) + 2
    assert [one["text"] for one in told["comments"]] == [*AWKWARD, "long", "a reply"]
    assert told["comments"][-1]["parent"] == "c0"
    assert told["comments"][-2]["id"] == LONG_ID
    assert told["comments"][0]["parent"] == "root"
    assert isinstance(told["comments"][0]["timestamp"], int)
    assert (tmp_path / "coverage.csv").is_file()


def test_info_files_of_all_runs_have_each_comment_once(tmp_path):
    made = Corpus(tmp_path)
    other = "aaaaaaaaaaa"
    made.run("run_1", VIDEO, other)
    made.comments([comment("a"), comment("b")])
    made.comments([comment("x", video=other)], video=other)
    made.comments([comment("c")])
    made.invoke("export", "--all", "--shape", "ytdlp", "--out", str(tmp_path / "out"))
    told = json.loads((tmp_path / "out" / f"{VIDEO}.info.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in told["comments"]] == ["a", "b", "c"]
    assert (tmp_path / "out" / f"{other}.info.json").is_file()


@pytest.mark.parametrize("form", ["srt", "vtt", "txt", "md"])
def test_transcripts_as_files(corpus, tmp_path, form):
    corpus.invoke("export", "--format", form, "--out", str(tmp_path))
    text = (tmp_path / f"{VIDEO}.en.manual.{form}").read_bytes().decode()
    assert "你好，世界" in text
    if form in ("srt", "vtt"):
        assert len({"srt": from_srt, "vtt": from_vtt}[form](text)) == len([one for one in AWKWARD if one])
    if form in ("vtt", "md"):
        assert "overage: complete" in text
    assert (tmp_path / "coverage.csv").is_file()


def test_a_partial_transcript_says_so_in_its_name(tmp_path):
    made = Corpus(tmp_path).everything()
    made.end("transcript", "partial", "tracks_failed")
    made.end("danmaku", "partial", "limit")
    made.invoke("export", "--format", "srt", "--out", str(tmp_path / "out"))
    made.invoke("export", "--format", "xml", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out" / f"{VIDEO}.en.manual.partial.srt").is_file()
    assert "coverage: partial (limit)" in (tmp_path / "out" / f"{VIDEO}.p1.77.partial.xml").read_text(encoding="utf-8")


def test_danmaku_as_players_open_them(corpus, tmp_path):
    corpus.invoke("export", "--format", "xml", "--out", str(tmp_path))
    corpus.invoke("export", "--format", "ass", "--out", str(tmp_path))
    root = ET.parse(tmp_path / f"{VIDEO}.p1.77.xml").getroot()
    found = root.findall("d")
    assert [one.text or "" for one in found] == list(AWKWARD)
    assert found[1].get("p") == "0.50000,4,25,16777215,1714521600,0,abc123,d1,5"
    text = (tmp_path / f"{VIDEO}.p1.77.ass").read_text(encoding="utf-8")
    assert text.count("Dialogue: ") == sum(n % 5 != 4 for n in range(len(AWKWARD)))
    assert "; coverage: complete" in text


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text())
def test_any_danmaku_is_good_xml_and_one_line_of_ass(text, name):
    one = danmaku(name or "x", text, 1000)
    root = ET.fromstring("".join(to_xml([one], name, "complete")))
    legal = "".join(sign for sign in text if sign in "\t\n\r" or 0x20 <= ord(sign) <= 0xFFFD or ord(sign) > 0xFFFF)
    assert (root.find("d").text or "").replace("\ufffd", "") == legal.replace("\ufffd", "")
    *_, line = list(to_ass([one], name, "complete"))
    assert line.count("\n") == 1
    assert line.count("{") == line.count("}") == 1


def test_danmaku_at_one_moment_fly_in_rows_of_their_own():
    lines = list(to_ass([danmaku(str(n), "同时", 1000) for n in range(8)], "t", "complete"))[1:]
    assert len({line.split("\\move(")[1].split(",")[1] for line in lines}) == 8


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "srt", "--what", "comments"),
        ("--format", "srt", "--where", "text~climate"),
        ("--format", "srt", "--columns", "language"),
        ("--format", "xml", "--where", "like_count>=10"),
        ("--format", "csv.gz", "--what", "comments", "--out", "-"),
    ],
)
def test_what_a_form_cannot_do_is_refused(corpus, tmp_path, arguments):
    with pytest.raises(SettingInvalid):
        corpus.invoke("export", "--out", str(tmp_path), *arguments)


def test_the_danmaku_are_counted_not_their_files(corpus, tmp_path):
    corpus.invoke("export", "--all", "--format", "xml", "--out", str(tmp_path))
    held = corpus.conn.execute("SELECT count(*) FROM danmaku").fetchone()[0]
    assert json.loads((tmp_path / "job_metadata.json").read_text())["rows"]["danmaku"] == held


def test_a_walk_that_failed_shows_in_the_name_too(tmp_path):
    made = Corpus(tmp_path).everything()
    made.conn.execute("UPDATE sub_jobs SET status = 'failed', outcome = NULL WHERE kind = 'comments'")
    made.invoke("export", "--shape", "ytdlp", "--out", str(tmp_path / "out"))
    names = [path.name for path in (tmp_path / "out").glob("*.info.json")]
    assert names
    assert all(name.endswith(".partial.info.json") for name in names)


def test_files_beside_a_file_never_take_its_name(corpus, tmp_path):
    for name in ("a.coverage.csv", "a.v2.csv.gz"):
        corpus.invoke("export", "--what", "comments", "--out", str(tmp_path / name))
    assert (tmp_path / "a.coverage.csv").read_text(encoding="utf-8").startswith("provider,video_id,comment_id")
    assert (tmp_path / "a.coverage.coverage.csv").is_file()
    assert (tmp_path / "a.v2.coverage.csv.gz").is_file()


def test_a_number_beyond_every_integer_is_a_condition_like_any_other(corpus, tmp_path):
    corpus.invoke("export", "--what", "comments", "--where", f"like_count>={10**30}", "--out", str(tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("table", "column"), [("comments", "text"), ("danmaku", "text"), ("transcript_segments", "text")]
)
def test_a_text_that_was_changed_in_the_database_is_found(tmp_path, table, column):
    made = Corpus(tmp_path).everything()
    made.invoke("export", "--out", str(tmp_path / "out"))
    made.invoke("verify", str(tmp_path / "out"))
    made.conn.execute(f"UPDATE {table} SET {column} = 'tampered'")
    with pytest.raises(ChecksumWrong):
        made.invoke("verify", str(tmp_path / "out"))
