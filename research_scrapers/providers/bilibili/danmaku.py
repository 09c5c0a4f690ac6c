"""Danmaku of every wanted part: six-minute segments and the XML pool, which are different selections of the same whole.

The main chain walks the parts by ``dmview:N`` (token: part|parts that were open). Each part gives chains of one page
each: ``xml``, ``seg`` per segment, ``bin`` per special file; and, where days of history are wanted and somebody is
logged in, ``month:…`` after ``month:…``, each of which gives a chain ``day`` for every day that has danmaku.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from research_scrapers.errors import (
    CursorExpired,
    DanmakuDisabled,
    LayoutChanged,
    PartialResponse,
    SilentRefusal,
)
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Options, Page
from research_scrapers.providers import NO_SESSION, Session
from research_scrapers.providers.bilibili import endpoints
from research_scrapers.providers.bilibili.danmaku_pb import SEGMENT_MS, DanmakuView, read_segment, read_view
from research_scrapers.providers.bilibili.danmaku_records import Strip, of_message, of_pool
from research_scrapers.providers.bilibili.danmaku_xml import read_pool
from research_scrapers.providers.bilibili.history import Days, days_of, next_month
from research_scrapers.providers.bilibili.parts import (
    PAGELIST,
    Part,
    PartsRoute,
    after,
    aid_of,
    first_cursor,
    missing_chains,
    name_of,
    number_in,
    numbered,
    part_at,
    read_pagelist,
)
from research_scrapers.providers.bilibili.refusals import failure_of_code
from research_scrapers.providers.bilibili.times import iso
from research_scrapers.providers.tree import decode_object, int_at

if TYPE_CHECKING:
    from datetime import datetime

CLOSED = "danmaku_closed"
"""Note: a segment or the XML file says that danmaku are closed."""
WEIGHT_FILTER = "weight_filter"
"""Note: without a login, segments hold only what the site finds worth showing."""
HISTORY_LOGIN = "history_needs_login"
_SPECIAL_HOSTS = ("i0.hdslb.com", "i1.hdslb.com")
_MOST = 5000
"""So many segments would be three weeks of video. More is not believed."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NOT_MODIFIED = 304
_BELIEVED = 3
"""So often must a segment be nothing at all."""


class DanmakuRoute(PartsRoute):
    """The route for danmaku, given which days of history are wanted."""

    name = "danmaku"

    def __init__(self, days: Days | None = None) -> None:
        self.days = days

    @classmethod
    def wanted(cls, options: Options) -> DanmakuRoute:
        """The route for what a person asked for."""
        return cls(days_of(options.history))

    def start(self, video_id: str, options: Options, session: Session = NO_SESSION) -> Cursor:
        """The first wanted part."""
        return first_cursor(session, options, "dmview")

    def request(self, video_id: str, cursor: Cursor, session: Session) -> Ask:
        if cursor.step == PAGELIST:
            return endpoints.pagelist(video_id)
        number, _, rest = cursor.token.partition("|")
        if cursor.step == "bin":
            return Ask(rest)
        aid, cid = aid_of(video_id), part_at(session, number).cid
        match name_of(cursor.step):
            case "xml":
                return endpoints.danmaku_xml(cid)
            case "seg":
                return endpoints.danmaku_segment(aid, cid, number_in(rest))
            case "month":
                return endpoints.danmaku_month(cid, rest[:7])
            case "day":
                return endpoints.danmaku_day(cid, rest)
            case _:
                return endpoints.danmaku_view(aid, cid)

    def read(
        self, video_id: str, cursor: Cursor, answer: Answer, fetched_at: datetime, options: Options,
        session: Session = NO_SESSION,
    ) -> Page:  # fmt: skip
        """The page for a cursor."""
        if cursor.step == PAGELIST:
            return read_pagelist(cursor, answer, "dmview")
        number, _, rest = cursor.token.partition("|")
        part = part_at(session, number)
        now = iso(fetched_at)
        step = name_of(cursor.step)
        if step == "dmview":
            return self._read_view(cursor, part, answer, now, options, session)
        if step == "month":
            return _read_month(cursor, part, rest, answer)
        source = {"xml": "xml", "seg": "segment", "bin": "special"}.get(step, "history")
        strip = Strip(video_id, part.part, part.cid, source, now)
        if step == "xml":
            pool = read_pool(answer.body)
            return Page(cursor, records=of_pool(pool, strip), note=_closed(session) if pool.closed else None)
        return _read_segment(cursor, answer, strip, rest, session)

    def probes(self) -> tuple[str, ...]:
        """All that this route asks for."""
        history = (endpoints.danmaku_month("1", "2024-01").url, endpoints.danmaku_day("1", "2024-01-01").url)
        return (
            endpoints.danmaku_view("1", "1").url,
            endpoints.danmaku_segment("1", "1", 1).url,
            endpoints.danmaku_xml("1").url,
            *(history if self.days else ()),
        )

    def _read_view(
        self, cursor: Cursor, part: Part, answer: Answer, now: str, options: Options, session: Session
    ) -> Page:
        view = _view(answer)
        opened = number_in(cursor.token.partition("|")[2] or "0")
        others = missing_chains(session, options) if cursor.chain == MAIN and not opened else ()
        onward = after(part.part, session, options) if cursor.chain == MAIN else None
        found: tuple[Cursor, ...] = ()
        notes = []
        if not (view and view.closed):
            opened += 1
            found = (*_chains(part, view), *self._months(part, now, session))
            if view and len(_special(view)) < len(view.special):
                notes.append("special_elsewhere")
            if self.days and session.get("logged_in") != "1":
                notes.append(HISTORY_LOGIN)
        if onward is None and not opened:
            raise DanmakuDisabled()
        return Page(
            cursor,
            next=None if onward is None else Cursor(MAIN, numbered("dmview", onward), f"{onward}|{opened}"),
            found=(*others, *found),
            note=",".join(notes) or None,
        )

    def _months(self, part: Part, now: str, session: Session) -> tuple[Cursor, ...]:
        if self.days is None or session.get("logged_in") != "1":
            return ()
        days = self.days.within(session.get("published", ""), now[:10])
        if days.first > (days.last or days.first):
            return ()
        return (_month(f"{part.part}:history", part, days.first[:7], days.first, days.last or ""),)


