"""Research Scrapers: every comment, reply, danmaku and transcript of a list of videos, exactly once."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from research_scrapers.api import scrape as scrape

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``from research_scrapers import scrape``, without loading all of Scrapy for whoever wants something small."""
    if name == "scrape":
        from research_scrapers.api import scrape  # noqa: PLC0415

        return scrape
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
