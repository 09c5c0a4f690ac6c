"""The manifest lists everything, and `research verify` finds every change."""

from __future__ import annotations

import json

import pytest

from research_scrapers.errors import ChecksumWrong, InputError
from research_scrapers.models import BadLine, Kind
from research_scrapers.store.runs import Runs
from tests.corpus import AWKWARD, Corpus
from tests.factories import comment


@pytest.fixture
def made(tmp_path):
    corpus = Corpus(tmp_path).everything()
    Runs(corpus.store).take_in(
        "run_1", [BadLine(9, "nonsense", "no video")], {"youtube": (Kind.COMMENTS,)}, "yt_comments"
    )
    corpus.invoke("export", "--format", "csv", "--out", str(tmp_path / "out"))
    return corpus


def test_a_manifest_has_totals_parts_and_checksums(made):
    out = made.folder / "out"
    told = json.loads((out / "job_metadata.json").read_text(encoding="utf-8"))
    assert told["rows"]["comments"] == len(AWKWARD) + 2
    assert told["jobs"] == {"invalid": 1, "success": 1}
    assert told["items"] == {"full": 2, "success": 1, "errors": 1}
    assert told["work"]["comments partial"] == 1
    assert set(told["files"]) == {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {
        "job_metadata.json"
    }
    full = json.loads((out / "manifests" / "full" / "part-1.json").read_text(encoding="utf-8"))
    assert full[0]["work"][0]["records"] == len(AWKWARD) + 2
    errors = json.loads((out / "manifests" / "errors" / "part-1.json").read_text(encoding="utf-8"))
    assert [item["link"] for item in errors] == ["nonsense"]


def test_parts_hold_so_many_items_each(tmp_path, monkeypatch):
    monkeypatch.setattr("research_scrapers.exports.manifest.PART", 3)
    made = Corpus(tmp_path)
    made.run("run_1", *(f"video{n:06}" for n in range(7)))
    made.invoke("export", "--out", str(tmp_path / "out"))
    parts = sorted((tmp_path / "out" / "manifests" / "full").iterdir())
    assert [len(json.loads(part.read_text(encoding="utf-8"))) for part in parts] == [3, 3, 1]
    made.invoke("verify", str(tmp_path / "out"))


def test_verify_finds_what_is_as_it_was(made):
    result = made.invoke("verify", str(made.folder / "out"))
    assert "files as they were written" in result.stdout
    assert "2 jobs" in result.stdout


def test_verify_finds_a_changed_and_a_missing_file(made):
    out = made.folder / "out"
    with (out / "comments.csv").open("ab") as file:
        file.write(b"x")
    (out / "videos.csv").unlink()
    error = made.invoke("verify", str(out), code=2).exception
    assert isinstance(error, ChecksumWrong)
    assert "comments.csv was changed; videos.csv is missing" in str(error)


def test_verify_finds_a_changed_database(made):
    made.comments([comment("c0", text="edited")])
    error = made.invoke("verify", str(made.folder / "out"), code=2).exception
    assert isinstance(error, ChecksumWrong)
    assert "comments: digest was" in str(error)


def test_a_manifest_cannot_lead_outside(made):
    out = made.folder / "out"
    told = json.loads((out / "job_metadata.json").read_text(encoding="utf-8"))
    told["files"] = {"../research.db": {"size": 1, "sha256": ""}}
    (out / "job_metadata.json").write_text(json.dumps(told), encoding="utf-8")
    assert "outside" in str(made.invoke("verify", str(out), code=2).exception)


@pytest.mark.parametrize("content", [None, "[]", "{}", "nonsense", '{"files": {"a": 1}}', '{"files": []}'])
def test_what_is_no_manifest(made, content):
    path = made.folder / "job_metadata.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert isinstance(made.invoke("verify", str(made.folder), code=2).exception, InputError)


def test_a_single_file_has_its_manifest_beside_it(made):
    made.invoke("export", "--out", str(made.folder / "one.jsonl.gz"))
    made.invoke("export", "--out", str(made.folder / "one.csv"), "--what", "comments")
    made.invoke("verify", str(made.folder / "one.jsonl.gz.job_metadata.json"))
    made.invoke("verify", str(made.folder / "one.csv"))
    (made.folder / "one.jsonl.gz").write_bytes(b"")
    made.invoke("verify", str(made.folder / "one.jsonl.gz"), code=1)
    made.invoke("verify", str(made.folder / "one.csv"))
