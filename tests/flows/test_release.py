"""Giving back: lost replies, an unreachable backend, and a lease that was gone."""

import pytest

from holdfast.errors import BackendUnavailable, LockLost
from holdfast.flows.book import Chore, LeaseState
from holdfast.flows.extend import extend
from holdfast.flows.release import release, release_all
from holdfast.observe import events
from holdfast.rules.messages import Ended, Item, Release, Renew
from tests.flows.fakes import (
    CALL_LIMIT,
    START,
    TTL,
    Answer,
    Late,
    Lost,
    World,
    an_order,
    granted,
    play,
    renewed,
)

RELEASED = Ended("c1", "released")
GIVEN_BACK = Release("n", "c1", awaited=True)  # after two seconds


def held(*script: Answer, **terms: object) -> tuple[World, LeaseState]:
    """Hold ``n`` for two seconds, with what the backend says from then on."""
    world = World(granted())
    state = world.acquire(an_order(**terms))  # type: ignore[arg-type]
    world.rewrite(*script)
    world.time = START + 2
    return world, state


def test_a_release_is_one_question() -> None:
    """It is told once, with how long it was held; the book is empty."""
    world, state = held(RELEASED)
    play(release(world.session, state))
    assert world.requests[1:] == [GIVEN_BACK]
    assert world.told(events.Released) == [events.Released("n", 7, 2.0)]
    assert (world.book.leases, world.book.owned, world.chores) == ({}, {}, [])


def test_who_just_passed_through_is_not_waited_for() -> None:
    """Unless it had to wait itself: then others may be in line behind it."""
    for handed in (False, True):
        world, state = held(RELEASED)
        world.time, state.handed = state.started_at, handed
        play(release(world.session, state))
        assert world.requests[1:] == [Release("n", "c1", awaited=handed)]


def test_nobody_believes_while_the_release_is_under_way() -> None:
    """The holder stops believing before the question leaves."""
    world, state = held(Late(1.0, RELEASED))
    believed: list[bool] = []
    world.at(2.5, lambda: believed.append(state.holds(world.time)))
    play(release(world.session, state))
    assert believed == [False]


def test_a_lost_reply_is_asked_for_again() -> None:
    """The release is repeated until it is confirmed, and told as one release."""
    world, state = held(Lost(1.0), Lost(1.0), RELEASED)
    play(release(world.session, state))
    assert world.requests[1:] == [GIVEN_BACK] * 3
    assert (len(world.told(events.Released)), state.loss, world.chores) == (1, "", [])


def test_an_unreachable_backend_is_an_event_not_an_error() -> None:
    """After ``call_limit`` the keeper goes on telling it, as long as the lease could live.

    That is a ttl longer than we know: a renewal may have arrived whose answer did not.
    """
    world, state = held(*[Lost(2.0)] * 9)
    play(release(world.session, state))
    assert world.time <= START + 2 + CALL_LIMIT
    assert world.told(events.ReleaseFailed) == [events.ReleaseFailed("n", 7, 2.0, "no answer")]
    assert [*world.book.chores] == [Chore(GIVEN_BACK, state.deadline + TTL)]
    assert (world.book.leases, state.loss, world.woken > 0) == ({}, "", True)


@pytest.mark.parametrize("how", ["lapsed", "broken", "gone", "unknown"])
def test_a_lease_that_was_gone_is_lost(how: str) -> None:
    """A release that finds the lease ended in another way is a loss, and told as one."""
    world, state = held(Ended("c1", how))  # type: ignore[arg-type]
    play(release(world.session, state))
    assert how in state.loss
    assert [event.reason for event in world.told(events.Lost)] == [state.loss]
    assert world.told(events.Released) == []


def test_a_lease_that_was_gone_is_told_to_its_listeners() -> None:
    """Whoever asked to be told of a loss is called once, although only the release found it out."""
    world, state = held(Ended("c1", "broken"))
    called: list[str] = []
    state.listeners.append(lambda: called.append("told"))
    play(release(world.session, state))
    play(release(world.session, state))
    assert called == ["told"]


