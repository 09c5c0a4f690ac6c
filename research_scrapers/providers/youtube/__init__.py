"""YouTube: comments by the official Data API where there is a key, by the web pages where there is none."""

from __future__ import annotations

from research_scrapers.models import Options
from research_scrapers.providers import Provider, Route
from research_scrapers.providers.tracks import wanted_of
from research_scrapers.providers.youtube.api import ApiRoute
from research_scrapers.providers.youtube.links import link, recognise
from research_scrapers.providers.youtube.refusals import judge
from research_scrapers.providers.youtube.transcripts import TranscriptRoute
from research_scrapers.providers.youtube.web import WebRoute


def comments(key: str | None) -> Route:
    """The route for comments. Only whether there is a key matters here; the key itself travels another way."""
    return ApiRoute() if key else WebRoute()


def transcripts(options: Options) -> Route:
    """The route for transcripts."""
    wanted = wanted_of(options.languages, options.kinds, options.translate, options.tracks)
    return TranscriptRoute(wanted)


PROVIDER = Provider(
    name="youtube",
    hosts={
        "www.youtube.com": "youtube.com",
        "youtube.com": "youtube.com",
        "m.youtube.com": "youtube.com",
        "youtubei.googleapis.com": "youtube.com",
        "www.googleapis.com": "googleapis.com",
        "youtube.googleapis.com": "googleapis.com",
    },
    recognise=recognise,
    judge=judge,
    link=link,
    examples=(
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "https://youtu.be/dQw4w9WgXcQ?si=abc",
        "youtube.com/shorts/dQw4w9WgXcQ",
        "https://m.youtube.com/watch?list=PL1&v=dQw4w9WgXcQ",
        "dQw4w9WgXcQ",
    ),
    comments=comments,
    transcripts=transcripts,
    key_parameter="key",
    robots_help="set YOUTUBE_API_KEY to collect comments by the official API; ",
    # «Consent given»: without it, European addresses get the consent page in place of the watch page.
    cookies={"SOCS": "CAI"},
)

__all__ = ["PROVIDER"]
