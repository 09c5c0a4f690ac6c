"""A page that is decoded without what nobody reads is read as it would be read whole."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from research_scrapers.errors import ResearchError
from research_scrapers.models import MAIN, Cursor
from research_scrapers.providers.youtube.comments import read_page
from research_scrapers.providers.youtube.lean import decode_page
from research_scrapers.providers.youtube.records import Frame
from research_scrapers.providers.youtube.tree import decode_object

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "youtube"
RECORDED = Path(__file__).resolve().parents[4] / "shared" / "recordings" / "youtube"
BODIES = [
    *FIXTURES.glob("page/*/input.json"),
    *FIXTURES.glob("replies/*/input.json"),
    *RECORDED.glob("comments_*/*.json"),
]
FRAME = Frame.of("aaaaaaaaaaA", Cursor(MAIN, "page", "x"), datetime(2026, 11, 16, tzinfo=UTC))


def read(decode, body):
    try:
        return read_page(decode(body), FRAME)
    except ResearchError as error:
        return type(error), error.detail


@pytest.mark.parametrize("path", BODIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_that_is_read_is_left_out(path):
    body = path.read_bytes()
    assert read(decode_page, body) == read(decode_object, body)


def test_what_nobody_reads_is_not_built():
    payload = {
        "commentEntityPayload": {"properties": 1, "avatar": 2},
        "engagementToolbarSurfaceEntityPayload": {"x": 1},
    }
    page = {"trackingParams": "x", "frameworkUpdates": {"entityBatchUpdate": {"mutations": [{"payload": payload}]}}}
    lean = {"frameworkUpdates": {"entityBatchUpdate": {"mutations": [{"payload": {
        "commentEntityPayload": {"properties": 1}}}]}}}  # fmt: skip
    assert decode_page(json.dumps(page).encode()) == lean


def test_a_page_of_another_form_is_decoded_whole():
    page = {"trackingParams": "x", "frameworkUpdates": ["unheard of"]}
    assert decode_page(json.dumps(page).encode()) == page
