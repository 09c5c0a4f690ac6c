"""A record that the database cannot hold ends its page by name; nobody waits for a receipt that never comes."""

import asyncio
from types import SimpleNamespace

import pytest
from pytest_twisted import ensureDeferred
from scrapy.exceptions import DropItem
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector
from twisted.internet.defer import Deferred

from research_scrapers.crawling.pipelines import StorePipeline
from research_scrapers.errors import LayoutChanged, StoreFull
from research_scrapers.models import Options
from tests.factories import VIDEO, Bench, comment, page


class Hands:
    """Pages that are handed to the pipeline in the same moment."""

    def __init__(self, bench):
        self.bench = bench
        self.spider = SimpleNamespace(failure=None, ledger=bench.ledger, options=Options())
        self.items = []

    def store(self, *pages_of):
        async def together():
            crawler = SimpleNamespace(spider=self.spider, stats=None, settings=Settings())
            crawler.stats = StatsCollector(SimpleNamespace(settings=Settings()))
            pipeline = StorePipeline(crawler)
            for lease, handed in pages_of:
                receipt = asyncio.get_running_loop().create_future()
                self.items.append(SimpleNamespace(page=handed, lease=lease, quota=0, reading=None, receipt=receipt))
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
    hands.spider.ledger = SimpleNamespace(commit_pages=full)
    dropped = await hands.store((first, page("2", ["c"])), (second, page("2", ["d"])))
    assert [type(one) for one in dropped] == [DropItem] * 2
    assert [type(item.receipt.exception()) for item in hands.items] == [StoreFull] * 2
