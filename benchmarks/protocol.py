"""What the site's protocol demands of anyone who wants all comments of a video: which pages, and which before which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from research_scrapers.models import Answer, Cursor, Options, Page
from research_scrapers.providers.youtube.web import WebRoute
from research_scrapers.replica.launch import ReplicaProcess

PAGE, FIRST_REPLIES, MORE_REPLIES = 20, 10, 50
"""How many threads, and how many replies, the site puts on a page: these are its numbers, not ours."""


@dataclass
class Step:
    """One page of a video."""

    page: Page
    before: int
    """How many answers must have come before it can be asked for."""
    behind: int = 0
    """How many pages can only be asked for, one after the other, once its answer is here."""


def walk(replica: ReplicaProcess, video: str) -> list[Step]:
    """Read all pages of a video, one at a time."""
    connection = HTTPConnection(urlsplit(replica.origin).netloc)
    route, options = WebRoute(), Options()
    steps: list[Step] = []
    waiting: list[tuple[Cursor, Step | None]] = [(route.start(video, options), None)]
    led: list[tuple[Step, Step]] = []
    while waiting:
        cursor, parent = waiting.pop()
        ask = route.ask(video, cursor, {}, options)
        connection.request(
            ask.method, ask.url.partition("youtube.com")[2], ask.body, {**ask.headers, "Host": "www.youtube.com"}
        )
        answer = connection.getresponse()
        body = Answer(ask.url, answer.status, answer.read())
        page = route.read(video, cursor, body, datetime.now(UTC), options, {})
        step = Step(page, parent.before + 1 if parent else 0)
        steps.append(step)
        if parent is not None:
            led.append((parent, step))
        waiting.extend((found, step) for found in [*page.found, *([page.next] if page.next else [])])
    connection.close()
    for parent, step in reversed(led):
        parent.behind = max(parent.behind, step.behind + 1)
    return steps


def fewest(truth: dict[str, Any]) -> int:
    """The fewest requests that bring all comments of a video, from the truth about it: the watch page, its threads by
    20, and of each thread with replies the first 10 and then 50 at a time.
    """
    replies: dict[str, int] = {}
    tops = 0
    for parent in truth["parents"].values():
        if parent is None:
            tops += 1
        else:
            replies[parent] = replies.get(parent, 0) + 1
    threads = sum(1 + ceil(max(count - FIRST_REPLIES, 0) / MORE_REPLIES) for count in replies.values())
    return 1 + max(ceil(tops / PAGE), 1) + threads


def bound_s(steps: list[Step], in_flight: int, latency_s: float) -> float:
    """No schedule is shorter. Whatever ``before`` and ``behind`` are, the pages that have at least so many before and
    behind them cannot begin sooner, must leave that much time after them, and only so many go at once.
    """
    return latency_s * max(
        before + behind + ceil(sum(one.before >= before and one.behind >= behind for one in steps) / in_flight)
        for before, behind in _corners(steps)
    )


def _corners(steps: list[Step]) -> Iterator[tuple[int, int]]:
    most_before, most_behind = max(one.before for one in steps), max(one.behind for one in steps)
    for before in range(most_before + 1):
        for behind in range(most_behind + 1):
            if any(one.before >= before and one.behind >= behind for one in steps):
                yield before, behind
