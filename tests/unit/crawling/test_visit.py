"""The visit: learnt once, by whoever comes first, and again when it is refused."""

import asyncio

import pytest

from research_scrapers.crawling.visit import Visitor
from research_scrapers.errors import (
    AddressBanned,
    LoginRefused,
    NothingReached,
    RateLimited,
    SignatureRefused,
    SiteBlocked,
    Timeout,
)
from research_scrapers.models import Answer, Ask
from tests.unit.crawling.test_gate import on_loop


class Site:
    secrets = ("s3cret",)
    renewed_by = (SignatureRefused,)
    needs = ("logged_in",)

    def __init__(self):
        self.asked = []
        self.troubles = {}

    def asks(self, now):
        return (Ask("https://x/ids"), Ask("https://x/nav"))

    def read(self, ask, answer):
        name = ask.url.rpartition("/")[2]
        return {"logged_in": "1", "key": answer.body.decode()} if name == "nav" else {"id": "7"}

    def dress(self, url, facts, now, *, signed):
        return (f"{url}?sign={facts.get('key')}" if signed else url), {"Cookie": f"id={facts.get('id')}"}

    async def fetch(self, ask):
        self.asked.append(ask.url.rpartition("/")[2])
        await asyncio.sleep(0)
        if ask.url in self.troubles:
            raise self.troubles[ask.url]
        return Answer(ask.url, 200, b"key%d" % self.asked.count("nav"))


@on_loop
async def test_whoever_comes_first_learns_it_for_all():
    site = Site()
    visitor = Visitor(site)
    await asyncio.gather(*(visitor.ready(site.fetch) for _ in range(5)))
    assert site.asked == ["ids", "nav"]
    assert visitor.dress("https://x/a", signed=True) == ("https://x/a?sign=key1", {"Cookie": "id=7"})
    assert (visitor.version, visitor.secrets) == (1, ("s3cret",))


@on_loop
async def test_a_refusal_renews_it_once_for_all_that_were_under_way():
    site = Site()
    visitor = Visitor(site)
    await visitor.ready(site.fetch)
    assert [visitor.renew(SignatureRefused(), 1) for _ in range(3)] == [True] * 3
    await asyncio.gather(*(visitor.ready(site.fetch) for _ in range(3)))
    assert visitor.renew(SignatureRefused(), 1), "it went out with the old keys: it may go again"
    await visitor.ready(site.fetch)
    assert (site.asked.count("nav"), visitor.version, visitor.facts["key"]) == (2, 2, "key2")
    assert not visitor.renew(RateLimited(), 2)


@on_loop
async def test_what_is_optional_may_fail():
    site = Site()
    site.troubles["https://x/ids"] = Timeout("slow")
    visitor = Visitor(site)
    await visitor.ready(site.fetch)
    assert visitor.facts == {"logged_in": "1", "key": "key1"}


@on_loop
async def test_without_what_it_needs_nothing_begins_and_the_next_try_asks_again():
    site = Site()
    for trouble, kind in ((AddressBanned("412"), SiteBlocked), (Timeout("slow"), NothingReached)):
        site.troubles["https://x/nav"] = trouble
        visitor = Visitor(site)
        with pytest.raises(kind, match=trouble.detail):
            await visitor.ready(site.fetch)
        site.troubles.clear()
        await visitor.ready(site.fetch)
        assert visitor.version == 1


@on_loop
async def test_what_cannot_be_renewed_stays_as_it_was():
    site = Site()
    visitor = Visitor(site)
    await visitor.ready(site.fetch)
    visitor.renew(SignatureRefused(), 1)
    site.troubles["https://x/nav"] = Timeout("slow")
    await visitor.ready(site.fetch)
    assert (visitor.facts["key"], visitor.version) == ("key1", 2)


@on_loop
async def test_a_dead_login_is_told_to_whoever_asks():
    site = Site()
    site.troubles["https://x/nav"] = LoginRefused("dead")
    visitor = Visitor(site)
    for _ in range(2):
        with pytest.raises(LoginRefused):
            await visitor.ready(site.fetch)


@on_loop
async def test_a_site_without_a_visit_wants_nothing():
    visitor = Visitor(None)
    await visitor.ready(None)
    assert visitor.dress("https://x/a", signed=False) == ("https://x/a", {})
    assert (visitor.renew(SignatureRefused(), 0), visitor.secrets) == (False, ())
