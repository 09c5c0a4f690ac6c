"""The walker: every parser, every case under ``fixtures/youtube``. A case is a folder; no Python is needed to add one.

``input.json`` (or ``.html``, ``.xml``, ``.vtt``, ``.txt``) is the body, ``meta.json`` says what was asked, and
``output.json`` or ``error.json`` what must come of it. A missing expectation is written, and the test fails until
somebody has looked at it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from research_scrapers.errors import ResearchError
from research_scrapers.models import MAIN, Answer, Cursor, Options
from research_scrapers.providers.tracks import wanted_of
from research_scrapers.providers.youtube.api import ApiRoute
from research_scrapers.providers.youtube.panel import read_panel
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.states import player_state
from research_scrapers.providers.youtube.transcripts import TranscriptRoute
from research_scrapers.providers.youtube.tree import decode_object
from research_scrapers.providers.youtube.web import WebRoute

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "youtube"
INNERTUBE = "https://www.youtube.com/youtubei/v1/next?prettyPrint=false"
PARSERS = (
    "watch", "next", "page", "replies", "player", "refusal", "api_video", "api_threads", "api_replies",
    "track_list", "track", "panel",
)  # fmt: skip
CASES = sorted(path.parent for path in FIXTURES.glob("*/*/meta.json"))


def _outcome(case: Path) -> tuple[str, dict[str, Any]]:
    meta = json.loads((case / "meta.json").read_text("utf-8"))
    body = next(case.glob("input.*")).read_bytes()
    answer = Answer(meta.get("url", INNERTUBE), meta.get("status", 200), body, meta.get("headers", {}))
    try:
        return "output", _parse(case.parent.name, meta, answer)
    except ResearchError as error:
        told = {"error": type(error).__name__, "detail": error.detail}
        told |= {name: value for name in ("retry_after", "until") if (value := getattr(error, name, None))}
        return "error", told


def _parse(parser: str, meta: dict[str, Any], answer: Answer) -> dict[str, Any]:
    if parser == "player":
        state = player_state(decode_object(answer.body), meta["video_id"])
        if state is not None:
            raise state
        return {"state": "playable"}
    if parser == "panel":
        return {"segments": json.loads(json.dumps([asdict(one) for one in read_panel(decode_object(answer.body))]))}
    refused = judge(answer)
    if refused is not None:
        raise refused
    if parser == "refusal":
        return {"refusal": None}
    route = ApiRoute() if parser.startswith("api_") else WebRoute()
    if parser.startswith("track"):
        route = TranscriptRoute(wanted_of(**meta.get("wanted", {})))
    cursor = Cursor(meta.get("chain", MAIN), meta["step"], meta.get("token", ""))
    options = Options(**meta.get("options", {}))
    page = route.read(meta["video_id"], cursor, answer, datetime.fromisoformat(meta["fetched_at"]), options)
    told = json.loads(json.dumps(asdict(page)))
    if told["resolved"] is None:
        del told["resolved"]
    return told


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
    folders = {path for path in FIXTURES.glob("*/*") if path.is_dir()}
    assert folders == set(CASES)
    assert {case.parent.name for case in CASES} == set(PARSERS)
