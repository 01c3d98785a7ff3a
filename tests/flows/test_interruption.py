"""A cancelled or interrupted acquire leaves nothing, wherever it is struck."""

from asyncio import CancelledError
from collections.abc import Callable
from contextlib import nullcontext
from typing import TypeAlias

import pytest

from holdfast.errors import LockBusy
from holdfast.flows.acquire import acquire
from holdfast.flows.order import Order
from holdfast.flows.release import release, release_all
from holdfast.rules.messages import Ended, Release, Withdraw
from tests.flows.fakes import (
    START,
    Late,
    Lost,
    World,
    an_order,
    granted,
    notice,
    play,
    renewed,
    waiting,
)

Story: TypeAlias = Callable[[], tuple[World, Order]]

THE_LONG_WAY = ["Claim", "sleep", "Claim", "bell", "bell", "Renew", "sleep", "Renew"]
THE_WAY_OUT = ["Claim", "bell", "Withdraw", "sleep", "Withdraw"]
TOO_LATE = ["Claim", "Withdraw", "Claim"]


def the_long_way() -> tuple[World, Order]:
    """Ask twice, wait past a look at the keeper, be handed a grant, confirm it twice."""
    world = World(Lost(0.5), waiting(), Lost(0.5), renewed(granted()))
    world.at(3.0, lambda: world.book.deliver(notice()))
    return world, an_order()


def the_way_out() -> tuple[World, Order]:
    """Wait to the end, and withdraw twice."""
    return World(waiting(), Lost(0.2), Ended("c1", "withdrawn")), an_order(wait=1.0)


def too_late() -> tuple[World, Order]:
    """Be granted after the end, withdraw, and claim anew."""
    script = (Late(4.0, granted(remaining=3.0)), Ended("c1", "withdrawn"), granted("c2"))
    return World(*script), an_order(ttl=3.0)


TALES = [(the_long_way, THE_LONG_WAY), (the_way_out, THE_WAY_OUT), (too_late, TOO_LATE)]

EVERY_POINT = [
    pytest.param(story, point, id=f"{story.__name__}-{point}-{name}")
    for story, names in TALES
    for point, name in enumerate(names)
]


@pytest.mark.parametrize("story, expected", TALES)
def test_the_stories_pass_the_points_they_say(story: Story, expected: list[str]) -> None:
    """The await points that are struck below are all there are: a new one must be added here."""
    world, order = story()
    points: list[str] = []
    with nullcontext() if story is not the_way_out else pytest.raises(LockBusy):
        play(acquire(world.session, order, ("", 0)), points=points)
    assert points == expected


@pytest.mark.parametrize("strike", [KeyboardInterrupt, CancelledError, ValueError])
@pytest.mark.parametrize("story, point", EVERY_POINT)
def test_a_struck_acquire_withdraws(story: Story, point: int, strike: type[BaseException]) -> None:
    """Struck at whatever point, the claim is withdrawn last of all and the book is empty."""
    world, order = story()
    flow = acquire(world.session, order, ("", 0))
    with pytest.raises(strike):
        play(
            flow,
            {point: strike()},
            on_strike=lambda: world.rewrite(Ended(world.claims[-1], "withdrawn")),
        )
    assert world.requests[-1] == Withdraw("n", world.claims[-1])
    assert (world.book.tickets, world.book.leases, world.book.owned) == ({}, {}, {})


@pytest.mark.parametrize("story, point", EVERY_POINT)
def test_a_strike_in_the_clean_up_leaves_it_to_the_keeper(story: Story, point: int) -> None:
    """Struck again while it withdraws, the rest is a chore for the keeper, and nothing is left."""
    world, order = story()
    flow = acquire(world.session, order, ("", 0))
    with pytest.raises(KeyboardInterrupt):
        play(flow, {point: CancelledError(), point + 1: KeyboardInterrupt()})
    assert world.chores[-1] == Withdraw("n", world.claims[-1])
    assert world.woken
    assert (world.book.tickets, world.book.leases, world.book.owned) == ({}, {}, {})


def test_an_unreachable_backend_does_not_hold_up_a_cancelled_caller() -> None:
    """The clean-up asks for a second at most; then the keeper does it."""
    world = World(Lost())
    flow = acquire(world.session, an_order(), ("", 0))
    with pytest.raises(CancelledError):
        play(flow, {0: CancelledError()})
    assert world.limits[1] <= 1
    assert world.time <= START + 1
    assert world.chores == [Withdraw("n", "c1")]


def test_a_struck_release_is_repeated_by_the_keeper() -> None:
    """A release that was interrupted is left as a chore: the lease is not believed any more."""
    world = World(granted())
    state = world.acquire()
    with pytest.raises(KeyboardInterrupt):
        play(release(world.session, state), {0: KeyboardInterrupt()})
    assert world.chores == [Release("n", "c1")]
    assert not state.holds(world.time)
    assert world.book.leases == {}


def test_a_struck_release_of_all_is_repeated_by_the_keeper() -> None:
    """Every lease that was on its way back becomes a chore."""
    world = World(granted(), granted("c2"))
    world.acquire()
    world.acquire(an_order("m"))
    with pytest.raises(KeyboardInterrupt):
        play(release_all(world.session), {0: KeyboardInterrupt()})
    assert world.chores == [Release("n", "c1"), Release("m", "c2")]
    assert world.book.leases == {}
