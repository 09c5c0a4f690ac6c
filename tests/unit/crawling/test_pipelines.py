import asyncio
from types import SimpleNamespace

import pytest
from scrapy.exceptions import DropItem

from research_scrapers.crawling.pipelines import ValidatePipeline
from research_scrapers.errors import LayoutChanged
from research_scrapers.models import Cursor, Page
from tests.factories import VIDEO, comment


def item(*records):
    loop = asyncio.new_event_loop()
    receipt = loop.create_future()
    loop.close()
    lease = SimpleNamespace(video_id=VIDEO, provider="youtube")
    return SimpleNamespace(page=Page(Cursor("", "page"), records=records), lease=lease, receipt=receipt)


@pytest.mark.parametrize(
    "record",
    [comment("a", video="x" * 11), comment(""), comment("a", content_hash=""), comment("a", depth=1),
     comment("a", parent="b", depth=0), comment("a", root_id="")],
)  # fmt: skip
def test_a_record_that_cannot_be_right_is_not_stored(record):
    page = item(comment("good"), record)
    with pytest.raises(DropItem):
        ValidatePipeline().process_item(page)
    assert isinstance(page.receipt.exception(), LayoutChanged)
    page.receipt.get_loop().close()


def test_records_that_can_be_right_pass():
    page = item(comment("a"), comment("b", parent="a"))
    assert ValidatePipeline().process_item(page) is page
    assert not page.receipt.done()
    page.receipt.get_loop().close()