def test_releasing_twice_asks_once() -> None:
    """A second release is harmless and silent."""
    world, state = held(RELEASED)
    play(release(world.session, state))
    play(release(world.session, state))
    assert len(world.requests) == 2


def test_only_the_outermost_release_lets_go() -> None:
    """A lease that was entered again is given back by the last release alone."""
    world, state = held(RELEASED)
    world.acquire(an_order(reentrant=True))
    play(release(world.session, state))
    assert (len(world.requests), state.holds(world.time)) == (1, True)
    play(release(world.session, state))
    assert len(world.requests) == 2


def test_a_lost_lease_is_not_waited_for() -> None:
    """Releasing what is over asks nobody: the keeper tells the backend, and the loss is told."""
    world, state = held()
    world.time = state.deadline
    play(release(world.session, state))
    assert (len(world.requests), world.chores) == (1, [Release("n", "c1")])
    assert len(world.told(events.Lost)) == 1


def test_all_are_released_in_one_batch() -> None:
    """Everything held goes back in one question, each with its own outcome."""
    world = World(granted(), granted("c2"), granted("c3"))
    states = [world.acquire(an_order(name)) for name in ("a", "b", "c")]
    world.rewrite(RELEASED, Lost(0.1), Ended("c3", "lapsed"))
    play(release_all(world.session))
    assert world.sent[3][1] == tuple(Release(state.name, state.claim_id) for state in states)
    assert [event.name for event in world.told(events.Released)] == ["a"]
    assert [event.name for event in world.told(events.ReleaseFailed)] == ["b"]
    assert [event.name for event in world.told(events.Lost)] == ["c"]
    assert (world.book.leases, world.chores) == ({}, [Release("b", "c2")])


def test_extending_counts_from_its_own_question() -> None:
    """The longer life is counted from the send time, and renewed by it from now on."""
    world, state = held(Late(0.5, renewed(granted(remaining=60.0))))
    play(extend(world.session, state, 60.0))
    assert world.requests[1:] == [Renew("n", (Item("c1", 7, 60.0),))]
    assert state.deadline == pytest.approx(START + 2 + 60 - 0.605)
    assert state.renew_at == pytest.approx(START + 2 + 20)


def test_extending_never_goes_beyond_max_hold() -> None:
    """What is asked for, and the deadline, end at ``max_hold``."""
    world, state = held(renewed(granted(remaining=28.0)), max_hold=30.0)
    play(extend(world.session, state, 60.0))
    assert world.requests[1:] == [Renew("n", (Item("c1", 7, 28.0),))]
    assert state.deadline <= START + 30
    assert state.why_over() == "max_hold is over"


def test_extending_what_is_lost_raises() -> None:
    """A lease that is over is not revived: nothing is even asked."""
    world, state = held()
    world.time = state.deadline
    with pytest.raises(LockLost):
        play(extend(world.session, state, 60.0))
    assert len(world.requests) == 1


def test_extending_what_the_backend_ended_loses_it() -> None:
    """The answer "ended" is a loss at once, told to everybody."""
    world, state = held(renewed(Ended("c1", "lapsed")))
    with pytest.raises(LockLost, match="lapsed"):
        play(extend(world.session, state, 60.0))
    assert len(world.told(events.Lost)) == 1


def test_an_unanswered_extension_changes_nothing() -> None:
    """Unknown is an error for the caller, and neither loses nor extends."""
    world, state = held(*[Lost(2.0)] * 9)
    before = state.deadline
    with pytest.raises(BackendUnavailable):
        play(extend(world.session, state, 60.0))
    assert (state.deadline, state.ttl, state.holds(world.time)) == (before, TTL, True)


def test_an_extension_after_the_deadline_does_not_revive() -> None:
    """At the deadline the lease is lost, whatever the server says later."""
    world, state = held(Late(9.0, renewed(granted(remaining=60.0))))
    with pytest.raises(LockLost):
        play(extend(world.session, state, 60.0))
    assert not state.holds(world.time)
