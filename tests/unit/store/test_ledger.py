import pytest

from research_scrapers.coverage import conclude
from research_scrapers.errors import LeaseLost
from research_scrapers.models import Cursor, Kind, Options, Page
from research_scrapers.store.pages import STALE_PAGES, Handed
from tests.factories import VIDEO, Bench, comment, page

ALL = Options()


def finish(bench, lease, sort="newest", options=ALL):
    conclusion = conclude(bench.ledger.facts(lease, options))
    bench.ledger.finish(lease, conclusion, sort=sort)
    return conclusion


def test_a_sub_job_has_one_owner(tmp_path):
    bench = Bench(tmp_path)
    assert bench.claim() is not None
    assert bench.ledger_of("other").claim("youtube", {Kind.COMMENTS: "web"}) is None


def test_an_expired_lease_is_taken_over_and_the_zombie_writes_nothing(tmp_path):
    bench = Bench(tmp_path)
    zombie = bench.claim()
    bench.clock.now += 61
    heir = bench.ledger_of("other").claim("youtube", {Kind.COMMENTS: "web"})
    assert (heir.id, heir.attempt) == (zombie.id, zombie.attempt + 1)
    for verb in (
        lambda: bench.ledger.commit_page(zombie, page("1", ["a"]), ALL),
        lambda: bench.ledger.finish(zombie, conclude(bench.ledger.facts(zombie, ALL)), sort="newest"),
        lambda: bench.ledger.fail(zombie, "x", "y", retriable=True),
        lambda: bench.ledger.fail_chain(zombie, "a", "x", "y"),
        lambda: bench.ledger.restart_chain(zombie, ""),
        lambda: bench.ledger.spend(zombie, 1),
    ):
        with pytest.raises(LeaseLost):
            verb()
    assert bench.rows("SELECT count(*) FROM comments") == [(0,)]
    assert bench.rows("SELECT status, owner FROM sub_jobs") == [("in_progress", "other")]


def test_a_zombie_whose_sub_job_nobody_took_may_go_on(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.clock.now += 61
    assert bench.ledger.commit_page(lease, page("1", ["a"]), ALL).added == 1


def test_heartbeat_keeps_a_lease(tmp_path):
    bench = Bench(tmp_path)
    bench.claim()
    bench.clock.now += 50
    assert bench.ledger.heartbeat() == 1
    bench.clock.now += 50
    assert bench.ledger_of("other").claim("youtube", {Kind.COMMENTS: "web"}) is None


def test_claims_go_by_priority_then_order(tmp_path):
    bench = Bench(tmp_path, "a" * 11, "b" * 11, "c" * 11)
    bench.store.conn.execute("UPDATE sub_jobs SET priority = 5 WHERE video_id = ?", ("c" * 11,))
    assert [bench.claim().video_id[0] for _ in range(3)] == ["c", "a", "b"]
    assert bench.claim() is None


def test_a_page_is_records_cursor_and_threads_in_one(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    thread = Cursor("a", "replies", "r1", 3)
    receipt = bench.ledger.commit_page(lease, page("1", ["a", "b"], next_token="2", found=(thread,), claimed=5), ALL)
    assert [c.comment_id for c in receipt.fresh] == ["a", "b"]
    assert receipt.cursors == [Cursor("", "page", "2"), thread]
    bench.ledger.release()
    again = bench.claim()
    assert sorted(again.cursors, key=lambda c: c.chain) == [Cursor("", "page", "2"), thread]
    assert (again.collected, again.pages) == (2, 1)


def test_what_pages_hand_on_is_kept_although_they_are_stored_together(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], next_token="2", found=(Cursor("a", "page", "r1"),)), ALL)
    together = [page("2", ["b"], session={"key": "new"}), page("r1", ["c"], chain="a", session={"parts": "3"})]
    group = bench.ledger.group([Handed(lease, one, ALL) for one in together])
    group.write()
    group.settle()
    bench.ledger.release()
    assert bench.claim().session == lease.session == {"key": "new", "parts": "3"}


def test_the_same_page_cannot_be_stored_twice(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], next_token="2"), ALL)
    with pytest.raises(LeaseLost, match="stored already"):
        bench.ledger.commit_page(lease, page("1", ["a"], next_token="2"), ALL)


