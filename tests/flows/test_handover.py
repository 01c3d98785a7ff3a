"""A grant that comes by notice: start at once, confirm first, or queue anew."""

import pytest

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.flows.order import Order
from holdfast.rules.messages import Ended, Item, Renew, Withdraw
from tests.flows.fakes import (
    START,
    TTL,
    Answer,
    Late,
    Lost,
    World,
    an_order,
    granted,
    notice,
    renewed,
    waiting,
)

FIRST_DEADLINE = START + 3 - 0.03 - 0.005


def handed(
    after: float, *script: Answer, order: Order | None = None, life: float = 3.0
) -> tuple[World, LeaseState]:
    """Queue at the start, be told of a grant ``after`` seconds, and take it."""
    world = World(waiting(), *script)
    world.at(after, lambda: world.book.deliver(notice(life=life)))
    return world, world.acquire(order)


@pytest.mark.parametrize("after", [0.0, 0.5, 1.4])
def test_starts_at_once_when_enough_is_left(after: float) -> None:
    """With a second and a half left the body starts unconfirmed; the next batch is soon enough."""
    world, state = handed(after)
    assert len(world.requests) == 1
    assert (world.time, state.token) == (START + after, 7)
    assert state.deadline == pytest.approx(FIRST_DEADLINE)
    assert state.renew_at == pytest.approx(world.time + 1.0)


@pytest.mark.parametrize("after", [1.5, 1.7, 1.96])
def test_asks_at_once_when_under_a_second_and_a_half_is_left(after: float) -> None:
    """The body starts, and the keeper is woken for a request of its own."""
    world, state = handed(after)
    assert (len(world.requests), world.time) == (1, START + after)
    assert state.deadline == pytest.approx(FIRST_DEADLINE)
    assert state.renew_at == world.time
    world.book.asleep_until = world.time + 1
    world.rewrite(renewed(granted()))
    world.turn()
    assert world.requests[1:] == [Renew("n", (Item("c1", 7, TTL),))]


@pytest.mark.parametrize("after", [1.97, 2.5, 30.0])
def test_confirms_first_when_too_little_is_left(after: float) -> None:
    """Under a second left, the body starts only after a confirmed renewal, and counts from it."""
    world, state = handed(after, Late(0.4, renewed(granted())))
    assert world.requests[1:] == [Renew("n", (Item("c1", 7, TTL),))]
    asked_at = START + after
    assert world.time == pytest.approx(asked_at + 0.4)
    assert state.deadline == pytest.approx(asked_at + TTL - 0.105)
    assert state.renew_at == pytest.approx(world.time + TTL / 3)


def test_half_of_a_short_life_is_enough() -> None:
    """A ttl below two seconds needs half of it left; three renewals are tried in what is left."""
    world, state = handed(0.45, order=an_order(ttl=1.0), life=1.0)
    assert len(world.requests) == 1
    assert state.deadline == pytest.approx(START + 1 - 0.015)
    assert state.renew_at == pytest.approx(world.time + (state.deadline - world.time) / 3)
    late, _ = handed(0.55, renewed(granted(remaining=1.0)), order=an_order(ttl=1.0), life=1.0)
    assert len(late.requests) == 2


def test_a_lease_without_a_process_is_always_confirmed() -> None:
    """Nobody would fill up a detached lease later, so it is made full before it is given out."""
    world, state = handed(0.1, renewed(granted()), order=an_order(detached=True, renew=False))
    assert world.requests[1:] == [Renew("n", (Item("c1", 7, TTL),))]
    assert state.deadline == pytest.approx(START + 0.1 + TTL - 0.105)
    assert world.book.leases == {}


def test_the_first_life_counts_from_the_last_still_waiting() -> None:
    """The grant was made after the backend last said "waiting", so after that question left."""
    world = World(waiting(), Late(0.2, renewed(waiting())))
    world.at(1.0, world.turn)
    world.at(2.0, lambda: world.book.deliver(notice()))
    state = world.acquire()
    assert (len(world.requests), world.time) == (2, START + 2)
    assert state.deadline == pytest.approx(FIRST_DEADLINE + 1.0)


