"""The watch-next data of a video: its facts, and the way into its comments or the reason why there is none.

Comments live apart from playback: whoever is refused the video (members only, age gate) is often still shown its
comments. So the way in is looked for first, and the player is asked only when there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from research_scrapers import errors
from research_scrapers.errors import (
    AccessNeeded,
    BotCheck,
    CommentsDisabled,
    Gone,
    LayoutChanged,
    NoCommentSection,
    PartialResponse,
    ServerTrouble,
    SourceError,
    VideoUnavailable,
)
from research_scrapers.models import MAIN, Cursor, Page
from research_scrapers.providers.youtube.continuations import section_token, sort_items
from research_scrapers.providers.youtube.counts import Count, parse_count
from research_scrapers.providers.youtube.states import playability
from research_scrapers.providers.youtube.tree import dict_at, dig, label_at, list_at, str_at
from research_scrapers.providers.youtube.video import read_video

if TYPE_CHECKING:
    from research_scrapers.providers.youtube.records import Frame

SECTION = "comment-item-section"
PANEL = "engagement-panel-comments-section"
"""Also the end of the name that Shorts use."""

COLUMNS = ("twoColumnWatchNextResults", "singleColumnWatchNextResults")


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways into the comments that the data shows."""

    section: dict[str, Any]
    """Also where the message stands that comments are off."""
    token: str | None
    newest: str | None
    count: Count | None


def read_initial(
    data: dict[str, Any] | None,
    player: dict[str, Any] | None,
    frame: Frame,
    sort: str,
    session: dict[str, str],
) -> Page:
    """From a watch page (step ``watch``) or from ``next`` by video id (step ``next``), which is asked when the page
    is incomplete. The ``next`` cursor's token then holds the reason why the player refused, if it did.
    """
    confirmed = frame.cursor.step == "next"
    _check_identity(data, player, frame.video_id)
    state = _told_before(frame.cursor) if confirmed else _state(player, frame.video_id)
    visitor = session.get("visitor_data") or _visitor(data)
    session = {**session, "visitor_data": visitor} if visitor else session
    own = player if str_at(player, "videoDetails", "videoId") == frame.video_id else None
    results = _results(data)
    if not results:
        return _incomplete(data, own, state, frame, session)
    ways = _ways(data, results)
    cursor = _way_in(ways, sort)
    if cursor is None:
        fault = _no_way(data, results, ways, state, confirmed)
        if fault is not None:
            raise fault
        cursor = Cursor(MAIN, "next", state.reason if state else "")
    return Page(
        cursor=frame.cursor,
        next=cursor,
        claimed=ways.count.value if ways.count else None,
        claimed_exact=ways.count.exact if ways.count else True,
        video=read_video(results, own, ways.count, frame),
        session=session,
    )


def _check_identity(data: dict[str, Any] | None, player: dict[str, Any] | None, video_id: str) -> None:
    """A distrusted address can be given another video. The page's own word counts more than the player's."""
    shown = str_at(data, "currentVideoEndpoint", "watchEndpoint", "videoId")
    shown = shown or str_at(player, "videoDetails", "videoId")
    if shown and shown != video_id:
        raise BotCheck(f"the site answered with video {shown}")


def _state(player: dict[str, Any] | None, video_id: str) -> SourceError | None:
    return playability(player, video_id) if player and "playabilityStatus" in player else None


def _told_before(cursor: Cursor) -> SourceError | None:
    """The player's refusal that the watch page told, carried along in the cursor by its name."""
    if not cursor.token:
        return None
    for kind in (*Gone.__subclasses__(), *AccessNeeded.__subclasses__(), *errors.Blocked.__subclasses__()):
        if errors.reason_of(kind) == cursor.token:
            return kind("the player refused")
    return None


def _visitor(data: dict[str, Any] | None) -> str | None:
    context = dict_at(data, "responseContext")
    nested = str_at(context, "webResponseContextExtensionData", "ytConfigData", "visitorData")
    return str_at(context, "visitorData") or nested


