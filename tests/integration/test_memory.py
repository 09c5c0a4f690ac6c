"""What an answer took is free again as soon as the answer is dealt with, not when the garbage is collected."""

from __future__ import annotations

import gc

import pytest
from pytest_twisted import ensureDeferred
from scrapy.http import Response

from research_scrapers.spiders.bili_comments import BiliCommentsSpider
from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

YOUTUBE = [
    {"comments": 30, "tracks": [["en", "manual"]]},
    {"comments": 0, "tracks": []},
    *({"comments": 5, "state": state} for state in ("private", "deleted", "disabled", "login_required")),
]
BILIBILI = [
    {"site": "bilibili", "comments": 30, "danmaku": 5, "tracks": [["zh-CN", "human"]]},
    {"site": "bilibili", "comments": 0, "danmaku": 0, "tracks": []},
]


@pytest.fixture
def uncollected():
    """What only the collector can free: everything that is found while it is switched off."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)

    def found():
        gc.collect()
        return list(gc.garbage)

    yield found
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize(
    "spider", [BiliCommentsSpider, BiliTranscriptsSpider, YtCommentsSpider, YtTranscriptsSpider], ids=lambda it: it.name
)
@ensureDeferred
async def test_no_answer_is_caught_in_a_circle(replica, workplace, uncollected, spider):
    yt = replica(spec=YOUTUBE + BILIBILI)
    work = workplace(yt.origin, login="replica-sessdata")
    work.links(*(yt.videos if spider.name.startswith("yt") else yt.bili_videos))
    if spider.name.startswith("yt"):
        await work.crawl_here(spider=spider)
    else:
        await work.bili_here(spider)
    assert len(work.query("SELECT DISTINCT status, reason FROM sub_jobs")) > 1
    held = [one for one in uncollected() if isinstance(one, Response)]
    assert not held, [one.url for one in held]
