"""The words of the replica's world: what a video can be like and what a comment carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

State = Literal[
    "ok",
    "comments_off",
    "no_section",
    "zero",
    "private",
    "removed",
    "age_gated",
    "members_only",
    "region_blocked",
    "upcoming",
    "bot_check",
    "consent_redirect",
    "consent_form",
    "sorry",
    "unavailable_next",
]
STATES: tuple[State, ...] = get_args(State)

# What a careful collector should conclude about each state.
EXPECTED: dict[State, str] = {
    "ok": "complete",
    "comments_off": "comments_off",
    "no_section": "no_comment_section",
    "zero": "empty",
    "private": "private",
    "removed": "removed",
    "age_gated": "age_gated",
    "members_only": "members_only",
    "region_blocked": "region_blocked",
    "upcoming": "upcoming",
    "bot_check": "bot_check",
    "consent_redirect": "complete",
    "consent_form": "complete",
    "sorry": "captcha",
    "unavailable_next": "unavailable",
}
# States in which comments can be read (once past a consent page).
READABLE: frozenset[State] = frozenset(("ok", "bot_check", "consent_redirect", "consent_form"))

# States in which a player shows caption tracks (again: once past a consent page).
CAPTIONED: frozenset[State] = READABLE - {"bot_check"} | {"comments_off", "zero", "sorry", "unavailable_next"}

# Ways in which a player refuses a video that is all right.
Refusal = Literal[
    "",
    "bot_check",
    "captcha",  # LOGIN_REQUIRED with a captcha in the error screen
    "session_limit",
    "page_reload",  # what WEB says without a proof token
    "music_premium",
    "processing",
    "other_video",  # the answer is about another video
]


@dataclass(frozen=True, slots=True)
class Traits:
    """How one video is served. The defaults are today's ordinary case."""

    generation: Literal["viewModel", "commentRenderer"] = "viewModel"
    # What the watch page holds.
    initial_data: Literal["var", "window", "element", "no_contents"] = "var"
    section_token: bool = True  # False: only the engagement panel names a token
    panel: bool = True
    panel_sort_menu: bool = True
    # The header of the comment list.
    header_count: bool = True
    claimed_extra: int = 0  # header counts this many more than can be obtained
    locale: str | None = None  # "de", "en-GB", "en"; None: what the request's hl asks for
    # Threads.
    replies: tuple[int, int] = (1, 9)
    reply_share: float = 0.3  # share of comments that have replies
    busy: tuple[int, int] = (0, 0)  # (how many of the newest threads, replies of each)
    pinned: bool = True
    old_ids: bool = False
    # Nested replies (`subThreads`).
    nested: bool = False
    max_depth: int = 4
    inline_replies: int = 2  # replies already inside the thread item when nested
    # Paging.
    page_size: int = 20
    first_replies: int = 10
    more_replies: int = 50
    more_kind: Literal["button", "endpoint", "executor", "viewModel"] = "button"
    short_pages: bool = False
    overlap: int = 0  # comments of the previous page repeated on the next
    loop_end: bool = False  # the last page leads to itself, under ever new tokens
    empty_reply_pages: int = 0  # pages without replies before the last reply page
    pinned_twice: bool = False
    top_share: float = 1.0  # share of the comments that the Top order reaches
    broken_thread: Literal["", "error500", "incomplete"] = ""
    # Captions: (language, "manual" or "asr") or (language, "manual", name); None: drawn from the seed.
    tracks: tuple[tuple[str, ...], ...] | None = None
    caption_segments: int = 40
    blank_segments: bool = False  # also segments without text, which the truth leaves out
    missing_durations: bool = False  # some segments do not say how long; the truth says 0
    translatable: bool = True
    captions_exp: Literal["", "xpe", "xpv", "xbt"] = "xpe"  # xpe, xpv: nothing without a token
    captions_exp_clients: tuple[str, ...] = ("WEB", "MWEB")  # (): all
    captions_lifetime: int = 25_200  # seconds from the player's answer until its addresses expire
    captions_blocked: Literal["", "429", "403", "empty", "html"] = ""
    get_transcript: Literal["refused", "classic"] = "refused"
    modern_panel: bool = False  # the transcript panel of 2026 (`get_panel`) in place of the classic one
    # The player.
    kids: bool = False  # made for kids: VISIONOS and ANDROID_VR do not play it
    refusal: Refusal = ""  # to the clients below, whatever the state says
    refusal_clients: tuple[str, ...] = ()  # (): to all


@dataclass(frozen=True, slots=True)
class Author:
    name: str  # the @handle
    channel_id: str
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A marked part of a text; positions count UTF-16 units as on the wire."""

    kind: Literal["link", "time", "hashtag", "mention", "bold", "emoji"]
    start: int
    length: int
    target: str
    channel_id: str = ""  # of a mention


@dataclass(slots=True)
class Comment:
    id: str
    root_id: str
    parent_id: str | None  # the enclosing comment; differs from root_id only when nested
    seq: int  # running number of the top-level comment, 0 = oldest
    reply_no: int  # running number inside the thread, -1 for a top-level comment
    level: int
    author: Author
    text: str
    runs: tuple[Run, ...]
    likes: int
    created: int
    edited: bool
    hearted: bool
    is_creator: bool
    member: str
    super_thanks: str
    pinned: bool
    reply_total: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A line of a transcript in milliseconds; `duration` 0 is not said on the wire."""

    start: int
    duration: int
    text: str
    words: tuple[tuple[int, str], ...] = ()  # (offset from start, piece); only automatic tracks

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass(frozen=True, slots=True)
class TrackTruth:
    track_id: str  # the vssId
    language: str
    kind: str  # "manual" or "asr"
    name: str
    segments: tuple[tuple[int, int, str], ...]  # start, duration (ms), text


@dataclass(frozen=True, slots=True)
class Truth:
    """What a perfect collector ends up with for one video."""

    video_id: str
    state: State
    expected: str  # see EXPECTED; "partial" when a thread can never be read
    ids: frozenset[str]
    parents: dict[str, str | None]
    texts: dict[str, str]
    claimed: int | None  # the number in the header, None when there is no header count
    unobtainable: frozenset[str] = field(default_factory=frozenset)
    # Transcripts. `captions`: "complete", "none", "token_needed", "blocked", a refusal, or `expected`'s word.
    captions: str = "none"
    tracks: tuple[TrackTruth, ...] = ()
    default_track: str | None = None