def _view(answer: Answer) -> DanmakuView | None:
    """What the site says of the part; ``None`` if that cannot be read, for the duration tells as much."""
    if answer.body[:1] == b"{":
        envelope = decode_object(answer.body)
        if int_at(envelope, "code") not in (0, -400, -404, None):
            failure = failure_of_code(envelope, answer)
            if not isinstance(failure, LayoutChanged):
                raise failure
        return None
    try:
        return read_view(answer.body)
    except PartialResponse:
        return None


def _chains(part: Part, view: DanmakuView | None) -> tuple[Cursor, ...]:
    by_time = max(-(-part.duration * 1000 // SEGMENT_MS), 1)
    total = view.total if view and 0 < view.total <= _MOST else min(by_time, _MOST)
    special = _special(view) if view else []
    return (
        Cursor(f"{part.part}:xml", "xml", str(part.part)),
        *(Cursor(f"{part.part}:seg:{n}", "seg", f"{part.part}|{n}") for n in range(1, total + 1)),
        *(Cursor(f"{part.part}:bin:{n}", "bin", f"{part.part}|{url}") for n, url in enumerate(special, 1)),
    )


def _special(view: DanmakuView) -> list[str]:
    """The special files that lie where the site keeps them; no other host is ever asked."""
    found = []
    for url in dict.fromkeys(view.special):
        try:
            parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
            if parts.hostname in _SPECIAL_HOSTS and parts.port is None:
                found.append(parts._replace(scheme="https").geturl())
        except ValueError:
            continue
    return found


def _read_segment(cursor: Cursor, answer: Answer, strip: Strip, rest: str, session: Session) -> Page:
    """A segment without danmaku still has a body of two hundred bytes, and the first is never without one. A later one
    that is nothing at all is asked for again: only if it stays so is it believed.
    """
    is_segment = name_of(cursor.step) == "seg"
    note = WEIGHT_FILTER if is_segment and session.get("logged_in") != "1" else None
    if not answer.body:
        if not is_segment or rest == "1":
            raise SilentRefusal("an empty body for danmaku")
        asked = number_in(cursor.step.partition(":")[2] or "1")
        again = answer.status != _NOT_MODIFIED and asked < _BELIEVED
        onward = Cursor(cursor.chain, numbered("seg", asked + 1), cursor.token) if again else None
        return Page(cursor, next=onward, note=note)
    if answer.body[:1] == b"{":
        raise failure_of_code(decode_object(answer.body), answer)
    if answer.status in (403, 404):
        raise PartialResponse(f"status {answer.status} for a special file")
    message = read_segment(answer.body)
    if is_segment and len(message.range) == 2 and message.range[0] != (number_in(rest) - 1) * SEGMENT_MS:
        raise PartialResponse(f"another segment than {rest}")
    if message.state == 1 and not message.elems:
        note = _closed(session)
    return Page(cursor, records=of_message(message.elems, strip), note=note)


def _closed(session: Session) -> str:
    """The last note stands for all parts, so this one must not hide that other parts were filtered."""
    return CLOSED if session.get("logged_in") == "1" else f"{CLOSED},{WEIGHT_FILTER}"


def _month(chain: str, part: Part, month: str, first: str, last: str) -> Cursor:
    return Cursor(chain, numbered("month", month), f"{part.part}|{month}|{first}|{last}")


def _read_month(cursor: Cursor, part: Part, rest: str, answer: Answer) -> Page:
    """The days of a month that have danmaku; null where none has."""
    try:
        month, first, last = rest.split("|")
    except ValueError:
        raise CursorExpired("the cursor of the history cannot be read") from None
    envelope = decode_object(answer.body)
    if int_at(envelope, "code"):
        raise failure_of_code(envelope, answer)
    listed = envelope.get("data") or []
    if type(listed) is not list or not all(type(day) is str and _DAY.fullmatch(day) for day in listed):
        raise LayoutChanged("days of history of a form that we do not know")
    days = Days(first, last)
    later = next_month(month)
    return Page(
        cursor,
        next=_month(cursor.chain, part, later, first, last) if later <= last[:7] else None,
        found=tuple(Cursor(f"{part.part}:day:{day}", "day", f"{part.part}|{day}") for day in listed if day in days),
    )
