"""The same seed gives the same trace, in one process and across processes that hash otherwise."""

import os
import subprocess
import sys

import pytest

from holdfast.testing.sim import WORLDS, World, draw
from holdfast.testing.sim.timeline import tell

PROGRAM = """
import zlib
from holdfast.testing.sim import WORLDS, World, draw
from holdfast.testing.sim.timeline import tell
crc = 0
for name in WORLDS:
    world = World(draw(name, 7), traced=True)
    world.run()
    crc = zlib.crc32("\\n".join(tell(world.trace)).encode(), crc)
print(crc)
"""


@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_is_a_trace(world: str) -> None:
    """Twice the same: every letter, every notice, every belief, to the last microsecond."""
    first, second = (World(draw(world, 11), traced=True) for _ in range(2))
    first.run()
    second.run()
    assert first.trace
    assert tell(first.trace) == tell(second.trace or [])


def test_other_seeds_give_other_traces() -> None:
    """The dice do decide."""
    traces = set()
    for seed in range(5):
        world = World(draw("storm", seed), traced=True)
        world.run()
        traces.add("\n".join(tell(world.trace or [])))
    assert len(traces) == 5


def test_a_trace_does_not_hang_on_how_python_hashes() -> None:
    """Two processes with two hash seeds tell the same story of every world."""
    told = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        told.add(done.stdout)
    assert len(told) == 1


def test_a_trace_does_not_hang_on_being_told() -> None:
    """Whether a trace is kept changes nothing of what happens."""
    quiet, told = World(draw("storm", 3)), World(draw("storm", 3), traced=True)
    quiet.run()
    told.run()
    assert quiet.scheduler.steps == told.scheduler.steps
    assert quiet.watch.entries == told.watch.entries
