"""Several names are had in part, and the backend goes away: what is said of it is true."""

import pytest

from holdfast.testing.sim import World
from holdfast.testing.sim.errands.wishes import HoldAll
from holdfast.testing.sim.plan import Member, Plan, Style
from holdfast.testing.sim.scenarios import STEADY
from holdfast.testing.sim.weather import Fate

REFUSED = Fate(0.001, 0.001, refused=True)


@pytest.mark.parametrize("style", ["aio", "sync"])
def test_what_could_not_be_given_back_is_not_called_unchanged(style: Style) -> None:
    """The first name is granted; then nothing can even be sent, not even its release."""
    wish = HoldAll(("a", "b"), at_once=False)
    outage = tuple((number, REFUSED) for number in range(1, 40))
    member = Member(0, style, ((wish,),), call_limit=0.5, asks=outage)
    world = World(Plan((member,), weather=STEADY, heals_at=8.0))
    assert world.run() is None
    assert world.watch.family.done == 1
