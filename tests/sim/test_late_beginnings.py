"""What was begun is told too late: by then the lease is over, and the work must not start."""

import pytest

from holdfast.testing.sim import World
from holdfast.testing.sim.errands.wishes import DoOnce, RunPer, Wish
from holdfast.testing.sim.plan import Member, Plan, Style
from holdfast.testing.sim.scenarios import STEADY
from holdfast.testing.sim.weather import Fate

LOST = Fate(0.001, 0.001, arrives=False)
LATE = Fate(0.001, 1.5)
"""A reply that comes long after the end of a lease of half a second."""


@pytest.mark.parametrize("style", ["aio", "sync"])
@pytest.mark.parametrize(
    "wish", [DoOnce("k", ttl=0.5), RunPer("p", ttl=0.5, per=60.0, asks=3)], ids=["once", "per"]
)
def test_who_hears_too_late_that_it_may_begin_does_not(wish: Wish, style: Style) -> None:
    """The third letter begins the work; no renewal arrives meanwhile. The next try does it."""
    renewals = tuple((number, LOST) for number in range(8))
    member = Member(0, style, ((wish,),), call_limit=5.0, asks=((2, LATE),), keeps=renewals)
    world = World(Plan((member,), weather=STEADY, heals_at=8.0))
    assert world.run() is None
    assert world.watch.losses == 1
    assert world.watch.family.done == 1
