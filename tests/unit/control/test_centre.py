"""The control centre over a real ledger, with spiders that only hold what they are given."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred

from research_scrapers.config import Limits
from research_scrapers.control.centre import Centre
from research_scrapers.control.events import Listeners
from research_scrapers.control.lines import POLICIES, Line
from research_scrapers.coverage import Conclusion
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.spider import ResearchSpider
from research_scrapers.errors import (
    BreakerOpen,
    LoginRefused,
    RobotsRefused,
    RunCancelled,
    SiteBlocked,
    StoreLocked,
)
from research_scrapers.models import Kind, Link, Outcome
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.runs import Runs
from tests.factories import Clock

LINES = {
    "yt_transcripts": ("youtube", (Kind.TRANSCRIPT,)),
    "bili_transcripts": ("bilibili", (Kind.TRANSCRIPT, Kind.METADATA)),
    "yt_comments": ("youtube", (Kind.COMMENTS,)),
    "bili_comments": ("bilibili", (Kind.COMMENTS, Kind.DANMAKU, Kind.METADATA)),
}


def on_loop(test):
    """An asyncio test, run on the reactor's loop."""

    def run(tmp_path):
        return ensureDeferred(lambda: Deferred.fromFuture(asyncio.ensure_future(test(tmp_path))))()

    run.__name__ = test.__name__
    return run


class Hands:
    """A spider that does nothing by itself."""

    def __init__(self, name, ledger, gate):
        self.name, self.ledger, self.gate = name, ledger, gate
        self.provider_name, self.kinds = LINES[name]
        self.line = f"{self.provider_name}:{self.kinds[0]}"
        self.news = asyncio.Event()
        self.blocked = {}
        self.stopped_by = None
        self.broken = None

    def claim(self):
        if self.broken:
            raise self.broken
        return self.ledger.claim(
            self.provider_name, dict.fromkeys((k for k in self.kinds if k not in self.blocked), "r")
        )

    def stop(self, error):
        if self.stopped_by is None:
            self.stopped_by = error
            self.centre.stopped(self, error)


class Bench:
    """A run with so many sub-jobs on each line."""

    def __init__(
        self, folder, depths, *, pool=8, policy="least", boost=1.0, names=tuple(LINES), metadata=False, limits=None
    ):
        self.store = Store(folder / "research.db")
        self.runs = Runs(self.store)
        run = self.runs.create("run_1", "scrape", config={}, jobdir=None, links="test")
        self.clock, self.events = Clock(), []
        self.ledger = Ledger(self.store, "run_1", "me", clock=self.clock)
        number = 0
        for name, depth in depths.items():
            provider, kinds = LINES[name]
            links = [Link(provider, f"{name}-{number + n}", number + n + 1, "x") for n in range(depth)]
            number += depth
            wanted = kinds if metadata else kinds[:1]
            self.runs.take_in("run_1", links, {provider: wanted}, "test", shuffled=True)
        session = SimpleNamespace(ledger=self.ledger, run=run, runs=self.runs, store=self.store)
        gate = Gate(limits or Limits(), self.clock)
        self.lines = [Line(name, *LINES[name]) for name in names]
        self.centre = Centre(
            session, self.lines, pool=pool, policy=policy, boost=boost, clock=self.clock,
            listeners=Listeners(self.events.append),
        )  # fmt: skip
        self.spiders = {name: Hands(name, self.ledger, gate) for name in names}
        for spider in self.spiders.values():
            spider.centre = self.centre
            self.centre.open(spider)

    async def start(self):
        await asyncio.wait_for(asyncio.gather(*map(self.centre.ready, self.spiders.values())), 5)
        return self

    def busy(self):
        return {name: line.busy for name, line in self.centre.lines.items() if line.busy}

    def take(self, name=None):
        """What the spiders begin now."""
        taken = []
        for spider in self.spiders.values():
            while name in (None, spider.name) and (lease := self.centre.next(spider)) is not None:
                taken.append((spider, lease))
        return taken

    def end(self, spider, lease):
        self.ledger.finish(lease, Conclusion(Outcome.COMPLETE), sort="newest")
        self.centre.ended(spider, lease)

    def work_off(self, seconds=1.0):
        """To the end of the run; returns every sub-job in the order of its assignment."""
        order = []
        while (batch := self.take()) and len(order) < 10_000:
            self.clock.now += seconds
            order += [(spider.name, lease.id, lease.kind) for spider, lease in batch]
            for spider, lease in batch:
                self.end(spider, lease)
        return order

    def statuses(self):
        return Counter(row[0] for row in self.store.conn.execute("SELECT status FROM sub_jobs"))

    def close(self):
        self.centre._end(None)
        self.store.close()


