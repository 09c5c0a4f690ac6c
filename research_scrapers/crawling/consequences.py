"""What a failure leads to, and how a walk ends. One function obeys the verdict; the ledger writes it down."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from research_scrapers.coverage import Conclusion, up_to_date
from research_scrapers.crawling.breaker import NEVER
from research_scrapers.crawling.retry import FINAL
from research_scrapers.errors import (
    BreakerOpen,
    EmptyPage,
    LayoutChanged,
    LeaseLost,
    ResearchError,
    SiteBlocked,
    SourceError,
    StoreError,
)
from research_scrapers.models import MAIN, Ask, Cursor, Kind, Outcome
from research_scrapers.store.artifacts import keep_body
from research_scrapers.verdicts import Verdict, retriable, verdict

if TYPE_CHECKING:
    from scrapy import Request

    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.crawling.walk import Walk
    from research_scrapers.store.pages import Lease

logger = logging.getLogger(__name__)


def consequence(
    spider: ResearchSpider, walk: Walk, cursor: Cursor, ask: Ask, request: Request, failure: ResearchError,
    body: bytes, *, tried: bool,
) -> Request | None:  # fmt: skip
    """What to send again, if anything; else the failure's consequence is on record when this returns."""
    if isinstance(failure, LeaseLost | StoreError):
        raise failure
    lease, ledger, decided = walk.lease, spider.ledger, verdict(failure)
    line = request.meta["research_line"]
    breaker = spider.gate.breaker(line)
    if ask.quota:
        ledger.spend(lease, ask.quota)
    if isinstance(failure, SourceError) and decided in (Verdict.WAIT, Verdict.RETRY):
        # The middleware has already tried again what it could see; what only the parser sees is tried here.
        final = tried or request.meta.get(FINAL) == failure.reason
        again = None if final else spider.retrier.again(request, failure)
        if again is not None:
            return again
        if breaker.exhausted and line == spider.line_of(lease.kind):  # a budget's end is its own
            spider.block(
                lease.kind,
                BreakerOpen(f"{failure}")
                if spider.config.limits.cooldown_s == NEVER
                else SiteBlocked(
                    f"{failure}. What is left is kept: wait (an hour or more after a block), then run the same command"
                ),
            )
    else:  # whatever the answer says, the site is serving us
        breaker.served_well()
        spider.gate.nudge()
    _write_down(spider, walk, cursor, failure, decided)
    if isinstance(failure, LayoutChanged):
        body = _discreet(spider, body)
        where = keep_body(spider.session.store, lease, body) if body else "no body"
        about = {"sub_job": lease.id}
        logger.error("LAYOUT CHANGED at %s: %s. Kept: %s", ask.url, failure.detail, where, extra=about)
    return None


def _discreet(spider: ResearchSpider, body: bytes) -> bytes:
    """A body as it may be kept: without what it says of us."""
    if spider.provider.discreet is not None:
        body = spider.provider.discreet(body)
    for secret in spider.visitor.secrets:
        body = body.replace(secret.encode(), b"...")
    return body


def _write_down(spider: ResearchSpider, walk: Walk, cursor: Cursor, failure: ResearchError, decided: Verdict) -> None:
    lease, ledger = walk.lease, spider.ledger
    about = {"sub_job": lease.id}
    if decided is Verdict.STOP:
        walk.failure = failure
        spider.stop(failure)
    elif decided is Verdict.RESTART and (restarted := ledger.restart_chain(lease, cursor.chain)) is not None:
        logger.info("%s: %s; beginning that chain anew", lease.video_id, failure, extra=about)
        walk.add([restarted])
    elif cursor.chain != MAIN and spider.is_blocked(lease.kind):
        walk.halted = True  # the work stops for what hit this chain: it stays open for the next session
    elif (
        not spider.is_blocked(lease.kind) and (other := spider.routes[lease.kind].fallback(cursor, failure)) is not None
    ):
        logger.warning("%s: %s; trying another way (%s)", lease.video_id, failure, other.step, extra=about)
        ledger.turn_chain(lease, other)
        walk.add([other])
    elif cursor.chain != MAIN:
        if ledger.fail_chain(lease, cursor.chain, failure.reason, failure.detail):
            logger.warning("%s: %s is left out: %s", lease.video_id, cursor.chain, failure, extra=about)
    elif isinstance(failure, EmptyPage):
        ledger.end_empty(lease, failure.detail)
    else:
        walk.failure = failure


def already_read(spider: ResearchSpider, lease: Lease) -> Conclusion | None:
    """How a sub-job ends that an earlier run read, and not too long ago."""
    if lease.kind is not Kind.TRANSCRIPT or spider.options.refresh == "always":
        return None
    oldest = spider.config.transcript_age_days if spider.options.refresh == "stale" else None
    if (earlier := spider.ledger.last_read(lease, spider.options)) is None:
        return None
    sub_job, outcome, at = earlier
    conclusion = up_to_date(Outcome(outcome), at, oldest, time.time())
    if conclusion is not None:
        spider.ledger.adopt(lease, sub_job)
    return conclusion


def finish(spider: ResearchSpider, walk: Walk) -> None:
    """Every chain has ended: say what the sub-job is worth."""
    lease, failure, ledger = walk.lease, walk.failure, spider.ledger
    sort = spider.options.sort
    try:
        more = False
        if failure is None:
            more = ledger.finish(lease, spider.conclude(lease), sort=sort)
        elif verdict(failure) is Verdict.EMPTY and not lease.collected:
            more = ledger.finish(lease, Conclusion(Outcome.EMPTY, failure.reason, failure.detail), sort=sort)
        elif verdict(failure) is not Verdict.STOP:
            more = ledger.fail(lease, failure.reason, failure.detail, retriable=retriable(failure))
        if more:
            spider.source.look_again()
        assert spider.crawler.stats is not None
        spider.crawler.stats.inc_value("research/ended")
    except LeaseLost as error:
        logger.warning("%s", error, extra={"sub_job": lease.id})
    except StoreError as error:
        spider.stop(error)
