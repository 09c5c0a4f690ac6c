"""Where requests may go: the providers' own hosts, in one spelling, and nowhere else; and who may come to us."""

from __future__ import annotations

import os
import re
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro
from twisted.web.client import URI

import research_scrapers
from research_scrapers.config import Config, Limits
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.handler import OffsiteRefused, ProviderHandler
from research_scrapers.crawling.requests import request_of
from research_scrapers.errors import LayoutChanged, NotAVideo, SettingInvalid
from research_scrapers.models import Answer, Ask, Cursor, Kind, Options
from research_scrapers.providers import providers
from research_scrapers.providers.bilibili.metadata import MetadataRoute
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.store.artifacts import keep_body
from research_scrapers.store.database import Store
from tests.factories import Bench

PACKAGE = Path(research_scrapers.__file__).parent
LOOPBACK = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001",
    "0", "0.0.0.0", "localhost", "localhost.", "LOCALHOST", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.1.nip.io", "127。0。0。1", "①②⑦.⓪.⓪.①", "[::1%25lo]",
)  # fmt: skip
PRIVATE = (
    "169.254.169.254", "2852039166", "0xa9fea9fe", "[fe80::1]", "[fd00::1]", "[::ffff:169.254.169.254]", "10.0.0.1",
    "192.168.0.1", "172.16.0.1", "100.64.0.1", "metadata.google.internal", "224.0.0.1", "255.255.255.255",
)  # fmt: skip
DISGUISED = (
    "www.youtube.com.evil.example", "evil.example#www.youtube.com", "evil.example?www.youtube.com",
    "www.youtube.com@evil.example", "evil.example@www.youtube.com", "www.youtube.com:80", "www.youtube.com:8443",
    "www.youtube.com:0", "www.youtube.com:443@evil.example", "www.youtube.com\\@evil.example",
    "evil.example\\@www.youtube.com", "www.youtube.com%2eevil.example", "www.youtube.com%00.evil.example",
    "wwwyoutube.com", "evil-youtube.com", "xn--www-youtube-com.example", "www.youtube.com..", "x.bilibili.com.evil",
    "evil.bilibili.com", "evil.youtube.com", "user:pass@www.youtube.com", "[www.youtube.com]", "www.youtube.com,evil",
)  # fmt: skip
SCHEMES = ("http://www.youtube.com/", "ftp://www.youtube.com/", "file:///etc/passwd", "file://www.youtube.com/etc/passwd",
           "data:text/plain,x", "gopher://www.youtube.com/", "s3://www.youtube.com/x", "javascript:x")  # fmt: skip


def _settings(**more: object) -> Settings:
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    settings.setdict(more, priority="cmdline")
    return settings


@pytest.fixture
def handler(monkeypatch):
    crawler = Crawler(YtCommentsSpider, _settings())
    crawler.spider = YtCommentsSpider()
    crawler.spider.gate = Gate(Limits())
    crawler._apply_settings()
    made = ProviderHandler(crawler)
    made.sent = []

    async def record(request):
        made.sent.append(request.url)
        raise OSError("no network here")

    monkeypatch.setattr(made._inner, "download_request", record)
    return made


@ensureDeferred
@pytest.mark.parametrize(
    "url", [*(f"https://{host}/x" for host in (*LOOPBACK, *PRIVATE, *DISGUISED)), *SCHEMES], ids=ascii
)
async def test_no_other_host_is_ever_reached(handler, url):
    try:
        request = Request(url, meta={"research_domain": "youtube.com", "research_line": "youtube:comments"})
    except ValueError:
        return  # Scrapy does not even take it
    if URI.fromBytes(request.url.encode()).host == b"www.youtube.com" and request.url.startswith(
        "https://www.youtube.com/"
    ):
        return  # a backslash is a slash to browsers and to Scrapy: what looked like another host is a path here
    with pytest.raises((OffsiteRefused, ValueError)):
        await deferred_from_coro(handler.download_request(request))
    assert handler.sent == []


