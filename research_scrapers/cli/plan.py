"""``research scrape --dry-run``: what would be done, without a request and without a trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from research_scrapers import knobs
from research_scrapers.config import Config
from research_scrapers.control.lines import SPIDERS
from research_scrapers.control.scrape import Order, arguments_of, lines_of
from research_scrapers.links import Links
from research_scrapers.models import BadLine, Kind, counted
from research_scrapers.providers import providers
from research_scrapers.store.database import Store
from research_scrapers.store.standing import standing

if TYPE_CHECKING:
    from scrapy.settings import Settings

_LISTED = 20


def plan(settings: Settings, order: Order) -> str:
    """What the order comes to."""
    settings.set("JOBDIR", None, priority="cmdline")  # looking makes no folder
    config = Config.from_settings(settings)
    names = [line.name for line in lines_of(order, config)]
    told = ["Nothing is requested and nothing is written.", ""]
    if order.resume:
        told += [*_left(config.db, order.resume), ""]
    if order.links is not None:
        told += [*_links(order.links, names), ""]
    told += ["Routes:", *(f"  {line}" for line in routes(config, order)), ""]
    told += ["Knobs:", *(f"  {line}" for line in knobs_told(config)), ""]
    told += ["Domains, as that comes to:", *(f"  {line}" for line in _domains(config, order))]
    return "\n".join(told)


def _links(links: Links, names: list[str]) -> Iterator[str]:
    """How many links go to which line, and which lines of the file go nowhere."""
    found: dict[str, set[str]] = {}
    bad: list[BadLine] = []
    repeated = 0
    for line in links:
        if isinstance(line, BadLine):
            bad.append(line)
        else:
            known = found.setdefault(line.provider, set())
            repeated += line.video_id in known
            known.add(line.video_id)
    yield (
        f"{links.label}: {counted(sum(map(len, found.values())), 'video')}, {counted(len(bad), 'line')} without one"
        + (f", {counted(repeated, 'link')} to a video that is named already" if repeated else "")
    )
    for name in names:
        spider = SPIDERS[name]
        kinds = ", ".join(str(kind) for kind in spider.kinds if kind is not Kind.METADATA)
        yield f"  {name}: {counted(len(found.get(spider.provider_name, ())), 'video')} ({kinds})"
    for provider in sorted(found.keys() - {SPIDERS[name].provider_name for name in names}):
        yield f"  no line: {counted(len(found[provider]), 'video')} of {provider}"
    if bad:
        yield "Lines that name no video:"
        yield from (f"  line {line.line}: {line.text}: {line.reason}" for line in bad[:_LISTED])
        if len(bad) > _LISTED:
            yield f"  … and {len(bad) - _LISTED:,} more"


def _left(db: Path, run: str) -> Iterator[str]:
    store = Store(db)
    try:
        now = standing(store.conn, run)
    finally:
        store.close()
    yield f"{run}: {counted(now.left, 'sub-job')} left"
    for (provider, kind), counts in sorted(now.counts.items()):
        many = Counter(counts)
        yield f"  {provider} {kind}: {', '.join(f'{number:,} {name}' for name, number in many.items())}"


def routes(config: Config, order: Order) -> Iterator[str]:
    """By which way each line would collect, and what is known of its being open."""
    for name in order.lines:
        spider = SPIDERS[name]
        provider = providers()[spider.provider_name]
        options = config.options(arguments_of(name, order.arguments), spider.kinds)
        ways = {
            kind: provider.route(kind, options, config.api_key)
            for kind in spider.kinds
            if kind is not Kind.METADATA and (options.danmaku or kind is not Kind.DANMAKU)
        }
        told = ", ".join(f"{kind} by {way.name}" for kind, way in ways.items())
        hosts = sorted({probe.split("/")[2] for way in ways.values() for probe in way.probes()})
        if not hosts:
            robots = "robots.txt does not concern it"
        elif not config.obey_robots:
            robots = "robots.txt is ignored, by your decision"
        else:
            robots = f"robots.txt of {', '.join(hosts)} is asked before the work begins and may close it"
        yield f"{name}: {told}; {robots}"


def _domains(config: Config, order: Order) -> Iterator[str]:
    sites = [providers()[SPIDERS[name].provider_name] for name in order.lines]
    for domain in sorted({domain for site in sites for domain in site.hosts.values()}):
        pace = config.limits.pace(domain)
        rate = f"{pace.rate:g} a second after a burst of {pace.burst:,}" if pace.rate else "no limit of rate"
        yield f"{domain}: {pace.in_flight} in flight, {rate}"


def knobs_told(config: Config) -> Iterator[str]:
    """Every knob as it stands, and who decided it."""
    for name, value in config.knobs.items():
        where = {config.decided[one] for one in knobs.KNOBS[name].settings if one in config.decided}
        shown = ", ".join(f"{key}={one}" for key, one in value.items()) if isinstance(value, dict) else value
        yield f"{name} = {'none' if shown == '' else shown}" + (f"  ({', '.join(sorted(where))})" if where else "")
