"""In line: outages are ridden over, and busy is said only of what the backend confirmed."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows import acquire
from holdfast.flows.book import Ticket
from holdfast.observe import events
from holdfast.rules.messages import Ended, Notice, Waiting, Withdraw
from holdfast.values import Holder, Tenure
from tests.flows.fakes import (
    CALL_LIMIT,
    START,
    Lost,
    World,
    an_order,
    granted,
    notice,
    renewed,
    waiting,
)

OTHER = Tenure(Holder("beef", "there", 7), token=3, weight=1, since=0.0, expires_in=4.0)


def keep_turning(world: World) -> None:
    """Turn the keeper whenever it wants to be turned, from one second on, while anyone waits."""

    def one_turn() -> None:
        look = world.turn()
        if any(ticket.outcome is None for ticket in world.book.tickets.values()):
            world.at(look - START, one_turn)

    world.at(1.0, one_turn)


def test_busy_only_when_the_withdrawal_is_confirmed() -> None:
    """When ``wait`` is over the claim is withdrawn; the confirmed end makes it ``LockBusy``."""
    world = World(waiting(), Ended("c1", "withdrawn", holders=(OTHER,)))
    with pytest.raises(LockBusy) as caught:
        world.acquire(an_order(wait=0.5))
    assert world.requests[1:] == [Withdraw("n", "c1")]
    assert caught.value.holders == (OTHER,)
    assert caught.value.waited_for == 0.5
    assert (world.time, world.chores, world.book.tickets) == (START + 0.5, [], {})
    assert world.told(events.Busy) == [events.Busy("n", 0.5, (OTHER,))]


def test_busy_names_the_holders_last_seen() -> None:
    """Where the withdrawal names nobody, those of the last "waiting" are named."""
    world = World(Waiting(None, (OTHER,)), Ended("c1", "withdrawn"))
    with pytest.raises(LockBusy, match="there, pid 7"):
        world.acquire(an_order(wait=0.5))


def test_a_withdrawal_without_reply_is_asked_again() -> None:
    """A lost reply to the withdrawal is asked for again before anything is said."""
    world = World(waiting(), Lost(0.2), Ended("c1", "withdrawn"))
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=0.5))
    assert world.requests[1:] == [Withdraw("n", "c1")] * 2


def test_an_unconfirmed_withdrawal_is_not_busy() -> None:
    """What the backend does not confirm is unavailable, unknown, and a chore for the keeper."""
    world = World(waiting(), Lost())
    with pytest.raises(BackendUnavailable, match=r"waited .* for 'n'") as caught:
        world.acquire(an_order(wait=0.5))
    assert caught.value.outcome == "unknown"
    assert {*world.chores} == {Withdraw("n", "c1")}
    assert (world.book.tickets, world.book.leases) == ({}, {})
    assert world.time <= START + 0.5 + 1


def test_outages_are_ridden_over_in_the_queue() -> None:
    """Far beyond ``call_limit`` the keeper's failures do not disturb a waiter that has a place."""
    world = World(waiting(), *[Lost(1.0)] * 30)
    keep_turning(world)
    world.at(3 * CALL_LIMIT, lambda: world.rewrite(renewed(granted())))
    state = world.acquire(an_order(wait=60.0))
    assert len(world.requests) > 5
    assert (world.claims, state.claim_id) == (["c1"], "c1")
    assert START + 3 * CALL_LIMIT < world.time < START + 60


def test_queueing_anew_rides_over_outages_too() -> None:
    """Once the backend has answered, a new claim is asked for until ``wait`` ends."""
    lapsed = renewed(Ended("c1", "lapsed"))
    world = World(waiting(), lapsed, *[Lost(2.0)] * 5, granted("c2"))
    world.at(1.0, world.turn)
    state = world.acquire(an_order(wait=60.0))
    assert world.time > START + 1 + 2 * CALL_LIMIT - 1
    assert (state.claim_id, {*world.claims}) == ("c2", {"c1", "c2"})


def test_what_is_unresolved_when_wait_ends_is_unavailable() -> None:
    """A new claim that is still unanswered then is ``BackendUnavailable`` and withdrawn later."""
    world = World(waiting(), renewed(Ended("c1", "lapsed")), *[Lost(2.0)] * 50)
    world.at(1.0, world.turn)
    with pytest.raises(BackendUnavailable) as caught:
        world.acquire(an_order(wait=20.0))
    assert caught.value.outcome == "unknown"
    assert START + 17 < world.time <= START + 20
    assert world.chores == [Withdraw("n", "c2")]


def test_a_grant_in_the_last_moment_is_taken() -> None:
    """A ticket that is settled when ``wait`` ends is a lease, not busy."""
    world = World(waiting())
    world.at(0.5, lambda: world.book.deliver(notice()))
    assert world.acquire(an_order(wait=0.5)).token == 7


def test_a_waiter_looks_after_its_keeper() -> None:
    """However long it waits, it never sleeps longer than two seconds without minding the keeper."""
    world = World(waiting())
    world.at(9.0, lambda: world.book.deliver(notice()))
    world.rewrite(waiting(), renewed(granted()))
    world.acquire()
    assert len(world.waits) == 5
    assert world.minded == 4  # the fifth wait ended with the grant
    assert max(world.waits) == pytest.approx(2.0)


