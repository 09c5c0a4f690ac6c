"""The optional HTTP cache against a replica whose pages may be kept."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.crawling.gate import Gate
from research_scrapers.errors import SettingInvalid
from research_scrapers.spiders.bili_comments import BiliCommentsSpider
from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

SPIDERS = (YtCommentsSpider, YtTranscriptsSpider, BiliCommentsSpider, BiliTranscriptsSpider)
LOGIN, KEY = "replica-sessdata", "replica-key"


class Cached:
    """A person who works with the cache on, run after run."""

    def __init__(self, work, played) -> None:
        self.work, self.played = work, played
        self.folder = work.folder / "cache"
        self.runs = 0

    async def crawl(self, spider=YtCommentsSpider, faults=(), **settings):
        """One more run, in a database of its own; returns the crawler's statistics and the replica's log."""
        self.runs += 1
        self.work.db.unlink(missing_ok=True)
        self.played.reset()
        self.played.faults(*faults)
        common = {
            "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(self.folder), "DOMAIN_RATE": 0, "DOMAIN_BURST": 3000,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        }  # fmt: skip
        crawler = await self.work.crawl_here(
            settings={**common, **settings}, spider=spider, jobdir=f"job{self.runs}"
        )  # fmt: skip
        assert crawler.spider.failure is None
        return crawler.stats.get_stats(), self.played.counters(log=True)

    def kept(self) -> dict[Path, bytes]:
        return {path: zlib.decompress(path.read_bytes()) for path in self.folder.rglob("*") if path.is_file()}

    def asked(self, counters, path: str) -> list[int]:
        return [status for _, _, asked, _, status in counters["log"] if asked.startswith(path)]


@pytest.fixture
def cached(replica, workplace):
    def make(control: str, *, spec=None, **kwargs) -> Cached:
        spec = spec or [{"comments": 30}, {"site": "bilibili", "comments": 12, "danmaku": 9}]
        played = replica("--caching", control, spec=spec)
        work = workplace(played.origin, **kwargs)
        work.links(*played.videos, *played.bili_videos)
        return Cached(work, played)

    return make


@ensureDeferred
async def test_a_fresh_answer_takes_no_request_no_place_and_no_token(cached):
    person = cached("max-age=600")
    _, first = await person.crawl()
    before = person.work.query("SELECT comment_id, text FROM comments ORDER BY 1")
    moments = person.work.query("SELECT fetched_at FROM videos")
    assert person.asked(first, "/watch") == [200]

    stats, second = await person.crawl(DOMAIN_BURST=1, DOMAIN_RATE=100)
    assert stats["httpcache/hit"] == 1
    assert person.asked(second, "/watch") == []
    assert person.work.query("SELECT comment_id, text FROM comments ORDER BY 1") == before
    assert person.work.query("SELECT fetched_at FROM videos")[0][0][:16] == moments[0][0][:16]
    # What goes by POST is asked for again: RFC 2616 keeps GET only.
    assert person.asked(second, "/youtubei/v1/next")


@ensureDeferred
async def test_a_stale_answer_is_confirmed_by_the_site_or_replaced(cached):
    person = cached("no-cache")
    await person.crawl(BiliCommentsSpider)
    stats, second = await person.crawl(BiliCommentsSpider)
    assert person.asked(second, "/x/web-interface/view") == [304]
    assert stats["httpcache/revalidate"] >= 1
    title = person.work.query("SELECT title FROM videos")
    person.played.bilibili(video=person.played.bili_videos[0], op="add", count=2)
    _, third = await person.crawl(BiliCommentsSpider)
    assert person.asked(third, "/x/web-interface/view") == [200]  # the page tells another number now
    assert person.work.query("SELECT title FROM videos") == title


@ensureDeferred
async def test_signed_pages_are_found_again_and_pass_no_gate(cached, monkeypatch):
    person = cached("max-age=600")
    _, first = await person.crawl(BiliCommentsSpider)
    ids = sorted(person.work.ids())
    assert person.asked(first, "/x/v2/reply/wbi/main")
    passed, enter = [], Gate.enter
    monkeypatch.setattr(Gate, "enter", lambda self, ticket: passed.append(ticket) or enter(self, ticket))
    _, second = await person.crawl(BiliCommentsSpider)
    assert person.asked(second, "/x/v2/reply/wbi/main") == []
    assert len(passed) == second["total"] < 6  # robots.txt and the visit
    assert sorted(person.work.ids()) == ids


@ensureDeferred
async def test_captions_are_kept_too(cached):
    person = cached("max-age=600")
    _, first = await person.crawl(YtTranscriptsSpider)
    texts = person.work.query("SELECT text FROM transcript_segments ORDER BY transcript, position")
    assert texts
    _, second = await person.crawl(YtTranscriptsSpider)
    assert person.work.query("SELECT text FROM transcript_segments ORDER BY transcript, position") == texts
    assert len(person.asked(second, "/watch")) < len(person.asked(first, "/watch"))


VIEW = "/x/web-interface/view"


@pytest.mark.parametrize("refusal", ["bili_-352", "bili_-412", "bili_412", "bili_captcha"])
@ensureDeferred
async def test_a_refusal_is_never_kept(cached, refusal):
    person = cached("max-age=600")
    await person.crawl(BiliCommentsSpider, faults=[{"action": refusal, "path": VIEW, "count": 1}])
    views = [body for body in person.kept().values() if VIEW.encode() in body.partition(b"\n")[0]]
    assert len(views) == 1
    assert b'"pages"' in views[0]
    _, log = await person.crawl(BiliCommentsSpider)
    assert person.asked(log, VIEW) == []
    assert person.work.ids()


@ensureDeferred
async def test_what_could_not_be_read_is_thrown_away(cached):
    person = cached("max-age=600")
    await person.crawl(BiliCommentsSpider, faults=[{"action": "bili_hollow", "path": VIEW, "count": 1}])
    assert not person.work.ids()
    assert not any(VIEW.encode() in body.partition(b"\n")[0] for body in person.kept().values())
    _, log = await person.crawl(BiliCommentsSpider)
    assert person.asked(log, VIEW) == [200]
    assert person.work.ids()


@ensureDeferred
async def test_a_server_in_trouble_is_asked_again_and_not_replaced_by_an_old_answer(cached):
    person = cached("no-cache")
    await person.crawl()
    for fault, seen in (({"action": "status", "status": 503}, 503), ({"action": "reset"}, 0)):
        _, log = await person.crawl(faults=[{**fault, "path": "/watch", "count": 1}])
        assert person.asked(log, "/watch") == [seen, 304]


@ensureDeferred
async def test_nothing_private_is_written(cached):
    person = cached("max-age=600", key=KEY)
    for spider in SPIDERS:
        await person.crawl(spider, BILIBILI_SESSDATA=LOGIN)
        await person.crawl(spider, YOUTUBE_API_KEY="")
    kept = person.kept()
    assert kept
    text = b"".join(kept.values()).lower()
    for canary in (LOGIN, KEY, "set-cookie", "replica-canary", "sessdata", "w_rid=", "203.0.113.7", '"192.0.2.1"',
                   "login_mid_hash", "buvid3="):  # fmt: skip
        assert canary.encode() not in text, canary
    for path in kept:
        assert path.stat().st_mode & 0o077 == 0
    assert not any(b"/x/web-interface/nav" in body or b"/finger/spi" in body for body in kept.values())


@ensureDeferred
async def test_the_cache_does_not_go_with_a_privacy_policy(cached):
    person = cached("max-age=600")
    with pytest.raises(SettingInvalid, match="PRIVACY=drop"):
        await person.crawl(PRIVACY="drop")
