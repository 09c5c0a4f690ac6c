"""What a finished walk is worth: complete, empty or partial, and why. One pure function, one home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from research_scrapers.models import Kind, Outcome, counted

# The site's own count includes hidden and deleted comments (recorded: 8 claimed, 4 to be had, no further page), so a
# small gap after every page was read to its end is the site's way of counting. A large one is not believed.
_GAP_COUNT = 5
_GAP_SHARE = 0.1
_NAMED = 20
"""So many failed tracks are named; the checkpoints name them all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a walk when its last chain has ended."""

    claimed: int | None
    collected: int
    threads_failed: int = 0
    failure: str | None = None
    """Reason of one of the failed threads."""
    failed: tuple[tuple[str, str], ...] = ()
    """The failed threads by name, each with its reason."""
    limited: bool = False
    """A limit that the person set cut something off."""
    looped: bool = False
    """A chain was ended because the site sent the same records again and again."""
    cut_off: bool = False
    """The main chain ended in a page without anything, although the site had led there."""
    grounded: bool = False
    """The main chain was ended where an earlier run's unbroken range begins."""
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How a sub-job ends well."""

    outcome: Outcome
    reason: str | None = None
    detail: str | None = None
    retriable: bool = False
    contiguous: bool = False


def conclude(facts: Facts) -> Conclusion:
    """The outcome of a walk whose chains have all ended."""
    gap = max((facts.claimed or 0) - facts.collected, 0)
    numbers = f"the site claims {'?' if facts.claimed is None else facts.claimed}, {facts.collected} collected"
    notes = (facts.note or "").split(",")
    looped = facts.looped or "token_loop" in notes
    logged_out = "login_needed" in notes
    whole = facts.note is None and not facts.cut_off
    if logged_out and not gap and facts.claimed is not None:  # all was shown, login or not
        notes.remove("login_needed")
        facts = replace(facts, note=",".join(notes) or None)
    partial_order = "top_order" in notes or "top_order_only" in notes
    if facts.threads_failed:
        return Conclusion(
            Outcome.PARTIAL,
            "threads_failed",
            f"{counted(facts.threads_failed, 'reply thread')} could not be read ({facts.failure}); run again to retry",
            retriable=True,
        )
    if facts.limited:
        return Conclusion(Outcome.PARTIAL, "limit", "stopped at the limit that was set")
    if logged_out and (gap or facts.claimed is None):
        return Conclusion(Outcome.PARTIAL, "login_needed", f"logged out, the site shows only a few; {numbers}")
    if facts.grounded:
        return Conclusion(Outcome.COMPLETE, "known_ground", "read down to what an earlier run holds", contiguous=True)
    if facts.cut_off and (gap > _GAP_COUNT or facts.claimed is None):
        return Conclusion(Outcome.PARTIAL, "empty_page", f"the last page was empty; {numbers}", retriable=True)
    if looped and (gap or facts.claimed is None):
        return Conclusion(Outcome.PARTIAL, "pages_repeat", f"the site sent the same page again and again; {numbers}")
    if partial_order and facts.collected and (facts.claimed is None or gap > _GAP_COUNT):
        return Conclusion(Outcome.PARTIAL, facts.note, f"this order may not reach every comment; {numbers}")
    if gap > max(_GAP_COUNT, _GAP_SHARE * (facts.claimed or 0)):
        return Conclusion(Outcome.PARTIAL, facts.note or "fewer_than_claimed", f"every page was read; {numbers}")
    if not facts.collected:
        return Conclusion(Outcome.EMPTY, "no_comments", "the site shows none", contiguous=True)
    if gap:
        return Conclusion(Outcome.COMPLETE, "site_shows_fewer", f"every page was read; {numbers}", contiguous=whole)
    return Conclusion(Outcome.COMPLETE, facts.note, None, contiguous=whole)


def conclude_danmaku(facts: Facts) -> Conclusion:
    """The outcome of reading danmaku. What the site counts is the sum of all that were ever sent, most of which it no
    longer shows to anyone, so a gap proves nothing.
    """
    if facts.threads_failed:
        return Conclusion(
            Outcome.PARTIAL,
            "segments_failed",
            f"{counted(facts.threads_failed, 'piece')} could not be read ({facts.failure}); run again to retry",
            retriable=True,
        )
    notes = (facts.note or "").split(",")
    if not facts.collected and "danmaku_closed" in notes:
        return Conclusion(Outcome.EMPTY, "danmaku_disabled", "the site says that danmaku are closed")
    if "weight_filter" in notes:
        return Conclusion(
            Outcome.PARTIAL,
            "login_needed",
            "logged out, the site's segments hold only danmaku of weight 8 or more, and its XML a selection",
        )
    if not facts.collected:
        return Conclusion(Outcome.EMPTY, "no_danmaku", "every segment was read and is empty")
    return Conclusion(Outcome.COMPLETE, facts.note, "all that the site still shows")


def conclude_metadata(facts: Facts) -> Conclusion:
    """The outcome of reading a video's own facts."""
    return Conclusion(Outcome.COMPLETE, "resolved" if facts.note else None, facts.note)


def conclude_tracks(facts: Facts) -> Conclusion:
    """The outcome of reading caption tracks. ``claimed`` are those that the site lists, not those that were wanted;
    ``note`` says why the others were left out.
    """
    listed = f"{counted(facts.collected, 'transcript')}; the site lists {counted(facts.claimed or 0, 'track')}"
    if facts.note:
        listed += f"; not taken: {facts.note}"
    if facts.threads_failed:
        failed = ", ".join(f"{track}: {reason}" for track, reason in facts.failed[:_NAMED])
        return Conclusion(
            Outcome.PARTIAL,
            "tracks_failed",
            f"{counted(facts.threads_failed, 'track')} could not be read ({failed}); run again to retry; {listed}",
            retriable=True,
        )
    return Conclusion(Outcome.COMPLETE if facts.collected else Outcome.EMPTY, None, listed)


def up_to_date(outcome: Outcome, read: float, oldest_days: float | None, now: float) -> Conclusion | None:
    """How a sub-job ends that need not be begun, because an earlier run read it, and not too long ago."""
    if oldest_days is not None and now - read > oldest_days * 86_400:
        return None
    when = datetime.fromtimestamp(read, UTC).date().isoformat()
    return Conclusion(outcome, "up_to_date", f"read on {when}; -a refresh=always reads it again")


CONCLUDE: Mapping[Kind, Callable[[Facts], Conclusion]] = {
    Kind.COMMENTS: conclude,
    Kind.TRANSCRIPT: conclude_tracks,
    Kind.DANMAKU: conclude_danmaku,
    Kind.METADATA: conclude_metadata,
}
