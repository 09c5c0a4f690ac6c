"""The walker: every parser, every case under ``fixtures/bilibili``. A case is a folder; no Python is needed to add one.

``input.json`` (or ``.html``, ``.xml``; ``.hex`` for bytes) is the body, ``meta.json`` says what was asked and what was
known, and ``output.json`` or ``error.json`` what must come of it. A missing expectation is written, and the test fails
until somebody has looked at it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from research_scrapers.errors import ResearchError
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options
from research_scrapers.providers.bilibili.comments import CommentsRoute
from research_scrapers.providers.bilibili.danmaku import DanmakuRoute
from research_scrapers.providers.bilibili.metadata import MetadataRoute
from research_scrapers.providers.bilibili.refusals import judge
from research_scrapers.providers.bilibili.subtitles import SubtitlesRoute
from research_scrapers.providers.bilibili.visit import BilibiliVisit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "bilibili"
PARSERS = ("metadata", "comments", "replies", "danmaku", "subtitles", "visit", "refusal")
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/meta.json"))


def _input(case: Path) -> bytes:
    path = next(case.glob("input.*"))
    return bytes.fromhex(path.read_text("utf-8")) if path.suffix == ".hex" else path.read_bytes()


def _outcome(case: Path) -> tuple[str, dict[str, Any]]:
    meta = json.loads((case / "meta.json").read_text("utf-8"))
    answer = Answer(meta["url"], meta.get("status", 200), _input(case), meta.get("headers", {}))
    try:
        return "output", _parse(case.parent.name, meta, answer)
    except ResearchError as error:
        told = {"error": type(error).__name__, "detail": error.detail}
        return "error", told | ({"retry_after": error.retry_after} if getattr(error, "retry_after", None) else {})


def _parse(parser: str, meta: dict[str, Any], answer: Answer) -> dict[str, Any]:
    refused = judge(answer)
    if refused is not None:
        raise refused
    if parser == "refusal":
        return {"refusal": None}
    if parser == "visit":
        return dict(BilibiliVisit(meta.get("login")).read(Ask(answer.url), answer))
    options = Options(**meta.get("options", {}))
    route = {
        "metadata": MetadataRoute,
        "comments": CommentsRoute,
        "replies": CommentsRoute,
        "danmaku": lambda: DanmakuRoute.wanted(options),
        "subtitles": lambda: SubtitlesRoute.of(options),
    }[parser]()
    cursor = Cursor(meta.get("chain", MAIN), meta["step"], meta.get("token", ""), meta.get("claimed"))
    session = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in meta.get("session", {}).items()
    }
    now = datetime.fromisoformat("2026-11-16T12:00:00Z")
    page = route.read(meta["video_id"], cursor, answer, now, options, session)
    told = json.loads(json.dumps(asdict(page)))
    return {name: value for name, value in told.items() if value not in (None, [], {})}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case(case: Path) -> None:
    kind, outcome = _outcome(case)
    expected = case / f"{kind}.json"
    stored = [path for path in (case / "output.json", case / "error.json") if path.exists()]
    if not stored:
        expected.write_text(json.dumps(outcome, indent=1, ensure_ascii=False) + "\n", "utf-8")
        pytest.fail(f"{expected.name} was missing and has been written: look at it before you keep it")
    assert stored == [expected], f"came out as {kind}: {outcome}"
    assert outcome == json.loads(expected.read_text("utf-8"))


@pytest.mark.parametrize("parser", PARSERS)
def test_every_parser_can_fail(parser: str) -> None:
    cases = [case for case in CASES if case.parent.name == parser]
    assert any((case / "output.json").exists() for case in cases)
    assert any((case / "error.json").exists() for case in cases)


def test_no_folder_is_forgotten() -> None:
    assert {path for path in FIXTURES.glob("*/*") if path.is_dir()} == set(CASES)
    assert {case.parent.name for case in CASES} == set(PARSERS)
