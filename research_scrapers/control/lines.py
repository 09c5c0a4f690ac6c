"""The four production lines, and how a worker without work at home chooses another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from research_scrapers.models import Kind
from research_scrapers.spiders.bili_comments import BiliCommentsSpider
from research_scrapers.spiders.bili_transcripts import BiliTranscriptsSpider
from research_scrapers.spiders.yt_comments import YtCommentsSpider
from research_scrapers.spiders.yt_transcripts import YtTranscriptsSpider

if TYPE_CHECKING:
    from research_scrapers.crawling.spider import ResearchSpider
    from research_scrapers.errors import ResearchError
    from research_scrapers.store.pages import Lease

SPIDERS: dict[str, type[ResearchSpider]] = {
    spider.name: spider for spider in (YtTranscriptsSpider, BiliTranscriptsSpider, YtCommentsSpider, BiliCommentsSpider)
}
"""Every line, by the name of its spider; transcripts first, for they are short and their links expire."""


@dataclass(eq=False)
class Line:
    """A queue, a spider, limits and a breaker."""

    name: str
    provider: str
    kinds: tuple[Kind, ...]
    spider: ResearchSpider | None = None
    ready: bool = False
    failure: ResearchError | None = None
    """Why it is closed, if it is."""
    depth: int = 0
    """How many of its sub-jobs can be claimed, as far as is known."""
    assigned: deque[Lease] = field(default_factory=deque)
    """Claimed by a worker, not yet begun by the spider."""
    busy: int = 0
    """How many workers are on it."""
    taken: int = 0
    """How many of its sub-jobs were handed out."""
    homes: int = 0
    """How many workers are at home here."""
    places: int = 1_000_000
    """How many requests its site may have in flight: more workers than that bring nothing."""

    @property
    def open(self) -> bool:
        return self.failure is None

    @property
    def waiting(self) -> bool:
        """Whether it has work for someone."""
        return self.open and self.depth > 0

    @property
    def paused(self) -> bool:
        """Whether its breaker is open: who works on it now, waits."""
        return self.spider is not None and self.spider.gate.breaker(self.spider.line).open_for() > 0

    @property
    def for_transcripts(self) -> bool:
        return Kind.TRANSCRIPT in self.kinds


@dataclass(eq=False)
class Worker:
    """A slot in the pool: it has a home line, and takes from another when there is nothing to do at home."""

    number: int
    home: Line
    line: Line | None = None
    lease: Lease | None = None
    since: float = 0.0
    busy_s: float = 0.0
    done: int = 0
    stolen: int = 0
    position: int = 0
    """The place of its sub-job in the order in which its line's were handed out."""


Policy = Callable[[Sequence[Line], float], list[Line]]
"""Lines with work, and the boost of transcripts → the order in which a worker without work at home tries them."""


def least(lines: Sequence[Line], boost: float) -> list[Line]:
    """The shortest queue first: it is nearest to its end."""
    return sorted(lines, key=lambda line: line.depth / (boost if line.for_transcripts else 1.0))


def most(lines: Sequence[Line], boost: float) -> list[Line]:
    """The longest queue first: it holds the others up."""
    return sorted(lines, key=lambda line: -line.depth * (boost if line.for_transcripts else 1.0))


def in_turn(lines: Sequence[Line], boost: float) -> list[Line]:
    """The line that the fewest workers are on."""
    return sorted(lines, key=lambda line: (line.busy / (boost if line.for_transcripts else 1.0), line.depth))


def at_home(lines: Sequence[Line], boost: float) -> list[Line]:
    """Nobody steals: four fixed lines. Only a line that is nobody's home is worked on by all."""
    return [line for line in lines if not line.homes]


POLICIES: dict[str, Policy] = {"least": least, "most": most, "turn": in_turn, "none": at_home}
