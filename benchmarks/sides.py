"""The clients that are measured against each other. Each runs in a process of its own and prints its figures as JSON.

    python -m benchmarks.sides SIDE ORIGIN LINKS [DATABASE]

`ours` is the spider; `bare` is what a person writes with Scrapy alone: fetch, `json.loads`, follow every continuation,
store nothing; `loop` is the same without Scrapy, on aiohttp. They ask for the very same pages with the same headers
and as many at a time. The clock runs from the first request to the end of the last page; starting Python, importing
and opening a database is told apart.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research_scrapers.models import Ask
from research_scrapers.providers.youtube.endpoints import next_by_token, watch_page

if TYPE_CHECKING:
    from scrapy.http import Response

IN_FLIGHT = 16
"""The cap of the spider's own settings, for every side."""
SIDES = ("ours", "bare", "loop")
_INITIAL = re.compile(r"ytInitialData\s*=\s*({.+?});</script>", re.DOTALL)


class Watch:
    """What a process used between two moments."""

    def begin(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def figures(self, pages: int) -> dict[str, float]:
        return {
            "pages": pages,
            "seconds": time.monotonic() - self._wall,
            "cpu": time.process_time() - self._cpu,
            "start_up_cpu": self._cpu,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def run(side: str, origin: str, links: Path, database: Path) -> dict[str, float]:
    """Run one side to its end, from another process."""
    command = [sys.executable, "-m", "benchmarks.sides", side, origin, str(links), str(database)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RESEARCH_")}
    began = time.monotonic()
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures | {"start_up": time.monotonic() - began - figures["seconds"]}


# -- what a person writes ------------------------------------------------------------------------------------------


def newest(page: str) -> str:
    """The way from a watch page to its newest comments."""
    found = _INITIAL.search(page)
    assert found is not None
    for panel in json.loads(found[1])["engagementPanels"]:
        inner = panel["engagementPanelSectionListRenderer"]
        if inner.get("panelIdentifier") == "engagement-panel-comments-section":
            menu = inner["header"]["engagementPanelTitleHeaderRenderer"]["menu"]["sortFilterSubMenuRenderer"]
            return str(menu["subMenuItems"][1]["serviceEndpoint"]["continuationCommand"]["token"])
    raise ValueError("no way to the comments")


def onward(data: dict[str, Any]) -> Iterator[str]:
    """The tokens of a page: its next page, and the threads that hang on its comments."""
    for endpoint in data["onResponseReceivedEndpoints"]:
        action = endpoint.get("appendContinuationItemsAction") or endpoint.get("reloadContinuationItemsCommand") or {}
        for item in action.get("continuationItems", ()):
            if "continuationItemRenderer" in item:
                yield _token(item["continuationItemRenderer"])
            replies = item.get("commentThreadRenderer", {}).get("replies")
            if replies:
                yield _token(replies["commentRepliesRenderer"]["contents"][0]["continuationItemRenderer"])


def _token(renderer: dict[str, Any]) -> str:
    command = renderer.get("continuationEndpoint") or renderer["button"]["buttonRenderer"]["command"]
    return str(command["continuationCommand"]["token"])


def _local(ask: Ask, origin: str) -> tuple[str, dict[str, str]]:
    """The address and the headers of a request, turned to the replica."""
    return ask.url.replace("https://www.youtube.com", origin), {**ask.headers, "Host": "www.youtube.com"}


# -- the sides -----------------------------------------------------------------------------------------------------


def ours(origin: str, links: Path, database: Path) -> dict[str, float]:
    """The project's spider, by its own settings, without a limit of pace."""
    from scrapy.settings import Settings

    from research_scrapers.crawling.progress import quieten
    from research_scrapers.spiders.yt_comments import YtCommentsSpider

    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    own = {"RESEARCH_DB": str(database), "ORIGIN": origin, "DOMAIN_RATE": 0, "ROBOTSTXT_OBEY": False}
    settings.setdict({**own, "LOG_LEVEL": "WARNING"}, priority="cmdline")
    quieten(settings)
    return _crawl(YtCommentsSpider, settings, links=str(links))


def bare(origin: str, links: Path, database: Path) -> dict[str, float]:
    """A spider with nothing but Scrapy's own settings, and our concurrency."""
    from scrapy import Request, Spider
    from scrapy.settings import Settings

    videos = links.read_text(encoding="utf-8").split()

    class Bare(Spider):
        name = "bare"

        async def start(self) -> AsyncIterator[Request]:
            for video in videos:
                yield self.of(watch_page(video), video, self.parse_watch)

        def of(self, ask: Ask, video: str, callback: Any) -> Request:
            url, headers = _local(ask, origin)
            return Request(
                url, callback, method=ask.method, headers=headers, body=ask.body, cb_kwargs={"video": video},
                dont_filter=True,
            )  # fmt: skip

        def parse_watch(self, response: Response, video: str) -> Iterator[Request]:
            yield self.of(next_by_token(newest(response.text), video, {}), video, self.parse)

        def parse(self, response: Response, video: str) -> Iterator[Request]:
            for token in onward(json.loads(response.body)):
                yield self.of(next_by_token(token, video, {}), video, self.parse)

    settings = Settings({
        "CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": IN_FLIGHT, "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False,
    })  # fmt: skip
    return _crawl(Bare, settings)


def _crawl(spider: Any, settings: Any, **arguments: str) -> dict[str, float]:
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess

    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(spider)
    watch, figures = Watch(), dict[str, float]()

    def first(request: Any) -> None:
        crawler.signals.disconnect(first, signals.request_reached_downloader)
        watch.begin()

    def last() -> None:
        assert crawler.stats is not None
        figures.update(watch.figures(crawler.stats.get_value("downloader/response_status_count/200", 0)))

    crawler.signals.connect(first, signals.request_reached_downloader)
    crawler.signals.connect(last, signals.spider_closed)
    process.crawl(crawler, **arguments)
    process.start()
    return figures


def loop(origin: str, links: Path, database: Path) -> dict[str, float]:
    """Nothing but aiohttp and a queue."""
    import aiohttp

    watch, pages = Watch(), 0
    videos = links.read_text(encoding="utf-8").split()

    async def work(session: aiohttp.ClientSession, queue: asyncio.LifoQueue[tuple[str, Ask]]) -> None:
        nonlocal pages
        while True:
            video, ask = await queue.get()
            url, headers = _local(ask, origin)
            async with session.request(ask.method, url, headers=headers, data=ask.body or None) as answer:
                body = await answer.read()
            pages += 1
            tokens = onward(json.loads(body)) if ask.body else iter([newest(body.decode())])
            for token in tokens:
                queue.put_nowait((video, next_by_token(token, video, {})))
            queue.task_done()

    async def all_of_it() -> None:
        queue: asyncio.LifoQueue[tuple[str, Ask]] = asyncio.LifoQueue()
        for video in videos:
            queue.put_nowait((video, watch_page(video)))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:
            watch.begin()
            workers = [asyncio.create_task(work(session, queue)) for _ in range(IN_FLIGHT)]
            ended = asyncio.create_task(queue.join())
            done, _ = await asyncio.wait([ended, *workers], return_when=asyncio.FIRST_COMPLETED)
            for worker in workers:
                worker.cancel()
            for one in done:
                one.result()  # a worker that fell over says why

    asyncio.run(all_of_it())
    return watch.figures(pages)


if __name__ == "__main__":
    logging.getLogger("scrapy").setLevel(logging.WARNING)
    wanted, replica, *files = sys.argv[1:]
    made = {"ours": ours, "bare": bare, "loop": loop}[wanted](replica, *map(Path, files))
    print(json.dumps(made), flush=True)
