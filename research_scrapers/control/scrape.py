"""One run over all lines: open it, start a crawler for each line in one reactor, and say what it came to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess

from research_scrapers.arguments import ARGUMENTS, REFRESHES, near
from research_scrapers.config import Config
from research_scrapers.control.centre import Centre
from research_scrapers.control.events import Listeners
from research_scrapers.control.lines import SPIDERS, Line
from research_scrapers.control.live import Live
from research_scrapers.control.watching import Watchers
from research_scrapers.crawling.descriptors import ensure_files
from research_scrapers.crawling.gate import Gate
from research_scrapers.crawling.progress import quieten
from research_scrapers.crawling.session import Session, open_session, take_in_links
from research_scrapers.errors import (
    InputError,
    LinksEmpty,
    LinksMissing,
    NothingReached,
    QuotaExhausted,
    ResearchError,
    RunCancelled,
    SettingInvalid,
    StoreError,
)
from research_scrapers.links import Links
from research_scrapers.models import Kind, Options
from research_scrapers.providers import providers
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Run, Runs

if TYPE_CHECKING:
    from scrapy.settings import Settings

logger = logging.getLogger(__name__)

NAME = "scrape"


@dataclass(frozen=True)
class Order:
    """What a person asks of a run."""

    links: Links | None
    """``None``: those that the resumed run has taken in."""
    lines: tuple[str, ...] = tuple(SPIDERS)
    arguments: Mapping[str, str] = field(default_factory=dict)
    """As for spiders (``-a``); each line takes those that it knows."""
    policy: str | None = None
    workers: int | None = None
    """``None``: as the settings say."""
    resume: str | None = None
    """The run to go on with."""


@dataclass
class Result:
    """What it came to."""

    run: str
    failure: ResearchError | None
    left: int
    centre: Centre
    idle: bool = False
    """Nothing was left to do."""

    @property
    def exit_code(self) -> int:
        if self.failure is not None:
            return self.failure.exit_code
        return 130 if self.left else 0


def lines_of(order: Order, config: Config) -> list[Line]:
    """The lines that the order wants."""
    known = {name for allowed in ARGUMENTS.values() for name in allowed}
    for name in order.arguments:
        if name not in known:
            raise SettingInvalid(f"-a {name}: no such argument. {near(name, sorted(known))}")
    refresh = order.arguments.get("refresh")
    choices = tuple(dict.fromkeys(choice for some in REFRESHES.values() for choice in some))
    if refresh is not None and refresh not in choices:
        raise SettingInvalid(f"-a refresh={refresh}: no such choice. {near(refresh, choices)}")
    lines = []
    for name in SPIDERS:
        if name in order.lines:
            spider = SPIDERS[name]
            options = config.options(arguments_of(name, order.arguments), spider.kinds)
            kinds = tuple(kind for kind in spider.kinds if options.danmaku or kind is not Kind.DANMAKU)
            places = config.in_flight(providers()[spider.provider_name])
            lines.append(Line(name, spider.provider_name, kinds, places=places))
    if not lines:
        raise InputError(f"no line is left to work on. There are: {', '.join(SPIDERS)}")
    return lines


def arguments_of(line: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """Those arguments that a line knows; ``refresh`` has other choices for comments than for transcripts."""
    kinds = SPIDERS[line].kinds
    known = {name for kind in kinds for name in ARGUMENTS[kind]}
    return {
        name: value for name, value in arguments.items()
        if name in known and (name != "refresh" or value in REFRESHES[kinds[0]])
    }  # fmt: skip


def order_of(run: Run) -> Order:
    """What was asked of a run when it was begun, by `research scrape` or by a spider alone."""
    config = run.config
    if run.spider == NAME:
        return Order(
            None, tuple(config["options"]["lines"]), config.get("arguments", {}), resume=run.id
        )  # fmt: skip
    if run.spider not in SPIDERS:
        raise InputError(f"{run.id} is a run of {run.spider}, which this version does not have")
    known = {name for kind in SPIDERS[run.spider].kinds for name in ARGUMENTS[kind]}
    given = {name: value for name, value in config["options"].items() if name in known and value is not None}
    told = {name: str(int(value)) if isinstance(value, bool) else str(value) for name, value in given.items()}
    return Order(None, (run.spider,), told, resume=run.id)


def work_of(lines: Sequence[Line]) -> dict[str, tuple[Kind, ...]]:
    """Provider → what is wanted of its videos. Metadata is wanted once, whoever needs it."""
    return {
        line.provider: tuple(dict.fromkeys(kind for other in lines if other.provider == line.provider
                                           for kind in other.kinds))
        for line in lines
    }  # fmt: skip


def scrape(
    settings: Settings, order: Order, listeners: Listeners | None = None, watchers: Watchers | None = None
) -> Result:
    """Do the run to its end, or as far as it can go."""
    given = {"WORKER_POOL_SIZE": order.workers, "STEAL_POLICY": order.policy}
    settings.setdict({name: value for name, value in given.items() if value is not None}, priority="cmdline")
    config = Config.from_settings(settings)
    lines = lines_of(order, config)
    ensure_files(config.limits.total)
    session = _open(config, order, lines)
    try:
        gate = Gate(config.limits)
        centre = Centre(
            session, lines, pool=config.workers, policy=config.policy,
            boost=config.transcripts_boost, lease_s=config.lease_s, listeners=listeners,
        )  # fmt: skip
        centre.listeners.add(Live(centre, gate))
        ended, total = session.runs.standing(session.run.id)
        idle = session.resumed and ended == total
        if not idle:
            _crawl(settings, order, centre, gate, watchers or Watchers())
        return replace(_result(session, centre), idle=idle)
    finally:
        session.close()


def _open(config: Config, order: Order, lines: Sequence[Line]) -> Session:
    routes = {
        line.name: providers()[line.provider].route(line.kinds[0], config.options({}, line.kinds), config.api_key).name
        for line in lines
    }
    options = {
        **asdict(Options()), "refresh": None, **order.arguments, "lines": [line.name for line in lines],
    }  # fmt: skip
    snapshot = {
        **config.snapshot(config.options({}), ", ".join(f"{name}: {route}" for name, route in routes.items())),
        "options": options, "arguments": dict(order.arguments),
    }  # fmt: skip
    if order.resume is not None:
        snapshot["options"] = _begun_with(config, order.resume)
    session = open_session(
        config.db, NAME, order.links.label if order.links else "", snapshot, jobdir=config.jobdir,
        lease_s=config.lease_s, run_id=order.resume,
    )  # fmt: skip
    try:
        if order.links is not None:
            take_in_links(session, order.links, work_of(lines), "this run", shuffled=True)
        elif session.run.links_digest is None:
            raise LinksMissing(
                f"{session.run.id} was stopped before all of its links were read (`research runs` names them). Give "
                f"them once more: research scrape --resume {session.run.id} --links FILE"
            )
    except KeyboardInterrupt:
        session.close()
        raise RunCancelled(
            f"its links were not all read yet. research scrape --resume {session.run.id} --links FILE reads the rest"
        ) from None
    except LinksEmpty as error:
        session.end(error.reason)
        session.close()
        raise
    except BaseException:
        session.close()
        raise
    return session


def _begun_with(config: Config, run_id: str) -> Any:
    """The options of a run, which do not change."""
    store = Store(config.db)
    try:
        run = Runs(store).find(run_id)
    finally:
        store.close()
    if run is None:
        raise InputError(f"no run is called {run_id}; `research runs` lists them")
    return run.config["options"]


def _crawl(settings: Settings, order: Order, centre: Centre, gate: Gate, watchers: Watchers) -> None:
    quieten(settings)
    process = AsyncCrawlerProcess(settings)
    quieten(settings)
    watchers.begin(centre, gate)
    try:
        for name, line in centre.lines.items():
            crawler = process.create_crawler(SPIDERS[name])
            watchers.crawler(name, crawler)
            task = process.crawl(crawler, source=centre, gate=gate, **arguments_of(name, order.arguments))
            task.add_done_callback(lambda task, line=line: _line_over(centre, line, task))  # type: ignore[misc]
        process.start()
    finally:
        watchers.end()


def _line_over(centre: Centre, line: Line, task: asyncio.Task[None]) -> None:
    """A crawler that could not even begin must not let the others wait for it."""
    failure = None if task.cancelled() else task.exception()
    if failure is None:
        return
    logger.error("%s could not run", line.name, exc_info=failure)
    if not isinstance(failure, ResearchError):
        failure = InputError(f"{line.name}: {type(failure).__name__}: {failure}")
    centre.close_line(line, failure)


def _result(session: Session, centre: Centre) -> Result:
    failure = centre.failure
    left = 0
    try:
        session.ledger.release()
        for line in centre.lines.values():
            if isinstance(line.failure, QuotaExhausted) and line.failure.until:
                until = datetime.fromisoformat(line.failure.until).timestamp()
                session.ledger.park_all(until, line.failure.reason, line.provider, line.kinds)
        parked = session.ledger.parked_until()
        if parked is not None and failure is None:
            moment = datetime.fromtimestamp(parked, UTC).isoformat(timespec="minutes")
            failure = QuotaExhausted(f"what is left waits until {moment}; resume the run then", until=moment)
        left = session.end(failure.reason if failure else "interrupted")
        if failure is None and not left and not session.runs.reached(session.run.id):
            failure = NothingReached(
                "every video failed for a passing reason: check the network (and HTTPS_PROXY), then resume the run"
            )
    except StoreError as error:
        failure = failure or error
    return Result(session.run.id, failure, left, centre)
