"""What many tests share: replicas, in-process crawls, and the command as a person types it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import vcr
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro

from chaos.forks import Forks
from research_scrapers.replica.launch import ReplicaProcess
from research_scrapers.spiders.bili_comments import BiliCommentsSpider
from research_scrapers.spiders.yt_comments import YtCommentsSpider

ROOT = Path(__file__).parents[1]
LOGIN = "replica-sessdata"
"""The cookie that is logged in at the replica's Bilibili."""
_OURS = (
    "RESEARCH_DB", "RESEARCH_ORIGIN", "RESEARCH_ROBOTS", "YOUTUBE_API_KEY", "BILIBILI_SESSDATA", "BILIBILI_COOKIES",
    "RESEARCH_BLOBS", "RESEARCH_PRIVACY", "RESEARCH_PRIVACY_KEY",
)  # fmt: skip


# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _OURS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def vcr_settings() -> vcr.VCR:
    """scrapy-mock's cassettes live among the fixtures, and never reach the network."""
    return vcr.VCR(
        serializer="yaml", cassette_library_dir=str(ROOT / "fixtures" / "cassettes"), record_mode="none",
        decode_compressed_response=True,
    )  # fmt: skip


@dataclass
class Workplace:
    """A folder in which one person works: links, database, JOBDIR, feed."""

    folder: Path
    origin: str
    key: str = ""
    login: str = ""
    """The Bilibili cookie, if this person has one."""
    spider: str = "yt_comments"

    @property
    def db(self) -> Path:
        return self.folder / "research.db"

    @property
    def feed(self) -> Path:
        return self.folder / "out.jsonl"

    def links(self, *lines: str) -> Path:
        path = self.folder / "links.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def command(
        self, *extra: str, links: Path | str | None = None, jobdir: str | None = "job", feed: bool = True
    ) -> list[str]:
        command = [sys.executable, "-m", "scrapy", "crawl", self.spider]
        command += ["-a", f"links={links or self.folder / 'links.txt'}"]
        if jobdir:
            command += ["-s", f"JOBDIR={self.folder / jobdir}"]
        if feed:
            command += ["-o", str(self.feed)]
        return [*command, *extra]

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _OURS}
        return {
            **kept, "RESEARCH_ORIGIN": self.origin, "RESEARCH_DB": str(self.db), "YOUTUBE_API_KEY": self.key,
            "BILIBILI_SESSDATA": self.login, "SCRAPY_SETTINGS_MODULE": "research_scrapers.settings",
            "PYTHONPATH": str(ROOT),
        }  # fmt: skip

    def crawl(self, *extra: str, env: dict[str, str] | None = None, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        return subprocess.run(
            self.command(*extra, **kwargs), env={**self.environment, **(env or {})}, cwd=self.folder, text=True,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip

    async def crawl_here(
        self,
        *,
        settings: dict[str, Any] | None = None,
        jobdir: str | None = "job",
        spider: type = YtCommentsSpider,
        **arguments: Any,
    ) -> Crawler:
        """Run the spider in this process."""
        project = Settings()
        project.setmodule("research_scrapers.settings", priority="project")
        project.setdict(
            {
                "RESEARCH_DB": str(self.db), "ORIGIN": self.origin, "YOUTUBE_API_KEY": self.key, "LOG_ENABLED": False,
                "BILIBILI_SESSDATA": self.login,
                "JOBDIR": str(self.folder / jobdir) if jobdir else None, "RETRY_BACKOFF_CAP_S": 0.05,
                "BREAKER_COOLDOWN_S": 0.05, **(settings or {}),
            },
            priority="cmdline",
        )  # fmt: skip
        arguments.setdefault("links", str(self.folder / "links.txt"))
        crawler = Crawler(spider, project)
        await deferred_from_coro(crawler.crawl_async(**arguments))
        return crawler

    async def bili_here(self, spider: type = BiliCommentsSpider, **more: Any) -> Crawler:
        """Run a Bilibili spider in this process, as fast as it goes: the replica has no feelings."""
        settings = {"DOMAIN_RATE": 0, **more.pop("settings", {})}
        return await self.crawl_here(spider=spider, settings=settings, **more)

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.db)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def ids(self, video: str | None = None) -> list[str]:
        where = " WHERE video_id = ?" if video else ""
        return [row[0] for row in self.query(f"SELECT comment_id FROM comments{where}", *([video] if video else []))]

    def coverage(self, video: str, kind: str = "%") -> dict[str, Any]:
        connection = sqlite3.connect(self.db)
        connection.row_factory = sqlite3.Row
        try:
            row = connection.execute(
                "SELECT * FROM coverage WHERE video_id = ? AND kind LIKE ? ORDER BY finished_at DESC", (video, kind)
            ).fetchone()
            return dict(row)
        finally:
            connection.close()


@pytest.fixture
def replica() -> Iterator[Callable[..., ReplicaProcess]]:
    """Start replicas that end with the test: ``replica("--videos", "3")``, ``replica(spec=[{"comments": 5}])``."""
    with ExitStack() as stack:

        def start(*options: str, spec: list[dict[str, Any]] | None = None) -> ReplicaProcess:
            options = options if spec is None else ("--videos", "0", *options)
            if "--robots" not in options:
                options = ("--robots", "open", *options)
            return stack.enter_context(ReplicaProcess(*options, spec=spec))

        yield start


@pytest.fixture
def workplace(tmp_path: Path) -> Callable[..., Workplace]:
    def make(origin: str = "", **kwargs: Any) -> Workplace:
        return Workplace(tmp_path, origin, **kwargs)

    return make


@pytest.fixture
def forks() -> Iterator[Forks]:
    """Commands that start quickly, to be killed."""
    forks = Forks()
    yield forks
    forks.close()
