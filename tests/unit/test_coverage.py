import pytest

from research_scrapers.coverage import Facts, conclude, conclude_danmaku, conclude_metadata, conclude_tracks


@pytest.mark.parametrize(
    ("facts", "outcome", "reason", "contiguous"),
    [
        (Facts(100, 100), "complete", None, True),
        (Facts(None, 100), "complete", None, True),
        (Facts(8, 4), "complete", "site_shows_fewer", True),
        (Facts(4000, 3), "partial", "fewer_than_claimed", False),
        (Facts(0, 0), "empty", "no_comments", True),
        (Facts(None, 0), "empty", "no_comments", True),
        (Facts(50, 0), "partial", "fewer_than_claimed", False),
        (Facts(100, 90, threads_failed=1, failure="timeout"), "partial", "threads_failed", False),
        (Facts(100, 10, limited=True), "partial", "limit", False),
        (Facts(100, 10, grounded=True), "complete", "known_ground", True),
        (Facts(100, 100, looped=True), "complete", None, True),
        (Facts(100, 99, looped=True), "partial", "pages_repeat", False),
        (Facts(None, 99, looped=True), "partial", "pages_repeat", False),
        (Facts(100, 40, note="top_order_only"), "partial", "top_order_only", False),
        (Facts(100, 100, note="top_order_only"), "complete", "top_order_only", False),
        (Facts(None, 60, note="top_order"), "partial", "top_order", False),
        (Facts(None, 20, note="token_loop"), "partial", "pages_repeat", False),
        (Facts(100, 97, note="unknown_items"), "complete", "site_shows_fewer", False),
        (Facts(10000, 9100, cut_off=True), "partial", "empty_page", False),
        (Facts(100, 98, cut_off=True), "complete", "site_shows_fewer", False),
    ],
)
def test_what_a_walk_is_worth(facts, outcome, reason, contiguous):
    conclusion = conclude(facts)
    assert (conclusion.outcome, conclusion.reason, conclusion.contiguous) == (outcome, reason, contiguous)


def test_a_failed_thread_outweighs_a_limit():
    assert conclude(Facts(9, 1, threads_failed=1, failure="timeout", limited=True)).retriable


def test_what_a_reading_of_tracks_is_worth():
    whole = conclude_tracks(Facts(3, 1, note="another is preferred: en (asr)"))
    assert (whole.outcome, whole.reason) == ("complete", None)
    assert whole.detail == "1 transcript; the site lists 3 tracks; not taken: another is preferred: en (asr)"
    assert conclude_tracks(Facts(1, 2, note="")).detail == "2 transcripts; the site lists 1 track"
    failed = conclude_tracks(Facts(2, 1, threads_failed=1, failure="timeout", failed=((".de", "timeout"),)))
    assert (failed.outcome, failed.reason, failed.retriable) == ("partial", "tracks_failed", True)
    assert failed.detail.startswith("1 track could not be read (.de: timeout); run again to retry; 1 transcript;")


@pytest.mark.parametrize(
    ("facts", "outcome", "reason"),
    [
        (Facts(4461, 4, note="login_needed"), "partial", "login_needed"),
        (Facts(None, 4, note="login_needed"), "partial", "login_needed"),
        (Facts(3, 3, note="login_needed"), "complete", None),
        (Facts(90, 90, threads_failed=1, failure="timeout", note="login_needed"), "partial", "threads_failed"),
    ],
)
def test_logged_out_a_walk_is_never_more_than_it_is(facts, outcome, reason):
    conclusion = conclude(facts)
    assert (conclusion.outcome, conclusion.reason) == (outcome, reason)
    assert not conclusion.contiguous


@pytest.mark.parametrize(
    ("facts", "outcome", "reason", "retriable"),
    [
        (Facts(None, 900), "complete", None, False),
        (Facts(90_000, 900), "complete", None, False),
        (Facts(None, 0), "empty", "no_danmaku", False),
        (Facts(None, 90, note="weight_filter"), "partial", "login_needed", False),
        (Facts(None, 0, note="weight_filter"), "partial", "login_needed", False),
        (Facts(None, 90, note="special_elsewhere"), "complete", "special_elsewhere", False),
        (
            Facts(None, 90, threads_failed=2, failure="timeout", note="weight_filter"),
            "partial",
            "segments_failed",
            True,
        ),
    ],
)
def test_what_a_reading_of_danmaku_is_worth(facts, outcome, reason, retriable):
    conclusion = conclude_danmaku(facts)
    assert (conclusion.outcome, conclusion.reason, conclusion.retriable) == (outcome, reason, retriable)


def test_what_a_videos_own_facts_are_worth():
    assert conclude_metadata(Facts(None, 0)).reason is None
    resolved = conclude_metadata(Facts(None, 0, note="is BV1"))
    assert (resolved.outcome, resolved.reason, resolved.detail) == ("complete", "resolved", "is BV1")
