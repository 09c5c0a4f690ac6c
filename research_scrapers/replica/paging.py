"""Which comments stand on which page: the behaviour of the site without its markup."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from .identity import digest
from .tokens import REPLIES, Token

if TYPE_CHECKING:
    from .model import Comment
    from .video import Tree, Video


@dataclass(slots=True)
class Node:
    """A comment on a page, with what hangs below it."""

    comment: Comment
    pinned: bool = False
    children: list[Node] = field(default_factory=list)  # replies inlined (nested only)
    more: Token | None = None  # where (further) replies are


@dataclass(slots=True)
class Page:
    nodes: list[Node]
    next: Token | None
    first: bool
    failure: Literal["", "error500", "incomplete"] = ""


def first_token(video: Video, sort: int, target: str) -> Token:
    return Token("main", video.id, sort=sort, target=target)


def replies_token(video: Video, comment_id: str) -> Token:
    return Token(
        "replies",
        video.id,
        target=REPLIES + comment_id,
        comment_id=comment_id,
        channel_id=video.channel.channel_id,
        size=video.traits.first_replies,
    )


def _size(video: Video, token: Token) -> int:
    size = video.traits.page_size
    if video.traits.short_pages:
        size = 1 + digest("short", video.salt, token.cursor, size=1)[0] % size
    return size


def main_page(video: Video, token: Token) -> Page:
    """A page of threads. The cursor is a running number (Newest) or a place (Top), so comments
    that arrive while somebody pages through the list do not shift the rest.
    """
    traits = video.traits
    first = token.cursor < 0
    size = _size(video, token)
    pinned = video.pinned_seq if video.pinned_seq >= 0 and video.alive(video.pinned_seq) else -1
    hidden = -1 if traits.pinned_twice and token.sort else pinned
    found: list[tuple[int, int]]  # (cursor of this comment, seq)
    if token.sort:
        # A cursor names the last comment shown; overlapping pages begin a little before it.
        before = None if first else min(token.cursor + traits.overlap, video.top_count)
        run = ((seq, seq) for seq in video.newest(before) if seq != hidden)
    else:
        start = 0 if first else max(token.cursor + 1 - traits.overlap, 0)
        run = ((place, seq) for place, seq in video.top(start) if seq != hidden)
    found = list(islice(run, size + (0 if first else traits.overlap)))
    rest = next(run, None)
    seqs = [seq for _, seq in found]
    nodes = [_root(video, seq) for seq in seqs]
    if first and pinned >= 0:
        nodes.insert(0, _root(video, pinned, pinned=True))
    following: Token | None = None
    shown = token.offset + len(found)
    if rest is not None:
        following = replace(token, cursor=found[-1][0], offset=shown, hop=0)
    elif traits.loop_end and found:
        # The last page again, for ever, each time under another token.
        anchor = token.cursor if not first else found[0][0] + (1 if token.sort else -1)
        following = replace(token, cursor=max(anchor, 0), offset=shown, hop=token.hop + 1)
    return Page(nodes, following, first)


def _root(video: Video, seq: int, pinned: bool = False) -> Node:
    comment = video.comment(seq)
    node = Node(comment, pinned)
    if comment.reply_total:
        if video.traits.nested:
            _fill(video, node, video.tree(seq), -1)
        else:
            node.more = replies_token(video, comment.id)
    return node


def _fill(video: Video, node: Node, tree: Tree, number: int) -> None:
    """Nested: put the first replies inside, leave the others to a token."""
    numbers = tree[number]
    inline = video.traits.inline_replies
    if node.comment.seq == video.broken_seq():
        inline = 0
    node.children = [_nested(video, node.comment, n, tree) for n in numbers[:inline]]
    if len(numbers) > inline:
        node.more = replies_token(video, node.comment.id)
        if inline:
            node.more = replace(node.more, cursor=numbers[inline], offset=inline)


def _nested(video: Video, parent: Comment, number: int, tree: Tree) -> Node:
    comment = video.reply(parent.seq, number, parent.reply_no, parent.level + 1)
    node = Node(comment)
    if tree[number]:
        _fill(video, node, tree, number)
    return node


def reply_page(video: Video, token: Token) -> Page | None:
    """A page of replies; None when the comment does not exist."""
    place = video.place_of(token.comment_id)
    if place is None:
        return None
    seq, number = place
    traits = video.traits
    if seq == video.broken_seq():
        return Page([], None, False, failure=traits.broken_thread)
    tree = video.tree(seq)
    numbers = tree[number] if traits.nested else video.live_replies(seq)
    if token.cursor >= 0 and token.hop < traits.empty_reply_pages:
        return Page([], replace(token, hop=token.hop + 1), False)
    # The cursor is a reply's number, not a place: a deleted reply must not hide its neighbour.
    left = [n for n in numbers if n >= token.cursor]
    chosen = left[: max(token.size, 1)]
    if traits.nested:
        parent = video.comment(seq) if number < 0 else video.reply(seq, number, level=_depth(tree, number))
        nodes = [_nested(video, parent, n, tree) for n in chosen]
    else:
        nodes = [Node(video.reply(seq, n)) for n in chosen]
    following: Token | None = None
    if len(left) > len(chosen):
        following = replace(
            token,
            cursor=left[len(chosen)],
            offset=token.offset + len(chosen),
            size=traits.more_replies,
            hop=0,
        )
    return Page(nodes, following, False)


def _depth(tree: Tree, number: int) -> int:
    depth = 0
    while number >= 0:
        number = next(parent for parent, numbers in tree.items() if number in numbers)
        depth += 1
    return depth
