"""Metadata first: what waits for it, what fails with it, and links that turn out to be other videos."""

import pytest

from research_scrapers.coverage import Conclusion
from research_scrapers.models import Cursor, Kind, Link, Options, Outcome, Page
from tests.factories import VIDEO, Bench, danmaku

KINDS = (Kind.COMMENTS, Kind.DANMAKU, Kind.METADATA)
ROUTES = {kind: str(kind) for kind in KINDS}
DONE = Conclusion(Outcome.COMPLETE)
ALL = Options()


class Site(Bench):
    """A bench whose sub-jobs wait for metadata."""

    kinds = KINDS


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


def claim(site, kind=None):
    lease = site.ledger.claim("youtube", ROUTES if kind is None else {kind: str(kind)})
    if lease is not None and not lease.cursors:
        site.ledger.begin(lease, Cursor("", "view"))
    return lease


def page(lease, **more):
    return Page(lease.cursors[0], **more)


def done(site, lease):
    """Its last page is stored, and it ends."""
    site.ledger.commit_page(lease, page(lease), ALL)
    return site.ledger.finish(lease, DONE, sort="newest")


def resolve(site, lease, *videos, part=None):
    session = {"part": part} if part else {}
    site.ledger.commit_page(lease, page(lease, resolved=videos, session=session), ALL)
    return site.ledger.finish(lease, DONE, sort="newest")


def parts(site):
    return dict(site.rows("SELECT video_id, parts FROM jobs"))


def test_metadata_comes_first_and_hands_on_what_it_learnt(site):
    first = claim(site)
    assert (first.kind, claim(site), first.facts) == (Kind.METADATA, None, {})
    site.ledger.commit_page(first, page(first, session={"aid": "7"}), ALL)
    assert site.ledger.finish(first, DONE, sort="newest")
    comments, flown = claim(site), claim(site)
    assert (comments.kind, flown.kind) == (Kind.COMMENTS, Kind.DANMAKU)
    assert comments.facts == flown.facts == {"aid": "7"}
    assert claim(site) is None


def test_what_waited_fails_with_it_and_waits_again_when_it_is_tried_again(site):
    lease = claim(site)
    assert not site.ledger.fail(lease, "timeout", "no answer", retriable=True)
    rows = site.rows("SELECT DISTINCT status, reason, detail, retriable FROM sub_jobs")
    assert rows == [("failed", "timeout", "no answer", 1)]
    assert site.rows("SELECT status, reason FROM jobs") == [("failed", "timeout")]
    assert claim(site) is None
    assert site.runs.reopen(site.run) == 3
    again = claim(site)
    assert (again.kind, claim(site)) == (Kind.METADATA, None)
    done(site, again)
    assert {claim(site).kind, claim(site).kind} == {Kind.COMMENTS, Kind.DANMAKU}


def test_what_cannot_be_had_is_not_tried_again(site):
    site.ledger.fail(claim(site), "video_unavailable", "gone", retriable=False)
    assert site.runs.reopen(site.run) == 0
    assert site.rows("SELECT count(*) FROM sub_jobs WHERE status = 'failed'") == [(3,)]


def test_one_kind_that_failed_does_not_wait_for_metadata_that_is_here(site):
    done(site, claim(site))
    comments = claim(site, Kind.COMMENTS)
    site.ledger.fail(comments, "timeout", "", retriable=True)
    site.runs.reopen(site.run)
    assert claim(site, Kind.COMMENTS).id == comments.id


def test_a_link_that_is_other_videos_becomes_their_jobs_each_once(site):
    site.take_in(Link("youtube", "ss1", 2, "ss1", priority=4), Link("youtube", "bbb", 3, "bbb"))
    season = claim(site)
    assert season.video_id == "ss1"
    assert resolve(site, season, "aaa", "bbb", VIDEO)
    assert sorted(parts(site)) == sorted(["ss1", "aaa", "bbb", VIDEO])
    assert site.rows("SELECT kind FROM sub_jobs WHERE video_id = 'ss1'") == [("metadata",)]
    assert site.rows("SELECT note FROM sub_jobs WHERE video_id = 'ss1'") == [(f"is aaa, bbb, {VIDEO}",)]
    assert site.rows("SELECT count(*), min(priority) FROM sub_jobs WHERE video_id = 'aaa'") == [(3, 4)]
    assert site.rows("SELECT count(*) FROM sub_jobs") == [(10,)]
    assert site.rows("SELECT status FROM jobs WHERE video_id = 'ss1'") == [("success",)]


def test_many_videos_are_counted_rather_than_named(site):
    lease = claim(site)
    resolve(site, lease, *(f"v{n}" for n in range(8)))
    assert site.rows("SELECT note FROM sub_jobs WHERE id = ?", lease.id) == [("is v0, v1, v2, v3, v4 and 3 more",)]


