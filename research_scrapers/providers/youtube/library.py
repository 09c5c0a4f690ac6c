"""What youtube-transcript-api refuses, in our words: its errors by name, without importing it."""

from __future__ import annotations

import re

from research_scrapers import errors
from research_scrapers.errors import ResearchError, SourceError
from research_scrapers.providers.youtube.states import playability

_LEAVES: dict[str, type[SourceError]] = {
    "AgeRestricted": errors.AgeRestricted,
    "CookieError": errors.LoginRequired,
    "FailedToCreateConsentCookie": errors.ConsentNeeded,
    "InvalidVideoId": errors.VideoUnavailable,
    "IpBlocked": errors.IpBlocked,
    "NoTranscriptFound": errors.NoTranscriptInLanguage,
    "NotTranslatable": errors.NoTranscriptInLanguage,
    "PoTokenRequired": errors.TokenNeeded,
    "RequestBlocked": errors.BotCheck,
    "TranscriptsDisabled": errors.TranscriptsDisabled,
    "TranslationLanguageNotAvailable": errors.NoTranscriptInLanguage,
    "VideoUnavailable": errors.VideoUnavailable,
    "YouTubeDataUnparsable": errors.LayoutChanged,
    "YouTubeTranscriptApiException": errors.LayoutChanged,
    # not its own, but what it lets through: an empty body is no XML, and the transport fails under it
    "ParseError": errors.PartialResponse,
    "JSONDecodeError": errors.PartialResponse,
    "Timeout": errors.Timeout,
    "RequestException": errors.ConnectionLost,
}
_STATUSES: dict[int, type[SourceError]] = {
    401: errors.LoginRequired,
    403: errors.AccessRefused,
    408: errors.Timeout,
    429: errors.RateLimited,
}
_HTML = re.compile(rb"\s*<(?:!doctype html|html)", re.I)
_KEY = re.compile(rb'"INNERTUBE_API_KEY":\s*"[a-zA-Z0-9_-]+"')
_CONSENT = b'action="https://consent.youtube.com/s"'
_STATUS = re.compile(r"\b([45]\d\d)\b", re.ASCII)
_CANNOT = (errors.LayoutChanged, errors.TokenNeeded, errors.PartialResponse, errors.ConsentNeeded, errors.Unplayable)


def failure_of_library(error: BaseException) -> ResearchError:
    """The leaf that a failure of the library stands for. What already is one of ours stays what it is."""
    if isinstance(error, ResearchError):
        return error
    names = [kind.__name__ for kind in type(error).__mro__]
    if "VideoUnplayable" in names:
        return _unplayable(error)
    if "YouTubeRequestFailed" in names:
        return _by_status(str(getattr(error, "reason", "")))
    detail = _detail(error)
    for name in names:
        if name in _LEAVES:
            return _LEAVES[name](detail)
    return errors.LayoutChanged(f"{type(error).__name__}: {detail}")


def what_the_library_reads(body: bytes) -> bytes:
    """Of a watch page only the key, unless it is a consent form: a megabyte less for the library to unescape and
    search. Everything else stays as it is.
    """
    if not _HTML.match(body) or _CONSENT in body:
        return body
    key = _KEY.search(body)
    return key[0] if key else body


def library_cannot(failure: ResearchError) -> bool:
    """Whether our own reading may succeed where the library failed: its layout, a token, an empty body."""
    return isinstance(failure, _CANNOT)


def _unplayable(error: BaseException) -> ResearchError:
    told = getattr(error, "sub_reasons", None)
    messages = [text for text in told if isinstance(text, str)] if isinstance(told, list | tuple) else []
    reason = getattr(error, "reason", None)
    status = {"status": "UNPLAYABLE", "reason": reason if isinstance(reason, str) else "", "messages": messages}
    return playability({"playabilityStatus": status}) or errors.Unplayable()


def _by_status(reason: str) -> ResearchError:
    match = _STATUS.search(reason)
    status = int(match[1]) if match else 0
    detail = f"status {status}" if status else reason.partition(" for url")[0][:200]
    if status in _STATUSES:
        return _STATUSES[status](detail)
    if 400 <= status < 500:
        # The site no longer takes what the library asks; another client's question may still be answered.
        return errors.LayoutChanged(f"the library's request was refused with {detail}")
    return errors.ServerTrouble(detail)


def _detail(error: BaseException) -> str:
    """The cause in a line, without the library's advice."""
    cause = getattr(error, "cause", None)
    text = cause if isinstance(cause, str) and cause else (str(error.args[0]) if error.args else "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or [""])[0][:300]
