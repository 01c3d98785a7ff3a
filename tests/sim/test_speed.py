"""The simulator is fast enough to be worth its while: measured against the rule it runs."""

import time

from holdfast.rules.claim import step
from holdfast.rules.holding import Record
from holdfast.rules.messages import Claim, Item, Release, Renew, Want
from holdfast.testing.sim import WORLDS, World, draw
from holdfast.values import Holder

WORTH = 5.0
"""An event may cost as much as this many steps of the rule; it costs about two."""


def test_an_event_costs_little_more_than_a_step_of_the_rule() -> None:
    """CPU time for CPU time, on the same machine in the same minute."""
    events = 0
    begun = time.process_time()
    for name in WORLDS:
        for seed in range(2):
            world = World(draw(name, seed))
            world.run()
            events += world.scheduler.steps - world.scheduler.stale
    event = (time.process_time() - begun) / events
    assert event < WORTH * a_step()


def a_step() -> float:
    """Measure what one step of the rule costs, as most names are used."""
    record, holder, want = Record("a"), Holder("c", "h", 1), Want("lock", 1, 1, 10.0)
    begun = time.process_time()
    for number in range(2000):
        claim_id, now = f"c{number}", number * 0.01
        record = step(record, Claim("a", claim_id, want, holder, "c", 3.0), now, number).record
        record = step(record, Renew("a", (Item(claim_id, 0, 10.0),)), now, number).record
        record = step(record, Release("a", claim_id), now, number).record
    return (time.process_time() - begun) / 6000