@on_loop
async def test_every_worker_begins_at_home(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 5)).start()
    assert bench.busy() == dict.fromkeys(LINES, 2)
    assert not any(event.stolen for event in bench.events)
    bench.close()


@on_loop
async def test_least_most_and_turn_steal_from_different_lines(tmp_path):
    depths = {"yt_transcripts": 0, "bili_transcripts": 5, "yt_comments": 50, "bili_comments": 9}
    expected = {
        "least": {"bili_transcripts": 4, "yt_comments": 2, "bili_comments": 2},
        "most": {"bili_transcripts": 2, "yt_comments": 4, "bili_comments": 2},
        "none": {"bili_transcripts": 2, "yt_comments": 2, "bili_comments": 2},
    }
    for policy, busy in expected.items():
        folder = tmp_path / policy
        folder.mkdir()
        bench = await Bench(folder, depths, policy=policy).start()
        assert bench.busy() == busy, policy
        stolen = [event.line for event in bench.events if event.stolen]
        assert len(stolen) == (0 if policy == "none" else 2)
        bench.close()
    folder = tmp_path / "turn"
    folder.mkdir()
    bench = await Bench(folder, depths, policy="turn").start()
    assert max(bench.busy().values()) - min(bench.busy().values()) <= 1  # spread evenly
    bench.close()


@on_loop
async def test_every_policy_does_everything_once(tmp_path):
    depths = {"yt_transcripts": 1, "bili_transcripts": 2, "yt_comments": 60, "bili_comments": 4}
    for policy in POLICIES:
        folder = tmp_path / policy
        folder.mkdir()
        bench = await Bench(folder, depths, policy=policy).start()
        order = bench.work_off()
        assert len(order) == len({sub_job for _, sub_job, _ in order}) == 67
        assert Counter(name for name, _, _ in order) == depths
        assert bench.centre.over_at is not None
        assert bench.statuses() == {"success": 67}
        bench.close()


@on_loop
async def test_without_stealing_a_line_that_is_nobodys_home_is_still_worked_on(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 3), pool=2, policy="none").start()
    assert len(bench.work_off()) == 12
    bench.close()


@on_loop
async def test_eight_that_finish_in_the_same_instant_are_replaced_at_once(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 30)).start()
    for _ in range(10):
        batch = bench.take()
        assert len(batch) == 8
        for spider, lease in batch:
            bench.end(spider, lease)
        assert sum(bench.busy().values()) == 8
        assert all(worker.lease is not None for worker in bench.centre.workers)
    held = bench.store.conn.execute("SELECT count(*) FROM sub_jobs WHERE status = 'in_progress'").fetchone()[0]
    assert held == 8
    bench.close()


@on_loop
async def test_metadata_goes_before_what_needs_it(tmp_path):
    bench = await Bench(tmp_path, {"bili_comments": 6}, metadata=True).start()
    begun, order = set(), []
    while batch := bench.take():
        for _, lease in batch:
            if lease.kind is Kind.METADATA:
                begun.add(lease.job_id)
            else:
                assert lease.job_id in begun
            order.append(lease.kind)
        for spider, lease in batch:
            bench.end(spider, lease)
    assert Counter(order) == {Kind.METADATA: 6, Kind.COMMENTS: 6, Kind.DANMAKU: 6}
    bench.close()


@on_loop
async def test_what_waited_for_metadata_is_assigned_as_soon_as_it_is_here(tmp_path):
    bench = await Bench(tmp_path, {"bili_comments": 1}, metadata=True).start()
    ((spider, lease),) = bench.take()
    bench.end(spider, lease)
    assert sorted(lease.kind for _, lease in bench.take()) == [Kind.COMMENTS, Kind.DANMAKU]
    bench.close()


@on_loop
async def test_transcripts_go_first_while_queues_are_balanced_and_not_when_they_are_not(tmp_path):
    for name, comments, on_transcripts in (("balanced", 40, 4), ("skewed", 400, 2)):
        folder = tmp_path / name
        folder.mkdir()
        depths = {"yt_transcripts": 40, "yt_comments": comments}
        bench = await Bench(folder, depths, pool=4, boost=2.0, names=("yt_transcripts", "yt_comments")).start()
        assert bench.busy().get("yt_transcripts") == on_transcripts, name
        bench.close()


