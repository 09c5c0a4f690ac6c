"""``research scrape``: every line at once, from a list of links to a coverage table."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from research_scrapers import knobs
from research_scrapers.cli.common import existing, find_run, project_settings
from research_scrapers.cli.plan import plan
from research_scrapers.cli.seeing import seeing_options
from research_scrapers.config import FLAG, Config, check, restore, take_names
from research_scrapers.control.lines import POLICIES, SPIDERS
from research_scrapers.control.scrape import Order, order_of, scrape
from research_scrapers.errors import BreakerOpen, InputError, SettingInvalid
from research_scrapers.links import open_links
from research_scrapers.models import counted
from research_scrapers.providers import providers
from research_scrapers.replica.launch import ReplicaProcess
from research_scrapers.seeing.wanted import Wanted, watchers_for
from research_scrapers.store.database import Store
from research_scrapers.store.report import coverage_table, summary

if TYPE_CHECKING:
    from scrapy.settings import Settings

_LISTED = 40
_DEMO = Path("jobs/scrape-demo")

CONFIG = click.option(
    "--config", type=click.Path(path_type=Path), help="The file of knobs (default: RESEARCH_CONFIG, or research.toml)."
)
SETS = click.option("-s", "--set", "sets", multiple=True, metavar="NAME=VALUE", help="Any knob or Scrapy setting.")


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
@click.option("--priority", type=int, default=0, help="Added to the priority of every link.")
@click.option("--policy", type=click.Choice(list(POLICIES)), help="From which line to steal (least).")
@click.option("--resume", metavar="RUN|last", help="Go on with this run, with the limits and choices that it has.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; ask for nothing and write nothing.")
@click.option("--demo", is_flag=True, help="Against a replica of the sites on this machine; needs no internet.")
@click.option("--db", type=click.Path(path_type=Path), help="The database.")
@CONFIG
@SETS
@seeing_options
def scrape_command(
    links: str | None, max_concurrency: int | None, domains: tuple[str, ...], comments_window: int | None,
    workers: int | None, only: tuple[str, ...], skip: tuple[str, ...], languages: str | None,
    max_comments: int | None, more: tuple[str, ...], priority: int, policy: str | None, resume: str | None,
    dry_run: bool, demo: bool, db: Path | None, config: Path | None, sets: tuple[str, ...],
    wanted: Wanted,
) -> None:  # fmt: skip
    """Collect everything that LINKS name, on all lines at once."""
    if demo and (links or resume or db):
        raise InputError("--demo brings its own links and its own database: leave --links, --resume and --db out")
    if not (links or resume or demo):
        raise InputError("name links with --links, or a run with --resume")
    settings = settings_with(config, sets, {
        "CONCURRENT_REQUESTS": max_concurrency, "DOMAIN_CONCURRENCY": dict(map(pair, domains)) or None,
        "COMMENTS_INFLIGHT_WINDOW": comments_window, "WORKER_POOL_SIZE": workers, "STEAL_POLICY": policy,
        "RESEARCH_DB": str(db) if db else None,
    })  # fmt: skip
    arguments = {"languages": languages, "max_comments": None if max_comments is None else str(max_comments)}
    given = {**{name: value for name, value in arguments.items() if value is not None}, **dict(map(pair, more))}
    lines = tuple(name for name in only or SPIDERS if name not in skip)
    with ExitStack() as stack:
        if demo:
            links = stack.enter_context(_replica(settings, dry_run))
        if resume:
            order = resumed(settings, resume, lines if only or skip else None, given, dict(map(pair, domains)))
        else:
            order = Order(None, lines, given)
        if links:
            order = replace(order, links=replace(open_links(links), priority=priority))
        if dry_run:
            click.echo(plan(settings, order))
            return
        go(settings, order, wanted)


def settings_with(config: Path | None, sets: Sequence[str], flags: Mapping[str, Any]) -> Settings:
    """The settings: project, file, environment, flags, ``-s``."""
    settings = project_settings(config)
    given = {name: value for name, value in flags.items() if value is not None}
    if isinstance(domains := given.get("DOMAIN_CONCURRENCY"), dict):
        given["DOMAIN_CONCURRENCY"] = {**knobs.split(settings.get("DOMAIN_CONCURRENCY") or {}), **domains}
    settings.setdict(given, priority=FLAG)
    settings.setdict(dict(map(pair, sets)), priority="cmdline")
    take_names(settings)
    check(settings)
    quiet = {**settings.getdict("EXTENSIONS"), "research_scrapers.crawling.progress.Progress": None}
    settings.set("EXTENSIONS", quiet, priority="cmdline")
    return settings


def resumed(
    settings: Settings, run_id: str, lines: Sequence[str] | None = None, arguments: Mapping[str, str] | None = None,
    domains: Mapping[str, str] | None = None,
) -> Order:  # fmt: skip
    """What was asked of a run; from now on the settings are the run's too. Other lines or arguments are refused."""
    with existing(Config.from_settings(settings).db) as store:
        run = find_run(store, run_id)
    order = order_of(run)
    changed = {name: value for name, value in (arguments or {}).items() if str(order.arguments.get(name)) != value}
    if changed or (lines is not None and set(lines) != set(order.lines)):
        had = [*order.lines, *(f"{name}={value}" for name, value in order.arguments.items())]
        asked = [*(lines or ()), *(f"{name}={value}" for name, value in changed.items())]
        raise SettingInvalid(
            f"{run.id} was begun with {', '.join(had)}, not with {', '.join(asked)}. Resume it without them, or begin "
            "a new run with --links"
        )
    restore(settings, run.config, domains)
    return order


