"""Claiming over a scripted wire: lost replies, the call limit, where a deadline is counted from."""

from itertools import pairwise

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows.session import ask_until
from holdfast.observe import events
from holdfast.rules.messages import Busy, Claim, Look, Refused, Withdraw
from tests.flows.fakes import CALL_LIMIT, START, Late, Lost, World, an_order, granted, play


def first_claim(world: World) -> Claim:
    """Give the first request, which is a claim."""
    claim = world.requests[0]
    assert isinstance(claim, Claim)
    return claim


def test_an_uncontended_acquire_is_one_question() -> None:
    """One claim, one reply, one lease in the book, and no ticket left."""
    world = World(granted(token=9))
    state = world.acquire()
    assert (world.claims, state.token, state.claim_id) == (["c1"], 9, "c1")
    assert (world.book.leases, world.book.tickets) == ({"c1": state}, {})
    assert [type(event) for event in world.events] == [events.Claimed, events.Granted]


def test_a_lost_reply_is_asked_for_again_with_the_same_id() -> None:
    """Asking again repeats the very same claim: the backend may have granted it already."""
    world = World(Lost(0.5), Lost(0.5), granted())
    world.acquire()
    assert len(world.requests) == 3
    assert {*world.requests} == {first_claim(world)}


def test_the_deadline_counts_from_the_question_that_was_answered() -> None:
    """It is that question's send time plus the life it named, minus 1 % and 5 ms."""
    world = World(Lost(1.0), Late(0.7, granted(remaining=8.0)))
    state = world.acquire()
    asked_at = world.sent[1][0]
    assert asked_at > START + 1
    assert state.deadline == pytest.approx(asked_at + 8.0 - 0.08 - 0.005, abs=1e-6)
    assert world.time == pytest.approx(asked_at + 0.7)


def test_what_is_unresolved_at_the_call_limit_is_unavailable() -> None:
    """A silent backend is given ``call_limit`` in all; the keeper withdraws the claim."""
    world = World(*[Lost(2.0)] * 9)
    with pytest.raises(BackendUnavailable) as caught:
        world.acquire(an_order(wait=None))
    assert caught.value.outcome == "unknown"
    assert START + 2 < world.time <= START + CALL_LIMIT
    assert {*world.claims} == {"c1"}
    assert world.chores == [Withdraw("n", "c1")]
    assert world.woken
    assert (world.book.tickets, world.book.leases) == ({}, {})


def test_the_call_limit_bounds_each_question() -> None:
    """No question may take longer than what is left of ``call_limit``."""
    world = World(Lost(2.0), Lost(2.0), Lost())
    with pytest.raises(BackendUnavailable):
        world.acquire()
    ends = [at + limit for (at, _), limit in zip(world.sent, world.limits, strict=True)]
    assert ends == pytest.approx([START + CALL_LIMIT] * 3)


def test_a_withdrawal_is_kept_for_as_long_as_the_claim_can_live() -> None:
    """The chore matters until the longest that grant or place can live."""
    world = World(Lost())
    with pytest.raises(BackendUnavailable):
        world.acquire(an_order(ttl=30.0))
    assert world.book.chores[0].until == pytest.approx(world.time + 30.0, abs=1e-6)


def test_a_question_that_never_left_leaves_nothing_to_withdraw() -> None:
    """Where the backend certainly did nothing, no chore is left."""
    world = World(*[Lost(1.0, "none")] * 9)
    with pytest.raises(BackendUnavailable) as caught:
        world.acquire()
    assert (caught.value.outcome, world.chores) == ("none", [])


def test_once_unknown_stays_unknown() -> None:
    """A later failure to ask says nothing about the question before it."""
    world = World(Lost(1.0), *[Lost(1.0, "none")] * 9)
    with pytest.raises(BackendUnavailable) as caught:
        world.acquire()
    assert (caught.value.outcome, world.chores) == ("unknown", [Withdraw("n", "c1")])


