"""Pages of comments and replies: every envelope, both generations, threads nested to any depth.

The rule against quiet losses: a list item is a comment, a known stranger, or a reason to speak. An empty page is only
believed if the site's own count says zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import CommentsDisabled, EmptyPage, LayoutChanged, PartialResponse, ServerTrouble
from research_scrapers.models import Comment, Cursor, Page
from research_scrapers.providers.youtube.continuations import item_token, legacy_token, section_token, sort_items
from research_scrapers.providers.youtube.counts import Count, parse_count
from research_scrapers.providers.youtube.entities import entity_index, read_view_model
from research_scrapers.providers.youtube.renderers import detail_token, read_renderer
from research_scrapers.providers.youtube.tree import dict_at, dig, label, label_at, list_at, str_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from research_scrapers.providers.youtube.records import Frame

LISTS = ("reloadContinuationItemsCommand", "appendContinuationItemsAction")
RECEIVED = ("onResponseReceivedEndpoints", "onResponseReceivedActions", "onResponseReceivedCommands")
CONTINUATION_ITEMS = ("continuationItemRenderer", "continuationItemViewModel")
HARMLESS = frozenset(
    {
        "adSlotRenderer",
        "clickTrackingParams",
        "commentFilterContextViewModel",
        "commentSimpleboxRenderer",
        "handoffInstructionRenderer",
        "messageRenderer",
        "trackingParams",
    }
)
"""Items that stand in lists of comments and are known not to be comments."""

OFF_HELP = "answer/9706180"
"""The help page «why are comments turned off», linked in every language."""


@dataclass(frozen=True, slots=True)
class Header:
    """The head of a comment section: how many, and the two orders."""

    count_text: str
    count: Count | None
    sort: list[tuple[str, str | None, bool]]


@dataclass(slots=True)
class Harvest:
    """What a walk over a page's lists has gathered so far."""

    records: list[Comment] = field(default_factory=list)
    threads: dict[str, tuple[str, Comment]] = field(default_factory=dict)
    inlined: dict[str, int] = field(default_factory=dict)
    token: str | None = None
    header: Header | None = None
    message: dict[str, Any] | None = None
    strangers: list[str] = field(default_factory=list)


def read_page(data: dict[str, Any], frame: Frame, newest: bool = False) -> Page:
    """The page that an innertube answer holds. ``newest``: turn from this (Top) page to the newest-first order."""
    lists = list(_lists(data))
    if not lists:
        raise _no_list(data)
    harvest = Harvest()
    entities = entity_index(data)
    for items, token in lists:
        _walk(items, entities, frame, harvest)
        harvest.token = token or harvest.token
    notes = ["unknown_items"] if harvest.strangers else []
    onward, note = _onward(harvest, frame.cursor, newest)
    if note:
        notes.append(note)
    if not harvest.records and onward is None:
        _must_be_empty(harvest)
    count = harvest.header.count if harvest.header else None
    return Page(
        cursor=frame.cursor,
        records=tuple(harvest.records),
        next=onward,
        found=tuple(_chains(harvest)),
        claimed=count.value if count else None,
        claimed_exact=count.exact if count else True,
        note=",".join(notes) or None,
    )


def read_header(renderer: Any) -> Header:
    """``commentsHeaderRenderer``. The long count has every digit, the short one is rounded; either may be missing."""
    text = label_at(renderer, "countText") or ""
    count = parse_count(text) or parse_count(label_at(renderer, "commentsCount"))
    if count is None and text.strip().lower().startswith("no "):
        count = Count(0, True)
    return Header(text, count, sort_items(dig(renderer, "sortMenu")))


def says_off(message: Any) -> bool:
    """Whether a ``messageRenderer`` is the one that says that comments are turned off: by its help link first."""
    for run in list_at(message, "text", "runs"):
        if OFF_HELP in (str_at(run, "navigationEndpoint", "urlEndpoint", "url") or ""):
            return True
    return "turned off" in (label_at(message, "text") or "")


def _lists(data: dict[str, Any]) -> Iterator[tuple[list[Any], str | None]]:
    """Every list of a page, with the token that older envelopes carry beside the list."""
    for name in RECEIVED:
        for endpoint in list_at(data, name):
            for kind in LISTS:
                action = dig(endpoint, kind)
                if type(action) is dict:
                    yield list_at(action, "continuationItems"), None
    for section in dict_at(data, "continuationContents").values():
        if type(section) is dict:
            head = section.get("header")
            yield ([head] if type(head) is dict else []) + list_at(section, "contents"), legacy_token(section)


def _no_list(data: dict[str, Any]) -> Exception:
    for alert in list_at(data, "alerts"):
        if dig(alert, "alertRenderer", "type") == "ERROR":
            return ServerTrouble(label_at(alert, "alertRenderer", "text") or "an alert without a text")
    if data.get("contents"):
        return LayoutChanged("comments were asked for and something else was answered")
    return PartialResponse("the answer holds no list of comments")


