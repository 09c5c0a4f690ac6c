import platform
import time

from research_scrapers.cli.manage import alive, status_of
from research_scrapers.coverage import Conclusion
from research_scrapers.crawling.session import owner_name
from research_scrapers.models import Options, Outcome
from research_scrapers.store.standing import last_failures, standing
from tests.factories import Bench, page

ALL = Options()
DEAD = f"{platform.node()}/4194304/7/abcd"


def three(tmp_path):
    """One that failed for good, one that is partial without a failed thread, one that a limit cut off."""
    bench = Bench(tmp_path, "aaaaaaaaaaa", "bbbbbbbbbbb", "ccccccccccc")
    first = bench.claim()
    bench.ledger.fail(first, "video_private", "private", retriable=False)
    second = bench.claim()
    bench.ledger.commit_page(second, page("1", ["x", "y"]), ALL)
    bench.ledger.finish(second, Conclusion(Outcome.PARTIAL, "fewer_than_claimed"), sort="newest")
    third = bench.claim()
    bench.ledger.commit_page(third, page("1", ["v", "w"]), Options(max_comments=1))
    bench.ledger.finish(third, Conclusion(Outcome.PARTIAL, "limit"), sort="newest")
    bench.runs.close(bench.run, None)
    return bench


def endings(bench):
    return [row[0] for row in bench.rows("SELECT coalesce(outcome, status) FROM sub_jobs ORDER BY id")]


def test_what_failed_for_good_is_tried_again_only_when_asked(tmp_path):
    bench = three(tmp_path)
    assert bench.runs.reopen(bench.run) == 0
    assert bench.runs.ask_again(bench.run, failed=True, partial=False) == 1
    assert bench.runs.reopen(bench.run) == 1
    assert endings(bench) == ["pending", "partial", "partial"]
    assert bench.claim().video_id == "aaaaaaaaaaa"


def test_what_is_partial_begins_anew_and_keeps_its_records(tmp_path):
    bench = three(tmp_path)
    assert bench.runs.ask_again(bench.run, failed=False, partial=True) == 1
    bench.runs.reopen(bench.run)
    assert endings(bench) == ["failed", "pending", "partial"]
    lease = bench.claim()
    assert (lease.video_id, lease.pages, lease.collected) == ("bbbbbbbbbbb", 0, 0)
    assert bench.ledger.commit_page(lease, page("1", ["x", "y", "z"]), ALL).added == 3
    assert bench.rows("SELECT count(*) FROM comments WHERE comment_id IN ('x', 'y', 'z')") == [(3,)]


def test_nothing_is_tried_again_unasked(tmp_path):
    bench = three(tmp_path)
    assert bench.runs.ask_again(bench.run, failed=False, partial=False) == 0


def test_status_tells_each_line_and_the_last_errors(tmp_path):
    bench = three(tmp_path)
    told = status_of(standing(bench.store.conn, bench.run), last_failures(bench.store.conn, bench.run, 5), time.time())
    line = told["lines"]["yt_comments"]
    assert (line["done"], line["total"], line["outcomes"]) == (3, 3, {"partial": 2, "failed": 1})
    assert [one["reason"] for one in told["last_errors"]] == ["video_private"]
    assert (told["alive"], told["status"], told["what_to_do"]) == (False, "success", None)


def test_who_is_alive(tmp_path):
    bench = Bench(tmp_path)
    now = time.time()
    for owner, at, expected in (
        (owner_name(), now - 100, True),
        (DEAD, now, False),
        ("elsewhere/1/2/abcd", now, True),
        ("elsewhere/1/2/abcd", now - 100, False),
    ):
        bench.runs.tell(bench.run, {"owner": owner, "at": at})
        assert alive(standing(bench.store.conn, bench.run), now) is expected
    bench.runs.tell(bench.run, {})
    assert not alive(standing(bench.store.conn, bench.run), now)


def test_a_live_word_gives_rate_eta_and_pauses(tmp_path):
    bench = Bench(tmp_path)
    now = time.time()
    pause = {"kind": "comments", "state": "open", "until": now + 60}
    word = {"per_minute": 2.0, "in_flight": 3, "workers": 1, "closed": None, "pauses": [pause]}
    bench.runs.tell(bench.run, {"owner": owner_name(), "at": now, "lines": {"yt_comments": word}})
    line = status_of(standing(bench.store.conn, bench.run), [], now)["lines"]["yt_comments"]
    assert (line["eta_s"], line["in_flight"], line["pauses"][0]["state"]) == (30, 3, "open")
