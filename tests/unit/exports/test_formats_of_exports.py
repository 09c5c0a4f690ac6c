"""Every format gives back the ids and texts that it was given, and says what is partial."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sqlite3

import openpyxl
import pyarrow.parquet as pq
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from research_scrapers.errors import ExtraMissing, FeedUnwritable, SettingInvalid
from research_scrapers.exports.export import Wish, export
from research_scrapers.exports.files import needed, written
from research_scrapers.exports.texts import guard, unguard
from research_scrapers.models import content_hash
from research_scrapers.store.columns import TABLES
from tests.corpus import AWKWARD, LONG_ID, Corpus
from tests.factories import comment


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Corpus(tmp_path_factory.mktemp("corpus")).everything()


def read_csv(path, **options):
    with path.open(encoding=options.pop("encoding", "utf-8"), newline="") as file:
        return list(csv.DictReader(file, **options))


def read_xlsx(path, sheet="comments"):
    book = openpyxl.load_workbook(path, read_only=True)
    head, *rows = book[sheet].iter_rows(values_only=True)
    told = [dict(zip(head, [_unescaped(cell) for cell in row], strict=False)) for row in rows]
    book.close()
    return told


def _unescaped(cell):
    """What Excel does and openpyxl leaves to its user: _x000D_ is a carriage return."""
    if not isinstance(cell, str):
        return cell
    return re.sub(r"_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), cell)


def read_parquet(path):
    return pq.read_table(path).to_pylist()


def read_sqlite(path):
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    found = [dict(row) for row in connection.execute("SELECT * FROM comments")]
    connection.close()
    return found


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


READERS = {
    "csv": lambda folder: [
        {name: unguard(value) for name, value in row.items()} for row in read_csv(folder / "comments.csv")
    ],
    "jsonl": lambda folder: read_jsonl(folder / "comments.jsonl"),
    "xlsx": lambda folder: read_xlsx(folder / "export.xlsx"),
    "parquet": lambda folder: read_parquet(folder / "comments.parquet"),
    "sqlite": lambda folder: read_sqlite(folder / "export.db"),
}


@pytest.mark.parametrize("form", READERS)
def test_ids_and_texts_come_back_the_same(corpus, tmp_path, form):
    export(corpus.store, Wish(run="run_1", out=tmp_path / "out", form=form))
    rows = READERS[form](tmp_path / "out")
    assert [row["text"] or "" for row in rows] == [*AWKWARD, "long", "a reply"]
    assert rows[-2]["comment_id"] == LONG_ID
    assert {row["coverage"] for row in rows} == {"partial"}
    assert {row["coverage_reason"] for row in rows} == {"threads_failed"}
    names = [name for name in rows[0] if name != "type"]
    assert names == list(TABLES["comments"].names)


@settings(max_examples=20, deadline=None)
@given(texts=st.lists(st.text(), max_size=6))
def test_any_text_survives_any_format(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    made = Corpus(folder)
    made.run()
    made.texts(texts)
    for form, read in READERS.items():
        export(made.store, Wish(run="run_1", out=folder / form, form=form, what=("comments",)))
        wanted = texts
        if form == "xlsx":  # two signs that no XML can hold
            wanted = [re.sub("[\ufffe\uffff]", "\ufffd", text) for text in texts]
        assert [row["text"] or "" for row in read(folder / form)] == wanted, form
    made.store.close()


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_a_guard_is_taken_away_exactly(text):
    for digits in (False, True):
        safe = guard(text, digits=digits)
        assert unguard(safe) == text or (not digits and unguard(guard(text, digits=True)) == text)
        assert not safe.lstrip().startswith(("=", "+", "-", "@", "|"))


def test_plain_cells_are_the_texts_themselves(corpus, tmp_path):
    export(corpus.store, Wish(run="run_1", out=tmp_path, form="csv", plain=True))
    assert [row["text"] for row in read_csv(tmp_path / "comments.csv")] == [*AWKWARD, "long", "a reply"]


def test_csv_for_excel_has_a_bom_and_keeps_long_numbers(corpus, tmp_path):
    export(corpus.store, Wish(run="run_1", out=tmp_path, form="csv", excel=True))
    assert (tmp_path / "comments.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    rows = read_csv(tmp_path / "comments.csv", encoding="utf-8-sig")
    assert rows[-2]["comment_id"] == f"'{LONG_ID}"


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_compression_by_suffix(corpus, tmp_path, packed):
    corpus.invoke("export", "--out", str(tmp_path / f"all.jsonl.{packed}"))
    raw = (tmp_path / f"all.jsonl.{packed}").read_bytes()
    text = gzip.decompress(raw) if packed == "gz" else zstd.decompress(raw)
    lines = [json.loads(line) for line in text.decode().splitlines()]
    assert {line["type"] for line in lines} == {"comment", "transcript", "danmaku", "video", "coverage"}
    transcript = next(line for line in lines if line["type"] == "transcript")
    assert [segment["text"] for segment in transcript["segments"]] == [text for text in AWKWARD if text]
    assert lines[0]["is_pinned"] is False
    assert lines[0]["extras"] == {}


def test_a_workbook_has_a_sheet_for_each_table(corpus, tmp_path):
    corpus.invoke("export", "--out", str(tmp_path / "all.xlsx"))
    book = openpyxl.load_workbook(tmp_path / "all.xlsx")
    assert book.sheetnames == ["comments", "transcripts", "danmaku", "videos", "coverage"]
    cell = next(row[6] for row in book["comments"].iter_rows() if str(row[6].value).startswith("=cmd"))
    assert cell.data_type == "s"
    assert book["coverage"]["G2"].value == "partial"


def test_a_table_too_long_for_a_sheet_goes_on_in_another(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("research_scrapers.exports.binaries._SHEET_ROWS", 5)
    export(corpus.store, Wish(run="run_1", out=tmp_path, form="xlsx"))
    book = openpyxl.load_workbook(tmp_path / "export.xlsx", read_only=True)
    rows = [row for name in book.sheetnames if name.startswith("comments") for row in book[name].iter_rows(min_row=2)]
    assert len(rows) == len(AWKWARD) + 2


def test_a_text_too_long_for_a_cell_is_cut_and_told(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.texts(["x" * 40_000, "👍" * 20_000])
    result = made.invoke("export", "--out", str(tmp_path / "long.xlsx"))
    assert "2 texts did not fit" in result.stderr
    rows = read_xlsx(tmp_path / "long.xlsx")
    assert all(len(row["text"].encode("utf-16-le")) // 2 <= 32_767 for row in rows)
    assert rows[1]["text"].startswith("👍👍")
    assert rows[1]["text"].endswith("full]")


def test_where_columns_and_what(corpus, tmp_path):
    out = tmp_path / "few.csv"
    corpus.invoke(
        "export", "--what", "comments", "--where", "like_count>=10", "--columns", "comment_id,like_count", "--out",
        str(out),
    )  # fmt: skip
    assert out.read_bytes() == f"comment_id,like_count\r\n{LONG_ID},50\r\n".encode()
    assert (tmp_path / "few.coverage.csv").is_file()
    assert "`like_count`" in (tmp_path / "few.csv.DICTIONARY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("parent_id=", len(AWKWARD) + 1), ("parent_id!=", 1), ("text~REPLY", 1), ("comment_id!=c0", len(AWKWARD) + 1),
        ("is_pinned=true", 0), ("published_after<2026-11-15", len(AWKWARD) + 2), ("comments.depth=1", 1),
        ("text='; DROP TABLE comments; --", 0), ("like_count<2", len(AWKWARD) + 1),
    ],
)  # fmt: skip
def test_conditions(corpus, tmp_path, condition, found):
    result = export(corpus.store, Wish(run=None, out=tmp_path, form="jsonl", what=("comments",), where=(condition,)))
    assert result.counts["comments"] == found
    assert result.counts["coverage"] == 3


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("like_cnt>3", "Did you mean like_count?"), ("like_count", "write it as"), ("like_count>=x", "is a number"),
        ("is_pinned=maybe", "true or false"), ("like_count>", "nothing stands behind"), ("nowhere.text=a", "no table"),
        ("1=1 OR 1", "no column"), ("like_count~1", "not a text"),
    ],
)  # fmt: skip
def test_conditions_that_cannot_be(corpus, tmp_path, condition, told):
    with pytest.raises(SettingInvalid, match=re.escape(told)):
        export(corpus.store, Wish(run=None, out=tmp_path, form="jsonl", where=(condition,)))
    assert not list(tmp_path.iterdir())


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_condition_can_break_out(corpus, text):
    # The rows are counted, with the condition, before the place is looked at.
    with pytest.raises(SettingInvalid, match="standard output"):
        export(corpus.store, Wish(run=None, out=None, form="xlsx", what=("videos",), where=(f"title={text}",)))


def test_everything_or_one_run(corpus, tmp_path):
    other = Corpus(tmp_path)
    other.run("run_1")
    other.comments([comment("a"), comment("b")])
    other.run("run_2")
    other.comments([comment("b"), comment("c")], run="run_2")
    other.end("comments", "partial", "limit", run="run_2")
    for arguments, ids in ((["run_1"], "ab"), (["run_2"], "bc"), ([], "bc"), (["--all"], "abc")):
        result = other.invoke(
            "export", *arguments, "--what", "comments", "--out", "-", "--columns", "comment_id,coverage"
        )
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        assert [line["comment_id"] for line in lines if line["type"] == "comment"] == list(ids)
    assert {line["coverage"] for line in lines if line["type"] == "comment"} == {"partial"}
    assert sum(line["type"] == "coverage" for line in lines) == 6
    other.store.close()


def test_csv_to_standard_output_is_one_table(corpus):
    result = corpus.invoke("export", "--format", "csv", "--what", "videos", "--out", "-")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert rows[0]["title"] == "A title"
    assert rows[0]["coverage"] == "comments: partial (threads_failed); transcript: complete; danmaku: complete"
    refused = corpus.invoke("export", "--format", "csv", "--out", "-", code=2)
    assert isinstance(refused.exception, SettingInvalid)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "pdf"], ["--format", "xlsx", "--out", "-"], ["--format", "parquet", "--out", "-"],
        ["--out", "a.csv"], ["--format", "xlsx.gz"], ["--shape", "ytdt", "--format", "xlsx"], ["run_1", "--all"],
        ["--what", "likes"], ["--shape", "ycd", "--what", "videos"], ["--columns", "nonsense"],
        ["--format", "info.json"], ["--format", "srt", "--out", "-"],
    ],
)  # fmt: skip
def test_wishes_that_cannot_be_fulfilled(corpus, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert isinstance(corpus.invoke("export", *arguments, code=2).exception, SettingInvalid)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_missing_library_is_told(monkeypatch):
    with pytest.raises(ExtraMissing, match=r"research-scrapers\[export\]"):
        needed("no_such_library_at_all")


def test_a_broken_export_leaves_nothing(tmp_path):
    def broken():
        with written(tmp_path / "a.csv") as part:
            part.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(FeedUnwritable, match="No space"):
        broken()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx", "parquet", "sqlite"])
def test_an_export_that_breaks_off_leaves_no_file(corpus, tmp_path, form):
    def interrupt(name, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(corpus.store, Wish(run="run_1", out=tmp_path, form=form), interrupt)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not corpus.conn.in_transaction


def test_a_workbook_that_cannot_be_put_together_is_told_and_leaves_no_file(corpus, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("xlsxwriter.workbook.ZipFile", full)
    with pytest.raises(FeedUnwritable, match="Too many open files"):
        export(corpus.store, Wish(run="run_1", out=tmp_path, form="xlsx"))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FeedUnwritable):
        export(corpus.store, Wish(run="run_1", out=tmp_path / "file" / "below", form="csv"))


def test_the_dictionary_explains_every_column(corpus, tmp_path):
    export(corpus.store, Wish(run="run_1", out=tmp_path, form="csv"))
    text = (tmp_path / "DICTIONARY.md").read_text(encoding="utf-8")
    for name in ("comments", "transcripts", "danmaku", "videos", "coverage"):
        head = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
        section = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert [f"| `{column}` |" in section for column in head] == [True] * len(head)


def test_a_content_hash_is_what_the_record_had(corpus, tmp_path):
    export(corpus.store, Wish(run="run_1", out=tmp_path, form="parquet", what=("comments",)))
    row = read_parquet(tmp_path / "comments.parquet")[0]
    assert row["content_hash"] == content_hash("plain")
    assert row["is_pinned"] is False
    assert row["like_count"] == 1
