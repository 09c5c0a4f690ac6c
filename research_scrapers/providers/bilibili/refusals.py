"""How Bilibili refuses. Most refusals come with status 200 and a code, and some look like a success.

`judge` looks at the outer form only; `payload` is what every parser of JSON begins with.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from research_scrapers.errors import (
    AccessRefused,
    AddressBanned,
    IpBlocked,
    LayoutChanged,
    LoginRequired,
    OverLimit,
    PartialResponse,
    RateLimited,
    RequestBanned,
    RiskControl,
    ServerTrouble,
    SignatureRefused,
    SilentRefusal,
    SourceError,
    Timeout,
    TooFrequent,
    VoucherOnly,
    WrongContent,
)
from research_scrapers.providers.tree import decode_object, dig, int_at, str_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from research_scrapers.models import Answer

_CODE = re.compile(rb'\s*\{\s*"code"\s*:\s*(-?\d{1,9})\b')
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|script|title)\b", re.I | re.S)
_HEAD = 4096
_VOUCHER = "x-bili-gaia-vvoucher"
_EVERYWHERE: dict[int, type[SourceError]] = {
    -352: RiskControl,
    -412: RequestBanned,
    -509: OverLimit,
    -799: TooFrequent,
    -101: LoginRequired,
    -500: ServerTrouble,
    -503: ServerTrouble,
    -504: ServerTrouble,
}
"""Codes that mean the same on every endpoint."""


def judge(answer: Answer) -> SourceError | None:
    """The failure that an answer's status, headers or outer form show without parsing it, if any."""
    url = urlsplit(answer.url)
    host, path, status = url.hostname or "", url.path, answer.status
    wait = retry_after(answer)
    if status == 412:
        code = _code(answer)
        return AddressBanned("status 412") if code is None else RequestBanned(f"status 412, code {code}")
    if status == 429:
        return RateLimited("status 429", retry_after=wait)
    if status == 408:
        return Timeout("status 408")
    if status >= 500:
        return ServerTrouble(f"status {status}", retry_after=wait)
    if path == "/robots.txt" or host == "b23.tv":
        return None
    if host.endswith(".hdslb.com") and status in (403, 404):
        return None  # an address that has run out: its route asks for a new one
    head = answer.body[:_HEAD]
    if _HTML.match(head):
        return _page(head)
    code = _code(answer)
    if code is not None and (failure := _by_code(code, answer)) is not None:
        return failure
    if status == 304 and not answer.body:
        return None
    if status == 403:
        return AccessRefused("status 403", retry_after=wait)
    if status != 200 and code is None:
        return WrongContent(f"status {status}")
    if head.lstrip()[:1] == b"{" and answer.body.rstrip()[-1:] != b"}":
        return PartialResponse("the JSON breaks off")
    return None


def payload(answer: Answer, codes: Mapping[int, type[SourceError]], key: str = "data") -> dict[str, Any]:
    """What a JSON answer holds under its envelope; ``codes`` are those that mean something on this endpoint."""
    envelope = decode_object(answer.body)
    code = int_at(envelope, "code")
    if code is None:
        raise LayoutChanged("an answer without a code")
    if code:
        leaf = codes.get(code)
        raise leaf(told(envelope)) if leaf else failure_of_code(envelope, answer)
    data = envelope.get(key)
    if data is None or data == {}:
        raise SilentRefusal(f"code 0 and no {key}")
    if type(data) is not dict:
        raise LayoutChanged(f"{key} is not an object")
    if set(data) == {"v_voucher"}:
        raise VoucherOnly()
    return data


def failure_of_code(envelope: dict[str, Any], answer: Answer) -> SourceError:
    """The failure that a decoded envelope tells."""
    code = int_at(envelope, "code")
    if code is None:
        return LayoutChanged("an answer without a code")
    failure = _by_code(code, answer)
    if failure is None and code == -403:
        failure = AccessRefused(told(envelope))
    return failure or LayoutChanged(f"unknown {told(envelope)}")


def told(envelope: dict[str, Any]) -> str:
    """Code and message, for people."""
    code, message = int_at(envelope, "code"), str_at(envelope, "message") or ""
    return f"code {code}" if message in ("", str(code)) else f"code {code}: {message[:200]}"


def retry_after(answer: Answer) -> float | None:
    """Seconds that the site asks us to wait. A date is measured against the answer's own clock, never ours."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        then = parsedate_to_datetime(text)
        return max(0.0, (then - parsedate_to_datetime(answer.headers.get("date", ""))).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _code(answer: Answer) -> int | None:
    match = _CODE.match(answer.body[:200])
    return int(match[1]) if match else None


def _by_code(code: int, answer: Answer) -> SourceError | None:
    path = urlsplit(answer.url).path
    if code == 0:
        return VoucherOnly() if _only_a_voucher(answer.body) else None
    if code == -101 and path.endswith("/nav"):
        return None
    if code == -403 and "/wbi/" in path:
        return SignatureRefused("code -403")
    leaf = _EVERYWHERE.get(code)
    if leaf is None:
        return None
    voucher = answer.headers.get(_VOUCHER) or b'"v_voucher"' in answer.body[:1000]
    return leaf(f"code {code}{', with a voucher' if voucher else ''}", retry_after=retry_after(answer))


def _only_a_voucher(body: bytes) -> bool:
    if len(body) > 1000 or b'"v_voucher"' not in body:
        return False
    try:
        data = dig(decode_object(body), "data")
    except SourceError:
        return False
    return type(data) is dict and set(data) == {"v_voucher"}


def _page(head: bytes) -> SourceError:
    """A web page where data was due. The site's words for «captcha» stand in its title."""
    text = head.decode("utf-8", "replace")
    if "出错啦" in text:
        return AddressBanned("the site's error page")
    if "验证码" in text or "captcha" in text.lower():
        return IpBlocked("a captcha page")
    return WrongContent("a web page where data was due")
