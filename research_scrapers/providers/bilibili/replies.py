"""What was answered below one root comment: numbered pages, oldest first, all depths in one flat list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research_scrapers.errors import CursorExpired, EmptyPage, LayoutChanged, NothingThere, SourceError, WrongContent
from research_scrapers.models import Cursor, Page
from research_scrapers.providers.bilibili.endpoints import PAGE_SIZE
from research_scrapers.providers.bilibili.records import id_at, read_reply, replies_in
from research_scrapers.providers.bilibili.refusals import payload
from research_scrapers.providers.tree import int_at

if TYPE_CHECKING:
    from research_scrapers.models import Answer
    from research_scrapers.providers.bilibili.records import Frame

_BELIEVED = 3
"""So often must a page in the middle be empty."""
LOGIN_NEEDED = "login_needed"
"""Note: the site ended the list early because nobody is logged in."""
_GONE: dict[int, type[SourceError]] = {12006: NothingThere, 12022: NothingThere, -404: NothingThere}
"""The root was deleted meanwhile, and what stood below it with it."""


def page_number(cursor: Cursor) -> int | None:
    """Which page of its thread a cursor stands for."""
    return int(cursor.token) if cursor.token.isascii() and cursor.token.isdigit() else None


def read_replies(answer: Answer, frame: Frame) -> Page:
    """One page of a thread."""
    cursor = frame.cursor
    number = page_number(cursor)
    if not number:
        raise CursorExpired("the cursor of a thread cannot be read")
    try:
        data = payload(answer, {**_GONE, -400: CursorExpired if number > 1 else LayoutChanged})
    except NothingThere:
        return Page(cursor)
    where = data.get("page")
    if type(where) is not dict:
        raise LayoutChanged("a page of replies without its number")
    owner = id_at(data.get("upper"), "mid")
    records = [read_reply(node, frame, owner) for node in replies_in(data, "replies")]
    if any(record.root_id != cursor.chain for record in records):
        raise WrongContent("replies of another thread")
    size, count = int_at(where, "size") or 0, int_at(where, "count") or 0
    if records and not count:  # not counted here: what the root says it has
        count = cursor.claimed or 0
    last = number * (size or PAGE_SIZE) >= count
    if records:
        onward = None if last else Cursor(cursor.chain, "replies", str(number + 1), cursor.claimed)
        return Page(cursor, records=tuple(records), next=onward)
    if size and (last or number > 1):  # deleted replies are counted, so the list may end before its count
        asked = int(cursor.step.partition(":")[2] or "1")
        if not last and frame.logged_in and asked < _BELIEVED:
            return Page(cursor, next=Cursor(cursor.chain, f"replies:{asked + 1}", cursor.token, cursor.claimed))
        return Page(cursor, note=None if last or frame.logged_in else LOGIN_NEEDED)
    if not frame.logged_in:
        return Page(cursor, note=LOGIN_NEEDED)
    raise EmptyPage(f"page {number} of a thread holds nothing; the site claims {count or cursor.claimed}")
