"""What the keeper makes of a reply: renewed, unknown, lost, and max_hold."""

from math import inf

import pytest

from holdfast.flows.book import LeaseState
from holdfast.flows.lose import lost_error
from holdfast.flows.release import release
from holdfast.flows.wait_lost import wait_lost
from holdfast.observe import events
from holdfast.rules.messages import Ended, Notice, Renew, Request, Want
from tests.flows.fakes import (
    START,
    TTL,
    Answer,
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


def held(*script: Answer, **terms: object) -> tuple[World, LeaseState]:
    """Hold ``n`` since the start, with what the backend says from then on."""
    world = World(granted())
    state = world.acquire(an_order(**terms))  # type: ignore[arg-type]
    world.rewrite(*script)
    return world, state


def items(request: Request) -> dict[str, float]:
    """Give the ttl that a renewal asks for, by claim."""
    assert isinstance(request, Renew)
    return {item.claim_id: item.ttl for item in request.items}


def turn_at(world: World, after: float) -> float:
    """Turn the keeper at a moment; say when it wants to look again, counted from the start."""
    world.pass_time(START + after)
    return world.turn() - START


def turn_until_lost(world: World, state: LeaseState) -> None:
    """Turn the keeper whenever it wants to be turned; it believes until it tells the loss."""
    while not state.loss:
        assert state.holds(world.time)
        turn_at(world, world.turn() - START)


def test_a_confirmed_renewal_moves_the_deadline() -> None:
    """The new deadline counts from the send time of the batch; the next try is a third later."""
    world, state = held(Late(0.5, renewed(granted())))
    turn_at(world, 4.0)
    assert state.deadline == pytest.approx(START + 4 + TTL - 0.105)
    assert state.renew_at == pytest.approx(START + 4 + TTL / 3)
    [event] = world.told(events.Renewed)
    assert event.remaining == pytest.approx(TTL - 0.105 - 0.5)


def test_a_renewal_never_shortens() -> None:
    """A reply that names a shorter life than is known leaves the deadline where it is."""
    world, state = held(renewed(granted(remaining=1.0)))
    before = state.deadline
    turn_at(world, 4.0)
    assert state.deadline == before


@pytest.mark.parametrize("answer", [Lost(0.1), Lost(0.1, "none"), waiting()])
def test_an_unknown_renewal_neither_loses_nor_extends(answer: Answer) -> None:
    """Without a confirmed answer the deadline stays, the lease too, and an event says so."""
    world, state = held(answer)
    before = state.deadline
    turn_at(world, 4.0)
    assert (state.deadline, state.loss, [*world.book.leases]) == (before, "", ["c1"])
    assert state.holds(world.time)
    [event] = world.told(events.RenewalUnknown)
    assert event.remaining == pytest.approx(before - world.time)


def test_a_strange_answer_does_not_show_the_claims_id() -> None:
    """Whoever knows the id can release: an answer that makes no sense is told without it."""
    world, _ = held(renewed(waiting()))
    turn_at(world, 4.0)
    [event] = world.told(events.RenewalUnknown)
    assert "c1" not in event.error


def test_an_unknown_renewal_is_tried_again() -> None:
    """After a short pause the keeper asks again, and a good answer makes all well."""
    world, state = held(Lost(0.1), renewed(granted()))
    again = turn_at(world, 4.0)
    turn_at(world, again)
    assert len(world.sent) == 3
    assert state.deadline == pytest.approx(START + again + TTL - 0.105)


def test_a_lease_is_lost_at_its_deadline() -> None:
    """When only failures come the keeper looks at the deadline itself, and tells once."""
    world, state = held(*[Lost(0.1)] * 99)
    called: list[float] = []
    state.listeners.append(lambda: called.append(world.time))
    turn_at(world, 4.0)
    turn_until_lost(world, state)
    assert called == pytest.approx([state.deadline])
    [event] = world.told(events.Lost)
    assert event.held_for == pytest.approx(TTL - 0.105)
    assert "deadline passed without a confirmed renewal" in state.loss
    assert (world.book.leases, world.book.owned) == ({}, {})


def test_listeners_are_called_exactly_once() -> None:
    """More turns, a late notice and the release itself do not tell the loss again."""
    world, state = held()
    called: list[str] = []
    state.listeners += [lambda: called.append("one"), lambda: called.append("two")]
    turn_at(world, 11.0)
    world.book.deliver(Notice("broken", "inbox", "n", "c1", 7, reason="late"))
    turn_at(world, 12.0)
    play(release(world.session, state))
    assert called == ["one", "two"]
    assert len(world.told(events.Lost)) == 1


def test_the_clock_alone_says_that_a_lease_is_over() -> None:
    """Before the keeper has noticed anything, nobody believes past the deadline."""
    world, state = held()
    world.pass_time(state.deadline)
    assert (state.holds(world.time), state.is_lost(world.time), state.loss) == (False, True, "")
    assert "deadline passed" in lost_error(world.session, state).reason


def test_a_reply_after_the_deadline_does_not_revive() -> None:
    """At the deadline the lease is lost, whatever the server says later."""
    world, state = held(Late(7.0, renewed(granted())))
    turn_at(world, 4.0)
    assert not state.holds(world.time)
    assert len(world.told(events.Lost)) == 1


def test_what_the_backend_ended_is_lost_at_once() -> None:
    """A renewal that finds the lease gone loses it, long before its deadline."""
    world, state = held(renewed(Ended("c1", "lapsed")))
    turn_at(world, 4.0)
    assert not state.holds(world.time)
    assert world.told(events.Lost)[0].reason == "the backend has ended it (lapsed)"


def test_a_broken_lease_says_why() -> None:
    """The reason given by whoever broke it reaches the holder."""
    world, _ = held(renewed(Ended("c1", "broken", "it hangs")))
    turn_at(world, 4.0)
    assert world.told(events.Lost)[0].reason == "broken: it hangs"


@pytest.mark.parametrize("what, said", [("broken", "broken: x"), ("forced", "by force: x")])
def test_a_notice_of_breaking_is_told_at_the_next_turn(what: str, said: str) -> None:
    """The holder stops believing when the notice is heard; its listeners hear from the keeper."""
    world, state = held()
    called: list[str] = []
    state.listeners.append(lambda: called.append(said))
    world.book.deliver(Notice(what, "inbox", "n", "c1", 7, reason="x"))  # type: ignore[arg-type]
    assert not state.holds(world.time)
    world.turn()
    assert called == [said]
    assert world.told(events.Lost)[0].reason.endswith(said)


def test_a_notice_about_another_token_breaks_nothing() -> None:
    """A notice that is not about this very grant is ignored."""
    world, state = held()
    world.book.deliver(Notice("forced", "inbox", "n", "c1", 6))
    assert state.holds(world.time)


def test_an_unrenewed_lease_is_left_alone() -> None:
    """With ``renew=False`` the keeper only looks at the deadline, and says why it was lost."""
    world, state = held(renew=False)
    turn_until_lost(world, state)
    assert len(world.sent) == 1
    assert "renew=False" in world.told(events.Lost)[0].reason


def test_an_unrenewed_lease_is_filled_up_once_after_a_hand_over() -> None:
    """The short first life is confirmed for the whole ttl, once, and then never again."""
    world = World(waiting(), renewed(granted()))
    world.at(0.5, lambda: world.book.deliver(notice()))
    state = world.acquire(an_order(renew=False))
    turn_at(world, 1.5)
    assert items(world.requests[1]) == {"c1": TTL}
    assert state.deadline == pytest.approx(START + 1.5 + TTL - 0.105)
    turn_until_lost(world, state)
    assert len(world.sent) == 2
    assert world.time == pytest.approx(state.deadline)


def test_max_hold_caps_the_renewals() -> None:
    """The last renewal asks for no more than is left, and the lease ends then, for that reason."""
    world, state = held(renewed(granted(remaining=8.0)), max_hold=12.0)
    turn_at(world, 4.0)
    assert items(world.requests[1]) == {"c1": pytest.approx(8.0)}
    assert state.deadline == pytest.approx(START + 4 + 8 - 0.085)
    turn_until_lost(world, state)
    assert len(world.sent) == 2
    assert world.told(events.Lost)[0].reason == "max_hold is over"


def test_max_hold_caps_the_deadline() -> None:
    """Even where the backend grants longer, the holder stops at ``max_hold``."""
    world, state = held(renewed(granted(remaining=20.0)), max_hold=12.0)
    turn_at(world, 4.0)
    assert state.deadline == pytest.approx(START + 12)


def test_waiting_for_the_loss_ends_with_it() -> None:
    """``wait_lost`` returns true at the loss, false when its time is over or it was released."""
    world, state = held(renewed(Ended("c1", "lapsed")))
    assert play(wait_lost(world.session, state, 1.0)) is False
    world.at(4.0, world.turn)
    assert play(wait_lost(world.session, state, None)) is True
    assert (world.time, state.watchers) == (START + 4, [])


def test_a_release_wakes_who_waits_for_the_loss() -> None:
    """Whoever watches a lease hears of its release too."""
    world, state = held(Ended("c1", "released"))
    bell = FakeBell(world)
    state.watchers.append(bell)
    play(release(world.session, state))
    assert bell.rung == 1
    state.watchers.remove(bell)
    assert play(wait_lost(world.session, state, None)) is False


@pytest.mark.parametrize("max_hold", [0.1, 0.15, 0.2, 0.3, 0.7, 1 / 3])
def test_a_lease_cut_to_max_hold_says_so(max_hold: float) -> None:
    """Whatever the clock says: sums of such numbers are rounded."""
    for uptime in range(1, 100):
        started_at = uptime * 1234.56789
        state = LeaseState(
            "n",
            granted(remaining=max_hold),
            Want("lock", 1, 1, max_hold),
            started_at + max_hold,
            inf,
            True,
            started_at,
            started_at + max_hold,
            print,
            "owner",
            ("", 0),
        )
        assert state.why_over() == "max_hold is over"


@pytest.mark.parametrize("took, due_in", [(0.0, TTL / 3), (7.5, (TTL - 7.5 - 0.105) / 3)])
def test_a_slow_answer_is_followed_by_an_early_renewal(took: float, due_in: float) -> None:
    """What is left counts: two more tries fit before the end, however long the grant took."""
    world = World(Late(took, granted()))
    state = world.acquire()
    assert state.renew_at == pytest.approx(world.now() + due_in)
    assert state.renew_at < state.deadline
