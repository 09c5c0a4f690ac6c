"""Those who look on: what they say, and that their own mistakes hurt nobody."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from types import SimpleNamespace

import pytest
from pytest_twisted import ensureDeferred
from rich.console import Console
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred

from research_scrapers.control.events import Event, Listeners
from research_scrapers.control.watching import Ticking, Watcher, Watchers
from research_scrapers.errors import SettingInvalid, StoreLocked
from research_scrapers.reporting.histogram import Histogram
from research_scrapers.seeing.live import drawn
from research_scrapers.seeing.logs import JsonLog
from research_scrapers.seeing.metrics import Numbers, endpoint_of
from research_scrapers.seeing.plain import told
from research_scrapers.seeing.prometheus import exposition
from research_scrapers.seeing.troubles import Troubles
from research_scrapers.seeing.view import LineView, View
from research_scrapers.seeing.words import harmless, lasting, state_of
from research_scrapers.spiders.yt_comments import YtCommentsSpider


def line(name: str = "yt_comments", **other: object) -> LineView:
    known = {"done": 5, "total": 10, "pages": 50, "records": 900, "rate": 2.5, "in_flight": 3, "waiting": 4,
             "queue": 5, "busy": 2, "state": "closed", "wait_s": 0.0, "reason": "", "eta_s": 75.0}  # fmt: skip
    return LineView(name, **{**known, **other})  # type: ignore[arg-type]


def view(*lines: LineView, **other: object) -> View:
    known = {"busy": 7, "workers": 8, "stolen": 3, "utilisation": 0.97, "in_flight": 12, "most": 64, "waiting": 4,
             "rate": 2.5, "eta_s": 75.0}  # fmt: skip
    return View("run_a", 60.0, lines, **{**known, **other})  # type: ignore[arg-type]


def test_metrics_tell_counters_to_the_last_digit():
    latency = Histogram()
    latency.seconds = 1234567.25
    numbers = SimpleNamespace(requests=12345678, retries=3, statuses={200: 12345675}, errors={}, ended={},
                              latencies={"x/y": latency}, stat=lambda name: 0)  # fmt: skip
    metrics = SimpleNamespace(lines={"yt_comments": numbers}, gate=SimpleNamespace(slots=dict))
    now = view(line(records=98765432, rate=2.5))
    text = exposition(metrics, SimpleNamespace(look=lambda: now))
    for expected in (
        'requests_total{run="run_a",line="yt_comments"} 12345678',
        'answers_total{run="run_a",line="yt_comments",status="200"} 12345675',
        'records_total{run="run_a",line="yt_comments"} 98765432',
        'latency_seconds_sum{run="run_a",line="yt_comments",endpoint="x/y"} 1234567.25',
        'pages_per_second{run="run_a",line="yt_comments"} 2.5',
        'breaker{run="run_a",line="yt_comments",state="closed"} 1',
        'workers_utilisation{run="run_a"} 0.97',
    ):
        assert f"research_{expected}\n" in text


class Clumsy(Watcher):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def begin(self, centre, gate):
        self.asked.append("begin")
        raise RuntimeError("clumsy")

    def crawler(self, line, crawler):
        self.asked.append("crawler")

    def end(self):
        self.asked.append("end")
        raise RuntimeError("clumsy to the end")


def test_a_watcher_that_raises_is_left_out_but_may_tidy_up(caplog):
    clumsy = Clumsy()
    watchers = Watchers(clumsy, Watcher())
    watchers.begin(None, None)  # type: ignore[arg-type]
    watchers.crawler("x", SimpleNamespace(signals=SimpleNamespace(connect=lambda *_, **__: None)))  # type: ignore[arg-type]
    watchers.end()
    assert clumsy.asked == ["begin", "end"]
    assert "Clumsy failed and is left out; the run goes on" in caplog.text


def test_a_watcher_that_meets_a_locked_database_says_it_in_a_sentence(caplog):
    class Unlucky(Watcher):
        def end(self):
            raise StoreLocked("research.db")

    Watchers(Unlucky()).end()
    assert "Unlucky is left out: The database is locked by another program: research.db" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_line_whose_crawl_never_began_has_counted_nothing():
    numbers = Numbers(Crawler(YtCommentsSpider))
    assert (numbers.stat("research/pages"), numbers.errors) == (0, {})


@ensureDeferred
async def test_what_ticks_and_raises_ticks_no_more(caplog):
    times: list[int] = []

    def tick() -> None:
        times.append(1)
        raise RuntimeError("no")

    async def run() -> None:
        ticking = Ticking(lambda: 0.001, tick)
        ticking.start()
        await asyncio.sleep(0.05)
        ticking.stop()

    await Deferred.fromFuture(asyncio.ensure_future(run()))
    assert times == [1]
    assert "the run goes on" in caplog.text


def test_the_display_fits_its_terminal_and_says_what_matters():
    troubles = Troubles()
    troubles.handle(logging.makeLogRecord({"levelno": logging.ERROR, "msg": "bad \x1b[2J thing" + "x" * 200}))
    state = view(line(), line("bili_comments", state="open", wait_s=30.0, eta_s=None),
                 line("bili_transcripts", state="stopped", reason="site_blocked"),
                 line("yt_transcripts", done=10))  # fmt: skip
    for width in (80, 110, 140):
        console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True)
        console.print(drawn(state, troubles, width))
        lines = console.export_text().splitlines()
        assert len(lines) == 8  # nothing wraps: head, names, four lines, workers, one trouble
        assert all(len(text) <= width for text in lines)
    text = "\n".join(lines)
    for part in ("25 of 40 done in 1 min 00 s", "open until ", "stopped: site_blocked", "7 of 8 workers busy",
                 "3 stolen", "12 of 64 in flight", "1 min 15 s left", "done", "bad  [2J thing"):  # fmt: skip
        assert part in text


def test_plain_lines_say_the_same_and_leave_out_what_is_done():
    lines = told(view(line(), line("yt_transcripts", done=10), eta_s=None))
    assert len(lines) == 2
    assert "time left unknown" in lines[0]
    assert "5 of 10 done, 900 records, 2.5 pages/s, 3 in flight, 4 waiting, breaker ok, 1 min 15 s left" in lines[1]


def test_words():
    assert [lasting(s) for s in (None, 3, 65, 7260, 9e5)] == ["?", "3 s", "1 min 05 s", "2 h 01 min", "10 days"]
    assert harmless("a\x1b[31m\nb\u202ec") == "a [31m b c"
    assert state_of(line(state="half-open")) == "half-open"


def test_endpoints_have_no_ids_and_no_secrets():
    assert endpoint_of("https://www.youtube.com/youtubei/v1/next?key=SECRET") == "www.youtube.com/youtubei/v1/next"
    assert endpoint_of("https://comment.bilibili.com/12345.xml") == "comment.bilibili.com/*"
    assert endpoint_of("https://a.com/bfs/subtitle/0a1b2c.json?auth_key=1") == "a.com/bfs/subtitle/*"


def test_json_logs_know_who_and_keep_secrets(tmp_path):
    lease = SimpleNamespace(id=7, job_id=3, video_id="v")
    worker = SimpleNamespace(number=2, lease=lease, line=SimpleNamespace(name="yt_comments"))
    listeners = Listeners()
    centre = SimpleNamespace(session=SimpleNamespace(run=SimpleNamespace(id="run_a")), workers=[worker],
                             listeners=listeners)  # fmt: skip
    path = tmp_path / "log.jsonl"
    log = JsonLog(path, ['pa"ss-w/'])
    log.begin(centre, None)  # type: ignore[arg-type]
    try:
        logging.getLogger("x").error('the key is pa"ss-w/ or pa%%22ss-w%%2F, %s', "zh 中", extra={"sub_job": 7})
        try:
            raise ValueError('pa"ss-w/')
        except ValueError:
            logging.getLogger("x").exception("it broke")
        listeners.tell(Event("assigned", "run_a", line="yt_comments", worker=2, sub_job=7, position=1))
    finally:
        log.end()
    logging.getLogger("x").error("afterwards")
    first, second, third = (json.loads(text) for text in path.read_text(encoding="utf-8").splitlines())
    assert first["message"] == "the key is … or …, zh 中"
    ids = {"run": "run_a", "job": 3, "sub_job": 7, "worker": 2, "line": "yt_comments"}
    assert ids.items() <= first.items()
    assert "Traceback" in second["exception"]
    assert "ss-w" not in path.read_text(encoding="utf-8")
    assert (third["event"], third["position"], third["worker"]) == ("assigned", 1, 2)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_written_is_one_clear_error(tmp_path):
    with pytest.raises(SettingInvalid, match="--log-json"):
        JsonLog(tmp_path / "nowhere" / "log.jsonl")
