"""Without a queue: whoever was not let in pauses and comes again, each time with a new claim."""

import pytest

from holdfast.errors import BackendUnavailable, LockBusy, Misuse
from holdfast.flows.rest import SPLITS
from holdfast.rules.messages import Claim, Ended, Later, Notice, Withdraw
from holdfast.values import Holder, Tenure
from tests.flows.fakes import START, World, an_order, granted

OTHER = Tenure(Holder("beef", "there", 7), token=3, weight=1, since=0.0, expires_in=4.0)
HELD = Later((OTHER,), first=0.1, longest=0.4, jitter=0.0, told=("a: held", "b: held"))
SPLIT = HELD._replace(holders=())
FREED = Notice("freed", "", "n", "", 0)


def claims(world: World) -> list[str]:
    """Give the ids of the claims that were made."""
    return [one.claim_id for one in world.requests if isinstance(one, Claim)]


def test_each_try_has_a_new_claim_and_a_longer_pause() -> None:
    """Up to the longest; the ids of tries that are over are never used again."""
    world = World(HELD, HELD, HELD, HELD, granted("c5"))
    state = world.acquire(an_order(wait=None))
    assert state.claim_id == "c5"
    assert claims(world) == ["c1", "c2", "c3", "c4", "c5"]
    assert world.waits == pytest.approx([0.1, 0.2, 0.4, 0.4])
    assert world.woken >= 4  # the keeper hears for those who rest
    assert world.book.tickets.keys() == set()


def test_who_is_told_comes_at_once() -> None:
    """The pause is cut short by the word that the name is free."""
    world = World(HELD, granted("c2"))
    world.at(0.03, lambda: world.book.deliver(FREED))
    world.acquire(an_order(wait=None))
    assert world.time == pytest.approx(START + 0.03)


def test_a_word_that_is_quicker_than_the_answer_counts() -> None:
    """It may come between the servers' answer and the rest: then there is no rest."""
    world = World(HELD, granted("c2"))
    wake = world.wake
    world.wake = lambda: (world.book.deliver(FREED), wake())  # type: ignore[method-assign,assignment,func-returns-value]
    world.acquire(an_order(wait=None))
    assert world.time == START


def test_the_end_of_the_lease_in_the_way_is_not_slept_over() -> None:
    """A holder that crashed blocks until its lease ends, and no pause longer."""
    soon = HELD._replace(holders=(OTHER._replace(expires_in=0.06),))
    world = World(soon, granted("c2"))
    world.acquire(an_order(wait=None))
    assert world.waits == pytest.approx([0.06])


def test_busy_when_the_wait_is_over() -> None:
    """Whoever gives up says good-bye, and is told who holds it."""
    world = World(HELD, HELD, Ended("c2", "withdrawn"))
    with pytest.raises(LockBusy) as caught:
        world.acquire(an_order(wait=0.15))
    assert caught.value.holders == (OTHER,)
    assert world.requests[-1] == Withdraw("n", "c2")
    assert world.time == pytest.approx(START + 0.15)
    assert world.chores == []


def test_who_does_not_wait_comes_again_only_while_votes_are_split() -> None:
    """A holder is a holder; where there is none it is tried a few times, and not for ever."""
    world = World(HELD)
    with pytest.raises(LockBusy, match="beef"):
        world.acquire(an_order(wait=0))
    world = World(SPLIT, granted("c2"))
    assert world.acquire(an_order(wait=0)).claim_id == "c2"
    world = World(*[SPLIT] * (SPLITS + 1))
    with pytest.raises(LockBusy, match=r"votes are split.*a: held; b: held"):
        world.acquire(an_order(wait=0))
    assert len(claims(world)) == SPLITS + 1


def test_servers_that_do_not_vote_yet_are_not_called_busy() -> None:
    """When the wait is over it is the backend that is not ready, and the error says why."""
    unready = SPLIT._replace(unready=True, told=("a: it has restarted",))
    world = World(unready, unready, Ended("c2", "withdrawn"))
    with pytest.raises(BackendUnavailable, match="too few servers vote: a: it has restarted"):
        world.acquire(an_order(wait=0.15))


def test_a_closed_client_leaves_no_watcher() -> None:
    """Its last claim is withdrawn by the keeper: it may be remembered as one who waits."""
    world = World(HELD)
    world.at(0.03, lambda: setattr(world.book, "closing", True))
    with pytest.raises(Misuse, match="closed"):
        world.acquire(an_order(wait=None))
    assert [chore.request for chore in world.book.chores] == [Withdraw("n", "c1")]