def test_pauses_between_questions_grow() -> None:
    """A backend that fails at once is asked again after 10, 20, 40 … ms (at the lowest dice)."""
    world = World(*[Lost(0.0)] * 4, granted())
    world.acquire()
    pauses = [later - at for at, later in pairwise(at for at, _ in world.sent)]
    assert pauses == pytest.approx([0.01, 0.02, 0.04, 0.08])


def test_what_asking_again_cannot_mend_is_raised_at_once() -> None:
    """An error that is not transient ends the call at the first answer."""
    world = World()

    async def refuse(*_: object) -> None:
        raise BackendUnavailable("no such file", transient=False)

    world.ask = refuse  # type: ignore[method-assign, assignment]
    with pytest.raises(BackendUnavailable, match="no such file"):
        play(ask_until(world.session, Look("n"), START + 60))
    assert world.time == START


def test_a_grant_that_took_longer_than_it_lives_is_withdrawn() -> None:
    """An answer that comes after its own deadline starts no body; the next claim has a new id."""
    world = World(Late(4.0, granted(remaining=3.0)), granted(), granted("c2", 8))
    state = world.acquire(an_order(ttl=3.0))
    assert world.requests[1] == Withdraw("n", "c1")
    assert (world.claims, state.claim_id, state.token) == (["c1", "c2"], "c2", 8)
    assert [*world.book.leases] == ["c2"]


def test_a_late_grant_with_no_time_left_to_wait_is_unavailable() -> None:
    """With ``wait=0`` a grant that came too late is not busy: nobody else was said to hold it."""
    world = World(Late(4.0, granted(remaining=3.0)), granted())
    with pytest.raises(BackendUnavailable, match="longer than the lease lives"):
        world.acquire(an_order(ttl=3.0, wait=0))
    assert world.book.leases == {}


def test_a_late_grant_whose_withdrawal_is_not_answered_is_unknown() -> None:
    """By the backend's clock it may live on for a moment: nobody says that nothing was changed."""
    world = World(Late(4.0, granted(remaining=3.0)), *[Lost()] * 60)
    with pytest.raises(BackendUnavailable, match="longer than the lease lives") as caught:
        world.acquire(an_order(ttl=3.0, wait=0))
    assert caught.value.outcome == "unknown"
    assert world.chores == [Withdraw("n", "c1")]


@pytest.mark.parametrize("wait, patience", [(0, 0.0), (None, 3.0), (0.5, 3.0)])
def test_only_a_claim_that_waits_joins_the_queue(wait: float | None, patience: float) -> None:
    """A claim says how long it may stand in line without a word: three seconds, or not at all."""
    world = World(granted())
    world.acquire(an_order(wait=wait))
    claim = first_claim(world)
    assert (claim.patience, claim.inbox) == (patience, "inbox")


def test_a_claim_says_the_largest_token_that_was_seen() -> None:
    """What the client has seen of the name goes along, so that a forgetful backend mints above."""
    world = World(granted(token=9))
    world.book.see_token("n", 30)
    world.acquire()
    assert first_claim(world).seen_token == 30
    assert world.book.seen_token("n") == 30


def test_busy_with_wait_0_is_one_question() -> None:
    """The reply says that nothing was queued, so nothing is withdrawn."""
    world = World(Busy((), 0))
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=0))
    assert (len(world.requests), world.chores, world.book.tickets) == (1, [], {})


def test_busy_after_a_lost_reply_withdraws_the_first_copy() -> None:
    """An earlier copy of the claim may still arrive: it must not come to life behind the answer."""
    world = World(Lost(1.0), Busy((), 0))
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=0))
    assert world.chores == [Withdraw("n", "c1")]


def test_a_refused_claim_is_misuse() -> None:
    """What the rule refuses for good names its reason, and leaves nothing behind."""
    world = World(Refused("kind", "it is used as a semaphore"))
    with pytest.raises(Misuse, match="it is used as a semaphore"):
        world.acquire()
    assert (len(world.requests), world.chores, world.book.tickets) == (1, [], {})