def test_a_link_that_is_no_video_is_no_job(site):
    lease = claim(site)
    site.ledger.fail(lease, "not_a_video", "a person's page", retriable=False)
    assert site.rows("SELECT status, reason FROM jobs") == [("invalid", "a person's page")]
    assert site.rows("SELECT count(*) FROM sub_jobs") == [(0,)]
    assert site.rows("SELECT count(*) FROM checkpoints") == [(0,)]
    site.take_in(Link("youtube", VIDEO, 1, VIDEO))
    assert site.rows("SELECT count(*) FROM sub_jobs") == [(0,)]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ((2,), "2"),
        ((2, 4), "2,4"),
        ((2, 2), "2"),
        ((2, None), ""),
        ((None, 2), ""),
        ((12, 2), "12,2"),
        ((2, None, 3), ""),
    ],
)
def test_links_to_parts_are_one_job(tmp_path, lines, wanted):
    site = Site(tmp_path, "other")
    site.take_in(*(Link("youtube", "v", n, "v", part=part) for n, part in enumerate(lines, 1)))
    assert parts(site)["v"] == wanted


def test_the_part_that_a_short_link_leads_to(site):
    site.take_in(Link("youtube", "b1", 2, "b1"), Link("youtube", "b2", 3, "b2"), Link("youtube", "b3", 4, "b3"))
    claim(site, Kind.METADATA)
    resolve(site, claim(site, Kind.METADATA), "v", part="2")
    assert parts(site)["v"] == "2"
    resolve(site, claim(site, Kind.METADATA), "v", part="3")
    assert parts(site)["v"] == "2,3"
    resolve(site, claim(site, Kind.METADATA), "v")
    assert parts(site)["v"] == ""


def test_more_parts_begin_anew_what_has_ended_or_is_under_way(tmp_path):
    site = Site(tmp_path, "other")
    site.take_in(Link("youtube", "v", 2, "v", part=1))
    for _ in range(2):
        done(site, claim(site, Kind.METADATA))
    claim(site, Kind.DANMAKU)
    flown, comments = claim(site, Kind.DANMAKU), [claim(site, Kind.COMMENTS) for _ in range(2)][1]
    assert flown.facts == {"only_parts": "1"}
    site.ledger.commit_page(flown, page(flown, records=(danmaku("1", video="v"),)), ALL)
    done(site, comments)
    site.take_in(Link("youtube", "v", 2, "v", part=1), Link("youtube", "v", 3, "v", part=2))
    assert site.ledger.finish(flown, DONE, sort="newest"), "while it was under way, more was asked for"
    again = claim(site, Kind.DANMAKU)
    assert (again.id, again.facts, again.pages, again.collected) == (flown.id, {"only_parts": "1,2"}, 0, 0)
    assert again.cursors == [Cursor("", "view")]
    site.ledger.commit_page(again, page(again, records=(danmaku("1", video="v"), danmaku("2", video="v"))), ALL)
    assert not site.ledger.finish(again, DONE, sort="newest")
    assert site.rows("SELECT count(*) FROM danmaku") == [(2,)]
    site.take_in(Link("youtube", "v", 4, "v"))
    assert claim(site, Kind.DANMAKU).facts == {}
    assert claim(site, Kind.COMMENTS) is None, "comments belong to the video, not to its parts"


def test_a_failure_while_more_was_asked_for_is_no_end(tmp_path):
    site = Site(tmp_path, "other")
    site.take_in(Link("youtube", "v", 2, "v", part=9))
    for _ in range(2):
        done(site, claim(site, Kind.METADATA))
    claim(site, Kind.DANMAKU)
    lease = claim(site, Kind.DANMAKU)
    site.take_in(Link("youtube", "v", 2, "v", part=9), Link("youtube", "v", 3, "v", part=1))
    assert site.ledger.fail(lease, "part_missing", "part 9", retriable=False)
    assert claim(site, Kind.DANMAKU).facts == {"only_parts": "9,1"}


def test_transcripts_of_one_part_do_not_stand_for_all(tmp_path):
    def run(name, part):
        site.begin(name, "other")
        site.take_in(Link("youtube", "v", 2, "v", part=part))
        site.ledger.claim("youtube", {Kind.TRANSCRIPT: "t"})
        return site.ledger.claim("youtube", {Kind.TRANSCRIPT: "t"})

    class Tracks(Bench):
        kinds = (Kind.TRANSCRIPT,)

    site = Tracks(tmp_path)
    site.runs.create = _with_options(site.runs.create)
    lease = run("run_2", 1)
    site.ledger.finish(lease, DONE, sort="newest")
    assert site.ledger.last_read(run("run_3", 1), ALL) is not None
    assert site.ledger.last_read(run("run_4", 2), ALL) is None
    everything = run("run_5", None)
    assert site.ledger.last_read(everything, ALL) is None
    site.ledger.finish(everything, DONE, sort="newest")
    assert site.ledger.last_read(run("run_6", 2), ALL) is not None


def _with_options(create):
    def made(name, spider, **more):
        return create(name, spider, **{**more, "config": {"options": {"parts": "all"}}})

    return made
