"""A record that the database cannot hold ends its page by name; nobody waits for a receipt that never comes."""

import asyncio
import threading
from types import SimpleNamespace

import pytest
from pytest_twisted import ensureDeferred
from scrapy.exceptions import DropItem
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import StatsCollector
from twisted.internet.defer import Deferred

from research_scrapers.crawling.pipelines import StorePipeline
from research_scrapers.errors import LayoutChanged, StoreFull
from research_scrapers.models import Options
from tests.factories import VIDEO, Bench, comment, page


def item_of(lease, handed):
    receipt = asyncio.get_running_loop().create_future()
    return SimpleNamespace(page=handed, lease=lease, quota=0, reading=None, receipt=receipt)


class Hands:
    """Pages that are handed to the pipeline in the same moment."""

    def __init__(self, bench):
        self.bench = bench
        self.spider = SimpleNamespace(failure=None, ledger=bench.ledger, options=Options())

    def pipeline(self):
        crawler = SimpleNamespace(spider=self.spider, settings=Settings(), signals=SignalManager())
        crawler.stats = StatsCollector(SimpleNamespace(settings=Settings()))
        return StorePipeline(crawler)

    def store(self, *pages_of):
        async def together():
            pipeline = self.pipeline()
            self.items = [item_of(lease, handed) for lease, handed in pages_of]
            return await asyncio.gather(*map(pipeline.process_item, self.items), return_exceptions=True)

        return Deferred.fromFuture(asyncio.ensure_future(together()))


@pytest.mark.parametrize("change", [{"like_count": 2**63}, {"text": "half \ud83d"}], ids=["a number", "a text"])
@ensureDeferred
async def test_a_record_that_cannot_be_stored(tmp_path, change):
    bench = Bench(tmp_path, VIDEO, "vvvvvvvvvv2")
    broken, well = page("1", ["a"]), page("1", ["c"])
    object.__setattr__(broken, "records", (comment("a"), comment("b", **{**change, "content_hash": "h"})))
    hands = Hands(bench)
    dropped, stored = await hands.store((bench.claim(), broken), (bench.claim(), well))
    assert isinstance(dropped, DropItem)
    assert isinstance(hands.items[0].receipt.exception(), LayoutChanged)
    assert stored is hands.items[1], "a page that came in the same moment is stored"
    assert bench.rows("SELECT comment_id FROM comments") == [("c",)]


@ensureDeferred
async def test_pages_that_come_together_are_one_transaction_and_fail_together_with_the_database(tmp_path):
    bench = Bench(tmp_path, VIDEO, "vvvvvvvvvv2")
    first, second = bench.claim(), bench.claim()
    begun = []
    bench.store.conn.set_trace_callback(lambda sql: begun.append(sql) if sql.startswith("BEGIN") else None)
    await Hands(bench).store((first, page("1", ["a"], next_token="2")), (second, page("1", ["b"], next_token="2")))
    assert len(begun) == 1
    bench.store.conn.set_trace_callback(None)

    def full(pages):
        raise StoreFull("no room")

    hands = Hands(bench)
    hands.spider.ledger = SimpleNamespace(group=full)
    dropped = await hands.store((first, page("2", ["c"])), (second, page("2", ["d"])))
    assert [type(one) for one in dropped] == [DropItem] * 2
    assert [type(item.receipt.exception()) for item in hands.items] == [StoreFull] * 2


@ensureDeferred
async def test_the_wait_for_the_disk_holds_up_nobody_and_the_next_group_gathers_meanwhile(tmp_path, monkeypatch):
    bench = Bench(tmp_path, VIDEO, "vvvvvvvvvv2", "vvvvvvvvvv3")
    leases = [bench.claim() for _ in range(3)]
    disk, groups = threading.Event(), []
    settle, group = bench.store.settle, bench.ledger.group
    monkeypatch.setattr(bench.store, "settle", lambda: (disk.wait(10), settle()))
    monkeypatch.setattr(bench.ledger, "group", lambda pages: groups.append(len(pages)) or group(pages))

    async def slowly():
        pipeline = Hands(bench).pipeline()
        items = [item_of(lease, page("1", [name])) for lease, name in zip(leases, "abc", strict=True)]
        first = asyncio.ensure_future(pipeline.process_item(items[0]))
        await asyncio.sleep(0.05)
        others = [asyncio.ensure_future(pipeline.process_item(one)) for one in items[1:]]
        await asyncio.sleep(0.05)  # which would not end if the loop waited for the disk
        assert not first.done(), "a receipt before the disk has it"
        disk.set()
        await asyncio.gather(first, *others)

    await Deferred.fromFuture(asyncio.ensure_future(slowly()))
    assert groups == [1, 2]
    assert bench.rows("SELECT comment_id FROM comments ORDER BY 1") == [("a",), ("b",), ("c",)]


def test_a_thread_that_cannot_begin_is_told_before_anything_is_written(tmp_path, monkeypatch):
    def no_room(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_room)
    with pytest.raises(RuntimeError, match="new thread"):
        Hands(Bench(tmp_path)).pipeline()