def test_a_failing_page_leaves_no_trace(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    broken = page("1", ["a"], next_token="2")
    object.__setattr__(broken, "records", (comment("a"), comment("b", author_name=object())))
    with pytest.raises(Exception, match="object"):
        bench.ledger.commit_page(lease, broken, ALL)
    assert bench.rows("SELECT count(*) FROM comments") == [(0,)]
    assert bench.rows("SELECT token FROM checkpoints") == [("1",)]


def test_overlapping_pages_count_each_comment_once(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a", "b", "a"], next_token="2"), ALL)
    receipt = bench.ledger.commit_page(lease, page("2", ["b", "c"]), ALL)
    assert [c.comment_id for c in receipt.fresh] == ["c"]
    assert lease.collected == 3
    assert finish(bench, lease).outcome == "complete"


def test_pages_that_bring_nothing_new_end_the_chain(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], next_token="2", claimed=9), ALL)
    for number in range(2, 2 + STALE_PAGES):
        receipt = bench.ledger.commit_page(lease, page(str(number), ["a"], next_token=str(number + 1)), ALL)
    assert receipt.ended == "loop"
    assert receipt.cursors == []
    assert finish(bench, lease).reason == "pages_repeat"


def test_a_token_that_leads_to_itself_ends_the_chain_at_once(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    assert bench.ledger.commit_page(lease, page("1", ["a"], next_token="1"), ALL).ended == "loop"


def test_empty_pages_in_between_do_not_end_the_chain(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", [], next_token="2"), ALL)
    bench.ledger.commit_page(lease, page("2", [], next_token="3"), ALL)
    assert bench.ledger.commit_page(lease, page("3", ["a"], next_token="4"), ALL).cursors


def test_a_dead_token_restarts_its_chain_once_without_taking_it_for_a_loop(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], next_token="2"), ALL)
    assert bench.ledger.restart_chain(lease, "") == Cursor("", "page", "1")
    for number in range(1, 3 + STALE_PAGES):
        receipt = bench.ledger.commit_page(
            lease, page(str(number), [f"a{number}" if number > 1 else "a"], next_token=str(number + 1)), ALL
        )
        assert receipt.ended is None
    assert bench.ledger.restart_chain(lease, "") is None
    assert bench.rows("SELECT top_level FROM sub_jobs") == [(1 + 1 + STALE_PAGES,)]


def test_a_failed_thread_is_partial_and_is_opened_again(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], found=(Cursor("a", "replies", "r"),)), ALL)
    bench.ledger.fail_chain(lease, "a", "server_trouble", "500")
    conclusion = finish(bench, lease)
    assert (conclusion.outcome, conclusion.reason, conclusion.retriable) == ("partial", "threads_failed", True)
    assert bench.runs.reopen(bench.run) == 1
    again = bench.claim()
    assert again.cursors == [Cursor("a", "replies", "r")]
    bench.ledger.commit_page(again, page("r", ["a.1"], chain="a", step="replies"), ALL)
    assert finish(bench, again).outcome == "complete"
    assert bench.rows("SELECT threads_done, threads_failed FROM sub_jobs") == [(1, 0)]
    assert bench.runs.reopen(bench.run) == 0


def test_a_failed_sub_job_is_opened_again_only_if_time_may_help(tmp_path):
    bench = Bench(tmp_path, "a" * 11, "b" * 11)
    bench.ledger.fail(bench.claim(), "timeout", "", retriable=True)
    bench.ledger.fail(bench.claim(), "video_private", "", retriable=False)
    assert bench.runs.reopen(bench.run) == 1
    assert bench.claim().video_id == "a" * 11
    assert bench.claim() is None


