"""How YouTube refuses before there is anything to parse: status, redirect, error envelope, the wrong kind of body."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from research_scrapers.errors import (
    AccessRefused,
    BotCheck,
    ConsentNeeded,
    CursorExpired,
    IpBlocked,
    LoginRequired,
    PartialResponse,
    RateLimited,
    ResearchError,
    ServerTrouble,
    Timeout,
    WrongContent,
)
from research_scrapers.providers.youtube.api_errors import api_refusal, thread_gone
from research_scrapers.providers.youtube.endpoints import parameter
from research_scrapers.providers.youtube.tree import decode, dict_at, int_at, str_at
from research_scrapers.providers.youtube.watch import stand_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from research_scrapers.models import Answer

API_HOSTS = ("www.googleapis.com", "youtube.googleapis.com")


def judge(answer: Answer) -> Exception | None:
    """The failure that an answer's status, headers or outer form show, if any."""
    url = urlsplit(answer.url)
    moved = _moved(answer, url.hostname or "", url.path)
    if moved is not None:
        return moved
    official = url.hostname in API_HOSTS
    if url.path.endswith("/timedtext") and _another_way(answer):
        return None
    if url.path.endswith("/get_transcript") and answer.status == 400:
        return None  # most who ask without an account are told so: the panel is refused, not the address
    if answer.status >= 400:
        return _refused(answer, official)
    if not answer.body.strip():
        return PartialResponse(f"an empty body with status {answer.status}")
    if official or "/youtubei/" in url.path:
        return _json_due(answer.body)
    return stand_in(answer.body)


def error_in(data: Any, answer: Answer, now: datetime | None = None) -> Exception | None:
    """The failure that a decoded answer itself tells: error envelopes come with status 200 too."""
    error = dict_at(data, "error")
    if not error:
        return None
    official = urlsplit(answer.url).hostname in API_HOSTS
    if official:
        return api_refusal(error, answer.url, now or _date(answer), retry_after(answer))
    return _innertube_error(error, answer)


def retry_after(answer: Answer) -> float | None:
    """Seconds that the site asks us to wait. A date is measured against the answer's own clock, never ours."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    then, now = _parse_date(text), _date(answer)
    if then is None or now is None:
        return None
    return max(0.0, (then - now).total_seconds())


def _moved(answer: Answer, host: str, path: str) -> Exception | None:
    """A redirect, followed or not. Nothing that we ask for has moved, so every redirect is a refusal of its kind."""
    redirected = 300 <= answer.status < 400
    if redirected:
        try:
            target = urlsplit(answer.headers.get("location", ""))
            host, path = target.hostname or host, target.path
        except ValueError:
            return WrongContent("a redirect to nowhere")
    if path.startswith("/sorry") and host.startswith(("www.google.", "ipv4.google.", "ipv6.google.")):
        return IpBlocked("a redirect to the captcha page", retry_after=retry_after(answer))
    if host in ("consent.youtube.com", "consent.google.com"):
        return ConsentNeeded()
    if host == "accounts.google.com":
        return LoginRequired("a redirect to the login page")
    if redirected:
        return WrongContent(f"an unexpected redirect ({answer.status}) to {host}{path}"[:200])
    return None


def _another_way(answer: Answer) -> bool:
    """Captions that one address refuses may be had from another: the route decides, and not the status alone."""
    if answer.status == 403:
        return expired(answer.url, _date(answer))
    return answer.status == 404 or (answer.status < 300 and not answer.body.strip())


def expired(url: str, now: datetime | None) -> bool:
    """Whether the end that an address carries (``expire``, epoch seconds) is past."""
    end = parameter(url, "expire") or ""
    return now is not None and end.isascii() and end.isdigit() and len(end) < 12 and int(end) < now.timestamp()


def _refused(answer: Answer, official: bool) -> Exception | None:
    try:
        data = decode(answer.body)
    except ResearchError:
        return _by_status(answer)
    if official and thread_gone(data):
        return None  # the route reads it: that chain is over, the video is not
    return error_in(data, answer) or _by_status(answer)


def _by_status(answer: Answer) -> Exception:
    status, wait = answer.status, retry_after(answer)
    if _captcha(answer):
        return IpBlocked("the page is a captcha", retry_after=wait)
    leaves: dict[int, Callable[[], Exception]] = {
        401: lambda: LoginRequired("status 401"),
        403: lambda: AccessRefused("status 403", retry_after=wait),
        408: lambda: Timeout("status 408"),
        429: lambda: RateLimited("status 429", retry_after=wait),
    }
    if status in leaves:
        return leaves[status]()
    if status >= 500 or (status == 404 and "/youtubei/" in answer.url):
        return ServerTrouble(f"status {status}", retry_after=wait)
    return WrongContent(f"status {status}")


def _captcha(answer: Answer) -> bool:
    return isinstance(stand_in(answer.body), IpBlocked)


RATE = frozenset({"RESOURCE_EXHAUSTED", "rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"})
"""Names under which Google's services say «too fast», whatever the status."""


def _innertube_error(error: dict[str, Any], answer: Answer) -> Exception:
    """Codes of the inner API.

    An unknown continuation is answered like any bad argument. FAILED_PRECONDITION is how the site turns away clients
    that it does not believe (a version that does not fit the User-Agent, a missing proof token): a bot check, because
    waiting may help and asking again at once never does.
    """
    code = int_at(error, "code") or answer.status
    name = str_at(error, "status") or str_at(error, "errors", 0, "reason") or ""
    reason = str_at(error, "errors", 0, "reason")
    if name not in RATE and reason in RATE:
        name = reason or name
    detail = f"{name or code}: {str_at(error, 'message') or ''}".rstrip(": ")
    wait = retry_after(answer)
    if code == 429 or name in RATE:
        return RateLimited(detail, retry_after=wait)
    if name in ("FAILED_PRECONDITION", "failedPrecondition"):
        return BotCheck(detail)
    if code == 403:
        return AccessRefused(detail, retry_after=wait)
    if code == 401:
        return LoginRequired(detail)
    if code in (400, 413):
        return CursorExpired(detail)
    if code == 408:
        return Timeout(detail)
    return ServerTrouble(detail, retry_after=wait)


def _json_due(body: bytes) -> Exception | None:
    text = body.strip()
    if text[:1] == b"<":
        return stand_in(text) or WrongContent("HTML where JSON was due")
    if text[:1] in (b"{", b"[") and text[-1:] not in (b"}", b"]"):
        return PartialResponse("the JSON breaks off")
    return None


def _date(answer: Answer) -> datetime | None:
    return _parse_date(answer.headers.get("date", ""))


def _parse_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
