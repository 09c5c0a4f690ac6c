"""What goes wrong inside a run: pages that nobody understands, a database that is taken away, a lease that is lost."""

from __future__ import annotations

import asyncio
import gzip
import json
import platform
import sqlite3
import time

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.errors import RobotsUnknown, StoreLocked
from research_scrapers.providers.youtube.web import WebRoute


@ensureDeferred
async def test_a_page_that_nobody_understands_is_kept_and_told(replica, workplace, monkeypatch, caplog):
    yt = replica("--videos", "2", "--comments", "30-40")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    read = WebRoute.read

    def broken(self, video_id, cursor, answer, fetched_at, options, session):
        if video_id == yt.videos[0] and cursor.step == "page":
            raise KeyError("surprise")
        return read(self, video_id, cursor, answer, fetched_at, options, session)

    monkeypatch.setattr(WebRoute, "read", broken)
    await work.crawl_here()
    row = work.coverage(yt.videos[0])
    assert (row["status"], row["reason"], row["detail"]) == ("failed", "layout_changed", "KeyError: 'surprise'")
    assert work.coverage(yt.videos[1])["outcome"] == "complete"
    location, size = work.query("SELECT location, size FROM artifacts")[0]
    with gzip.open(location) as file:
        body = file.read()
    assert len(body) == size
    assert "onResponseReceivedEndpoints" in json.loads(body)
    assert "LAYOUT CHANGED" in caplog.text


@ensureDeferred
async def test_a_database_that_stays_locked_stops_the_run_and_loses_nothing(replica, workplace, monkeypatch):
    yt = replica("--videos", "3", "--comments", "60-90", "--latency-ms", "30")
    work = workplace(yt.origin)
    work.links(*yt.videos)
    from research_scrapers.store import database

    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.2)
    monkeypatch.setattr(database.Store.__init__, "__kwdefaults__", {"busy_timeout": 0.2})
    other = None

    async def lock():
        nonlocal other
        while not work.db.exists() or yt.counters()["total"] < 12:
            await asyncio.sleep(0.05)
        other = sqlite3.connect(work.db, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

    task = asyncio.ensure_future(lock())
    crawler = await work.crawl_here()
    assert isinstance(crawler.spider.failure, StoreLocked)
    other.close()
    assert task.done()
    with sqlite3.connect(work.db) as conn:  # as if that process had ended, which this one has not
        conn.execute("UPDATE sub_jobs SET owner = ? WHERE status = 'in_progress'", (f"{platform.node()}/4194305/1/x",))
    conn.close()
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    assert sorted(work.ids()) == sorted(c for video in yt.videos for c in yt.truth(video)["parents"])


@ensureDeferred
async def test_a_sub_job_that_another_process_took_over_is_let_go(replica, workplace):
    yt = replica("--videos", "2", "--comments", "100-120", "--latency-ms", "40")
    work = workplace(yt.origin)
    work.links(*yt.videos)

    async def steal():
        while yt.counters()["total"] < 8:
            await asyncio.sleep(0.02)
        thief = sqlite3.connect(work.db)
        with thief:
            thief.execute(
                "UPDATE sub_jobs SET owner = 'thief', attempt = attempt + 1, lease_until = ? WHERE video_id = ?",
                (time.time() + 3600, yt.videos[0]),
            )
        thief.close()

    task = asyncio.ensure_future(steal())
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    assert task.done()
    assert work.query("SELECT status, owner FROM sub_jobs WHERE video_id = ?", yt.videos[0]) == [
        ("in_progress", "thief")
    ]
    assert work.coverage(yt.videos[1])["outcome"] == "complete"


@ensureDeferred
@pytest.mark.parametrize("status", [500, 503])
async def test_robots_that_cannot_be_read(replica, workplace, status):
    yt = replica("--videos", "1")
    yt.faults({"action": "status", "status": status, "path": "/robots.txt"})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here()
    assert isinstance(crawler.spider.failure, RobotsUnknown)
    assert set(yt.counters()["by_path"]) == {"www.youtube.com/robots.txt"}


@ensureDeferred
async def test_no_robots_file_forbids_nothing(replica, workplace):
    yt = replica("--videos", "1", "--comments", "3-5", "--robots", "real")
    yt.faults({"action": "status", "status": 404, "path": "/robots.txt"})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    crawler = await work.crawl_here()
    assert crawler.spider.failure is None
    assert work.coverage(yt.videos[0])["outcome"] == "complete"


@ensureDeferred
async def test_leases_are_renewed_while_a_long_run_goes_on(replica, workplace):
    yt = replica("--videos", "1", "--comments", "5-9")
    yt.faults({"action": "hang", "seconds": 5, "path": "/watch", "count": 1})
    work = workplace(yt.origin)
    work.links(*yt.videos)
    until = []

    async def watch():
        while not yt.counters()["by_path"].get("www.youtube.com/watch"):
            await asyncio.sleep(0.05)
        for _ in range(2):
            await asyncio.sleep(1)
            until.append(work.query("SELECT lease_until FROM sub_jobs")[0][0])

    task = asyncio.ensure_future(watch())
    await work.crawl_here(settings={"LEASE_S": 1.5, "DOWNLOAD_TIMEOUT": 10})
    assert task.done()
    assert until[1] > until[0] + 0.4