@on_loop
async def test_a_site_that_is_as_busy_as_it_may_be_gets_no_thieves_while_others_have_room(tmp_path):
    bench = Bench(tmp_path, {"yt_comments": 50, "bili_comments": 10}, pool=8)
    for line in bench.lines:
        line.places = 2 if line.provider == "bilibili" else 16
    await bench.start()
    assert bench.busy() == {"yt_comments": 6, "bili_comments": 2}
    bench.close()


@on_loop
async def test_an_open_breaker_keeps_its_own_workers_and_draws_no_others(tmp_path):
    bench = Bench(tmp_path, {"yt_comments": 50, "bili_comments": 90}, limits=Limits(cooldown_s=100))
    bench.spiders["yt_comments"].gate.breaker("youtube:comments").refused("x")
    await bench.start()
    assert bench.busy() == {"yt_comments": 1, "bili_comments": 7}  # one probes when the time has come
    bench.clock.now += 101
    for spider, lease in bench.take("bili_comments"):
        bench.end(spider, lease)
    assert bench.busy()["yt_comments"] > 1
    bench.close()


@on_loop
async def test_a_line_that_closes_costs_the_others_nothing_and_keeps_its_work(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 10)).start()
    begun = bench.take("yt_comments")[:1]
    bench.spiders["yt_comments"].stop(SiteBlocked("go away"))
    assert sum(bench.busy().values()) == 8
    assert "yt_comments" not in bench.busy()
    bench.centre.ended(*begun[0])  # it lands late: nobody is confused
    assert len(bench.work_off()) == 30
    assert isinstance(bench.centre.failure, SiteBlocked)
    assert bench.statuses() == {"success": 30, "pending": 8, "in_progress": 2}  # these are released at the end
    assert [event.line for event in bench.events if event.what == "line_closed"] == ["yt_comments"]
    bench.close()


@on_loop
async def test_a_lease_that_is_lost_keeps_no_other_from_being_given_back(tmp_path):
    bench = await Bench(tmp_path, {"yt_comments": 10}, names=("yt_comments",)).start()
    lost = bench.lines[0].assigned[0]
    bench.store.conn.execute("UPDATE sub_jobs SET attempt = attempt + 1 WHERE id = ?", (lost.id,))
    bench.spiders["yt_comments"].stop(SiteBlocked())
    assert bench.statuses() == {"pending": 9, "in_progress": 1}
    bench.close()


@on_loop
async def test_the_last_line_that_closes_ends_the_run(tmp_path):
    bench = await Bench(tmp_path, {"yt_comments": 10}, names=("yt_comments",)).start()
    bench.spiders["yt_comments"].stop(SiteBlocked())
    assert bench.centre.over_at is not None
    bench.close()


@on_loop
async def test_a_database_that_fails_stops_everything(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 10)).start()
    batch = bench.take()
    bench.spiders["bili_comments"].broken = StoreLocked("by another")
    for spider, lease in batch:
        bench.end(spider, lease)
    assert isinstance(bench.centre.failure, StoreLocked)
    assert all(spider.stopped_by is bench.centre.failure for spider in bench.spiders.values())
    assert all(bench.centre.over(spider) for spider in bench.spiders.values())
    bench.close()


