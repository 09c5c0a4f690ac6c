"""A local stand-in for YouTube and Bilibili that speaks their real wire formats.

The real sites must not be bothered by tests and benchmarks, and could never tell how many
comments a correct answer has. The replica can: see `World.truth` and `BiliWorld.truth`.
"""

from .bilibili import Bilibili, BiliTraits, BiliWorld
from .faults import FaultPlan, Rule
from .model import Traits, Truth
from .server import Replica
from .world import World, demo_world

__all__ = [
    "BiliTraits",
    "BiliWorld",
    "Bilibili",
    "FaultPlan",
    "Replica",
    "Rule",
    "Traits",
    "Truth",
    "World",
    "demo_world",
]
