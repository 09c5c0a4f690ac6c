"""A record that the database cannot hold ends its page by name; nobody waits for a receipt that never comes."""

import asyncio
from types import SimpleNamespace

import pytest
from scrapy.exceptions import DropItem
from scrapy.settings import Settings

from research_scrapers.crawling.pipelines import StorePipeline
from research_scrapers.errors import LayoutChanged
from research_scrapers.models import Options
from tests.factories import Bench, comment, page


@pytest.mark.parametrize("change", [{"like_count": 2**63}, {"text": "half \ud83d"}], ids=["a number", "a text"])
def test_a_record_that_cannot_be_stored(tmp_path, change):
    bench = Bench(tmp_path)
    lease = bench.claim()
    broken = page("1", ["a"])
    object.__setattr__(broken, "records", (comment("a"), comment("b", **{**change, "content_hash": "h"})))
    spider = SimpleNamespace(failure=None, ledger=bench.ledger, options=Options())
    loop = asyncio.new_event_loop()
    item = SimpleNamespace(page=broken, lease=lease, quota=0, receipt=loop.create_future())
    with pytest.raises(DropItem):
        StorePipeline(SimpleNamespace(spider=spider, stats=None, settings=Settings())).process_item(item)
    assert isinstance(item.receipt.exception(), LayoutChanged)
    assert bench.rows("SELECT count(*) FROM comments") == [(0,)]
    loop.close()