def test_limits_are_exact(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    options = Options(max_comments=3)
    bench.ledger.commit_page(lease, page("1", ["a", "b"], next_token="2"), options)
    receipt = bench.ledger.commit_page(
        lease, page("2", ["c", "d"], next_token="3", found=(Cursor("c", "replies", "r"),)), options
    )
    assert receipt.full
    assert receipt.cursors == []
    assert bench.rows("SELECT count(*) FROM comments") == [(3,)]
    assert (finish(bench, lease).reason) == "limit"


def test_max_replies_is_per_thread_and_never_ends_the_main_chain(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    options = Options(max_replies=2)
    first = page("1", ["a"], next_token="2", found=(Cursor("a", "replies", "r"),))
    inlined = tuple(comment(f"b.{n}", parent="b") for n in range(4))
    object.__setattr__(first, "records", (comment("a"), comment("b"), *inlined))
    receipt = bench.ledger.commit_page(lease, first, options)
    assert len(receipt.cursors) == 2
    receipt = bench.ledger.commit_page(
        lease, page("r", ["a.1", "a.2", "a.3"], chain="a", step="replies", next_token="r2"), options
    )
    assert receipt.cursors == []
    assert receipt.ended == "limit"
    bench.ledger.commit_page(lease, page("2", ["c"]), options)
    assert bench.rows("SELECT root_id, count(*) FROM comments WHERE depth = 1 GROUP BY 1") == [("a", 2), ("b", 2)]
    assert finish(bench, lease).reason == "limit"


def test_no_replies_at_all(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    receipt = bench.ledger.commit_page(
        lease, page("1", ["a"], found=(Cursor("a", "replies", "r"),)), Options(max_replies=0)
    )
    assert receipt.cursors == []
    assert finish(bench, lease).reason == "limit"


class TestIncremental:
    """``refresh=new`` stops at known ground only where the known range has no hole."""

    NEW = Options(refresh="new")

    def first_run(self, bench, names=("c", "b", "a")):
        lease = bench.claim()
        bench.ledger.commit_page(lease, page("1", list(names)), ALL)
        finish(bench, lease)

    def test_stops_where_an_unbroken_range_begins(self, tmp_path):
        bench = Bench(tmp_path)
        self.first_run(bench)
        bench.begin("run_2", VIDEO)
        lease = bench.claim()
        assert bench.ledger.commit_page(lease, page("1", ["e", "d"], next_token="2"), self.NEW).ended is None
        assert bench.ledger.commit_page(lease, page("2", ["d", "c"], next_token="3"), self.NEW).ended is None
        assert bench.ledger.commit_page(lease, page("3", ["c", "b"], next_token="4"), self.NEW).ended == "known_ground"
        conclusion = finish(bench, lease)
        assert (conclusion.outcome, conclusion.reason) == ("complete", "known_ground")

    def test_does_not_skip_the_hole_of_an_interrupted_run(self, tmp_path):
        bench = Bench(tmp_path)
        self.first_run(bench)
        bench.begin("run_2", VIDEO)  # sees the newest page, then is interrupted: «e d» are not known
        bench.ledger.commit_page(bench.claim(), page("1", ["g", "f"], next_token="2"), self.NEW)
        bench.ledger.release()
        bench.begin("run_3", VIDEO)
        lease = bench.claim()
        assert bench.ledger.commit_page(lease, page("1", ["g", "f"], next_token="2"), self.NEW).ended is None
        assert bench.ledger.commit_page(lease, page("2", ["e", "d"], next_token="3"), self.NEW).added == 2
        assert bench.ledger.commit_page(lease, page("3", ["c", "b"], next_token="4"), self.NEW).ended == "known_ground"

    def test_a_chain_of_new_runs_is_one_range(self, tmp_path):
        bench = Bench(tmp_path)
        self.first_run(bench)
        for run, newest in (("run_2", "d"), ("run_3", "e")):
            bench.begin(run, VIDEO)
            lease = bench.claim()
            bench.ledger.commit_page(lease, page("1", [newest], next_token="2"), self.NEW)
            known = {"run_2": "c", "run_3": "d"}[run]
            receipt = bench.ledger.commit_page(lease, page("2", [known, "c"], next_token="3"), self.NEW)
            assert receipt.ended == "known_ground"
            finish(bench, lease)

    def test_partial_and_top_walks_vouch_for_nothing(self, tmp_path):
        bench = Bench(tmp_path)
        lease = bench.claim()
        bench.ledger.commit_page(lease, page("1", ["b", "a"]), ALL)
        finish(bench, lease, sort="top")
        bench.begin("run_2", VIDEO)
        lease = bench.claim()
        assert bench.ledger.commit_page(lease, page("1", ["b", "a"], next_token="2"), self.NEW).ended is None

    def test_an_unchanged_video_is_complete_not_short(self, tmp_path):
        bench = Bench(tmp_path)
        lease = bench.claim()
        found = (Cursor("b", "replies", "r", 30),)
        bench.ledger.commit_page(lease, page("1", ["b", "a"], found=found, claimed=32), ALL)
        bench.ledger.commit_page(lease, page("r", [f"b.{n}" for n in range(30)], chain="b", step="replies"), ALL)
        finish(bench, lease)
        bench.begin("run_2", VIDEO)
        lease = bench.claim()
        bench.ledger.commit_page(lease, page("1", ["b", "a"], found=found, claimed=32), self.NEW)
        assert finish(bench, lease, options=self.NEW).outcome == "complete"

    def test_a_thread_that_was_cut_short_is_read_again(self, tmp_path):
        bench = Bench(tmp_path)
        lease = bench.claim()
        found = (Cursor("b", "replies", "r", 3),)
        bench.ledger.commit_page(lease, page("1", ["b"], found=found), Options(max_replies=2))
        bench.ledger.commit_page(
            lease, page("r", ["b.1", "b.2", "b.3"], chain="b", step="replies"), Options(max_replies=2)
        )
        finish(bench, lease)
        bench.begin("run_2", VIDEO)
        receipt = bench.ledger.commit_page(bench.claim(), page("1", ["b"], found=found), self.NEW)
        assert receipt.cursors == list(found)

    def test_a_pinned_comment_is_not_ground(self, tmp_path):
        bench = Bench(tmp_path)
        self.first_run(bench)
        bench.begin("run_2", VIDEO)
        lease = bench.claim()
        pinned = Page(
            Cursor("", "page", "1"), records=(comment("a", is_pinned=True), comment("x")), next=Cursor("", "page", "2")
        )
        assert bench.ledger.commit_page(lease, pinned, self.NEW).ended is None

    @pytest.mark.parametrize(("claimed", "opened"), [(3, 0), (4, 1), (None, 1)])
    def test_a_thread_is_read_again_when_its_count_changed(self, tmp_path, claimed, opened):
        bench = Bench(tmp_path)
        lease = bench.claim()
        bench.ledger.commit_page(lease, page("1", ["b", "a"], found=(Cursor("b", "replies", "r", 3),)), ALL)
        bench.ledger.commit_page(lease, page("r", ["b.1", "b.2", "b.3"], chain="b", step="replies"), ALL)
        finish(bench, lease)
        bench.begin("run_2", VIDEO)
        lease = bench.claim()
        receipt = bench.ledger.commit_page(
            lease, page("1", ["c", "b"], found=(Cursor("b", "replies", "r", claimed),)), self.NEW
        )
        assert len(receipt.cursors) == opened


def test_parked_until_the_quota_is_back(tmp_path):
    bench = Bench(tmp_path)
    assert bench.ledger.parked_until() is None
    assert bench.ledger.park_all(bench.clock.now + 100, "quota_exhausted") == 1
    assert bench.claim() is None
    assert bench.ledger.parked_until() == bench.clock.now + 100
    bench.clock.now += 101
    assert bench.claim() is not None


def test_quota_is_counted_in_the_run_and_in_coverage(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"]), ALL, quota=1)
    bench.ledger.spend(lease, 1)
    assert bench.rows("SELECT quota_used FROM runs") == bench.rows("SELECT quota_used FROM coverage") == [(2,)]


def test_how_a_run_is_closed(tmp_path):
    bench = Bench(tmp_path)
    assert bench.runs.close(bench.run, "interrupted") == 1
    assert bench.rows("SELECT status, reason FROM runs") == [("cancelled", "interrupted")]
    bench.ledger.fail(bench.claim(), "video_private", "", retriable=False)
    assert bench.runs.close(bench.run, "interrupted") == 0
    assert bench.rows("SELECT status, reason FROM runs") == [("success", None)]
    assert bench.runs.counts(bench.run) == {"failed": 1}


def test_who_comes_late_to_a_run_that_others_have_ended_writes_nothing(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], next_token=None), ALL)
    finish(bench, lease)
    assert bench.runs.close(bench.run, None) == 0
    bench.store.conn.execute("UPDATE runs SET finished_at = 'then', live = '{}'")
    assert bench.runs.close(bench.run, "interrupted") == 0
    bench.runs.tell(bench.run, {"owner": "zombie"})
    assert bench.rows("SELECT status, reason, finished_at, live FROM runs") == [("success", None, "then", "{}")]


def test_a_sub_job_with_an_open_chain_has_not_ended(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], found=(Cursor("a", "replies", "r", 3),)), ALL)
    finish(bench, lease)
    assert bench.rows("SELECT status, outcome FROM sub_jobs") == [("pending", None)]
    assert bench.claim().cursors == [Cursor("a", "replies", "r", 3)]


