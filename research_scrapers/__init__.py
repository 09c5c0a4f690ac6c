"""Research Scrapers: every comment, reply, danmaku and transcript of a list of videos, exactly once."""

__version__ = "0.1.0"