def _walk(items: list[Any], entities: dict[str, dict[str, Any]], frame: Frame, harvest: Harvest) -> None:
    """Depth first, in page order, on a stack of its own: the site decides how deep threads nest, not Python."""
    stack: list[tuple[Iterator[Any], Comment | None]] = [(iter(items), None)]
    enclosing: list[Comment] = []
    while stack:
        level, inside = stack[-1]
        item = next(level, None)
        if item is None:
            stack.pop()
            if enclosing:
                enclosing.pop()
            continue
        if type(item) is not dict:
            harvest.strangers.append(type(item).__name__)
            continue
        thread = item.get("commentThreadRenderer")
        pinned = dig(thread, "renderingPriority") == "RENDERING_PRIORITY_PINNED_COMMENT"
        holder = thread if type(thread) is dict else item
        model = dig(holder, "commentViewModel")
        renderer = dig(holder, "comment", "commentRenderer") or dig(holder, "commentRenderer")
        if type(model) is dict:
            model = dict_at(model, "commentViewModel") or model
            comment = read_view_model(model, entities, frame, inside, pinned)
        elif type(renderer) is dict:
            comment = read_renderer(renderer, frame, inside, pinned)
        elif thread is not None:
            raise LayoutChanged("a thread without a comment")
        else:
            _note_item(item, inside, harvest)
            continue
        harvest.records.append(comment)
        for outer in enclosing:
            harvest.inlined[outer.comment_id] = harvest.inlined.get(outer.comment_id, 0) + 1
        replies = dict_at(thread, "replies", "commentRepliesRenderer")
        token = legacy_token(replies)
        if token is None and type(renderer) is dict and comment.reply_count:
            token = detail_token(renderer)
        if token:
            harvest.threads[comment.comment_id] = (token, comment)
        below = list_at(replies, "subThreads") + list_at(replies, "contents")
        if below:
            stack.append((iter(below), comment))
            enclosing.append(comment)


def _note_item(item: dict[str, Any], inside: Comment | None, harvest: Harvest) -> None:
    """An item that is not a comment."""
    if any(kind in item for kind in CONTINUATION_ITEMS):
        token = item_token(item)
        if token is None:
            raise LayoutChanged("a continuation without a token")
        if inside is None:
            harvest.token = token
        else:
            harvest.threads.setdefault(inside.comment_id, (token, inside))
        return
    header = item.get("commentsHeaderRenderer")
    if type(header) is dict:
        harvest.header = read_header(header)
        return
    message = item.get("messageRenderer")
    if type(message) is dict:
        harvest.message = message
    section = item.get("itemSectionRenderer")
    if type(section) is dict and inside is None and (token := section_token(section)):
        harvest.token = token
        return
    harvest.strangers.extend(kind for kind in item if kind not in HARMLESS)


def _onward(harvest: Harvest, cursor: Cursor, newest: bool) -> tuple[Cursor | None, str | None]:
    """Where the chain goes on, and what is to be said about it."""
    step = "page" if cursor.step == "first" else cursor.step
    token, note = harvest.token, None
    header = harvest.header
    nothing = header is not None and header.count is not None and header.count.value == 0 and not harvest.records
    if newest and not nothing:
        _, wanted, selected = header.sort[1] if header and len(header.sort) > 1 else ("", None, False)
        if wanted and not selected and wanted != cursor.token:
            token = wanted
        elif token and not wanted:
            note = "top_order_only"
    if token is None:
        return None, note
    if token == cursor.token:
        return None, "token_loop"
    return Cursor(cursor.chain, step, token, cursor.claimed), note


def _must_be_empty(harvest: Harvest) -> None:
    """A page without comments and without a way on: believed only if the site says that there are none."""
    if harvest.message is not None and says_off(harvest.message):
        raise CommentsDisabled(label(harvest.message.get("text")) or "")
    count = harvest.header.count if harvest.header else None
    if count is not None and count.value == 0:
        return
    if harvest.strangers:
        raise LayoutChanged(f"no comment among {', '.join(sorted(set(harvest.strangers)))}"[:200])
    claim = f" although the site counts {count.value}" if count else ""
    raise EmptyPage(f"the page has no comments{claim}")


def _chains(harvest: Harvest) -> Iterator[Cursor]:
    """Reply chains, named by the comment that they hang on. What is inlined already is not claimed again."""
    for comment_id, (token, comment) in harvest.threads.items():
        claimed = comment.reply_count
        if claimed is not None:
            known = not comment.extras.get("reply_count_approximate")
            claimed = max(0, claimed - harvest.inlined.get(comment_id, 0)) if known else None
        yield Cursor(comment_id, "replies", token, claimed or None)
