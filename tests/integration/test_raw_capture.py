"""Raw bodies: kept before their page, linked with it, free of whoever asked; and records read from them once more."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
import zlib

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.cli.main import cli
from research_scrapers.errors import InputError, SettingInvalid
from research_scrapers.replica.bilibili.player import VIEWER
from research_scrapers.spiders.bili_comments import BiliCommentsSpider
from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

FAST = {"DOMAIN_RATE": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "RAW_CAPTURE": True}
LOGIN = "replica-sessdata"
RECORDS = {
    "comments": "SELECT video_id, comment_id, parent_id, root_id, depth, text, author_name, like_count, position,"
    " published_after, content_hash, fetched_at FROM comments ORDER BY 1, 2",
    "transcripts": "SELECT video_id, part, language, kind, name, version, content_hash, fetched_at, extras, (SELECT"
    " group_concat(start || text) FROM transcript_segments s WHERE s.transcript = t.id) FROM transcripts t"
    " ORDER BY 1, 2, 3, 4, 5, 6",
    "danmaku": "SELECT video_id, cid, danmaku_id, progress_ms, text, content_hash, fetched_at, extras FROM danmaku"
    " ORDER BY 1, 2, 3",
    "videos": "SELECT * FROM videos ORDER BY 1, 2",
}
SPIDERS = [YtCommentsSpider, YtTranscriptsSpider, BiliCommentsSpider, BiliTranscriptsSpider]


def everything(work, db=None):
    connection = sqlite3.connect(db or work.db)
    try:
        return {name: connection.execute(query).fetchall() for name, query in RECORDS.items()}
    finally:
        connection.close()


def delete_records(work):
    connection = sqlite3.connect(work.db)
    for table in ("sightings", "transcript_sightings", "danmaku_sightings", "comment_revisions", "comments",
                  "transcript_segments", "transcripts", "danmaku", "videos"):  # fmt: skip
        connection.execute(f"DELETE FROM {table}")
    connection.commit()
    connection.close()


def bodies(work):
    return {path.name: zlib.decompress(path.read_bytes()) for path in work.db.with_suffix(".artifacts").rglob("*.z")}


def reparse(work, *more: str, code: int = 0):
    """As a person types it, but here."""
    from click.testing import CliRunner

    result = CliRunner().invoke(cli, ["reparse", "last", "--db", str(work.db), *more])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture
def played(replica):
    return replica(
        spec=[
            {"comments": 70},
            {"comments": 8},
            {"site": "bilibili", "comments": 30, "danmaku": 40, "parts": 2},
        ]
    )


@pytest.mark.parametrize("spider", SPIDERS, ids=lambda spider: spider.name)
@ensureDeferred
async def test_records_are_read_again_from_their_bodies(spider, played, workplace, tmp_path):
    work = workplace(played.origin)
    work.links(*played.videos, *played.bili_videos)
    await work.crawl_here(settings={**FAST, "BILIBILI_SESSDATA": LOGIN}, spider=spider)
    before = everything(work)
    assert any(before[name] for name in ("comments", "transcripts", "danmaku"))
    artifacts = work.query("SELECT location, checksum, size FROM artifacts WHERE kind = 'raw_body'")
    kept = bodies(work)
    assert {location.rpartition("/")[2] for location, _, _ in artifacts} == kept.keys()
    assert len(artifacts) <= work.query("SELECT sum(pages) FROM sub_jobs")[0][0]
    sent = played.counters()

    told = reparse(work)
    assert "added" not in told
    assert "changed," not in told
    assert everything(work) == before

    delete_records(work)
    assert "added" in reparse(work)
    assert everything(work) == before
    sightings = "SELECT (SELECT count(*) FROM sightings) + (SELECT count(*) FROM transcript_sightings)"
    assert work.query(sightings)[0][0] == len(before["comments"]) + len(before["transcripts"])

    reparse(work, "--into", str(tmp_path / "new.db"))
    assert everything(work, tmp_path / "new.db") == before
    assert played.counters() == sent  # not one request


@ensureDeferred
async def test_what_a_site_says_of_whoever_asks_is_not_kept(played, workplace):
    work = workplace(played.origin)
    work.links(*played.videos, *played.bili_videos)
    for spider in SPIDERS:
        await work.crawl_here(settings={**FAST, "BILIBILI_SESSDATA": LOGIN}, spider=spider, jobdir=spider.name)
    await work.crawl_here(settings={**FAST, "YOUTUBE_API_KEY": "replica-key"}, jobdir="official")
    assert "added" not in reparse(work)
    kept = bodies(work)
    assert any(b'"login_mid":-1' in body for body in kept.values())
    everything_kept = b"".join(kept.values()) + work.db.read_bytes()
    for canary in (
        b"203.0.113.7",
        b"ip_info",
        b"login_mid_hash",
        f'"login_mid":{VIEWER}'.encode(),
        b'"192.0.2.1"',
        LOGIN.encode(),
        b"replica-key",
        b"w_rid=",
    ):
        assert canary not in everything_kept, canary
    contexts = [json.loads(row[0]) for row in work.query("SELECT context FROM artifacts")]
    assert {name for context in contexts for name in context["headers"]} <= {"content-type", "date", "location"}


@ensureDeferred
async def test_limits_hold_when_bodies_are_read_again(played, workplace):
    work = workplace(played.origin)
    work.links(*played.videos)
    await work.crawl_here(settings=FAST, max_comments="9", max_replies="2")
    before = everything(work)
    assert len(before["comments"]) == 18
    delete_records(work)
    reparse(work)
    assert everything(work) == before
    # A run of `research scrape` notes what was typed, for all its lines together.
    connection = sqlite3.connect(work.db)
    typed = json.dumps({"lines": ["yt_comments"], "max_comments": "9", "max_replies": "2", "languages": "en"})
    connection.execute("UPDATE runs SET spider = 'scrape', config = json_set(config, '$.options', json(?))", (typed,))
    connection.commit()
    connection.close()
    delete_records(work)
    reparse(work)
    assert everything(work) == before


@ensureDeferred
async def test_a_mended_parser_leaves_revisions_and_a_later_visit_stands(played, workplace):
    work = workplace(played.origin)
    work.links(played.videos[1])
    await work.crawl_here(settings=FAST)
    texts = dict(work.query("SELECT comment_id, text FROM comments"))
    first, second, *_ = texts
    connection = sqlite3.connect(work.db)
    connection.create_function("segmented", 1, str)  # the full-text index is made with it
    connection.execute("UPDATE comments SET text = 'misread', content_hash = 'x' WHERE comment_id = ?", (first,))
    connection.execute(
        "UPDATE comments SET text = 'edited', content_hash = 'y', fetched_at = '2099-01-01T00:00:00.000Z'"
        " WHERE comment_id = ?", (second,),
    )  # fmt: skip
    connection.commit()
    connection.close()
    told = reparse(work)
    assert "1 changed" in told
    assert "1 left as a later visit" in told
    assert dict(work.query("SELECT comment_id, text FROM comments")) == {**texts, second: "edited"}
    assert work.query("SELECT text FROM comment_revisions") == [("misread",)]


@ensureDeferred
async def test_a_body_that_is_gone_is_told_and_the_rest_is_read(played, workplace):
    work = workplace(played.origin)
    work.links(played.videos[0])
    await work.crawl_here(settings=FAST)
    for number, path in enumerate(sorted(work.db.with_suffix(".artifacts").rglob("*.z"))[:2]):
        path.unlink() if number else path.write_bytes(zlib.compress(b"something else"))
    assert "2 could not be read" in reparse(work, code=1)


@ensureDeferred
async def test_a_run_without_bodies_says_so(played, workplace):
    work = workplace(played.origin)
    work.links(played.videos[1])
    await work.crawl_here(settings={**FAST, "RAW_CAPTURE": False})
    assert not work.db.with_suffix(".artifacts").exists()
    with pytest.raises(InputError, match="kept no bodies"):
        reparse(work)


@ensureDeferred
async def test_bodies_are_not_kept_under_a_privacy_policy(played, workplace):
    work = workplace(played.origin)
    work.links(played.videos[1])
    with pytest.raises(SettingInvalid, match="PRIVACY=pseudonyms"):
        await work.crawl_here(settings={**FAST, "PRIVACY": "pseudonyms"})


def test_a_killed_run_links_no_body_that_is_not_there(played, workplace):
    work = workplace(played.origin)
    work.links(*played.videos)
    command = work.command("-s", "RAW_CAPTURE=True")
    for pages in (2, 5):
        played.latency(0.05)
        process = subprocess.Popen(command, env=work.environment, cwd=work.folder, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if work.db.exists() and _links(work) >= pages:
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        folder = work.db.with_suffix(".artifacts")
        assert all((folder / row[0]).is_file() for row in work.query("SELECT location FROM artifacts"))
    played.latency(0)
    assert work.crawl("-s", "RAW_CAPTURE=True").returncode == 0
    before = everything(work)
    expected = {one for video in played.videos for one in played.truth(video, texts=False)["parents"]}
    assert {row[1] for row in before["comments"]} == expected
    delete_records(work)
    reparse(work)
    assert everything(work) == before


def _links(work) -> int:
    try:
        return work.query("SELECT count(*) FROM artifacts")[0][0]
    except sqlite3.OperationalError:
        return 0
