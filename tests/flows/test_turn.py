"""One turn of the keeper: one batch, the next look, back-off and chores."""

from math import inf

import pytest

from holdfast.flows.book import Chore, Confirmed, Ticket
from holdfast.rules.messages import Ended, Item, Release, Renew, Withdraw
from tests.flows.fakes import (
    CALL_LIMIT,
    START,
    TTL,
    Lost,
    World,
    an_order,
    granted,
    renewed,
    waiting,
)


def holding(*names: str, ttl: float = TTL) -> World:
    """Hold each of the names since the start."""
    world = World()
    for number, name in enumerate(names, 1):
        world.rewrite(granted(f"c{number}", number, ttl))
        world.acquire(an_order(name, ttl=ttl))
    world.sent.clear()
    world.limits.clear()
    return world


def queue(world: World, name: str, claim_id: str, renew_at: float = START) -> Ticket:
    """Put a claim in line for a name."""
    ticket = world.book.tickets[claim_id] = Ticket(name, claim_id, TTL)
    ticket.confirmed_at = START
    ticket.renew_at = renew_at
    return ticket


def test_an_empty_book_needs_no_look() -> None:
    """With nothing to keep the keeper asks nothing and sleeps until it is woken."""
    world = World()
    assert world.turn() == inf
    assert (world.sent, world.book.asleep_until) == ([], inf)


def test_all_that_is_due_goes_in_one_batch() -> None:
    """Leases and waiters of all names leave together, one renewal a name, in the names' order."""
    world = holding("b", "a")
    queue(world, "b", "w1")
    queue(world, "z", "w2")
    world.time = START + 4
    world.rewrite(renewed(granted("c2")), renewed(granted(), waiting()), renewed(waiting()))
    world.turn()
    assert [requests for _, requests in world.sent] == [
        (
            Renew("a", (Item("c2", 2, TTL),)),
            Renew("b", (Item("c1", 1, TTL), Item("w1", 0, TTL, 3.0))),
            Renew("z", (Item("w2", 0, TTL, 3.0),)),
        )
    ]


def test_each_answer_reaches_its_own() -> None:
    """One failure or end in the batch does not touch the others."""
    world = holding("a", "b", "c")
    ticket = queue(world, "d", "w1")
    world.time = START + 4
    world.rewrite(
        renewed(granted()), Lost(0.0), renewed(Ended("c3", "lapsed")), renewed(granted("w1"))
    )
    leases = dict(world.book.leases)
    world.turn()
    assert [*world.book.leases] == ["c1", "c2"]
    assert leases["c1"].deadline == pytest.approx(START + 4 + TTL - 0.105)
    assert leases["c2"].deadline == pytest.approx(START + TTL - 0.105)
    assert ticket.outcome == Confirmed(granted("w1"), START + 4)


def test_nothing_is_asked_before_it_is_due() -> None:
    """The next look is when the first of them is due, and until then nothing is sent."""
    world = holding("a")
    assert world.turn() == pytest.approx(START + TTL / 3)
    queue(world, "b", "w1", START + 2)
    assert world.turn() == pytest.approx(START + 2)
    queue(world, "b", "w2", START + 2).retry_at = START + 1
    assert world.turn() == pytest.approx(START + 1)
    assert world.sent == []
    assert world.book.asleep_until == pytest.approx(START + 1)


def test_what_is_due_soon_rides_along() -> None:
    """Leases within a twelfth of their ttl join a batch that leaves anyway, others do not."""
    world = holding("a", "b", "c")
    now = world.time = START + 4
    leases = [*world.book.leases.values()]
    for state, renew_at in zip(leases, (now, now + 0.8, now + 0.9), strict=True):
        state.renew_at = renew_at
    world.rewrite(renewed(granted()), renewed(granted("c2")))
    world.turn()
    assert [request.name for request in world.sent[0][1] if isinstance(request, Renew)] == [
        "a",
        "b",
    ]


def test_one_try_takes_a_third_of_the_remaining_life() -> None:
    """The batch waits for at most a third of what the shortest of its leases has left."""
    world = holding("a", "b")
    world.time = START + 4
    world.book.leases["c2"].deadline = START + 7
    world.rewrite(renewed(granted()), renewed(granted("c2")))
    world.turn()
    assert world.limits == pytest.approx([1.0])


