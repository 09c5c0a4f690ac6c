"""Danmaku: each once, whichever source told it first; a richer source adds to it."""

import json

from research_scrapers.models import Cursor, Options, Page
from research_scrapers.store.danmaku import danmaku_of_run
from tests.factories import VIDEO, Bench, danmaku

ALL = Options()


def store(bench, lease, token, *records):
    page = Page(Cursor("", "page", str(token)), records=records, next=Cursor("", "page", str(token + 1)))
    return bench.ledger.commit_page(lease, page, ALL)


def test_each_is_stored_once_and_told_once(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim("0")
    assert [d.danmaku_id for d in store(bench, lease, 0, danmaku("1"), danmaku("2"), danmaku("1")).fresh] == ["1", "2"]
    receipt = store(bench, lease, 1, danmaku("2"), danmaku("3"))
    assert ([d.danmaku_id for d in receipt.fresh], receipt.added) == (["3"], 1)
    assert bench.rows("SELECT top_level, replies FROM sub_jobs") == [(3, 0)]
    assert sorted(d.danmaku_id for d in danmaku_of_run(bench.store.conn, bench.run)) == ["1", "2", "3"]


def test_the_same_number_in_another_part_is_another_danmaku(tmp_path):
    bench = Bench(tmp_path)
    store(bench, bench.claim("0"), 0, danmaku("1"), danmaku("1", part=2, cid="22"))
    assert bench.rows("SELECT part, cid FROM danmaku ORDER BY 1") == [(1, "11"), (2, "22")]


def test_a_source_that_tells_more_adds_to_it_and_takes_nothing_away(tmp_path):
    bench = Bench(tmp_path)
    lease = bench.claim("0")
    store(bench, lease, 0, danmaku("1", weight=None, extras={"source": "xml", "xml_weight": 7}))
    store(bench, lease, 1, danmaku("1", weight=9, extras={"source": "segment", "likes": 3}))
    weight, extras = bench.rows("SELECT weight, extras FROM danmaku")[0]
    assert (weight, json.loads(extras)) == (9, {"source": "xml", "xml_weight": 7, "likes": 3})
    store(bench, lease, 2, danmaku("1", weight=2))
    assert bench.rows("SELECT weight FROM danmaku") == [(9,)]


def test_another_run_sees_them_anew_but_stores_none_twice(tmp_path):
    bench = Bench(tmp_path)
    store(bench, bench.claim("0"), 0, danmaku("1"))
    bench.begin("run_2", VIDEO)
    receipt = store(bench, bench.claim("0"), 0, danmaku("1"), danmaku("2"))
    assert [d.danmaku_id for d in receipt.fresh] == ["1", "2"]
    assert bench.rows("SELECT count(*) FROM danmaku") == [(2,)]
    assert [d.danmaku_id for d in danmaku_of_run(bench.store.conn, "run_1")] == ["1"]


def test_more_than_one_statement_can_hold(tmp_path):
    bench = Bench(tmp_path)
    records = [danmaku(str(n)) for n in range(17_294)]  # the largest segment on record
    receipt = store(bench, bench.claim("0"), 0, *records)
    assert receipt.added == 17_294
    assert next(iter(danmaku_of_run(bench.store.conn, bench.run))) == records[0]
