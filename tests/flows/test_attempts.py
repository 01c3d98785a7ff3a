"""How long the keeper lets one try take: it must not hang while others need it."""

import pytest

from holdfast.flows.book import Chore, Ticket
from holdfast.rules.messages import Ended, Release
from tests.flows.fakes import START, Lost, World, an_order, granted, renewed, waiting


def queued(world: World, claim_id: str, confirmed_at: float, renew_at: float) -> None:
    """Put a claim in line."""
    ticket = world.book.tickets[claim_id] = Ticket(f"name-{claim_id}", claim_id, 10.0)
    ticket.confirmed_at = confirmed_at
    ticket.renew_at = renew_at


@pytest.mark.parametrize("confirmed_at", [-float("inf"), START - 4])
def test_a_claim_without_a_place_does_not_hide_those_with_one(confirmed_at: float) -> None:
    """One that was never answered, or has lapsed, leaves the others a third of their patience."""
    world = World(renewed(waiting()), renewed(waiting()))
    queued(world, "under way", confirmed_at, START + 0.1)
    queued(world, "in line", START - 1.5, START)
    world.patience.failures = 8
    world.turn()
    assert world.limits == pytest.approx([0.5])


def test_a_try_takes_a_third_of_what_is_left() -> None:
    """A server that needs two seconds for an answer keeps a lease of ten; the tries get shorter."""
    world = World(granted(remaining=10.0))
    world.acquire(an_order("a", ttl=10.0))
    world.time = START + 3.5
    world.rewrite(Lost(0.0), Lost(0.0), renewed(granted(remaining=10.0)))
    world.limits.clear()
    for _ in range(3):
        world.time = max(world.time, world.turn())
    assert world.limits[0] == pytest.approx((9.895 - 3.5) / 3)
    assert world.limits == sorted(world.limits, reverse=True)


def test_a_short_ttl_makes_tries_short() -> None:
    """Also before the lease begins: the claim says how short it is going to be."""
    world = World(Ended("x", "released"))
    queued(world, "short", START, START + 1)
    world.book.tickets["short"].ttl = 0.6
    world.book.chores.append(Chore(Release("a", "x"), START + 60))
    world.turn()
    assert world.limits == pytest.approx([0.2])


def test_a_chore_takes_a_second_at_most() -> None:
    """Nothing is held and nothing waits, but that may change while the keeper hangs."""
    world = World(Ended("x", "released"))
    world.book.chores.append(Chore(Release("a", "x"), START + 60))
    world.turn()
    assert world.limits == pytest.approx([1.0])
