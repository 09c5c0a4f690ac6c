"""The world the replica shows: the same seed always gives the same videos and comments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .identity import digest, video_id
from .model import CAPTIONED, EXPECTED, READABLE, State, TrackTruth, Traits, Truth
from .video import Video

# A fixed "now" keeps relative times and Data API dates the same in every run.
DEFAULT_NOW = 1_793_500_000


class World:
    def __init__(
        self,
        seed: int = 7,
        videos: int = 20,
        comments: tuple[int, int] = (0, 500),
        traits: Traits | None = None,
        now: int = DEFAULT_NOW,
    ) -> None:
        self.seed, self.now = seed, now
        self.videos: dict[str, Video] = {}
        low, high = comments
        for number in range(videos):
            raw = digest("size", seed, number, size=4)
            count = low + int.from_bytes(raw) % (high - low + 1)
            self._put(video_id(seed, number), count, "ok", traits or Traits())

    def _put(self, vid: str, count: int, state: State, traits: Traits) -> Video:
        video = Video(self.seed, vid, count, traits, state, self.now)
        self.videos[vid] = video
        return video

    def add(
        self,
        comments: int = 60,
        state: State = "ok",
        traits: Traits | None = None,
        *,
        video: str | None = None,
        **changes: Any,
    ) -> Video:
        """One more video; keyword arguments are Traits fields."""
        vid = video or video_id(self.seed, "added", len(self.videos))
        return self._put(vid, comments, state, replace(traits or Traits(), **changes))

    def truth(self, vid: str, *, texts: bool = True) -> Truth:
        """What a perfect collector gets; without texts it is much faster on huge videos."""
        video = self.videos[vid]
        parents: dict[str, str | None] = {}
        said: dict[str, str] = {}
        lost: set[str] = set()
        broken = video.broken_seq()
        for seq in video.newest():
            root = video.root_id(seq)
            parents[root] = None
            if texts:
                said[root] = video.comment(seq).text
            if not video.live_reply_count(seq):
                continue
            ids = {-1: root}
            for parent, numbers in sorted(video.tree(seq).items()):
                for number in numbers:
                    ids[number] = video.reply_id(seq, number)
                    if seq == broken:
                        lost.add(ids[number])
                        continue
                    parents[ids[number]] = ids[parent]
                    if texts:
                        said[ids[number]] = video.reply(seq, number).text
        default = video.captions.default()
        tracks = self._tracks(video, texts)
        counted = video.traits.header_count and video.state in READABLE | {"zero"}
        return Truth(
            video_id=vid,
            state=video.state,
            expected="partial" if lost else EXPECTED[video.state],
            ids=frozenset(parents),
            parents=parents,
            texts=said,
            claimed=video.claimed() if counted else None,
            unobtainable=frozenset(lost),
            captions=_captions(video),
            tracks=tracks,
            default_track=default.id if default and tracks else None,
        )

    def _tracks(self, video: Video, texts: bool) -> tuple[TrackTruth, ...]:
        """The tracks that a player lists, even if their texts cannot be had."""
        if video.state not in CAPTIONED or (video.traits.refusal and not video.traits.refusal_clients):
            return ()
        made: list[TrackTruth] = []
        for track in video.captions.tracks:
            lines = video.captions.segments(track) if texts else ()
            said = tuple((line.start, line.duration, line.text) for line in lines)
            made.append(TrackTruth(track.id, track.language, track.kind, track.name, said))
        return tuple(made)

    def mutate(self, change: dict[str, Any]) -> list[str]:
        """A change given as JSON; returns the ids it made or touched.

        {"video": id, "op": "add"|"reply"|"edit"|"likes"|"delete", "comment": id,
         "count": n, "text": "...", "likes": n}
        Captions: "op": "caption" with track (vssId), segment (its number) and text; "op": "tracks"
        with tracks as in Traits, which returns the track ids.
        """
        video = self.videos[change["video"]]
        match change["op"]:
            case "add":
                return video.add_comments(change.get("count", 1), change.get("text"))
            case "reply":
                return video.add_replies(change["comment"], change.get("count", 1), change.get("text"))
            case "caption":
                video.captions.set_text(change["track"], change["segment"], change["text"])
                return [change["track"]]
            case "tracks":
                return video.captions.set_tracks(change["tracks"])
            case "edit":
                video.edit(change["comment"], change["text"])
            case "likes":
                video.set_likes(change["comment"], change["likes"])
            case "delete":
                video.delete(change["comment"])
            case other:
                raise ValueError(f"unknown change {other!r}")
        return [change["comment"]]


def _captions(video: Video) -> str:
    """What a careful collector of transcripts should conclude."""
    traits = video.traits
    if video.state == "no_section":  # a running stream has no tracks yet
        return "none"
    if video.state not in CAPTIONED:
        return EXPECTED[video.state]
    if traits.refusal and not traits.refusal_clients:
        return traits.refusal
    if not video.captions.tracks:
        return "none"
    if traits.captions_blocked:
        return "blocked"
    # Told apart by whether any client of ours gets addresses that work.
    useful = {"ANDROID", "VISIONOS", "TVHTML5", "WEB", "MWEB"} - set(traits.captions_exp_clients)
    asks_token = traits.captions_exp in ("xpe", "xpv") and (not traits.captions_exp_clients or not useful)
    return "token_needed" if asks_token else "complete"


def demo_world(seed: int = 7) -> World:
    """A dozen videos that show the variety of the site, and the states without comments."""
    world = World(seed=seed, videos=0)
    world.add(120)
    world.add(45, busy=(2, 130), claimed_extra=9)
    world.add(60, nested=True, busy=(3, 40), more_kind="endpoint")
    world.add(50, generation="commentRenderer", busy=(1, 70))
    world.add(40, initial_data="element", old_ids=True)
    world.add(35, initial_data="no_contents", section_token=False, panel_sort_menu=False)
    world.add(90, overlap=3, loop_end=True, pinned_twice=True, empty_reply_pages=1)
    world.add(70, locale="de", top_share=0.5, short_pages=True)
    world.add(30, state="consent_redirect")
    world.add(40, broken_thread="error500")
    world.add(0, state="comments_off")
    world.add(0, state="no_section")
    world.add(0, state="zero")
    world.add(0, state="private")
    world.add(0, state="removed")
    return world