def test_a_failed_look_does_not_move_the_first_life() -> None:
    """A question that got no answer proves nothing: the deadline stays where it was."""
    world = World(waiting(), Lost(0.2))
    world.at(1.0, world.turn)
    world.at(1.8, lambda: world.book.deliver(notice()))
    assert world.acquire().deadline == pytest.approx(FIRST_DEADLINE)


def test_a_notice_may_overtake_the_reply() -> None:
    """A notice that comes before the reply to the claim is kept, and counted from the claim."""
    world = World(Late(0.5, waiting()))
    world.at(0.3, lambda: world.book.deliver(notice()))
    state = world.acquire()
    assert state.deadline == pytest.approx(FIRST_DEADLINE)
    assert (world.time, world.waits) == (START + 0.5, [])


def test_the_reply_is_better_than_the_notice() -> None:
    """Where both say granted, the reply's life counts: it is confirmed."""
    world = World(Lost(0.5), granted())
    world.at(0.3, lambda: world.book.deliver(notice()))
    state = world.acquire()
    assert state.deadline == pytest.approx(world.sent[1][0] + TTL - 0.105)


@pytest.mark.parametrize("stale", [notice(token=29), notice(token=30), notice("c9", 40)])
def test_an_old_notice_is_ignored(stale: object) -> None:
    """A token that is not newer than one seen, or another claim's, hands nothing over."""
    world = World(waiting())
    world.book.see_token("n", 30)
    world.at(0.1, lambda: world.book.deliver(stale))  # type: ignore[arg-type]
    world.at(0.6, lambda: world.book.deliver(notice(token=31)))
    state = world.acquire()
    assert (world.time, state.token) == (START + 0.6, 31)


def test_a_lost_notice_costs_a_look_never_a_hang() -> None:
    """The keeper's batch tells of a grant whose notice was lost; the lease counts from it."""
    world = World(waiting(), renewed(granted(remaining=2.5)))
    world.at(1.0, world.turn)
    state = world.acquire()
    assert world.time == START + 1
    assert state.deadline == pytest.approx(START + 1 + 2.5 - 0.03)
    assert state.claim_id in world.book.leases


def test_a_grant_that_is_gone_when_confirmed_queues_anew() -> None:
    """If the confirmation finds the grant ended, a claim with a NEW id joins the line."""
    gone = renewed(Ended("c1", "lapsed"))
    world, state = handed(2.9, gone, granted("c2", 8))
    assert (world.claims, state.claim_id, state.token) == (["c1", "c2"], "c2", 8)
    assert ([*world.book.leases], world.book.tickets) == (["c2"], {})


def test_a_grant_that_cannot_be_confirmed_is_withdrawn_by_the_keeper() -> None:
    """Unreachable at that moment: the old claim is left to the keeper, and a new one is made."""
    world, state = handed(2.9, Lost(), granted("c2", 8))
    assert world.chores == [Withdraw("n", "c1")]
    assert (world.claims, state.claim_id) == (["c1", "c2"], "c2")


def test_a_confirmation_that_comes_too_late_starts_no_body() -> None:
    """Validity is computed anew after the reply: a life that is over already is withdrawn."""
    late = Late(4.0, renewed(granted(remaining=3.0)))
    gone = Ended("c1", "withdrawn")
    world, state = handed(2.9, late, gone, granted("c2", 8, 3.0), order=an_order(ttl=3.0))
    assert world.requests[2] == Withdraw("n", "c1")
    assert state.claim_id == "c2"


def test_a_claim_that_ended_while_waiting_queues_anew() -> None:
    """After an outage longer than its patience the claim is dead: a NEW id joins the line."""
    world = World(waiting(), renewed(Ended("c1", "lapsed")), granted("c2", 8))
    world.at(1.0, world.turn)
    state = world.acquire(an_order(wait=60.0))
    assert (world.claims, state.claim_id) == (["c1", "c2"], "c2")
    assert world.book.tickets == {}


def test_what_became_of_an_unconfirmed_grant_is_not_known() -> None:
    """When ``wait`` is over and the grant could not be confirmed, the outcome is unknown."""
    with pytest.raises(BackendUnavailable) as caught:
        handed(2.9, Lost(), order=an_order(wait=3.0))
    assert caught.value.outcome == "unknown"
