"""Bilibili: so far its links are known, so that a list may hold them; its routes are still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research_scrapers.providers import Provider
from research_scrapers.providers.bilibili.links import link, recognise

if TYPE_CHECKING:
    from research_scrapers.models import Answer


def judge(answer: Answer) -> Exception | None:
    """Nothing is requested yet, so nothing can be refused."""
    return None


PROVIDER = Provider(
    name="bilibili",
    hosts={
        "www.bilibili.com": "bilibili.com",
        "api.bilibili.com": "bilibili.com",
        "comment.bilibili.com": "bilibili.com",
        "i0.hdslb.com": "hdslb.com",
        "aisubtitle.hdslb.com": "hdslb.com",
        "b23.tv": "b23.tv",
    },
    recognise=recognise,
    judge=judge,
    link=link,
    examples=(
        "https://www.bilibili.com/video/BV17x411w7KC/?p=2",
        "https://m.bilibili.com/video/av170001",
        "BV17x411w7KC",
        "av170001",
        "https://b23.tv/BV17x411w7KC",
    ),
)

__all__ = ["PROVIDER"]