def test_failures_are_backed_off_from() -> None:
    """Each failure in a row doubles the pause, up to a second; one good answer forgets them."""
    world = holding("a", ttl=100.0)
    pauses = []
    look = START + 40
    for _ in range(9):
        world.time = look
        world.rewrite(Lost(0.0))
        look = world.turn()
        pauses.append(look - world.time)
    assert pauses[:4] == pytest.approx([0.01, 0.02, 0.04, 0.08])
    assert pauses[-2:] == pytest.approx([0.5, 0.5])
    world.time = look
    world.rewrite(renewed(granted(remaining=100.0)))
    assert world.turn() == pytest.approx(look + 100 / 3)
    assert world.patience.failures == 0


def test_nothing_is_asked_during_the_pause() -> None:
    """A keeper woken early keeps to its pause."""
    world = holding("a")
    world.time = START + 4
    world.rewrite(Lost(0.0))
    look = world.turn()
    world.rewrite()
    assert world.turn() == look
    assert len(world.sent) == 1


def test_a_pause_never_hides_a_deadline() -> None:
    """However long the pause, the keeper looks again when a lease is over."""
    world = holding("a")
    world.time = START + 9.8
    world.patience.failures = 20
    world.rewrite(Lost(0.0))
    assert world.turn() == pytest.approx(START + TTL - 0.105)


def test_a_settled_ticket_is_not_asked_about() -> None:
    """What is settled waits for its caller, without questions, and without haste."""
    world = World()
    ticket = queue(world, "a", "w1")
    ticket.settle(Confirmed(granted("w1"), START))
    world.time = START + 2
    look = world.turn()
    assert world.sent == []
    assert look > world.time


def test_an_unanswered_ticket_keeps_its_place() -> None:
    """A failure settles no ticket: it is asked about again."""
    world = World(Lost(0.0), renewed(waiting()))
    ticket = queue(world, "a", "w1")
    look = world.turn()
    assert (ticket.outcome, ticket.confirmed_at) == (None, START)
    world.time = look
    assert world.turn() == pytest.approx(look + 1)
    assert ticket.confirmed_at == look


def test_chores_leave_in_one_batch() -> None:
    """All that was left to the keeper is told together, and then forgotten."""
    world = World(Ended("x", "released"), Ended("y", "withdrawn"))
    chores = (Release("a", "x"), Withdraw("b", "y"))
    world.book.chores += [Chore(chore, START + 5) for chore in chores]
    assert world.turn() == inf
    assert [requests for _, requests in world.sent] == [chores]
    assert world.chores == []


def test_a_failed_chore_is_done_again() -> None:
    """What was not heard stays, and is told again after a pause; what was heard does not."""
    world = World(Lost(0.0), Ended("y", "withdrawn"), Ended("x", "released"))
    chores = (Release("a", "x"), Withdraw("b", "y"))
    world.book.chores += [Chore(chore, START + 5) for chore in chores]
    look = world.turn()
    assert world.chores == [Release("a", "x")]
    assert look == pytest.approx(START + 0.01)
    world.time = look
    assert world.turn() == inf
    assert (len(world.sent), world.chores) == (2, [])


def test_a_chore_that_cannot_matter_any_more_is_dropped() -> None:
    """Once the claim has ended by itself, nobody is told of it."""
    world = World()
    world.book.chores.append(Chore(Release("a", "x"), START + 5))
    world.time = START + 5
    assert world.turn() == inf
    assert (world.sent, world.chores) == ([], [])


def test_a_chore_does_not_hold_up_a_short_lease() -> None:
    """A silent backend gets at most a third of the shortest remaining life for chores too."""
    world = holding("a", ttl=2.0)
    world.book.chores.append(Chore(Release("b", "x"), START + 60))
    world.rewrite(Lost(), renewed(granted(remaining=2.0)))
    world.turn()
    assert world.limits[0] <= 2.0 / 3
    assert CALL_LIMIT > 2.0


def test_new_leases_wake_the_keeper_only_when_it_would_sleep_too_long() -> None:
    """A lease that is due after the keeper's own next look wakes nobody."""
    world = holding("a")
    world.turn()
    world.woken = 0
    world.rewrite(granted("c2"), granted("c3"))
    world.acquire(an_order("b"))
    assert world.woken == 0
    world.acquire(an_order("c", ttl=1.0))
    assert world.woken == 1
