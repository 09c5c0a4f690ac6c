"""A run report from samples: right numbers, bounded pictures, nothing that a browser would run."""

from __future__ import annotations

import re

import pytest

from research_scrapers.models import Kind, Link
from research_scrapers.reporting.histogram import Histogram
from research_scrapers.reporting.run_page import run_page
from research_scrapers.reporting.run_report import all_lines, run_report
from research_scrapers.reporting.run_text import run_text
from research_scrapers.reporting.svg import lines_over_time
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Runs
from research_scrapers.store.samples import Sample, read_samples, standing_by_kind, write_samples

EVIL = '"><script>alert(1)</script>'


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "research.db")
    runs = Runs(store)
    runs.create("run_a", "scrape", config={}, jobdir=None, links=EVIL)
    runs.take_in("run_a", [Link("youtube", "v" * 11, 1, "x")], {"youtube": (Kind.COMMENTS,)}, "it")
    yield store
    store.close()


def samples(count: int, *, start: float = 1000.0, line: str = "yt_comments", every: float = 2.0):
    return [
        Sample("run_a", line, start + number * every, every, requests=4, pages=2, records=20, busy=3,
               errors={EVIL: 1}, latency={"host/x": {50: 3, 60: 1}, EVIL: {40: 1}})
        for number in range(count)
    ]  # fmt: skip


def test_samples_come_back_as_they_were_written(store):
    write_samples(store, samples(3))
    assert list(read_samples(store.conn, "run_a")) == samples(3)
    assert standing_by_kind(store, "run_a") == {("youtube", Kind.COMMENTS): (0, 1)}


def test_numbers_add_up_over_lines_and_sessions(store):
    write_samples(store, samples(5))
    write_samples(store, samples(5, line="bili_comments"))
    write_samples(store, samples(5, start=90_000.0))
    report = run_report(store.conn, "run_a")
    assert report.seconds == 20.0  # ten intervals of work; the day between the sessions is none
    assert {line.name: line.requests for line in report.lines} == {"yt_comments": 40, "bili_comments": 20}
    assert report.errors == {EVIL: 15}
    assert report.endpoints[0].latency.total == 60
    together = all_lines(report.lines)
    assert [moment.requests for moment in together] == [8] * 5 + [4] * 5


def test_two_processes_at_once_do_not_make_an_hour_longer(store):
    write_samples(store, samples(10))
    write_samples(store, samples(10, start=1001.0))
    assert run_report(store.conn, "run_a").seconds == 21.0


def test_a_long_run_is_a_small_picture_that_lost_nothing(store):
    write_samples(store, samples(3000))
    (line,) = run_report(store.conn, "run_a").lines
    assert len(line.moments) <= 201
    assert sum(moment.pages for moment in line.moments) == line.pages == 6000
    assert {round(moment.pages / moment.seconds, 6) for moment in line.moments} == {1.0}


def test_the_page_needs_nothing_and_runs_nothing(store):
    write_samples(store, samples(5))
    page = run_page(run_report(store.conn, "run_a"))
    assert "<script" not in page.lower()
    assert "&lt;script&gt;" in page
    assert not re.search(r"https?://|src=|url\(|@import|\son\w+=", page)
    for title in ("Rate over time", "Latency over time", "Answers that were refused", "Coverage"):
        assert title in page
    assert page.count("<svg") == page.count("</svg>") >= 5


def test_a_run_that_nobody_watched_still_has_its_coverage(store):
    report = run_report(store.conn, "run_a")
    assert "not watched" in run_text(report)
    assert "youtube comments" in run_text(report)
    assert "not watched" in run_page(report)


def test_text_tells_the_same(store):
    write_samples(store, samples(5))
    text = run_text(run_report(store.conn, "run_a"))
    assert "20 requests (2.0/s), 10 pages" in text
    assert re.search(r"host/x +20 +\d+ ms", text)


def test_a_picture_of_nothing_is_a_picture():
    assert "<polyline" in lines_over_time("t", "u", {"none": []})


@pytest.mark.parametrize("seconds", [0.0, 0.0004, 0.05, 0.3, 1.0, 29.0, 300.0])
def test_quantiles_are_right_to_a_twentieth(seconds):
    histogram = Histogram()
    for _ in range(100):
        histogram.add(seconds)
    assert histogram.quantile(0.5) == pytest.approx(max(seconds, 0.001), rel=0.05)


def test_quantiles_of_a_mixture():
    histogram = Histogram()
    for number in range(1000):
        histogram.add((number + 1) / 1000)
    assert histogram.quantile(0.5) == pytest.approx(0.5, rel=0.06)
    assert histogram.quantile(0.95) == pytest.approx(0.95, rel=0.06)
    earlier = dict(histogram.counts)
    histogram.add(5.0)
    assert sum(histogram.since(earlier).values()) == 1
    assert Histogram(histogram.counts).total == 1001
    assert Histogram().quantile(0.5) is None