@ensureDeferred
@pytest.mark.parametrize("host", sorted({host for site in providers().values() for host in site.hosts}))
async def test_the_sites_own_hosts_are_reached(handler, host):
    for written in (host, host.upper(), f"{host}:443"):
        meta = {"research_domain": "youtube.com", "research_line": "youtube:comments"}
        with pytest.raises(OSError, match="no network"):
            await deferred_from_coro(handler.download_request(Request(f"https://{written}/x", meta=meta)))
    assert len(handler.sent) == 3


@pytest.mark.parametrize("host", [*LOOPBACK, *PRIVATE, *DISGUISED], ids=ascii)
def test_a_short_link_that_leads_away_is_told_and_not_followed(host):
    for scheme in ("https", "http", "file", "gopher"):
        target = f"{scheme}://{host}/video/BV17x411w7KC"
        answer = Answer("https://b23.tv/AbC1234", 302, b"", {"location": target})
        cursor = Cursor("", "short", "AbC1234")
        try:
            page = MetadataRoute().read("b23:AbC1234", cursor, answer, datetime.now(UTC), Options())
        except NotAVideo:
            continue
        # Only an id is ever taken from it, and that only where the host is Bilibili's.
        assert page.resolved == ("BV17x411w7KC",)
        assert host.endswith("bilibili.com")


@pytest.mark.parametrize("host", [*LOOPBACK, *PRIVATE, *DISGUISED], ids=ascii)
def test_no_description_of_a_request_names_another_host(host):
    for site in providers().values():
        with pytest.raises(LayoutChanged, match="not its own"):
            request_of(Ask(f"https://{host}/x"), site, "line", Kind.COMMENTS)


@pytest.mark.parametrize(
    "origin",
    ["http://10.0.0.1:1", "http://0.0.0.0:1", "http://169.254.169.254", "https://127.0.0.1", "http://[::",
     "http://x@evil", "http://127.0.0.1@evil.example",
     "http://localhost.evil.example", "file:///x", "http://127.0.0.1/path", "//127.0.0.1",
     "http://[fe80::1]", "http://2852039166"],
)  # fmt: skip
def test_a_replica_is_on_this_machine(origin):
    with pytest.raises(SettingInvalid, match="loopback"):
        Config.from_settings(_settings(ORIGIN=origin))


# -- who may come to us ----------------------------------------------------------------------------------------------


def test_nothing_of_scrapys_listens():
    settings = _settings()
    for name in ("TELNETCONSOLE_ENABLED", "REMOTE_CONTROL_ENABLED", "REDIRECT_ENABLED", "METAREFRESH_ENABLED"):
        assert settings.getbool(name) is False
    assert settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")


def test_no_address_of_all_interfaces_is_written_anywhere():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        assert not re.search(r"""(?:interface|host|bind|listen)[^\n]*["']0\.0\.0\.0["']""", text), path
        assert not re.search(r"""(?:interface|host)\s*=\s*["']{2}""", text), path


def test_the_replica_listens_on_loopback_only(replica):
    yt = replica("--videos", "1")
    port = int(yt.origin.rpartition(":")[2])
    listening = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text("ascii").splitlines()[1:] if Path(table).exists() else ():
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                listening.append(local.rpartition(":")[0])
    assert listening == ["0100007F"]
    with socket.create_connection(("127.0.0.1", port), 5):
        pass


# -- files -----------------------------------------------------------------------------------------------------------


def test_what_is_stored_is_for_its_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        bench = Bench(tmp_path)
        keep_body(bench.store, bench.claim(), b"a body")
    finally:
        os.umask(old)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    (kept,) = (path for path in files if path.suffix == ".gz")
    assert {path.name for path in files} >= {"research.db", "research.db-wal"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert all(
        path.stat().st_mode & 0o077 == 0 for path in kept.parents if path != tmp_path and tmp_path in path.parents
    )
    bench.store.close()


def test_a_database_that_others_could_read_is_closed_to_them(tmp_path):
    path = tmp_path / "research.db"
    Store(path).close()
    path.chmod(0o644)
    Store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
