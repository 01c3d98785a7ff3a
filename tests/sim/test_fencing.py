"""What the token is for: without it a paused holder overwrites newer work, with it never."""

from holdfast.testing.sim import World, draw
from holdfast.testing.sim.plan import Fault, Hold, Member, Plan
from holdfast.testing.sim.scenarios import STEADY, lock


def paused_after_the_check() -> Plan:
    """Plan a pause right between the check and the write, while a rival waits."""
    slow = Hold("a", lock(1.0), steps=(0.2,), gap=0.1)
    quick = Hold("a", lock(1.0), before=0.05, steps=(0.2,))
    members = (Member(0, "sync", ((slow,),)), Member(1, "aio", ((quick,),)))
    return Plan(members, (Fault(0.25, "pause", 0, 4.0),), STEADY, heals_at=6.0)


def test_a_pause_after_the_check_is_what_no_clock_can_see() -> None:
    """The write of the paused holder comes after its rival's: unguarded it wins, guarded not."""
    world = World(paused_after_the_check())
    assert world.run() is None
    assert world.watch.resource.stale == 1
    assert world.watch.resource.refused == 1


def test_pauses_make_stale_writes_in_drawn_worlds_too() -> None:
    """Stale writes happen where nobody checks; where the token is checked, all are refused."""
    stale = refused = 0
    for seed in range(40):
        world = World(draw("pauses", seed))
        assert world.run() is None
        stale += world.watch.resource.stale
        refused += world.watch.resource.refused
    assert stale > 0
    assert refused >= stale
