"""Bilibili as a site of the replica: comments, danmaku and subtitles, logged in and logged out."""

from .model import BiliTraits
from .site import Bilibili
from .world import BiliWorld, demo_videos

__all__ = ["BiliTraits", "BiliWorld", "Bilibili", "demo_videos"]
