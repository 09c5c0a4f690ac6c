"""``scrapy crawl`` with one clear sentence for what went wrong, and exit codes that mean something."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import sys
from contextlib import suppress
from typing import Any

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError

from research_scrapers.config import check
from research_scrapers.crawling.descriptors import ensure_files
from research_scrapers.crawling.progress import quieten
from research_scrapers.errors import ResearchError, SettingInvalid, TooFewFiles

INTERRUPTED = 130


class Command(ScrapyCrawl):
    """Run a spider of the project."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        try:
            assert self.settings is not None
            check(self.settings)
        except SettingInvalid as error:
            self._tell(error)
            sys.exit(self.exitcode)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one spider")
        process: Any = self.crawler_process
        names = process.spider_loader.list()
        if args[0] not in names:
            nearest = difflib.get_close_matches(args[0], names, n=1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(sorted(names))}"
            raise UsageError(f"no spider is called {args[0]}. {hint}", print_help=False)
        for feed, options in process.settings.getdict("FEEDS").items():
            if options.get("postprocessing") or options.get("batch_item_count"):
                raise UsageError(
                    f"{feed}: feeds are plain files here; compress or split them afterwards", print_help=False
                )
        quieten(process.settings)
        try:
            with suppress(ValueError):  # a value that is no number is told where settings are read
                ensure_files(process.settings.getint("CONCURRENT_REQUESTS"))
        except TooFewFiles as error:
            self._tell(error)
            return
        crawler = self._create_crawler(args[0])
        try:
            task: asyncio.Task[None] = process.crawl(crawler, **opts.spargs)
            process.start()
        except KeyboardInterrupt:  # before Scrapy listens for it
            self._stopped()
            return
        failure = task.exception() if task.done() and not task.cancelled() else None
        spider: Any = crawler.spider
        if failure is None and spider is not None:
            failure = getattr(spider, "failure", None)
        if failure is not None:
            if isinstance(failure, ValueError | OSError):  # from Scrapy's own reading of a setting, or of JOBDIR
                failure = SettingInvalid(str(failure))
            if not isinstance(failure, ResearchError):
                raise failure
            self._tell(failure)
        elif getattr(spider, "interrupted", False):
            self._stopped()
        elif process.bootstrap_failed:
            self.exitcode = 1

    def _stopped(self) -> None:
        sys.stderr.write("\nresearch: stopped. Nothing is lost: the same command goes on from here.\n")
        self.exitcode = INTERRUPTED

    def _tell(self, failure: ResearchError) -> None:
        told = str(failure)
        sys.stderr.write(f"\nresearch: {told}{'' if told.endswith(('?', '.')) else '.'}\n")
        self.exitcode = failure.exit_code
