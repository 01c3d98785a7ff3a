"""Broken before anybody had it: a notice may be quicker than the reply that it is about."""

import pytest

from holdfast.rules.messages import Ended, Notice, Withdraw
from tests.flows.fakes import Late, World, granted, notice, renewed, waiting


def broken(what: str = "forced") -> Notice:
    """Tell that the first claim's grant was taken away."""
    return Notice(what, "inbox", "n", "c1", 7, reason="in the way")  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["forced", "ended"])
def test_a_notice_that_overtakes_the_grant_is_heeded(what: str) -> None:
    """Nothing starts under what was taken away; the claim is ended, and another one made."""
    world = World(Late(0.3, granted()), granted("c2", 8))
    world.at(0.2, lambda: world.book.deliver(broken(what)))
    state = world.acquire()
    assert (state.claim_id, state.token) == ("c2", 8)
    assert world.chores == [Withdraw("n", "c1")]
    assert [*world.book.leases] == ["c2"]


def test_a_grant_by_notice_that_was_broken_meanwhile_is_heeded() -> None:
    """The same for one that waited in line."""
    world = World(waiting(), granted("c2", 8))
    world.at(0.4, lambda: world.book.deliver(broken("broken")))
    world.at(0.5, lambda: world.book.deliver(notice()))
    assert world.acquire().claim_id == "c2"
    assert world.chores == [Withdraw("n", "c1")]


def test_a_grant_that_is_broken_before_it_is_confirmed_is_given_up() -> None:
    """The confirmation says that it is over: the word that passes it on is left to the keeper."""
    world = World(waiting(), renewed(Ended("c1", "broken", "in the way")), granted("c2", 8))
    world.at(2.5, lambda: world.book.deliver(notice()))
    assert world.acquire().claim_id == "c2"
    assert Withdraw("n", "c1") in world.chores


def test_a_lease_whose_session_has_ended_is_lost_at_once() -> None:
    """Somebody else may be in by then: nobody believes from that word on, and it says why."""
    world = World(granted())
    state = world.acquire()
    assert state.holds(world.now())
    world.book.deliver(broken("ended"))
    assert not state.holds(world.now())
    assert state.why_lost() == "in the way"


def test_a_break_heard_while_a_grant_is_being_confirmed_is_heeded() -> None:
    """The confirmation was made before the break, and is read after it."""
    world = World(waiting(), Late(0.3, renewed(granted("c1", 7))), granted("c2", 8))
    world.at(2.5, lambda: world.book.deliver(notice()))
    world.at(2.7, lambda: world.book.deliver(broken()))
    assert world.acquire().claim_id == "c2"
    assert Withdraw("n", "c1") in world.chores
    assert [*world.book.leases] == ["c2"]