def _results(data: dict[str, Any] | None) -> list[Any]:
    for column in COLUMNS:
        found = list_at(data, "contents", column, "results", "results", "contents")
        if found:
            return found
    return []


def _incomplete(
    data: dict[str, Any] | None,
    player: dict[str, Any] | None,
    state: SourceError | None,
    frame: Frame,
    session: dict[str, str],
) -> Page:
    """No contents. Ask ``next`` once, unless the player has said that there is nothing to ask for."""
    if isinstance(state, VideoUnavailable | errors.NotStartedYet | errors.Blocked):
        raise state
    if frame.cursor.step != "next":
        cursor = Cursor(MAIN, "next", state.reason if state else "")
        video = read_video([], player, None, frame) if player else None
        return Page(cursor=frame.cursor, next=cursor, video=video, session=session)
    for alert in list_at(data, "alerts"):
        if dig(alert, "alertRenderer", "type") == "ERROR":
            raise ServerTrouble(label_at(alert, "alertRenderer", "text") or "an alert without a text")
    contents = dict_at(data, "contents")
    if contents and not any(column in contents for column in COLUMNS):
        raise LayoutChanged(f"unknown contents: {', '.join(sorted(contents))}"[:200])
    raise PartialResponse("the answer has no contents")


def _ways(data: dict[str, Any] | None, results: list[Any]) -> Ways:
    sections = [section for item in results if (section := dict_at(item, "itemSectionRenderer"))]
    section = next((one for one in sections if one.get("sectionIdentifier") == SECTION), {})
    panel = _panel(data)
    header = dict_at(panel, "header", "engagementPanelTitleHeaderRenderer")
    count = parse_count(label_at(header, "contextualInfo"))
    sort = sort_items(header.get("menu"))
    newest = sort[1][1] if len(sort) > 1 else None
    token = section_token(section) or _panel_token(panel)
    return Ways(section, token, newest, count)


def _panel(data: dict[str, Any] | None) -> dict[str, Any]:
    for item in list_at(data, "engagementPanels"):
        panel = dict_at(item, "engagementPanelSectionListRenderer")
        name = str_at(panel, "panelIdentifier") or str_at(panel, "targetId") or ""
        if name.endswith(PANEL):
            return panel
    return {}


def _panel_token(panel: dict[str, Any]) -> str | None:
    for item in list_at(panel, "content", "sectionListRenderer", "contents"):
        token = section_token(dig(item, "itemSectionRenderer"))
        if token:
            return token
    return None


def _way_in(ways: Ways, sort: str) -> Cursor | None:
    """The panel's menu leads straight to the newest. Its pages have no count, so it is taken only where the panel has
    told that there are comments: «none» must be proved by the section's own count.
    """
    claimed = ways.count.value if ways.count and ways.count.exact else None
    if sort == "newest" and ways.newest and ways.count and ways.count.value:
        return Cursor(MAIN, "page", ways.newest, claimed)
    if ways.token:
        return Cursor(MAIN, "first", ways.token, claimed)
    return None


def _no_way(
    data: dict[str, Any] | None, results: list[Any], ways: Ways, state: SourceError | None, confirmed: bool
) -> SourceError | None:
    """Why there is no way in; ``None`` if ``next`` should be asked before anything is claimed."""
    if isinstance(state, Gone | AccessNeeded):
        return state
    for item in list_at(ways.section, "contents"):
        if type(dig(item, "messageRenderer")) is dict:
            return CommentsDisabled(label_at(item, "messageRenderer", "text") or "")
    for item in results:
        title = dig(item, "itemSectionRenderer", "contents", 0, "backgroundPromoRenderer")
        if type(title) is dict:
            return VideoUnavailable(label_at(title, "title") or "")
    if state is not None:
        return state
    if ways.section:
        return PartialResponse("the comment section is empty") if confirmed else None
    live = any(dig(data, "contents", column, "conversationBar") is not None for column in COLUMNS)
    return NoCommentSection("a live stream has a chat instead" if live else "") if live or confirmed else None
