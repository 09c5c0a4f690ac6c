"""The replica's pages have the shape of recorded real ones, and their weight."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from research_scrapers.replica import World
from research_scrapers.replica.paging import first_token, main_page
from research_scrapers.replica.tokens import SECTION, encode
from research_scrapers.replica.video import Video
from research_scrapers.replica.wire import Hit
from research_scrapers.replica.youtube import YouTube

RECORDINGS = Path(__file__).parents[3] / "shared" / "recordings" / "youtube"
recorded = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="recordings of the real site are not at ../shared/recordings"
)
Paths = set[str]

# Parts of real pages that no collector reads; left out on purpose.
UNUSED = (
    "emojiPicker",
    "emojiButton",
    "commentSharedEntityPayload",
    "createRenderer",
    "responseContext",
    "loggingDirectives",
    "secondaryResults",
    "playerOverlays",
    "topbar",
    "cards",
    "pageVisualEffects",
    "frameworkUpdates.entityBatchUpdate.timestamp",
    "playerParams",
    "videoActions",
    "subscribeButton",
    "superTitle",
    "structuredDescription",
    "onShowCommands",
    "actionMenu",
    "ButtonRenderer.default",
    "buttonRenderer.navigationEndpoint",
    "Accessibility",
    "creatorHeartRenderer",
    "emoji.",
    "visibilityButton",
    "showLessCommand",
    "showMoreCommand",
    "attributedDescription.styleRuns",
    "headerRuns",
    "TitleHeaderRenderer.title.simpleText",
)


def paths(value: Any, at: str = "") -> Paths:
    """Every key path, list positions ignored."""
    out: Paths = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{at}.{key}"
            out.add(path)
            out |= paths(inner, path)
    elif isinstance(value, list):
        for inner in value:
            out |= paths(inner, at)
    return out


def always_present(folder: str, pattern: str) -> Paths:
    """Paths that every recording of this kind has."""
    files = [f for f in sorted((RECORDINGS / folder).glob(pattern)) if ".request." not in f.name]
    assert files, f"no recordings {folder}/{pattern}"
    return set.intersection(*(paths(json.loads(f.read_text("utf-8"))) for f in files))


def post(site: YouTube, **body: Any) -> bytes:
    data = json.dumps({"context": {"client": {"clientName": "WEB"}}, **body}).encode()
    reply = site.handle(Hit("POST", "www.youtube.com", "/youtubei/v1/next", {}, data))
    assert reply.status == 200
    return reply.body


def shapes(generation: Any) -> tuple[Paths, Paths]:
    """(paths of first pages, paths of reply pages) over enough comments to meet every kind."""
    world = World(videos=0)
    site = YouTube(world)
    first: Paths = set()
    replies: Paths = set()
    for number in range(20):
        video = world.add(21, busy=(8, 12), generation=generation)
        first |= paths(json.loads(post(site, continuation=encode(first_token(video, 0, SECTION)))))
        for node in main_page(video, first_token(video, number % 2, SECTION)).nodes:
            if node.more is not None:
                replies |= paths(json.loads(post(site, continuation=encode(node.more))))
    return first, replies


def missing(real: Paths, ours: Paths) -> list[str]:
    return sorted(p for p in real - ours if not any(part in p for part in UNUSED))


@recorded
@pytest.mark.parametrize(
    ("generation", "pattern", "reply_pattern"),
    [
        ("viewModel", "np_2026-07-02_*.json", "np_2026-07-02_*.json"),
        ("commentRenderer", "np_2023-1*.json", "np_2023-12*.json"),
    ],
)
def test_comment_pages_have_all_real_paths(generation: str, pattern: str, reply_pattern: str) -> None:
    first, replies = shapes(generation)
    real_first = always_present("comments_first_page", pattern)
    real_replies = always_present("comments_replies_page", reply_pattern)
    assert len(real_first) > 200
    assert len(real_replies) > 100
    assert missing(real_first, first) == []
    assert missing(real_replies, replies) == []


@recorded
def test_initial_answer_has_all_real_paths() -> None:
    world = World(videos=0)
    site = YouTube(world)
    ours = paths(json.loads(post(site, videoId=world.add(30).id)))
    real = always_present("next_initial", "np_2026-07-02_*.json")
    # Only the way to the comments and the facts about the video count here.
    wanted = (".itemSectionRenderer", "PrimaryInfo", "SecondaryInfo", "engagementPanelTitleHeader")
    relevant = {p for p in real if any(part in p for part in wanted)}
    assert len(relevant) > 60
    assert missing(relevant, ours) == []


@recorded
@pytest.mark.parametrize(
    ("state", "folder", "key"),
    [
        ("comments_off", "next_comments_off", "messageRenderer"),
        ("removed", "next_video_unavailable", "backgroundPromoRenderer"),
    ],
)
def test_missing_comments_look_real(state: Any, folder: str, key: str) -> None:
    world = World(videos=0)
    ours = paths(json.loads(post(YouTube(world), videoId=world.add(0, state=state).id)))
    real = {p for p in always_present(folder, "np_2026-07-02_*.json") if key in p}
    kept = {p for p in real if "avigation" not in p and "thumbnail" not in p and "cta" not in p}
    assert kept
    assert kept <= ours


@recorded
@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("commentThreads", "part=id,snippet,replies&videoId={}"),
        ("videos", "part=snippet,statistics&id={}"),
    ],
)
def test_data_api_has_all_real_paths(kind: str, query: str) -> None:
    world = World(videos=0)
    video = world.add(60, busy=(3, 30))
    hit = Hit(
        "GET",
        "www.googleapis.com",
        f"/youtube/v3/{kind}?key=replica-key&" + query.format(video.id),
        {},
    )
    ours = paths(json.loads(YouTube(world).handle(hit).body))
    real = always_present(f"dataapi_{kind}", "gr_2026-08*.json")
    optional = ("thumbnails", "tags", "default", "replies")
    assert [p for p in sorted(real - ours) if not any(part in p for part in optional)] == []


def test_pages_weigh_what_real_ones_weigh() -> None:
    world = World(videos=0)
    video: Video = world.add(200, busy=(5, 100))
    site = YouTube(world)
    token = first_token(video, 1, SECTION)
    first = len(post(site, continuation=encode(token)))
    following = main_page(video, token).next
    assert following is not None
    second = len(post(site, continuation=encode(following)))
    watch = len(site.handle(Hit("GET", "www.youtube.com", f"/watch?v={video.id}", {})).body)
    initial = len(post(site, videoId=video.id))
    assert 250_000 < first < 700_000
    assert 150_000 < second < 700_000
    assert 400_000 < watch < 1_400_000
    assert 200_000 < initial < 700_000
