"""What the site's answers say about whoever asked: address, town, account. None of it is kept."""

from __future__ import annotations

import re

_ABOUT_US = re.compile(
    rb'"(ip_info|login_mid|login_mid_hash|name|uname|level_info|vip|mid|zone_ip|ip)"\s*:\s*'
    rb'(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|"(?:[^"\\]|\\.)*"|-?\d+)'
)
_PLAYER = b'"login_mid"'
_NAV = b'"isLogin"'


def discreet(body: bytes) -> bytes:
    """A body as it may be kept. Only the player and the account's own page speak of us; others stay as they came."""
    if _PLAYER not in body and _NAV not in body:
        return body
    return _ABOUT_US.sub(lambda match: b'"' + match[1] + b'":null', body)
