"""robots.txt, asked once per host before the work begins, rather than refused once per link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from protego import Protego
from scrapy.exceptions import IgnoreRequest

from research_scrapers.errors import RobotsRefused, RobotsUnknown, RunError
from research_scrapers.models import Ask

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider

IGNORE = (
    "or decide for yourself to ignore robots.txt, with RESEARCH_ROBOTS=ignore in the environment or "
    "-s ROBOTSTXT_OBEY=False (the run records that decision)"
)
_OK, _CLIENT_ERROR, _TOO_MANY, _SERVER_ERROR = 200, 400, 429, 500


async def preflight(spider: ResearchSpider, agent: str) -> None:
    """Raise `RobotsRefused` unless robots.txt lets us request all that this spider's routes need."""
    urls = (url for route in spider.routes.values() for url in route.probes())
    rules: dict[str, Protego | None] = {}
    refused: dict[str, list[str]] = {}
    for url in urls:
        parts = urlsplit(url)
        if parts.netloc not in rules:
            rules[parts.netloc] = await _rules(spider, f"{parts.scheme}://{parts.netloc}/robots.txt")
        rule = rules[parts.netloc]
        if rule is not None and not rule.can_fetch(url, agent):
            refused.setdefault(parts.netloc, []).append(parts.path)
    if refused:
        told = "; ".join(f"{host} disallows {', '.join(paths)}" for host, paths in refused.items())
        ways = spider.provider.robots_help
        raise RobotsRefused(f"{told}. Nothing else was requested. Ways on: {ways}{IGNORE}", closed=told, ways=ways)


async def _rules(spider: ResearchSpider, url: str) -> Protego | None:
    """The rules of one host; ``None`` when it has none."""
    try:
        answer = await spider.fetch(Ask(url))
    except (IgnoreRequest, RunError):
        raise
    except Exception as error:
        cause = error.__cause__ or error
        raise RobotsUnknown(
            f"{url}: {str(cause).rstrip('.')}. Check the network (and HTTPS_PROXY), then run again"
        ) from error
    if answer.status == _OK:
        return Protego.parse(answer.body.decode("utf-8", "replace"))
    if _CLIENT_ERROR <= answer.status < _SERVER_ERROR and answer.status != _TOO_MANY:
        return None  # no robots.txt: nothing is disallowed (RFC 9309)
    raise RobotsUnknown(f"{url} answered {answer.status}. Try again later")


def refused_together(lines: Mapping[str, RobotsRefused], others: bool) -> RobotsRefused:
    """One error for all lines that are closed, with every way on; without them, if there are others."""
    closed = "; ".join(f"{name}: {refused.closed}" for name, refused in lines.items())
    ways = "".join(dict.fromkeys(refused.ways for refused in lines.values()))
    skip = f"leave these lines out with {' '.join(f'--skip {name}' for name in lines)}; " if others else ""
    return RobotsRefused(
        f"{closed}. Nothing else was requested. Ways on: {ways}{skip}{IGNORE}",
        closed=closed, ways=ways,
    )  # fmt: skip
