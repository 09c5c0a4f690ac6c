"""``research scrape``: every line at once, from a list of links to a coverage table."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from scrapy.settings import Settings

from research_scrapers.control.lines import POLICIES, SPIDERS
from research_scrapers.control.scrape import Order, scrape
from research_scrapers.errors import InputError, SettingInvalid
from research_scrapers.links import open_links
from research_scrapers.store.database import Store
from research_scrapers.store.report import coverage_table, summary
from research_scrapers.store.runs import Runs

_LISTED = 40


@click.command("scrape")
@click.option(
    "--links", "-l", help="A file with one link per line, links separated by commas, or - for standard input."
)
@click.option("--max-concurrency", type=click.IntRange(1), help="Requests in flight in all (64).")
@click.option("--domain", "domains", multiple=True, metavar="D=N", help="Requests in flight to one domain.")
@click.option("--comments-window", type=click.IntRange(1), help="Pages of one video in flight (3).")
@click.option("--workers", type=click.IntRange(1), help="Sub-jobs under way at a time (8).")
@click.option("--only", multiple=True, type=click.Choice(list(SPIDERS)), help="Only these lines.")
@click.option("--skip", multiple=True, type=click.Choice(list(SPIDERS)), help="All lines but these.")
@click.option("--languages", help="Of transcripts, in order of preference: en,zh-Hans,*")
@click.option("--max-comments", type=click.IntRange(0), help="At most so many comments and replies per video.")
@click.option("--argument", "-a", "more", multiple=True, metavar="NAME=VALUE", help="Any other spider argument.")
@click.option("--policy", type=click.Choice(list(POLICIES)), default="least", help="From which line to steal.")
@click.option("--resume", metavar="RUN|last", help="Go on with this run.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--db", type=click.Path(path_type=Path), help="The database.")
@click.option("-s", "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Any Scrapy setting.")
def scrape_command(
    links: str | None, max_concurrency: int | None, domains: tuple[str, ...], comments_window: int | None,
    workers: int | None, only: tuple[str, ...], skip: tuple[str, ...], languages: str | None,
    max_comments: int | None, more: tuple[str, ...], policy: str, resume: str | None, dry_run: bool, db: Path | None,
    sets: tuple[str, ...],
) -> None:  # fmt: skip
    """Collect everything that LINKS name, on all lines at once."""
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    flags = {
        "CONCURRENT_REQUESTS": max_concurrency, "DOMAIN_CONCURRENCY": ",".join(domains) or None,
        "COMMENTS_INFLIGHT_WINDOW": comments_window, "RESEARCH_DB": str(db) if db else None,
    }  # fmt: skip
    settings.setdict({name: value for name, value in flags.items() if value is not None}, priority=35)
    settings.setdict(dict(_pair(text) for text in sets), priority="cmdline")
    settings.set("EXTENSIONS", {**settings.getdict("EXTENSIONS"),
                                "research_scrapers.crawling.progress.Progress": None}, priority="cmdline")  # fmt: skip
    if resume == "last":
        resume = _last(Path(settings["RESEARCH_DB"]))
    if not links and not resume:
        raise InputError("name links with --links, or a run with --resume")
    arguments = {"languages": languages, "max_comments": None if max_comments is None else str(max_comments)}
    order = Order(
        open_links(links) if links else None,
        tuple(name for name in only or SPIDERS if name not in skip),
        {**{name: value for name, value in arguments.items() if value is not None}, **dict(map(_pair, more))},
        policy, workers or settings.getint("WORKER_POOL_SIZE"), resume,
    )  # fmt: skip
    result = scrape(settings, order)
    store = Store(Path(settings["RESEARCH_DB"]))
    click.echo(summary(store.conn, result.run) + "\n")
    click.echo(coverage_table(store.conn, result.run, _LISTED))
    store.close()
    if result.failure is not None:
        raise result.failure
    if result.left:
        click.echo(f"\nresearch: stopped. Nothing is lost: research scrape --resume {result.run}", err=True)
    sys.exit(result.exit_code)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingInvalid(f"{text}: write it as NAME=VALUE")
    return name.strip(), value.strip()


def _last(db: Path) -> str:
    store = Store(db)
    try:
        run = Runs(store).latest()
    finally:
        store.close()
    if run is None:
        raise InputError("there are no runs yet")
    return run.id
