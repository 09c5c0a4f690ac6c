"""The last step before the network: no host but the providers' own, whatever asked for it."""

import logging

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro

from research_scrapers.config import Limits
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.handler import OffsiteRefused, ProviderHandler
from research_scrapers.spiders.yt_comments import YtCommentsSpider

META = {"research_domain": "youtube.com", "research_line": "youtube:comments"}


@pytest.fixture
def handler(monkeypatch):
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    settings.setdict({"YOUTUBE_API_KEY": "canary key"}, priority="cmdline")
    crawler = Crawler(YtCommentsSpider, settings)
    crawler.spider = YtCommentsSpider()
    crawler.spider.gate = Gate(Limits())
    crawler._apply_settings()
    made = ProviderHandler(crawler)
    sent = []

    async def record(request):
        sent.append(request.url)
        raise OSError(f"could not reach {request.url}")

    monkeypatch.setattr(made._inner, "download_request", record)
    made.sent = sent
    yield made
    for found in list(logging.getLogger("scrapy.core.downloader.handlers.http11").filters):
        logging.getLogger("scrapy.core.downloader.handlers.http11").removeFilter(found)


@ensureDeferred
@pytest.mark.parametrize(
    "url",
    ["https://evil.example/", "http://www.youtube.com/watch?v=x", "https://www.youtube.com.evil.example/",
     "https://127.0.0.1/", "https://169.254.169.254/latest", "https://www.youtube.com:8443/", "https://localhost/",
     "https://user@evil.example/", "ftp://www.youtube.com/", "https://youtube.com.evil/"],
)  # fmt: skip
async def test_a_foreign_address_is_never_reached(handler, url):
    with pytest.raises(OffsiteRefused, match="belongs to no provider"):
        await deferred_from_coro(handler.download_request(Request(url, meta=dict(META))))
    assert handler.sent == []


@ensureDeferred
async def test_the_key_is_added_last_and_taken_out_of_what_goes_wrong(handler):
    url = "https://www.googleapis.com/youtube/v3/videos?id=x"
    with pytest.raises(OSError, match="could not reach") as caught:
        await deferred_from_coro(handler.download_request(Request(url, meta={**META, "research_key_parameter": "key"})))
    assert handler.sent == [f"{url}&key=canary%20key"]
    assert "canary" not in str(caught.value)


def test_scrapys_own_warnings_are_made_discreet(handler, caplog):
    logging.getLogger("scrapy.core.downloader.handlers.http11").warning(
        "Got data loss in %s", "https://x?key=canary%20key"
    )
    assert "data loss" in caplog.text
    assert "canary" not in caplog.text
