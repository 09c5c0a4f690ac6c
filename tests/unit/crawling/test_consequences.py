"""What a failure leads to: another way in where there is one, and nothing more of a kind that is blocked."""

from types import SimpleNamespace

import pytest
from scrapy import Request

from research_scrapers.config import Limits
from research_scrapers.crawling.consequences import consequence
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.walk import Walk
from research_scrapers.errors import EmptyPage, LayoutChanged, SignatureRefused, SiteBlocked, Timeout, VideoPrivate
from research_scrapers.models import Ask, Cursor, Kind
from research_scrapers.providers.bilibili.privacy import discreet
from tests.factories import Bench, page

LINE = "bilibili:comments:comments"


class Spider:
    """As much of a spider as a consequence looks at."""

    def __init__(self, bench, fallback):
        self.ledger = bench.ledger
        self.session = SimpleNamespace(store=bench.store)
        self.gate = Gate(Limits(patience=0))
        self.config = SimpleNamespace(limits=self.gate.limits)
        self.retrier = SimpleNamespace(again=lambda request, failure: None)
        self.routes = {Kind.COMMENTS: SimpleNamespace(fallback=lambda cursor, failure: fallback)}
        self.provider = SimpleNamespace(discreet=discreet)
        self.visitor = SimpleNamespace(secrets=("s3cret",))
        self.blocked = self.stopped = None

    def line_of(self, kind):
        return LINE

    def is_blocked(self, kind):
        return self.blocked is not None

    def block(self, kind, error):
        self.blocked = error

    def stop(self, error):
        self.stopped = error


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def fail(bench, failure, fallback=None, chain="", body=b"", refusals=0):
    lease = bench.claim("1")
    if chain:
        bench.ledger.commit_page(lease, page("1", ["a"], next_token="2", found=(Cursor("a", "replies", "1", 9),)), None)
    walk = Walk(lease, lambda: 3)
    walk.cut()
    walk.halted = False
    spider = Spider(bench, fallback)
    for _ in range(refusals):
        spider.gate.breaker(LINE).refused(1)
    cursor = Cursor(chain, "replies" if chain else "page", "1")
    request = Request("https://x/", meta={"research_line": LINE})
    assert consequence(spider, walk, cursor, Ask("https://x/"), request, failure, body, tried=False) is None
    return spider, walk


def test_another_way_goes_on_where_the_first_is_of_no_use(bench):
    other = Cursor("", "plain", "2")
    spider, walk = fail(bench, LayoutChanged("?"), other)
    assert (walk.take(), walk.failure, spider.blocked) == ([other], None, None)
    assert bench.rows("SELECT step, token, first_step, state FROM checkpoints") == [("plain", "2", "plain", "open")]


def test_without_another_way_the_failure_is_the_walks(bench):
    _, walk = fail(bench, VideoPrivate("x"))
    assert isinstance(walk.failure, VideoPrivate)


def test_a_refusal_that_exhausts_the_line_blocks_its_kind_and_turns_nowhere_else(bench):
    spider, walk = fail(bench, SignatureRefused("x"), Cursor("", "plain", "2"), refusals=1)
    assert isinstance(spider.blocked, SiteBlocked)
    assert isinstance(walk.failure, SignatureRefused)
    assert spider.stopped is None


def test_an_empty_page_at_the_end_is_judged_by_the_numbers(bench):
    _, walk = fail(bench, EmptyPage("nothing"))
    assert walk.failure is None
    assert bench.rows("SELECT state, reason FROM checkpoints") == [("failed", "empty_page")]


def test_a_fault_of_one_page_is_no_block(bench):
    spider, walk = fail(bench, Timeout("x"))
    assert spider.blocked is None
    assert isinstance(walk.failure, Timeout)


def test_a_body_is_kept_without_secrets_and_without_what_it_tells_of_us(bench, tmp_path):
    import gzip

    body = b'{"data":{"ip_info":{"ip":"203.0.113.7","x":{"y":1}},"login_mid":1000,"name":"me","cid":5,"echo":"s3cret"}}'
    fail(bench, LayoutChanged("?"), body=body)
    with gzip.open(bench.rows("SELECT location FROM artifacts")[0][0]) as file:
        kept = file.read()
    assert kept == b'{"data":{"ip_info":null,"login_mid":null,"name":null,"cid":5,"echo":"..."}}'


def test_other_bodies_are_kept_as_they_came():
    assert discreet(b'{"data":{"name":"a commenter","mid":7}}') == b'{"data":{"name":"a commenter","mid":7}}'
