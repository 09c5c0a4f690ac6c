"""Bilibili's videos by all their numbers, and the truth about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from research_scrapers.replica.identity import digest
from research_scrapers.replica.world import DEFAULT_NOW

from . import comments, player, stream
from .model import BiliTraits, Comment, Json, Part, State, Track
from .numbers import aid_of
from .video import BiliVideo

_STRANGER = 400_000  # number of the video whose tracks appear where they do not belong
_SPOKEN: Track = ("ai-zh", "ai")


class BiliWorld:
    def __init__(
        self,
        seed: int = 7,
        videos: int = 0,
        comments: tuple[int, int] = (0, 200),
        danmaku: tuple[int, int] = (0, 300),
        now: int = DEFAULT_NOW,
    ) -> None:
        self.seed, self.now = seed, now
        self.videos: dict[str, BiliVideo] = {}
        self.by_aid: dict[int, BiliVideo] = {}
        self.by_cid: dict[int, BiliVideo] = {}
        self.stranger = BiliVideo(seed, _STRANGER, 0, 0, BiliTraits(parts=5), "ok", now)
        self._files: dict[str, tuple[BiliVideo, Part, Track | None]] = {}
        self._filed = 0
        for number in range(videos):
            raw = digest("bili size", seed, number, size=12)
            seconds = 90 + int.from_bytes(raw[:2]) % 1500
            self.add(
                _within(raw[2:6], comments),
                _within(raw[6:10], danmaku),
                parts=1 + raw[10] % 3,
                seconds=seconds,
                empty_segments=(2,) if seconds > 720 else (),
            )

    def add(self, comments: int = 30, danmaku: int = 60, state: State = "ok", **changes: Any) -> BiliVideo:
        """One more video; keyword arguments are BiliTraits fields, `danmaku` is per part."""
        traits = replace(BiliTraits(), **changes)
        video = BiliVideo(self.seed, len(self.videos), comments, danmaku, traits, state, self.now)
        self.videos[video.bvid] = self.by_aid[video.aid] = video
        self.by_cid.update(dict.fromkeys((part.cid for part in video.parts), video))
        return video

    # -- finding ---------------------------------------------------------------------------

    def named(self, query: dict[str, str]) -> BiliVideo | None:
        """The video of `bvid` or `aid`."""
        if "bvid" in query:
            return self.videos.get(query["bvid"])
        return self.by_aid.get(_int(query.get("aid", "")))

    def episode(self, query: dict[str, str]) -> BiliVideo | None:
        wanted = {("ep_id", query.get("ep_id", "")), ("season_id", query.get("season_id", ""))}
        return next(
            (
                video
                for video in self.videos.values()
                if video.traits.series and wanted & {("ep_id", str(video.ep_id)), ("season_id", str(video.season_id))}
            ),
            None,
        )

    def area(self, text: str) -> BiliVideo | None:
        """The video whose comment area is `oid`; a BV id is no oid."""
        return self.by_aid.get(_int(text))

    def part(self, text: str) -> tuple[BiliVideo, Part] | None:
        """By cid. Videos that are gone have no parts any more."""
        video = self.by_cid.get(_int(text))
        part = video.part(_int(text)) if video and video.state in ("ok", "login_only") else None
        return (video, part) if video and part else None

    def file(self, path: str) -> tuple[BiliVideo, Part, Track | None] | None:
        """A subtitle body or (track None) a file of special danmaku."""
        if self._filed != len(self.videos) + 1:
            self._filed = len(self.videos) + 1
            for video in (*self.videos.values(), self.stranger):
                for part in video.parts:
                    self._files[stream.special_path(part)] = (video, part, None)
                    for track in (*video.tracks(part), _SPOKEN):
                        address = player.path_of(video, part, track)
                        for form in (address, player.veiled_path(address)):
                            self._files[form] = (video, part, track)
        return self._files.get(path)

    # -- truth -----------------------------------------------------------------------------

    def truth(self, bvid: str, texts: bool = True) -> Json:
        """What a perfect collector gets, all ids as text.

        `comments`: id to the id it answers (None: a root), with login, without it, and without it by the old list.
        `parts`, each with `danmaku` (ids by source, and the union with and without login) and `subtitles`
        (language, kind "human", "ai" or "translated", segments [from, to, text]).
        """
        video = self.videos[bvid]
        seen = {"ok": (True, True), "login_only": (True, False)}.get(video.state, (False, False))
        said: dict[str, str] = {}
        if texts and seen[0]:
            for root in video.roots:
                said |= {str(c.rpid): video.text(c) for c in (root, *root.replies)}
        return {
            "site": "bilibili",
            "bvid": bvid,
            "aid": video.aid,
            "state": video.state,
            "comments_state": video.traits.comments_state,
            "title": video.title,
            "owner": video.owner,
            "claimed": video.claimed(),
            "short": f"https://b23.tv/{video.short}",
            "ep_id": video.ep_id if video.traits.series else None,
            "season_id": video.season_id if video.traits.series else None,
            "comments": {
                "logged_in": _parents(video, video.roots) if seen[0] else {},
                "logged_out": _visible(video) if seen[1] else {},
                "logged_out_legacy": _visible_legacy(video) if seen[1] else {},
            },
            "texts": said,
            "parts": [_part(video, part, *seen, texts) for part in video.parts],
        }

    def mutate(self, change: dict[str, Any]) -> list[str]:
        """{"video": bvid, "op": "add"|"reply"|"edit"|"likes"|"delete", "comment": id, "count": n, "text", "likes"}"""
        video = self.videos[change["video"]]
        match change["op"]:
            case "add":
                made = video.add(change.get("count", 1), change.get("text"))
            case "reply":
                made = video.reply(int(change["comment"]), change.get("count", 1), change.get("text"))
            case "edit":
                comment = video.find(int(change["comment"]))
                comment.text, made = change["text"], [comment.rpid]
            case "likes":
                comment = video.find(int(change["comment"]))
                comment.likes, made = int(change["likes"]), [comment.rpid]
                video.version += 1
            case "delete":
                made = [int(change["comment"])]
                video.delete(made[0])
            case other:
                raise ValueError(f"unknown change {other!r}")
        return [str(rpid) for rpid in made]


def _int(text: str) -> int:
    text = text.removeprefix("av")
    return int(text) if text.isdecimal() else (aid_of(text) or -1)


def _within(raw: bytes, span: tuple[int, int]) -> int:
    return span[0] + int.from_bytes(raw) % (span[1] - span[0] + 1)


def _parents(video: BiliVideo, roots: list[Comment], first: int | None = None) -> dict[str, str | None]:
    """Each id with the id it answers; of every thread only the preview and the first replies if `first` is given."""
    out: dict[str, str | None] = {}
    for root in roots:
        out[str(root.rpid)] = None
        replies = root.replies if first is None else [*root.replies[:first], *video.preview(root)]
        out |= {str(reply.rpid): str(reply.parent) for reply in replies}
    return out


def _first(video: BiliVideo) -> int | None:
    return 20 if video.traits.sub_page2 == "hollow" else None


def _visible(video: BiliVideo) -> dict[str, str | None]:
    """What `main` shows without login, and the replies below it."""
    if video.traits.anonymous == "first_page":
        shown = [root for root in video.slots(hot=False)[: video.traits.page_size] if root]
    else:
        shown = comments.visible(video)
    return _parents(video, [*([video.pinned] if video.pinned else []), *shown], _first(video))


def _visible_legacy(video: BiliVideo) -> dict[str, str | None]:
    """The same for the first page of the old list, by time and with its `hots`."""
    shown = [root for root in video.slots(hot=False)[:20] if root]
    roots = [*([video.pinned] if video.pinned else []), *comments.best(video), *shown]
    return _parents(video, roots, _first(video))


def _part(video: BiliVideo, part: Part, login: bool, visitor: bool, texts: bool) -> Json:
    xml = [str(d.id) for d in video.xml(part)] if login else []
    full = [str(d.id) for d in video.segments(part, True)] if login else []
    light = [str(d.id) for d in video.segments(part, False)] if visitor else []
    tracks: list[Json] = []
    for track in video.tracks(part) if login else ():
        lines = video.lines(part, track) if texts else []
        tracks.append(
            {
                "track_id": player.entry(video, part, track)["id_str"],
                "language": track[0],
                "kind": track[1],
                "segments": [[line.start, line.end, line.text] for line in lines],
            }
        )
    return {
        "part": part.number,
        "cid": part.cid,
        "title": part.title,
        "seconds": part.seconds,
        "segments": part.segments,
        "danmaku": {
            "logged_in": sorted({*xml, *full}),
            "logged_out": sorted({*(xml if visitor else []), *light}),
            "xml": sorted(xml),
            "segments": sorted(full),
            "segments_logged_out": sorted(light),
            "special": sorted(str(d.id) for d in video.special(part)) if login else [],
        },
        "subtitles": {"logged_in": tracks, "logged_out": []},
    }


def demo_videos(world: BiliWorld) -> None:
    """A handful that show the variety of the site."""
    world.add(90, 300, parts=2, seconds=900, empty_segments=(2,), busy=(2, 45))
    world.add(60, 120, tracks=(("zh-CN", "human"), ("ai-zh", "ai"), ("ai-en", "translated")), end="empty")
    world.add(45, 80, short_pages=True, claimed_extra=4, poison="first", tracks=(_SPOKEN,))
    world.add(3, 20, tracks=(), short_target="av")
    world.add(30, 40, comments_state="closed", danmaku_closed=True)
    world.add(25, 30, series=True)
    world.add(0, 0, tracks=())
    world.add(0, 0, state="removed")
