"""Every failure that the project can name. A failure is a fact first; ``verdicts`` decides what to do about it.

ResearchError
├── InputError                 the person mends it before any request            exit 2
│     LinksMissing · LinksEmpty · LinkNotRecognised · SettingInvalid · JobdirInUse · ExtraMissing
│     ChecksumWrong · TooFewFiles
├── StoreError                 the database cannot be used                       exit 3
│     StoreCorrupt · StoreTooNew · StoreLocked · StoreFull · StoreUnwritable · FeedUnwritable
├── LeaseLost                  another worker owns the sub-job now: write nothing
├── SpiderError                a mistake of ours, or of an add-on: that sub-job fails, the rest go on
├── RunError                   the run cannot go on, though its links are fine
│     RobotsRefused (exit 4) · RobotsUnknown (4) · KeyRefused (5) · LoginRefused (5) · QuotaExhausted (6)
│     SiteBlocked (BreakerOpen) (7) · CertificateRefused (8) · NothingReached (9) · RunCancelled (130)
└── SourceError                what a site answered; carries provider and url
    ├── NothingThere           EMPTY    CommentsDisabled · NoCommentSection · TranscriptsDisabled
    │                                   NoTranscriptInLanguage · DanmakuDisabled
    ├── Gone                   GIVE_UP  VideoUnavailable · VideoPrivate · PartMissing · NotAVideo
    ├── AccessNeeded           PARK     LoginRequired · AgeRestricted · MembersOnly · PremiumOnly · RegionLocked
    │                                   ConsentNeeded · TokenNeeded · NotStartedYet · UnderReview · Unplayable
    ├── Blocked                WAIT     RateLimited (OverLimit · TooFrequent) · BotCheck · IpBlocked · AccessRefused
    │                                   RiskControl · AddressBanned · RequestBanned · VoucherOnly
    │                                   SignatureRefused · SilentRefusal
    ├── Transient              RETRY    ServerTrouble · Timeout · ConnectionLost · PartialResponse · EmptyPage
    │                                   WrongContent · WrongVideo · RequestLost
    ├── CursorExpired          RESTART
    └── LayoutChanged          PARK
"""

from __future__ import annotations

import re


class ResearchError(Exception):
    """Something went wrong that Research Scrapers can name."""

    exit_code = 1

    def __init__(self, detail: str = "") -> None:
        self.detail = detail
        meaning = " ".join((type(self).__doc__ or type(self).__name__).split()).rstrip(".")
        super().__init__(f"{meaning}: {detail.rstrip('. ')}" if detail else meaning)

    @property
    def reason(self) -> str:
        """The name under which tables and summaries tell this failure."""
        return reason_of(type(self))


def reason_of(kind: type[ResearchError]) -> str:
    """``CommentsDisabled`` → ``comments_disabled``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__).lower()


class InputError(ResearchError):
    """The input cannot be used."""

    exit_code = 2


class LinksMissing(InputError):
    """The links cannot be read."""


class LinksEmpty(InputError):
    """There are no links to work on."""


class LinkNotRecognised(InputError):
    """This line names no video."""


class SettingInvalid(InputError):
    """A setting has a value that cannot be used."""


class JobdirInUse(InputError):
    """Another process is working in this JOBDIR."""


class ExtraMissing(InputError):
    """An optional library is missing."""


class ChecksumWrong(InputError):
    """The data is not what its manifest says."""


class TooFewFiles(InputError):
    """The system lets this process open too few files and connections."""


class StoreError(ResearchError):
    """The database cannot be used."""

    exit_code = 3


class StoreCorrupt(StoreError):
    """The database file is damaged or is not a database."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of Research Scrapers."""


class StoreLocked(StoreError):
    """The database is locked by another program."""


class StoreFull(StoreError):
    """The disk is full."""


class StoreUnwritable(StoreError):
    """The database cannot be opened for writing."""


class FeedUnwritable(StoreError):
    """The feed file cannot be written."""


class LeaseLost(ResearchError):
    """Another worker owns this sub-job now; nothing was written."""


class SpiderError(ResearchError):
    """The program itself failed at this sub-job."""


class RunError(ResearchError):
    """The run cannot go on."""


class RobotsRefused(RunError):
    """robots.txt does not allow what this run needs."""

    exit_code = 4

    def __init__(self, detail: str = "", *, closed: str = "", ways: str = "") -> None:
        super().__init__(detail)
        self.closed = closed
        """Which host disallows what."""
        self.ways = ways
        """What else a person can do at this site."""


class RobotsUnknown(RunError):
    """robots.txt could not be read, so it is not known what is allowed."""

    exit_code = 4


