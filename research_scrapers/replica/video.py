"""One video whose comments are computed from their running number, never stored.

A video with a million comments costs as much memory as one with ten; only what a test changed
(new, edited, deleted comments) is held.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING

from . import texts
from .captions import Captions
from .identity import chars, comment_id, digest, read_comment_id, reply_id
from .model import READABLE, Author, Comment, State, Traits

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMBER = ("New member", "Member (2 months)", "Member (1 year)")
_THANKS = ("$2.00", "£5.00", "€10.00")
Tree = dict[int, list[int]]  # reply number (-1: the thread's root) -> its direct replies


class Video:
    """Comments run from seq 0 (oldest) to `top_count - 1` (newest)."""

    def __init__(self, seed: int, video_id: str, count: int, traits: Traits, state: State, now: int) -> None:
        raw = digest("about", seed, video_id)
        self.seed, self.id, self.traits, self.state, self.now = seed, video_id, traits, state, now
        self.base_count = self.top_count = count if state in READABLE else 0
        self.salt = int.from_bytes(digest("salt", seed, video_id, size=6))
        self.title = f"{texts.sentence(raw, 5)} #{raw[0]}"
        self.channel = texts.author(seed, 10_000_000 + raw[1] % 40)
        self.channel_title = self.channel.name.strip("@").title()
        self.published = now - 86_400 * (30 + int.from_bytes(raw[2:4]) % 1500)
        self.views = 1000 + int.from_bytes(raw[4:7])
        self.pinned_seq = raw[8] % count if traits.pinned and self.top_count > 2 else -1
        self._extra_replies: dict[int, int] = {}
        self._texts: dict[str, str] = {}
        self._likes: dict[str, int] = {}
        self._deleted: set[str] = set()
        self.version = 0
        self.captions = Captions(seed, video_id, traits)
        # Bounded: a page and its neighbours are asked again and again, the whole video is not.
        self._tree_of = lru_cache(maxsize=512)(self._make_tree)
        self._total: tuple[int, int] | None = None

    # -- numbers ---------------------------------------------------------------------------

    def _raw(self, seq: int) -> bytes:
        return digest(self.salt, seq)

    def _raw_reply(self, seq: int, number: int) -> bytes:
        return digest(self.salt, seq, number)

    def generated_replies(self, seq: int) -> int:
        """Replies ever written under a comment, deleted ones included."""
        traits = self.traits
        extra = self._extra_replies.get(seq, 0)
        if seq >= self.base_count:  # written after the start: nobody answered yet
            return extra
        if seq >= self.base_count - traits.busy[0]:
            return traits.busy[1] + extra
        raw = digest("replies", self.salt, seq, size=4)
        if raw[0] >= traits.reply_share * 256:
            return extra
        low, high = traits.replies
        return low + int.from_bytes(raw[1:]) % (high - low + 1) + extra

    def root_id(self, seq: int) -> str:
        raw = self._raw(seq)
        return comment_id(seq, self.salt, raw, old=self.traits.old_ids and raw[7] < 64)

    def reply_id(self, seq: int, number: int) -> str:
        raw = self._raw_reply(seq, number)
        return reply_id(self.root_id(seq), number, self.salt, raw)

    def total(self) -> int:
        """All comments and replies that exist now."""
        if self._total is None or self._total[0] != self.version:
            count = sum(1 + self.live_reply_count(seq) for seq in self.newest())
            self._total = (self.version, count)
        return self._total[1]

    def claimed(self) -> int:
        return self.total() + self.traits.claimed_extra

    # -- order -----------------------------------------------------------------------------

    def alive(self, seq: int) -> bool:
        return not self._deleted or self.root_id(seq) not in self._deleted

    def newest(self, before: int | None = None) -> Iterator[int]:
        """Running numbers of the top-level comments, newest first."""
        start = self.top_count if before is None else before
        return (seq for seq in range(start - 1, -1, -1) if self.alive(seq))

    def top(self, position: int = 0) -> Iterator[tuple[int, int]]:
        """(position, seq) in Top order: a fixed shuffle that needs no list."""
        count = self.top_count
        reach = int(count * self.traits.top_share)
        step = int(count * 0.618) | 1
        while count and gcd(step, count) != 1:
            step += 2
        for place in range(position, reach):
            seq = place * step % count
            if self.alive(seq):
                yield place, seq

    def tree(self, seq: int) -> Tree:
        return self._tree_of(seq, self.version)

    def _make_tree(self, seq: int, version: int) -> Tree:
        """Who answers whom; replies of a deleted comment are gone with it."""
        depth = {-1: 0}
        children: Tree = {-1: []}
        for number in range(self.generated_replies(seq)):
            if self._deleted and self.reply_id(seq, number) in self._deleted:
                continue
            raw = digest("parent", self.salt, seq, number, size=4)
            parent = -1
            if self.traits.nested and number and raw[0] < 150:
                parent = raw[1] % number
                if parent in depth and depth[parent] >= self.traits.max_depth:
                    parent = -1
            if parent not in depth:
                continue
            depth[number] = depth[parent] + 1
            children[parent].append(number)
            children[number] = []
        return children

    def live_replies(self, seq: int) -> list[int]:
        """All replies of a thread, oldest first."""
        tree = self.tree(seq)
        return sorted(number for number in tree if number >= 0)

    def live_reply_count(self, seq: int) -> int:
        if not self.traits.nested and not self._deleted:
            return self.generated_replies(seq)
        return len(self.tree(seq)) - 1

    # -- comments --------------------------------------------------------------------------

    def _author(self, raw: bytes) -> Author:
        if raw[8] < 4:
            return self.channel
        return texts.author(self.seed, int.from_bytes(raw[9:12]) % 50_000)

    def comment(self, seq: int) -> Comment:
        raw = self._raw(seq)
        cid = comment_id(seq, self.salt, raw, old=self.traits.old_ids and raw[7] < 64)
        pinned = seq == self.pinned_seq
        author = self.channel if pinned else self._author(raw)
        text, runs = texts.comment_text(raw)
        spread = (self.now - self.published) * (seq + 1) // (self.base_count + 1)
        created = self.published + spread
        if seq >= self.base_count:
            created = self.now + seq - self.base_count
        return self._finish(
            Comment(
                id=cid,
                root_id=cid,
                parent_id=None,
                seq=seq,
                reply_no=-1,
                level=0,
                author=author,
                text=text,
                runs=runs,
                likes=texts.likes(raw[12:16]),
                created=created,
                edited=raw[16] < 24,
                hearted=raw[17] < 20,
                is_creator=author is self.channel,
                member=_MEMBER[raw[18] % 3] if raw[19] < 10 else "",
                super_thanks=_THANKS[raw[18] % 3] if raw[20] < 6 else "",
                pinned=pinned,
                reply_total=self.live_reply_count(seq),
            )
        )

    def reply(self, seq: int, number: int, parent: int = -1, level: int = 1) -> Comment:
        raw = self._raw_reply(seq, number)
        root = self.root_id(seq)
        author = self._author(raw)
        mention = None
        if raw[21] < 60 and number:
            mention = self._author(self._raw_reply(seq, number - 1))
        text, runs = texts.comment_text(raw, mention)
        base = self.published + (self.now - self.published) * (seq + 1) // (self.base_count + 1)
        created = base + (self.now - base) * (number + 1) // (self.generated_replies(seq) + 1)
        answers = 0
        if self.traits.nested:
            tree = self.tree(seq)
            pending = list(tree.get(number, ()))
            while pending:
                answers += 1
                pending.extend(tree[pending.pop()])
        return self._finish(
            Comment(
                id=reply_id(root, number, self.salt, raw),
                root_id=root,
                parent_id=root if parent < 0 else self.reply_id(seq, parent),
                seq=seq,
                reply_no=number,
                level=level,
                author=author,
                text=text,
                runs=runs,
                likes=texts.likes(raw[12:16]),
                created=created,
                edited=raw[16] < 16,
                hearted=raw[17] < 10,
                is_creator=author is self.channel,
                member=_MEMBER[raw[18] % 3] if raw[19] < 6 else "",
                super_thanks="",
                pinned=False,
                reply_total=answers,
            )
        )

    def _finish(self, comment: Comment) -> Comment:
        if self._texts and comment.id in self._texts:
            comment.text, comment.runs = self._texts[comment.id], ()
            comment.edited = comment.seq < self.base_count
        if self._likes and comment.id in self._likes:
            comment.likes = self._likes[comment.id]
        return comment

    def place_of(self, text: str) -> tuple[int, int] | None:
        """(seq, reply number or -1) of an id, None if it does not exist (any more)."""
        read = read_comment_id(text, self.salt)
        if read is None or not 0 <= read[0] < self.top_count or not self.alive(read[0]):
            return None
        seq, number = read
        if number is None:
            return (seq, -1) if self.root_id(seq) == text else None
        if number not in self.tree(seq) or self.reply_id(seq, number) != text:
            return None
        return seq, number

    def broken_seq(self) -> int:
        """The thread whose replies can never be read, -1 if there is none."""
        if not self.traits.broken_thread:
            return -1
        return next((seq for seq in self.newest() if self.live_reply_count(seq)), -1)

    # -- changes ---------------------------------------------------------------------------

    def add_comments(self, count: int = 1, text: str | None = None) -> list[str]:
        """New comments at the top of Newest; their ids."""
        first = self.top_count
        self.top_count += count
        self.version += 1
        ids = [self.root_id(seq) for seq in range(first, self.top_count)]
        if text is not None:
            self._texts.update(dict.fromkeys(ids, text))
        return ids

    def add_replies(self, root_id: str, count: int = 1, text: str | None = None) -> list[str]:
        place = self._place(root_id)
        first = self.generated_replies(place[0])
        self._extra_replies[place[0]] = self._extra_replies.get(place[0], 0) + count
        self.version += 1
        ids = [self.reply_id(place[0], number) for number in range(first, first + count)]
        if text is not None:
            self._texts.update(dict.fromkeys(ids, text))
        return ids

    def edit(self, comment_id_: str, text: str) -> None:
        self._place(comment_id_)
        self._texts[comment_id_] = text
        self.version += 1

    def set_likes(self, comment_id_: str, likes: int) -> None:
        self._place(comment_id_)
        self._likes[comment_id_] = likes
        self.version += 1

    def delete(self, comment_id_: str) -> None:
        self._place(comment_id_)
        self._deleted.add(comment_id_)
        self.version += 1

    def _place(self, text: str) -> tuple[int, int]:
        place = self.place_of(text)
        if place is None:
            raise KeyError(f"no comment {text} under video {self.id}")
        return place

    def etag(self, *parts: object) -> str:
        return chars(digest(self.salt, self.version, *parts, size=20), 27)
