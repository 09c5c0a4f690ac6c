"""What Bilibili wants a visitor to bring: two visitor ids, the day's keys for signatures, a ticket, perhaps a login.

The login is a cookie that the person configured. It goes to the site's own hosts only, never to its image servers or
its short links, and stands in ``secrets`` in every spelling that it may have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from research_scrapers.errors import LoginRefused, RiskControl, SignatureRefused, SourceError, VoucherOnly
from research_scrapers.models import Answer, Ask
from research_scrapers.providers.bilibili.endpoints import HOME, NAV, SPI, TICKET, ticket
from research_scrapers.providers.bilibili.refusals import failure_of_code
from research_scrapers.providers.bilibili.wbi import signed_url
from research_scrapers.providers.tree import decode_object, dig, int_at, str_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from research_scrapers.providers import Session

_KEY = re.compile(r"/([0-9a-f]{32})\.\w+$", re.ASCII)
_PLAIN = re.compile(r"[\w.~!*'()%/+=:-]{8,1000}", re.ASCII)
"""What a visitor id or a ticket may look like; anything else does not become a cookie."""


class BilibiliVisit:
    """A visit, with the login cookie's value if there is one."""

    renewed_by: tuple[type[SourceError], ...] = (SignatureRefused, RiskControl, VoucherOnly)

    def __init__(self, login: str | None = None) -> None:
        given = (login or "").strip().strip("\"'")
        if given.lower().startswith("sessdata="):
            given = given[len("sessdata=") :].partition(";")[0].strip()
        plain = unquote(given)
        self._login = quote(plain, safe="")
        self.secrets: tuple[str, ...] = tuple(dict.fromkeys(form for form in (given, plain, self._login) if form))

    def asks(self, now: float) -> tuple[Ask, ...]:
        """Visitor ids, keys and login, ticket."""
        return (Ask(SPI), Ask(NAV), ticket(now))

    def read(self, ask: Ask, answer: Answer) -> Session:
        """What one answer teaches. Without ids or a ticket the site may still answer; a dead login stops the run."""
        if ask.url == NAV:
            return self._nav(answer)
        try:
            data = decode_object(answer.body) if answer.status == 200 else {}
        except SourceError:
            data = {}
        if ask.url == SPI:
            told = {"buvid3": str_at(data, "data", "b_3"), "buvid4": str_at(data, "data", "b_4")}
        elif ask.url.startswith(TICKET):
            told = {"bili_ticket": str_at(data, "data", "ticket"), **_keys(dig(data, "data", "nav"), "img", "sub")}
        else:
            told = {}
        return {name: value for name, value in told.items() if value and _PLAIN.fullmatch(value)}

    def _nav(self, answer: Answer) -> Session:
        """Logged out, the site answers -101 and gives the keys all the same."""
        data = decode_object(answer.body)
        code = int_at(data, "code")
        if code not in (0, -101):
            raise failure_of_code(data, answer)
        logged_in = code == 0 and dig(data, "data", "isLogin") is True
        if self._login and not logged_in:
            raise LoginRefused(
                "Bilibili says that nobody is logged in. Log in with a browser, copy the value of its cookie SESSDATA "
                "anew, or take the setting out to collect what is shown without a login"
            )
        keys = _keys(dig(data, "data", "wbi_img"), "img_url", "sub_url")
        return {"logged_in": "1" if logged_in else "0", **keys}

    def dress(self, url: str, facts: Session, now: float, *, signed: bool) -> tuple[str, Mapping[str, str]]:
        """The address, signed if it wants that and the keys are known, and the headers."""
        img_key, sub_key = facts.get("img_key"), facts.get("sub_key")
        if signed and img_key and sub_key:
            url = signed_url(url, img_key, sub_key, now)
        headers = {"Referer": HOME}
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https" and (host == "bilibili.com" or host.endswith(".bilibili.com")):
            cookies = [(name, facts.get(name)) for name in ("buvid3", "buvid4", "bili_ticket")]
            cookies.append(("SESSDATA", self._login))
            cookie = "; ".join(f"{name}={value}" for name, value in cookies if value)
            if cookie:
                headers["Cookie"] = cookie
        return url, headers


def _keys(node: object, img: str, sub: str) -> dict[str, str]:
    """The keys are the names of two pictures that nobody needs to fetch."""
    found = {name: _KEY.search(str_at(node, key) or "") for name, key in (("img_key", img), ("sub_key", sub))}
    return {name: match[1] for name, match in found.items() if match} if all(found.values()) else {}