class KeyRefused(RunError):
    """The API key was refused."""

    exit_code = 5


class LoginRefused(RunError):
    """The login cookie is not accepted any more."""

    exit_code = 5


class QuotaExhausted(RunError):
    """The daily API quota is used up."""

    exit_code = 6

    def __init__(self, detail: str = "", *, until: str = "") -> None:
        super().__init__(detail)
        self.until = until
        """When the quota comes back (ISO 8601, UTC)."""


class SiteBlocked(RunError):
    """The site keeps refusing this address."""

    exit_code = 7


class BreakerOpen(SiteBlocked):
    """The line's breaker opened, and it was asked not to close again."""


class CertificateRefused(RunError):
    """The server's certificate is not trusted."""

    exit_code = 8


class NothingReached(RunError):
    """Not one video could be reached."""

    exit_code = 9


class RunCancelled(RunError):
    """The run was asked to stop."""

    exit_code = 130


class SourceError(ResearchError):
    """A site answered something other than the page that was asked for."""

    retry_after: float | None = None
    """Seconds that the site asked us to wait."""

    def __init__(self, detail: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class NothingThere(SourceError):
    """There is nothing to collect, and the site says so."""


class CommentsDisabled(NothingThere):
    """Comments are turned off."""


class NoCommentSection(NothingThere):
    """The video has no comment section."""


class TranscriptsDisabled(NothingThere):
    """The video has no transcript."""


class NoTranscriptInLanguage(NothingThere):
    """The video has transcripts, but none that was asked for."""


class DanmakuDisabled(NothingThere):
    """Danmaku are turned off."""


class Gone(SourceError):
    """The video cannot be had by anyone."""


class VideoUnavailable(Gone):
    """The video is removed or never existed."""


class VideoPrivate(Gone):
    """The video is private."""


class PartMissing(Gone):
    """The video has no part of this number."""


class NotAVideo(Gone):
    """The link leads to something that is not a video."""


class AccessNeeded(SourceError):
    """The video exists, but not for us."""


class LoginRequired(AccessNeeded):
    """The site wants a login."""


class AgeRestricted(AccessNeeded):
    """The video is age-restricted."""


class MembersOnly(AccessNeeded):
    """The video is for the channel's members."""


class PremiumOnly(AccessNeeded):
    """The video is for paying subscribers."""


class RegionLocked(AccessNeeded):
    """The video is not available in this country."""


class ConsentNeeded(AccessNeeded):
    """The site shows its cookie consent page instead."""


class TokenNeeded(AccessNeeded):
    """The site gives this transcript only to a browser that proves itself."""


class NotStartedYet(AccessNeeded):
    """The live stream or premiere has not begun."""


class UnderReview(AccessNeeded):
    """The site has not released the video yet."""


class Unplayable(AccessNeeded):
    """The site says that the video cannot be played, for a reason that we do not know."""


class Blocked(SourceError):
    """The site refuses us for now."""


class RateLimited(Blocked):
    """The site asks us to slow down."""


class BotCheck(Blocked):
    """The site wants proof that we are not a bot."""


class IpBlocked(Blocked):
    """The site blocks this address with a captcha page."""


class AccessRefused(Blocked):
    """The site answered 403 without a reason."""


class OverLimit(RateLimited):
    """The site says that we are over its limit (code -509)."""


class TooFrequent(RateLimited):
    """The site says that we ask too often (code -799)."""


class RiskControl(Blocked):
    """The site's risk control refuses us (code -352)."""


class AddressBanned(Blocked):
    """The site bans this address with its error page (HTTP 412)."""


class RequestBanned(Blocked):
    """The site bans the request (code -412)."""


class VoucherOnly(Blocked):
    """The site answers with a voucher for a captcha instead of data."""


class SignatureRefused(Blocked):
    """The site does not accept the request's signature."""


class SilentRefusal(Blocked):
    """The site answers «all is well» without any data."""


class Transient(SourceError):
    """A passing fault."""


class ServerTrouble(Transient):
    """The site's server failed."""


class Timeout(Transient):
    """No answer in time."""


class ConnectionLost(Transient):
    """The connection could not be made or broke off."""


class PartialResponse(Transient):
    """The answer is empty or incomplete."""


class EmptyPage(Transient):
    """The page holds no records and no way on, although there should be some."""


class WrongContent(Transient):
    """The answer is not of the kind that was asked for."""


class WrongVideo(Transient):
    """The answer belongs to another video."""


class RequestLost(Transient):
    """A request was dropped without an answer."""


class CursorExpired(SourceError):
    """The site no longer knows this page token."""


class LayoutChanged(SourceError):
    """The answer has a shape that we do not understand."""
