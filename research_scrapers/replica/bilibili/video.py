"""One Bilibili video: parts, comments, danmaku and subtitles, made from the seed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from research_scrapers.replica.identity import digest
from research_scrapers.replica.texts import likes, sentence

from . import captions, danmaku, people
from .model import BiliTraits, Comment, Danmaku, Line, Part, State, Track
from .numbers import bvid_of, scatter

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_PER_VIDEO = 20  # bits of an id's running number that one video has for itself


class BiliVideo:
    """`number` is the video's place in the world; all its ids follow from it."""

    def __init__(
        self, seed: int, number: int, comments: int, lines: int, traits: BiliTraits, state: State, now: int
    ) -> None:
        raw = digest("bili", seed, number)
        self.seed, self.number, self.traits, self.state, self.now = seed, number, traits, state, now
        self.aid = scatter("aid", seed, number, *((170_000, 27) if traits.old_aid else (113_000_000_000_000, 41)))
        self.bvid = bvid_of(self.aid)
        self.raw = raw
        self.title = f"{sentence(raw, 4)} 第{raw[0]}期"
        self.owner = people.mid_of(seed, 900_000 + raw[1] % 40)
        self.published = now - 86_400 * (60 + int.from_bytes(raw[2:4]) % 900)
        self.ep_id, self.season_id = 300_000 + number, 30_000 + number
        self.short = f"{digest('short', seed, number, size=4).hex()[:7]}"
        self.danmaku_count = lines
        self._count = comments if traits.comments_state == "open" else 0
        self._made = 0
        self.version = 0  # of the comments
        self._ready: dict[str, tuple[int, Any]] = {}

    # -- parts -----------------------------------------------------------------------------

    @cached_property
    def parts(self) -> list[Part]:
        made = []
        for at in range(self.traits.parts):
            index = self.number << 8 | at
            cid = scatter("cid", self.seed, index, 25_000_000_000, 33)
            seconds = max(self.traits.seconds - 7 * at, 1)
            made.append(Part(at + 1, cid, f"{sentence(self.raw[at % 20 :], 2)} P{at + 1}", seconds, index))
        return made

    def part(self, cid: int) -> Part | None:
        return next((part for part in self.parts if part.cid == cid), None)

    @property
    def seconds(self) -> int:
        return sum(part.seconds for part in self.parts)

    # -- comments --------------------------------------------------------------------------

    def _rpid(self) -> int:
        self._made += 1
        return scatter("rpid", self.seed, self.number << _PER_VIDEO | self._made, 300_000_000_000, 39)

    @cached_property
    def roots(self) -> list[Comment]:
        """Oldest first."""
        out = []
        span = self.now - self.published
        for seq in range(self._count):
            raw = digest("comment", self.seed, self.number, seq)
            ctime = self.published + span * (seq + 1) // (self._count + 1)
            root = self._comment(raw, ctime, seq + 1)
            busy = seq >= self._count - self.traits.busy[0]
            low, high = self.traits.replies
            total = (
                low + int.from_bytes(raw[20:22]) % (high - low + 1) if raw[22] < self.traits.reply_share * 256 else 0
            )
            for _ in range(self.traits.busy[1] if busy else total):
                self._answer(root)
            out.append(root)
        return out

    def _comment(self, raw: bytes, ctime: int, floor: int) -> Comment:
        mid = self.owner if raw[8] < 6 else people.mid_of(self.seed, int.from_bytes(raw[9:11]))
        return Comment(self._rpid(), 0, 0, 0, floor, ctime, likes(raw[12:16]), mid, raw)

    def _answer(self, root: Comment) -> Comment:
        """One more reply; some answer an earlier reply, and then share its dialog."""
        place = len(root.replies)
        raw = digest("reply", self.seed, self.number, root.rpid, place, self._made)
        last = root.replies[-1].ctime if place else root.ctime
        reply = self._comment(raw, last + 30 + raw[1] * 9, place + 1)
        reply.root, reply.parent, reply.dialog = root.rpid, root.rpid, reply.rpid
        if place and raw[23] < 100:
            answered = root.replies[raw[24] % place]
            reply.parent, reply.dialog = answered.rpid, answered.dialog
        root.replies.append(reply)
        return reply

    def text(self, comment: Comment) -> str:
        if comment.text is not None:
            return comment.text
        return people.say(comment.raw, self.answered(comment))

    def answered(self, comment: Comment) -> int:
        """Mid of the sub-reply that this one answers, 0 when it answers the root."""
        if comment.parent == comment.root:
            return 0
        root = self.root(comment.root)
        return next((r.mid for r in root.replies if r.rpid == comment.parent), 0) if root else 0

    def root(self, rpid: int) -> Comment | None:
        return self._by_id.get(rpid)

    @cached_property
    def _by_id(self) -> dict[int, Comment]:
        return {root.rpid: root for root in self.roots}

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Computed again only after a change."""
        held = self._ready.get(name)
        if held is None or held[0] != self.version:
            held = self._ready[name] = (self.version, make())
        value: T = held[1]
        return value

    @property
    def pinned(self) -> Comment | None:
        chosen = self.raw[8] % self._count if self.traits.pinned and self._count > 3 else -1
        return self._once("pinned", lambda: next((root for root in self.roots if root.floor == chosen + 1), None))

    def rcount(self, root: Comment) -> int:
        return len(root.replies) + (self.traits.lost_replies if root.replies else 0)

    def slots(self, hot: bool) -> list[Comment | None]:
        """The list without the pinned comment, newest or hottest first; None is a hidden comment."""
        return self._once(f"slots {hot}", lambda: self._slots(hot))

    def _slots(self, hot: bool) -> list[Comment | None]:
        pinned = None if self.traits.pinned_in_list else self.pinned
        order = [root for root in reversed(self.roots) if root is not pinned]
        if hot:
            order.sort(key=lambda root: (-root.likes, root.rpid))
        out: list[Comment | None] = []
        for root in order:
            out.append(root)
            if self.traits.short_pages and root.raw[25] < 24:
                out.append(None)
        return out

    def claimed_roots(self) -> int:
        hidden = sum(root.raw[25] < 24 for root in self.roots) if self.traits.short_pages else 0
        return len(self.roots) + hidden

    def claimed(self) -> int:
        """all_count, acount and stat.reply."""
        return self._once(
            "claimed", lambda: self.claimed_roots() + sum(map(self.rcount, self.roots)) + self.traits.claimed_extra
        )

    def preview(self, root: Comment) -> list[Comment]:
        """Up to three replies inside the root: the best liked ones, which need not be the first ones."""
        return sorted(root.replies, key=lambda reply: (-reply.likes, reply.floor))[:3]

    # -- changes ---------------------------------------------------------------------------

    def add(self, count: int, text: str | None) -> list[int]:
        made = []
        for _ in range(count):
            raw = digest("late", self.seed, self.number, self._made)
            floor = self.roots[-1].floor + 1 if self.roots else 1
            root = self._comment(raw, self.now + floor, floor)
            root.text = text
            self.roots.append(root)
            self._by_id[root.rpid] = root
            made.append(root.rpid)
        self.version += 1
        return made

    def reply(self, rpid: int, count: int, text: str | None) -> list[int]:
        root = self._by_id[rpid]
        made = []
        for _ in range(count):
            answer = self._answer(root)
            answer.text = text
            made.append(answer.rpid)
        self.version += 1
        return made

    def find(self, rpid: int) -> Comment:
        for root in self.roots:
            for comment in (root, *root.replies):
                if comment.rpid == rpid:
                    return comment
        raise KeyError(f"no comment {rpid} under {self.bvid}")

    def delete(self, rpid: int) -> None:
        comment = self.find(rpid)
        self.version += 1
        if comment.root:
            self._by_id[comment.root].replies.remove(comment)
        else:
            self.roots.remove(comment)
            del self._by_id[rpid]

    # -- danmaku and subtitles -------------------------------------------------------------

    @cached_property
    def _danmaku(self) -> dict[int, list[Danmaku]]:
        return {}

    def danmaku(self, part: Part) -> list[Danmaku]:
        if part.cid not in self._danmaku:
            made = danmaku.make(self.seed, part, self.danmaku_count, self.traits, self.published, self.now)
            self._danmaku[part.cid] = [] if self.traits.danmaku_closed else made
        return self._danmaku[part.cid]

    def xml(self, part: Part) -> list[Danmaku]:
        """What the XML holds: heaviest first, at most 1.2 times its limit."""
        chosen = sorted((d for d in self.danmaku(part) if d.in_xml), key=lambda d: (-d.weight, d.id))
        return chosen[: self.traits.maxlimit * 6 // 5]

    def segments(self, part: Part, login: bool) -> list[Danmaku]:
        return [d for d in self.danmaku(part) if d.in_segments and (login or d.weight >= 8)]

    def special(self, part: Part) -> list[Danmaku]:
        return danmaku.make_special(self.seed, part, self.traits.special, self.published)

    def tracks(self, part: Part) -> tuple[Track, ...]:
        if self.traits.tracks is not None:
            return self.traits.tracks
        return captions.drawn(digest("tracks", self.seed, part.cid))

    def lines(self, part: Part, track: Track) -> list[Line]:
        return captions.lines(self.seed, part, track, self.traits.lines)
