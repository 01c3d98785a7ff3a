"""A simulator: the shipped flows, rules and keeper in worlds with virtual clocks and seeded faults.

``search(worlds, seeds)`` runs seeds until one of them violates an invariant; the same seed always
gives the same trace. ``python -m holdfast.testing.sim --seeds 1000`` does it from a shell.
"""

from holdfast.testing.sim.plan import Plan
from holdfast.testing.sim.search import Finding, explore, search
from holdfast.testing.sim.watch import Violation
from holdfast.testing.sim.world import World
from holdfast.testing.sim.worlds import SOUND, WORLDS, draw

__all__ = ["SOUND", "WORLDS", "Finding", "Plan", "Violation", "World", "draw", "explore", "search"]
