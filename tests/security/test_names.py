"""Names that come from outside become file names and cells: none leaves its folder, none is obeyed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research_scrapers.cli.files import write_transcripts
from research_scrapers.formats import WRITERS, file_name, to_md
from research_scrapers.models import Segment, Transcript

EVIL = (
    "../../etc/passwd", "..", ".", "/etc/passwd", "a/b", "a\\b", "C:\\x", "x\0y", "\x00", "", " ", "con", "nul.txt",
    "~/x", "$(id)", "`id`", "-rf", "a\nb", "\u202egnp.exe", "é" * 300, "x" * 5000, "....//", "%2e%2e%2f", "\ud83d",
)  # fmt: skip
TRANSCRIPT = Transcript(
    "youtube", "v", 1, "en", "manual", "", [Segment(0.0, 1.0, "hi")], "h", "2026-11-16T00:00:00Z"
)  # fmt: skip


@pytest.mark.parametrize("form", sorted(WRITERS))
@pytest.mark.parametrize("field", ["video_id", "language", "kind", "name"])
def test_no_file_leaves_its_folder(tmp_path, form, field):
    folder = tmp_path / "a" / "out"
    encodable = [evil for evil in EVIL if "\ud83d" not in evil]
    many = [replace(TRANSCRIPT, **{field: evil}) for evil in encodable for _ in range(2)]
    assert write_transcripts(many, form, folder) == len(many)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parent for path in files} == {folder}
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", path.name) and not path.name.startswith(".") for path in files)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.integers(0, 10**6))
def test_every_file_name_is_one_plain_name(video: str, language: str, kind: str, track: str, part: int) -> None:
    name = file_name(replace(TRANSCRIPT, video_id=video, language=language, kind=kind, part=part), "srt", track)
    assert Path("/out", name).parent == Path("/out")
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,255}", name)
    assert name not in (".", "..")
    assert not name.startswith(".")


def test_markdown_obeys_nothing() -> None:
    evil = "<script>alert(1)</script> [x](javascript:alert(1)) ![x](http://e/) `x` **x** | # x"
    text = to_md(replace(TRANSCRIPT, segments=[Segment(0.0, 1.0, evil)], name=evil), title=evil)
    for line in text.splitlines():
        obeyed = re.sub(r"\\.", "", line.removeprefix("# "))  # what is escaped is shown as it is
        assert not re.search(r"[\[\]<>`|#*]", obeyed), line
