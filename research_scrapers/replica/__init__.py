"""A local stand-in for YouTube that speaks its real wire formats.

The real site must not be bothered by tests and benchmarks, and could never tell how many
comments a correct answer has. The replica can: see `World.truth`.
"""

from .faults import FaultPlan, Rule
from .model import Traits, Truth
from .server import Replica
from .world import World, demo_world

__all__ = ["FaultPlan", "Replica", "Rule", "Traits", "Truth", "World", "demo_world"]
