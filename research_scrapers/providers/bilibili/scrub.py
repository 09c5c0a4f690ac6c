"""What Bilibili's answers say of whoever asked: the player echoes address, place and account; a short link, who shared
it. None of that is kept.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from research_scrapers.providers.tree import decode_object

if TYPE_CHECKING:
    from research_scrapers.models import Answer

_PLAYER = ("/x/player/wbi/v2", "/x/player/v2")
_CALLER = (
    "ip_info", "login_mid_hash", "name", "permission", "level_info", "vip", "answer_status", "block_time", "role",
    "last_play_time", "last_play_cid", "is_owner",
)  # fmt: skip
_SOMEBODY = -1
_NAMING = ("bvid", "aid", "oid", "p", "page")
"""Parameters of an address that name a video; the others name people."""


def scrub(answer: Answer) -> Answer:
    """The answer without its caller. Whether somebody was logged in stays: it says what an empty list means."""
    if "location" in answer.headers:
        target = urlsplit(answer.headers["location"])
        query = urlencode([(name, value) for name, value in parse_qsl(target.query) if name in _NAMING])
        answer = replace(answer, headers={**answer.headers, "location": target._replace(query=query).geturl()})
    if urlsplit(answer.url).path not in _PLAYER:
        return answer
    envelope = decode_object(answer.body)
    data = envelope.get("data")
    if isinstance(data, dict):
        kept = {name: value for name, value in data.items() if name not in _CALLER}
        if kept.get("login_mid"):
            kept["login_mid"] = _SOMEBODY
        envelope["data"] = kept
    return replace(answer, body=json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode())
