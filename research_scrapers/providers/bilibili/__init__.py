"""Bilibili: comments, danmaku and subtitles by the web player's own endpoints, as a visitor or with a login."""

from __future__ import annotations

from research_scrapers.models import Options
from research_scrapers.providers import Pace, Provider, Route
from research_scrapers.providers.bilibili.comments import CommentsRoute
from research_scrapers.providers.bilibili.danmaku import DanmakuRoute
from research_scrapers.providers.bilibili.links import link, part_of, recognise
from research_scrapers.providers.bilibili.metadata import MetadataRoute
from research_scrapers.providers.bilibili.refusals import judge
from research_scrapers.providers.bilibili.subtitles import SubtitlesRoute
from research_scrapers.providers.bilibili.visit import BilibiliVisit


def comments(key: str | None) -> Route:
    """The route for comments; there is no official API and no key."""
    return CommentsRoute()


def transcripts(options: Options) -> Route:
    """The route for transcripts."""
    return SubtitlesRoute.of(options)


def danmaku(options: Options) -> Route:
    """The route for danmaku."""
    return DanmakuRoute.wanted(options)


PROVIDER = Provider(
    name="bilibili",
    hosts={
        "www.bilibili.com": "bilibili.com",
        "api.bilibili.com": "bilibili.com",
        "comment.bilibili.com": "bilibili.com",
        "subtitle.bilibili.com": "bilibili.com",
        "i0.hdslb.com": "hdslb.com",
        "i1.hdslb.com": "hdslb.com",
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
        "https://b23.tv/AbC1234",
        "https://www.bilibili.com/festival/2024?bvid=BV17x411w7KC",
        "https://www.bilibili.com/list/watchlater?oid=170001&bvid=BV17x411w7KC",
        "https://player.bilibili.com/player.html?aid=170001&page=2",
        "https://www.bilibili.com/bangumi/play/ep337050",
        "https://www.bilibili.com/bangumi/play/ss33802",
        "https://www.bilibili.com/bangumi/media/md28229899",
    ),
    comments=comments,
    transcripts=transcripts,
    danmaku=danmaku,
    metadata=MetadataRoute,
    part=part_of,
    visit=BilibiliVisit,
    # People who know the site report bans of minutes to hours from a few requests a second on, and none at one.
    paces={"bilibili.com": Pace(2, 1.0, 20), "hdslb.com": Pace(4, 2.0, 40), "b23.tv": Pace(1, 1.0, 5)},
    robots_help="ask Bilibili for permission, or leave its links out; ",
)

__all__ = ["PROVIDER"]