def test_repeats_do_not_make_a_failed_thread_whole(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], found=(Cursor("a", "replies", "r", 4),)), ALL)
    bench.ledger.commit_page(lease, page("r", ["a.1", "a.2"], chain="a", step="replies", next_token="r2"), ALL)
    bench.ledger.commit_page(lease, page("r2", ["a.1", "a.2"], chain="a", step="replies", next_token="r3"), ALL)
    assert bench.ledger.restart_chain(lease, "a") is not None
    bench.ledger.commit_page(lease, page("r", ["a.1", "a.2"], chain="a", step="replies", next_token="r2"), ALL)
    assert bench.ledger.fail_chain(lease, "a", "timeout", "")
    assert finish(bench, lease).reason == "threads_failed"


def test_a_thread_that_gave_all_it_claimed_has_nothing_left_to_fail_at(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a"], found=(Cursor("a", "replies", "r", 2),)), ALL)
    bench.ledger.commit_page(lease, page("r", ["a.1", "a.2"], chain="a", step="replies", next_token="r2"), ALL)
    assert not bench.ledger.fail_chain(lease, "a", "empty_page", "")
    assert finish(bench, lease).outcome == "complete"


def test_dead_thread_tokens_are_fetched_anew_in_the_next_session(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(
        lease, page("1", ["a"], found=(Cursor("a", "replies", "old"), Cursor("b", "replies", "b"))), ALL
    )
    bench.ledger.commit_page(lease, page("b", ["b.1"], chain="b", step="replies"), ALL)
    bench.ledger.fail_chain(lease, "a", "cursor_expired", "")
    assert finish(bench, lease).retriable
    bench.runs.reopen(bench.run)
    again = bench.claim()
    assert again.cursors == [Cursor("", "page", "1")]
    receipt = bench.ledger.commit_page(
        again, page("1", ["a"], found=(Cursor("a", "replies", "new"), Cursor("b", "replies", "b"))), ALL
    )
    assert receipt.cursors == [Cursor("a", "replies", "new")]
    bench.ledger.commit_page(again, page("new", ["a.1"], chain="a", step="replies"), ALL)
    assert finish(bench, again).outcome == "complete"
    assert bench.rows("SELECT top_level, replies FROM sub_jobs") == [(1, 2)]


def test_a_main_chain_may_be_begun_anew_once_in_every_session(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    assert bench.ledger.restart_chain(lease, "") is not None
    assert bench.ledger.restart_chain(lease, "") is None
    bench.ledger.fail(lease, "cursor_expired", "", retriable=True)
    bench.runs.reopen(bench.run)
    assert bench.ledger.restart_chain(bench.claim(), "") is not None


@pytest.mark.parametrize(
    ("claimed", "outcome", "reason"),
    [(2, "complete", None), (50, "partial", "empty_page"), (None, "partial", "empty_page")],
)
def test_an_empty_last_page_is_believed_only_if_the_numbers_agree(tmp_path, claimed, outcome, reason):
    bench = Bench(tmp_path)
    lease = bench.claim()
    bench.ledger.commit_page(lease, page("1", ["a", "b"], next_token="2", claimed=claimed), ALL)
    bench.ledger.end_empty(lease, "")
    conclusion = finish(bench, lease)
    assert (conclusion.outcome, conclusion.reason, conclusion.contiguous) == (outcome, reason, False)
    assert conclusion.retriable == (outcome == "partial")


def test_what_was_in_flight_when_the_limit_was_reached_changes_nothing(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim()
    options = Options(max_comments=2)
    bench.ledger.commit_page(lease, page("1", ["a"], next_token="2", found=(Cursor("a", "replies", "r"),)), options)
    assert bench.ledger.commit_page(lease, page("r", ["a.1"], chain="a", step="replies"), options).full
    late = bench.ledger.commit_page(lease, page("2", ["b"], next_token="3"), options)
    assert (late.full, late.fresh, late.cursors) == (True, [], [])
    assert finish(bench, lease, options=options).reason == "limit"
    assert bench.rows("SELECT count(*) FROM comments") == [(2,)]