def go(settings: Settings, order: Order, wanted: Wanted) -> NoReturn:
    """Do the run, say what it came to, and end with its exit code."""
    result = scrape(settings, order, watchers=watchers_for(wanted, settings))
    if result.failure is not None and not result.centre.begun and not result.idle:
        raise result.failure
    store = Store(Path(settings["RESEARCH_DB"]))
    try:
        if result.idle:
            click.echo("nothing was left to do: 0 requests, 0 new rows")
        click.echo(summary(store.conn, result.run) + "\n")
        click.echo(coverage_table(store.conn, result.run, _LISTED))
    finally:
        store.close()
    again = f"research scrape --resume {result.run}{_where(settings)}"
    if result.failure is not None:
        if result.left or isinstance(result.failure, BreakerOpen):
            click.echo(f"\nNothing is lost: {again} goes on from here", err=True)
        raise result.failure
    if result.left and result.centre.all_taken:
        left = counted(result.left, "sub-job")
        click.echo(f"\nresearch: nothing is left for this process. Another one works on {left}: "
                   f"research status {result.run}{_where(settings)} tells how far it is", err=True)  # fmt: skip
    elif result.left:
        click.echo(f"\nresearch: stopped. Nothing is lost: {again}", err=True)
    sys.exit(result.exit_code)


def _where(settings: Settings) -> str:
    """What a further command needs to find the same database."""
    told = (settings.getpriority("RESEARCH_DB") or 0) >= FLAG
    return f" --db {shlex.quote(str(settings['RESEARCH_DB']))}" if told else ""


def pair(text: str) -> tuple[str, str]:
    """``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingInvalid(f"{text}: write it as NAME=VALUE")
    return name.strip(), value.strip()


@contextmanager
def _replica(settings: Settings, dry_run: bool) -> Iterator[str]:
    """A replica of the sites; the run is pointed at it and writes into a folder of its own. Gives the links."""
    with ReplicaProcess("--demo", "--robots", "open", "--latency-ms", "80") as replica:
        known = providers()
        videos = {"youtube": replica.videos, "bilibili": replica.bili_videos}
        links = [known[name].link(video) for name, ids in videos.items() for video in ids]
        settings.setdict(
            {"ORIGIN": replica.origin, "YOUTUBE_API_KEY": "", "BILIBILI_SESSDATA": "", "BILIBILI_COOKIES": "",
             "RESEARCH_DB": str(_DEMO / "research.db")},
            priority="cmdline",
        )  # fmt: skip
        quick = {"DOMAIN_CONCURRENCY": {"bilibili.com": 8}, "DOMAIN_RATES": {"bilibili.com": 30}}
        settings.setdict(quick, priority=FLAG - 1)  # a replica need not be spared
        if dry_run:
            yield ",".join(links)
            return
        shutil.rmtree(_DEMO, ignore_errors=True)
        _DEMO.mkdir(parents=True)
        file = _DEMO / "links.txt"
        file.write_text("".join(f"{link}\n" for link in links), encoding="utf-8")
        click.echo(f"A replica of YouTube and Bilibili answers at {replica.origin}; everything is in {_DEMO}/\n")
        yield str(file)
