"""Small worlds of the whole family, to be disturbed at every point: see ``scenarios``."""

from __future__ import annotations

from holdfast.rules.bucket_messages import Terms
from holdfast.testing.sim import scenarios
from holdfast.testing.sim.errands.wishes import (
    Add,
    DoOnce,
    Draw,
    HoldAll,
    Observe,
    Preside,
    RunPer,
)
from holdfast.testing.sim.plan import Hold, Plan, Style
from holdfast.testing.sim.scenarios import against, lock

RATE = Terms(2, 1_000_000, 1)
"""Two a second, one at once."""


def adding(style: Style) -> Plan:
    """Add to a cell that another adds to as well, so that one of them has to try again."""
    return against(style, Add("v", before=0.001, takes=0.003), Add("v", takes=0.003))


def doing_once(style: Style) -> Plan:
    """Do what a key stands for, while another waits for the result."""
    return against(style, DoOnce("k", before=0.05), DoOnce("k", takes=0.2))


def being_given(style: Style) -> Plan:
    """Wait for the result while another does the work."""
    return against(style, DoOnce("k", takes=0.2), DoOnce("k", before=0.05))


def running_per(style: Style) -> Plan:
    """Run in two slots, in a contest with another who asks as often."""
    mine, other = (
        RunPer("p", before=before, per=0.4, takes=0.02, ttl=0.6, asks=4, every=0.15)
        for before in (0.0, 0.01)
    )
    return against(style, other, mine)


def drawing(style: Style) -> Plan:
    """Take what is there, then reserve and wait, before and behind another."""
    return against(style, Draw("q", RATE, before=0.01), Draw("q", RATE, times=2))


def gathering_at_once(style: Style) -> Plan:
    """Hold two names that are free, by one step; a rival waits for one of them."""
    return against(style, Hold("a", lock(2.0), before=0.05), HoldAll(("b", "a"), steps=(0.2,)))


def gathering(style: Style) -> Plan:
    """Wait for one of two names, and hold the other meanwhile, against the opposite order."""
    rival = HoldAll(("b", "a"), steps=(0.3,), at_once=False)
    return against(style, rival, HoldAll(("a", "b"), before=0.05, ttl=0.9))


def presiding(style: Style) -> Plan:
    """Come to lead after another, and put it down."""
    return against(style, Preside("c", steps=(0.05,)), Preside("c", before=0.02, steps=(0.05,)))


def observing(style: Style) -> Plan:
    """Follow who leads, while another comes and goes."""
    return against(style, Preside("c", before=0.03, steps=(0.02,)), Observe("c", lasts=2.5))


SCENARIOS = (
    adding, doing_once, being_given, running_per, drawing, gathering_at_once, gathering, presiding,
    observing,
)  # fmt: skip
"""Each makes a plan for a style."""

EVERY = (*scenarios.SCENARIOS, *SCENARIOS)
"""Those of single names, too."""
