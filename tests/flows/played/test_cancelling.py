"""Cancelled at every point of an acquire or release: withdrawn, or left to the keeper."""

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any

import pytest

from holdfast.flows.acquire import acquire
from holdfast.flows.release import release, release_all
from holdfast.observe.events import Event
from holdfast.rules.messages import Claim, Ended, Release, Reply, Request, Withdraw
from tests.flows.played.stage import FakeBell, FakeWire, Stage, acquired, order


@coroutine
def suspend() -> Generator[None, None, None]:
    """Give the test a moment in which it can cancel."""
    yield


class SuspendingWire(FakeWire):
    """Suspends before and after each message, as a socket would."""

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Send one message, with a pause on either side of its being carried out."""
        await suspend()
        reply = await super().ask(request, deadline)
        await suspend()
        return reply


class SuspendingBell(FakeBell):
    """Suspends before it waits."""

    async def wait(self, until: float) -> None:
        """Give the test a moment."""
        await suspend()
        await super().wait(until)


def suspending(*, contended: bool) -> Stage:
    """Set a stage on which every await suspends once."""
    stage = Stage()
    if contended:
        stage.rival_takes(ttl=1.5)
    stage.wire = SuspendingWire(stage.clock, stage.server)
    stage.session.wire = stage.wire
    stage.session.bell = lambda: SuspendingBell(stage.clock)
    return stage


def cancelled_at(step: int, flow: Coroutine[Any, Any, object]) -> bool:
    """Cancel ``flow`` where it suspends for the ``step``-th time; False if it never does."""
    try:
        for _ in range(step):
            flow.send(None)
        flow.throw(asyncio.CancelledError())
        while True:  # what it does to clean up may suspend as well
            flow.send(None)
    except StopIteration:
        return False
    except asyncio.CancelledError:
        return True


@pytest.mark.parametrize("contended", [False, True], ids=["free", "in line"])
def test_an_acquire_cancelled_anywhere_leaves_nothing(contended: bool) -> None:  # noqa: FBT001
    """Whatever the point, the claim is gone from the backend and from the book."""
    points = 0
    for step in range(1, 100):
        stage = suspending(contended=contended)
        if not cancelled_at(step, acquire(stage.session, order(wait=60), ("", 0))):
            break
        points += 1
        stage.clock.move(stage.clock.time + 5)
        left = {*stage.server.held_by(), *stage.server.waiting_for()} - {"rival"}
        assert left == set(), f"cancelled at point {step}"
        assert stage.book_is_empty()
    assert points >= (3 if contended else 2)


def test_a_late_claim_does_not_come_to_life() -> None:
    """A claim that overtakes nothing: its withdrawal arrived first, so it is never granted."""
    stage = suspending(contended=False)
    flow = acquire(stage.session, order(), ("", 0))
    assert cancelled_at(1, flow)
    [withdrawal] = stage.wire.requests(Withdraw)
    late = Claim("x", withdrawal.claim_id, order().want, stage.session.holder, "inbox", 3.0)
    assert isinstance(stage.server.answer(late), Ended)
    assert stage.server.held_by() == []


def test_a_withdrawal_that_fails_is_left_to_the_keeper() -> None:
    """Cancelled while the backend does not answer: the keeper takes the claim back later."""
    stage = Stage()
    stage.keeper.asleep = True
    lost = stage.wire.lost_reply

    def interrupted(request: Request, _deadline: float) -> Reply:
        stage.server.answer(request)
        stage.wire.default = lost
        raise KeyboardInterrupt

    stage.wire.default = interrupted
    with pytest.raises(KeyboardInterrupt):
        acquired(stage, order())
    assert stage.time <= 1.1
    stage.server.answer(Release("x", "nobody's"))
    stage.keeper.asleep = False
    stage.keeper.wake()
    stage.clock.move(stage.clock.time + 0.1)
    assert stage.keeper_wire.requests(Withdraw) != []
    assert stage.server.held_by() == []


def test_interrupted_when_the_lease_has_begun() -> None:
    """An interruption after the grant is still one of the acquire: nothing is held."""
    stage = Stage()

    def interrupt(event: Event) -> None:
        if type(event).__name__ == "Granted":
            raise KeyboardInterrupt

    stage.hub.tell = interrupt  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        acquired(stage, order())
    stage.clock.move(stage.clock.time + 1)
    assert stage.server.held_by() == []
    assert stage.book_is_empty()


@pytest.mark.parametrize("step", [1, 2])
def test_a_release_cancelled_anywhere_still_releases(step: int) -> None:
    """Nobody believes any more, and the keeper says it again to be sure."""
    stage = suspending(contended=False)
    flow = acquire(stage.session, order(), ("", 0))
    state = _finished(flow)
    assert cancelled_at(step, release(stage.session, state))
    assert not state.holds(stage.clock.time)
    stage.clock.move(stage.clock.time + 0.1)
    assert stage.keeper_wire.requests(Release) != []
    assert stage.server.held_by() == []
    assert state.loss == ""


def test_a_release_of_all_cancelled_still_releases() -> None:
    """Cancelling ``release_all`` leaves every one of them to the keeper."""
    stage = Stage()
    acquired(stage, order())

    async def never(*_: object) -> list[Any]:
        await suspend()
        return []

    stage.wire.ask_all = never  # type: ignore[method-assign,assignment]
    assert cancelled_at(1, release_all(stage.session))
    stage.clock.move(stage.clock.time + 0.1)
    assert stage.server.held_by() == []


def _finished(flow: Coroutine[Any, Any, Any]) -> Any:
    try:
        while True:
            flow.send(None)
    except StopIteration as done:
        return done.value
