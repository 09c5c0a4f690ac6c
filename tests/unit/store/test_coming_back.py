"""What a run does when it comes back must not grow with what waits."""

import pytest

from research_scrapers.models import Kind, Link
from tests.factories import Bench

FEW, MANY = 20, 2000


def videos(number):
    return [f"{n:011d}" for n in range(number)]


def short_and_long(folder):
    made = []
    for number in (FEW, MANY):
        (folder / str(number)).mkdir()
        made.append(Bench(folder / str(number), *videos(number)))
    return made


def steps_of(bench, action):
    """How much work this is for the database, in hundreds of its own steps."""
    counted = []
    bench.store.conn.set_progress_handler(lambda: counted.append(1), 100)
    try:
        action(bench)
    finally:
        bench.store.conn.set_progress_handler(None, 0)
    return len(counted)


@pytest.mark.parametrize(
    "action",
    [
        lambda bench: bench.ledger.owners(),
        lambda bench: bench.ledger.release(owners=["gone"]),
        lambda bench: bench.ledger.heartbeat(),
        lambda bench: bench.ledger.claim("youtube", {Kind.COMMENTS: "web"}),
        lambda bench: bench.ledger.anything_to_do("youtube", [Kind.COMMENTS]),
    ],
    ids=["owners", "release", "heartbeat", "claim", "anything_to_do"],
)
def test_these_look_at_nothing_that_waits(tmp_path, action):
    few, many = short_and_long(tmp_path)
    assert steps_of(many, action) <= steps_of(few, action) + 2


def test_reopening_changes_only_what_is_to_be_changed(tmp_path):
    bench = Bench(tmp_path, *videos(MANY))
    before = bench.store.conn.total_changes
    assert bench.runs.reopen(bench.run) == 0
    assert bench.store.conn.total_changes - before == 1  # the run itself


def test_reopening_and_counting_read_an_index_alone(tmp_path):
    few, many = short_and_long(tmp_path)
    for action in (
        lambda bench: bench.runs.reopen(bench.run),
        lambda bench: bench.runs.standing(bench.run),
        lambda bench: bench.ledger.backlog(),
    ):
        # A dozen steps for each that waits: to count it. Sorting it or looking its row up takes several times that.
        assert (steps_of(many, action) - steps_of(few, action)) * 100 < (MANY - FEW) * 14


def test_the_backlog_tells_what_can_be_claimed_from_what_waits_for_something(tmp_path):
    bench = Bench(tmp_path, *videos(5))
    bench.runs.take_in(bench.run, [Link("bilibili", "BV1xx411c7mD", 9, "BV1xx411c7mD")],
                       {"bilibili": (Kind.COMMENTS, Kind.METADATA)}, "bili_comments")  # fmt: skip
    comments, bilibili = ("youtube", Kind.COMMENTS), ("bilibili", Kind.COMMENTS)
    assert bench.ledger.backlog() == {comments: (5, 5), ("bilibili", Kind.METADATA): (1, 1), bilibili: (0, 1)}
    bench.claim()
    assert bench.ledger.backlog()[comments] == (4, 4)
    bench.ledger.park_all(bench.clock.now + 30, "quota_exhausted", "youtube")
    assert bench.ledger.backlog()[comments] == (0, 4)
    bench.clock.now += 31
    assert bench.ledger.backlog()[comments] == (4, 4)
    bench.clock.now += 60  # nobody renews the lease
    assert bench.ledger.backlog()[comments] == (5, 5)


def test_what_needs_metadata_waits_again_when_it_is_not_there(tmp_path):
    bench = Bench(tmp_path)
    bench.runs.take_in(bench.run, [Link("bilibili", "BV1xx411c7mD", 9, "BV1xx411c7mD")],
                       {"bilibili": (Kind.COMMENTS, Kind.METADATA)}, "bili_comments")  # fmt: skip
    lease = bench.ledger.claim("bilibili", {Kind.METADATA: "view"})
    bench.ledger.fail(lease, "timeout", "", retriable=True)
    assert bench.runs.reopen(bench.run) == 2
    assert bench.rows("SELECT kind, status, waits FROM sub_jobs WHERE provider = 'bilibili' ORDER BY kind") == [
        ("comments", "pending", 1), ("metadata", "pending", 0),
    ]  # fmt: skip
