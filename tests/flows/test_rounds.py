"""The keeper's rounds: leases that nobody has, the end of a client, and what a fork leaves."""

from math import inf

import pytest

from holdfast.flows import rounds
from holdfast.flows.book import Ticket
from holdfast.observe.events import Lost as LostEvent
from holdfast.rules.messages import Ended, Notice, Release, Withdraw
from tests.flows.fakes import (
    START,
    TTL,
    FakeBell,
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


def go_round(world: World) -> float | None:
    """Go one round."""
    return play(rounds.go_round(world.session, world.patience))


def holding(*, has_face: bool = True, ttl: float = TTL) -> World:
    """Hold a name since the start; without a face nobody has the lease."""
    world = World(granted(remaining=ttl))
    state = world.acquire(an_order(ttl=ttl))
    state.face = (lambda: state) if has_face else None
    world.sent.clear()
    return world


def test_a_round_says_until_when_to_listen() -> None:
    """With one lease: until it is due."""
    world = holding()
    assert go_round(world) == pytest.approx(START + TTL / 3)


def look_around(world: World) -> None:
    """Go rounds, one look at a time, until the next look is the last."""
    for _ in range(rounds.LOOKS - 1):
        look_at = go_round(world)
        assert look_at is not None
        world.time = look_at


def test_a_lease_on_its_way_is_left_alone() -> None:
    """Within a second its owner may still get it: it is kept, and looked at again soon."""
    world = holding(has_face=False)
    look_around(world)
    assert world.time == pytest.approx(START + rounds.ON_ITS_WAY)
    assert [*world.book.leases] == ["c1"]
    assert world.sent == []


def test_a_lease_that_nobody_has_is_given_back() -> None:
    """After a second it is not renewed but released."""
    world = holding(has_face=False)
    look_around(world)
    world.rewrite(Ended("c1", "released"))
    go_round(world)
    assert world.requests == [Release("n", "c1")]
    assert (world.book.leases, world.book.owned, world.chores) == ({}, {}, [])


def test_a_standstill_is_no_sign_that_nobody_has_it() -> None:
    """The owner stood still as long as the keeper did: it may be about to get its lease."""
    world = holding(has_face=False)
    go_round(world)
    world.time = START + 3
    assert go_round(world) == pytest.approx(START + 3 + rounds.BETWEEN_LOOKS)
    assert [*world.book.leases] == ["c1"]
    assert world.sent == []


def test_a_keeper_that_is_woken_often_does_not_look_more_often() -> None:
    """Looks that follow each other at once are one look."""
    world = holding(has_face=False)
    for _ in range(2 * rounds.LOOKS):
        assert go_round(world) == pytest.approx(START + rounds.BETWEEN_LOOKS)
    assert [*world.book.leases] == ["c1"]


def test_a_release_that_has_just_begun_is_left_to_its_thread() -> None:
    """Held up between two of its steps, it finds the lease as it left it: nothing was lost."""
    world = holding()
    state = world.book.leases["c1"]
    world.time = START + 2
    state.released = True
    go_round(world)
    assert [*world.book.leases] == ["c1"]
    assert (state.loss, world.sent) == ("", [])


def test_giving_back_goes_on_past_the_deadline_that_we_know_of() -> None:
    """A renewal that was not heard of may have prolonged the grant by a ttl."""
    world = holding(has_face=False, ttl=4.0)
    look_around(world)
    world.rewrite(Lost(0.0))
    go_round(world)
    world.time = START + 4.5
    world.rewrite(Ended("c1", "released"))
    go_round(world)
    assert world.requests[-1] == Release("n", "c1")
    assert world.chores == []


def test_a_lost_lease_that_nobody_has_is_given_back_too() -> None:
    """It ends before it could be dropped; nobody else would give up what the server still holds."""
    world = holding(has_face=False, ttl=0.5)
    world.time = START + 0.6
    world.rewrite(Ended("c1", "released"))
    go_round(world)
    assert world.requests == [Release("n", "c1")]
    assert len(world.told(LostEvent)) == 1


def test_a_lease_lost_in_the_middle_of_its_renewal_is_given_back_too() -> None:
    """The answer comes after the deadline: the lease is lost, and the backend has prolonged it."""
    world = holding(has_face=False, ttl=0.9)
    world.time = START + 0.85
    world.rewrite(Late(0.2, renewed(granted(remaining=0.9))), Ended("c1", "released"))
    go_round(world)
    assert world.requests[-1] == Release("n", "c1")
    assert len(world.told(LostEvent)) == 1


def test_a_lease_broken_on_its_way_is_not_given_up_for_its_owner() -> None:
    """Somebody may be about to begin under it: the name must not pass on because of us."""
    world = holding(has_face=False)
    world.book.deliver(Notice("broken", "", "n", "c1", 7, reason="x"))
    world.time = START + 0.1
    go_round(world)
    assert world.requests == []
    assert len(world.told(LostEvent)) == 1


def test_a_lost_lease_that_somebody_has_is_left_to_them() -> None:
    """Whoever has it gives it up themselves, when their work has stopped."""
    world = holding(ttl=0.5)
    world.time = START + 0.6
    go_round(world)
    assert world.requests == []
    assert len(world.told(LostEvent)) == 1


def test_a_closed_client_gives_everything_back_and_ends() -> None:
    """Leases and places become chores; when they are done there is no next round."""
    world = holding()
    ticket = world.book.tickets["w"] = Ticket("m", "w", TTL)
    bell = ticket.bell = FakeBell(world)
    world.book.closing = True
    world.rewrite(Ended("c1", "released"), Ended("w", "withdrawn"))
    assert go_round(world) is None
    assert world.requests == [Release("n", "c1"), Withdraw("m", "w")]
    assert (world.book.leases, world.book.tickets) == ({}, {})
    assert bell.rung == 1


def test_a_closed_client_repeats_what_is_not_confirmed() -> None:
    """As long as something is left to say there is another round."""
    world = holding()
    world.book.closing = True
    world.rewrite(Lost(0.0))
    again_at = go_round(world)
    assert again_at is not None
    assert world.chores == [Release("n", "c1")]
    world.time = again_at
    world.rewrite(Ended("c1", "released"))
    assert go_round(world) is None


def test_a_closed_client_gives_back_past_the_deadline_that_it_knows_of() -> None:
    """A renewal that was not heard of may have prolonged the grant by a ttl."""
    world = holding(ttl=2.0)
    world.time = START + 1.9
    world.book.closing = True
    world.rewrite(Lost(0.0))
    go_round(world)
    world.time = START + 3
    world.rewrite(Ended("c1", "released"))
    assert go_round(world) is None
    assert world.requests[-1] == Release("n", "c1")


def test_what_the_keeper_hears_itself_wakes_nobody() -> None:
    """It looks at the book next anyway."""
    world = holding()
    world.woken = 0
    broken = Notice("broken", "", "n", "c1", 7, reason="x")
    rounds.hear(world.session, [broken])
    assert world.woken == 0
    assert world.book.leases["c1"].loss == "broken: x"


@pytest.mark.parametrize("what", ["broken", "forced", "opened", "missed", "forgotten"])
def test_what_others_hear_for_it_wakes_the_keeper(what: str) -> None:
    """A loss is told on the keeper's own thread, and what was missed is asked about."""
    world = holding()
    world.woken = 0
    rounds.overhear(world.session, notice()._replace(what=what))  # type: ignore[arg-type]
    assert world.woken == 1


def test_a_grant_that_others_hear_of_wakes_the_waiter_alone() -> None:
    """The ticket's own bell is enough."""
    world = holding()
    ticket = world.book.tickets["w"] = Ticket("m", "w", TTL)
    world.woken = 0
    rounds.overhear(world.session, notice("w")._replace(name="m"))
    assert ticket.outcome is not None
    assert world.woken == 0


def test_a_forked_child_holds_nothing() -> None:
    """Its copies are lost and released, and it renews no place of its parent's."""
    world = holding()
    ticket = world.book.tickets["w"] = Ticket("m", "w", TTL)
    ticket.renew_at = ticket.retry_at = START
    state = world.book.leases["c1"]
    rounds.disinherit(world.book)
    assert not state.holds(START)
    assert state.released
    assert "forked" in state.loss
    assert (ticket.renew_at, ticket.retry_at) == (inf, inf)


def test_renewals_ride_in_a_round() -> None:
    """What is due is asked in the round."""
    world = holding()
    queued = world.book.tickets["w"] = Ticket("n", "w", TTL)
    queued.confirmed_at = queued.renew_at = START
    world.time = START + 4
    world.rewrite(renewed(granted(), waiting()))
    assert go_round(world) == pytest.approx(START + 5)