def test_a_crowd_shares_the_look_after_its_keeper() -> None:
    """With a hundred waiters each looks five times as seldom: together ten times a second."""
    world = World(waiting())
    for number in range(99):
        world.book.tickets[f"other {number}"] = Ticket("n", f"other {number}", 10.0)
    world.at(9.0, lambda: world.book.deliver(notice()))
    world.rewrite(waiting(), renewed(granted()))
    world.acquire()
    assert max(world.waits) == pytest.approx(2.0 * 100 / 20 * (0.5 + world.dice()))


def test_the_keeper_is_due_a_second_after_the_claim() -> None:
    """A claim in the queue wakes a keeper that would sleep through its first renewal."""
    world = World(waiting(), Ended("c1", "withdrawn"))
    world.book.asleep_until = START + 1.5
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=0.2))
    assert world.woken == 1


def test_an_early_keeper_is_left_asleep() -> None:
    """A keeper that looks soon enough by itself is not woken."""
    world = World(waiting(), Ended("c1", "withdrawn"))
    world.book.asleep_until = START + 0.9
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=0.2))
    assert world.woken == 0


def test_the_head_of_the_queue_asks_when_the_grant_in_its_way_ends() -> None:
    """``retry_in`` makes the keeper ask at that moment, before the next second is over."""
    world = World(waiting(retry_in=0.4), renewed(granted()))
    world.at(0.3, world.turn)
    world.at(0.4, world.turn)
    world.acquire()
    assert world.sent[1][0] == pytest.approx(START + 0.4)


def test_long_waits_are_told_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event says how long it has been and who holds, each time another span is over."""
    monkeypatch.setattr(acquire, "LONG_WAIT", 3.0)
    world = World(Waiting(None, (OTHER,)), Ended("c1", "withdrawn"))
    with pytest.raises(LockBusy):
        world.acquire(an_order(wait=7.0))
    told = world.told(events.Waited)
    assert [event.waited_for for event in told] == pytest.approx([3.0, 6.0])
    assert told[0].holders == (OTHER,)


def test_a_waiter_of_a_closed_client_is_told_so() -> None:
    """Closing the client ends its waits with ``Misuse``; the keeper withdraws the claims."""
    world = World(waiting())

    def close() -> None:
        world.book.closing = True

    world.at(0.5, close)
    with pytest.raises(Misuse, match="closed"):
        world.acquire()
    assert world.book.tickets == {}


def test_a_closed_client_asks_nothing() -> None:
    """``acquire`` on a closed client is ``Misuse`` before anything is sent."""
    world = World()
    world.book.closing = True
    with pytest.raises(Misuse, match="make a new one"):
        world.acquire()
    assert world.requests == []


def test_waiting_for_oneself_is_misuse() -> None:
    """The same owner is told at once where it holds the name already; nothing is sent."""
    world = World(granted())
    world.acquire()
    with pytest.raises(Misuse, match=r"here\.py:1"):
        world.acquire(an_order(wait=5.0))
    assert len(world.requests) == 1


def test_a_reentrant_owner_comes_in_again() -> None:
    """With ``reentrant=True`` the same owner gets the lease it has, without a question."""
    world = World(granted())
    state = world.acquire()
    assert world.acquire(an_order(reentrant=True)) is state
    assert (state.count, len(world.requests)) == (2, 1)


def test_a_place_in_line_is_told() -> None:
    """An observer hears when the backend has confirmed a place, and nothing was lost since."""
    world = World(waiting())
    world.at(0.5, lambda: world.book.deliver(notice()))
    world.acquire(an_order(wait=5.0))
    assert world.told(events.Queued) == [events.Queued("n", 0.0)]
    assert world.told(events.PlaceLost) == []


def test_a_lost_place_is_told() -> None:
    """A claim that lapsed in line is told before the new one, which has a place of its own."""
    world = World(waiting(), renewed(Ended("c1", "lapsed")), waiting())
    world.at(1.0, world.turn)
    world.at(1.5, lambda: world.book.deliver(notice("c2")))
    world.acquire(an_order(wait=60.0))
    heard = [type(event) for event in world.events if not isinstance(event, events.Waited)]
    queued, lost = events.Queued, events.PlaceLost
    assert heard == [events.Claimed, queued, lost, queued, events.Granted]
    assert "ended" in world.told(lost)[0].reason


def test_who_could_not_be_told_may_have_been_passed_over() -> None:
    """An inbox that was deaf for a while puts the place in doubt, and that is told."""
    world = World(waiting())
    world.at(0.3, lambda: world.book.deliver(Notice("missed", "", "", "", 0)))
    world.at(0.5, lambda: world.book.deliver(notice()))
    world.acquire(an_order(wait=5.0))
    [lost] = world.told(events.PlaceLost)
    assert "deaf" in lost.reason


def test_an_inbox_that_opens_loses_nobodys_place() -> None:
    """Who waits asks at once, for a notice may have come before; and nobody is told of a loss."""
    world = World(waiting(), renewed(granted()))
    world.at(0.3, lambda: world.book.deliver(Notice("opened", "", "", "", 0)))
    world.at(0.3, world.turn)
    world.acquire(an_order(wait=5.0))
    assert world.now() == pytest.approx(START + 0.3)
    assert world.told(events.PlaceLost) == []