@on_loop
async def test_a_line_that_may_not_begin_stops_all_before_any_work(tmp_path):
    for number, error in enumerate((RobotsRefused("no"), LoginRefused("no"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench = Bench(folder, dict.fromkeys(LINES, 3))
        waiting = [
            asyncio.ensure_future(bench.centre.ready(spider))
            for name, spider in bench.spiders.items()
            if name != "bili_comments"
        ]
        await asyncio.sleep(0)
        bench.spiders["bili_comments"].stop(error)
        await asyncio.wait_for(asyncio.gather(*waiting), 5)
        assert not bench.centre.begun
        assert isinstance(bench.centre.failure, type(error))  # lines that robots.txt closes are told together
        assert bench.take() == []
        assert bench.statuses() == {"pending": 12}
        bench.close()


@on_loop
async def test_a_cancelled_run_assigns_nothing_more(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 10)).start()
    batch = bench.take()
    bench.centre.stop(RunCancelled())
    for spider, lease in batch:
        bench.end(spider, lease)
    assert bench.take() == []
    assert bench.statuses() == {"success": 8, "pending": 32}
    assert isinstance(bench.centre.failure, RunCancelled)
    bench.close()


@on_loop
async def test_a_line_that_leaves_before_the_end_was_interrupted(tmp_path):
    bench = await Bench(tmp_path, dict.fromkeys(LINES, 10)).start()
    batch = bench.take()
    for spider in bench.spiders.values():
        bench.centre.leave(spider)
    for spider, lease in batch:
        bench.end(spider, lease)
    assert bench.take() == []
    assert bench.centre.failure is None
    assert [event.reason for event in bench.events if event.what == "run_ended"] == ["interrupted"]
    bench.close()


@on_loop
async def test_metadata_that_another_line_can_bring_is_not_given_up(tmp_path):
    bench = await Bench(tmp_path, {"bili_comments": 4}, metadata=True).start()
    transcripts, comments = bench.spiders["bili_transcripts"], bench.spiders["bili_comments"]
    assert bench.centre.shared(transcripts, Kind.METADATA)
    assert not bench.centre.shared(transcripts, Kind.TRANSCRIPT)
    transcripts.stop(BreakerOpen())
    assert not bench.centre.shared(comments, Kind.METADATA)
    bench.close()


@on_loop
async def test_kinds_that_are_refused_do_not_keep_the_run_from_ending(tmp_path):
    bench = await Bench(tmp_path, {"bili_comments": 3}, names=("bili_comments",), metadata=True).start()
    spider = bench.spiders["bili_comments"]
    spider.blocked[Kind.DANMAKU] = SiteBlocked("danmaku")
    assert Counter(kind for _, _, kind in bench.work_off()) == {Kind.METADATA: 3, Kind.COMMENTS: 3}
    assert bench.centre.over(spider)
    assert isinstance(bench.centre.failure, SiteBlocked)
    bench.close()


@on_loop
async def test_what_a_dead_owner_held_is_taken_over(tmp_path):
    bench = Bench(tmp_path, {"yt_comments": 2}, names=("yt_comments",))
    dead = Ledger(bench.store, "run_1", "dead", lease_s=60, clock=bench.clock)
    for _ in range(2):
        assert dead.claim("youtube", {Kind.COMMENTS: "r"})
    bench.clock.now += 61
    await bench.start()
    assert len(bench.work_off()) == 2
    bench.close()


@on_loop
async def test_events_say_who_does_what_and_how_it_ended(tmp_path):
    bench = await Bench(tmp_path, {"yt_comments": 3}, names=("yt_comments",), pool=2).start()
    bench.work_off()
    assert [event.what for event in bench.events] == [
        "line_ready", "run_started", "assigned", "assigned", "ended", "assigned", "ended", "ended", "run_ended",
    ]  # fmt: skip
    first = bench.events[2]
    assert (first.run, first.line, first.worker, first.kind, first.queue) == ("run_1", "yt_comments", 0, "comments", 2)
    assert (bench.events[4].outcome, bench.events[4].video) == ("complete", first.video)
    bench.close()


@on_loop
async def test_a_listener_that_raises_never_hurts_the_run(tmp_path):
    bench = Bench(tmp_path, dict.fromkeys(LINES, 3))
    told = []

    def bad(event):
        told.append(event)
        raise ValueError("a listener's own mistake")

    bench.centre.listeners.add(bad)
    await bench.start()
    assert len(bench.work_off()) == 12
    assert len(told) == 1
    bench.close()


@on_loop
async def test_utilisation_counts_only_the_time_while_work_remains(tmp_path):
    depths = {"yt_comments": 90, "bili_comments": 4, "yt_transcripts": 3, "bili_transcripts": 3}
    found = {}
    for policy in ("least", "none"):
        folder = tmp_path / policy
        folder.mkdir()
        bench = await Bench(folder, depths, policy=policy).start()
        bench.work_off()
        found[policy] = bench.centre.utilisation
        bench.close()
    assert found["least"] == 1.0
    assert found["none"] < 0.4


@pytest.mark.parametrize(("kind", "pressed", "window"), [
    (Kind.COMMENTS, 0, 3), (Kind.COMMENTS, 2, 2), (Kind.TRANSCRIPT, 2, 3),
])  # fmt: skip
def test_the_comments_window_shrinks_by_one_while_transcripts_wait(kind, pressed, window):
    spider = SimpleNamespace(
        kind=kind, config=SimpleNamespace(window=3), gate=SimpleNamespace(waiting_for=lambda artifact: pressed)
    )
    assert ResearchSpider._window(spider) == window
