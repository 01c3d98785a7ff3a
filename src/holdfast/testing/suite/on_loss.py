"""What becomes of the body when its lease is lost: ``raise``, ``stop`` and ``flag``."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import time
from typing import Any

import pytest

from holdfast import LockLost
from holdfast.testing.suite.cranks import Interrupted
from holdfast.testing.suite.party import Stay
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


async def told(stay: Stay) -> None:
    """Come back when the holder has been told of its loss."""
    heard: list[str] = []
    stay.lease.on_lost(lambda: heard.append("lost"))
    await eventually_async(lambda: heard, 5.0, "the loss")


class TestOnLoss:
    """Bodies of lost leases."""

    pytestmark = pytest.mark.anyio

    def brief(self, world: World, **terms: Any) -> dict[str, Any]:
        """Give the terms of a lease that soon ends by itself."""
        return {"ttl": world.short, "renew": False, **terms}

    async def test_stop_ends_the_body(self, world: World) -> None:
        """With ``stop`` the body is stopped and ``LockLost`` comes out of the ``with``."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world, on_loss="stop"))
        with pytest.raises(LockLost) as lost:
            await stay.ended(within=world.short + 5)
        assert lost.value.token == stay.lease.token
        assert await alice.do(lambda: "at work") == "at work"

    async def test_the_default_of_each_runtime(self, world: World) -> None:
        """A task is stopped unless told otherwise; a thread is not, but cannot leave in silence."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world))
        if world.mode == "async":
            with pytest.raises(LockLost):
                await stay.ended()
            return
        await told(stay)
        assert stay.inside()
        with pytest.raises(LockLost):
            stay.lease.check()
        with pytest.raises(LockLost):
            await stay.leave()

    async def test_raise_lets_the_body_go_on_and_then_raises(self, world: World) -> None:
        """With ``raise`` leaving the ``with`` of a lost lease raises ``LockLost``."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world, on_loss="raise"))
        await told(stay)
        assert stay.inside()
        with pytest.raises(LockLost):
            await stay.leave()

    @pytest.mark.parametrize("on_loss", ["raise", "flag"])
    async def test_the_bodys_own_error_comes_first(self, world: World, on_loss: str) -> None:
        """An error that the body raises is not replaced by the loss."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world, on_loss=on_loss))
        await told(stay)
        with pytest.raises(ZeroDivisionError):
            await stay.leave(ZeroDivisionError("of the body"))

    async def test_flag_only_tells(self, world: World) -> None:
        """With ``flag`` the body goes on and ends without an error; ``lost`` says what happened."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world, on_loss="flag"))
        await told(stay)
        assert stay.lease.lost
        await stay.leave()
        with pytest.raises(LockLost):
            stay.lease.check()

    async def test_a_good_lease_leaves_in_silence(self, world: World) -> None:
        """Whatever the policy, a body whose lease was good to the end just ends."""
        alice = world.party()
        for on_loss in ("raise", "stop", "flag"):
            stay = await alice.enter("x", on_loss=on_loss)
            await stay.leave()
            assert not stay.lease.lost
        with pytest.raises(ZeroDivisionError):
            await (await alice.enter("x", on_loss="stop")).leave(ZeroDivisionError())
        assert not (await world.look()).held

    async def test_stop_applies_inside_a_with_only(self, world: World) -> None:
        """A lease that was acquired by hand is lost without stopping anybody."""
        alice = world.party()
        lease = await alice.acquire("x", **self.brief(world, on_loss="stop"))
        assert await alice.begin_wait_lost(lease, 10) is True
        assert await alice.do(lambda: "at work") == "at work"
        with pytest.raises(LockLost):
            await alice.release(lease)

    async def test_the_outer_lock_stops_an_inner_body(self, world: World) -> None:
        """Losing the outer of two locks stops the body, releases the inner and tells the outer."""
        alice = world.party()
        outer = alice.lock("outer", **self.brief(world, on_loss="stop"))
        inner = alice.lock("inner", on_loss="stop")
        stay = await alice.enter_all(outer, inner)
        with pytest.raises(LockLost) as lost:
            await stay.ended()
        assert lost.value.name == "outer"
        assert not (await world.look("inner")).held
        assert await alice.do(lambda: "at work") == "at work"

    async def test_a_lock_entered_twice_is_lost_once(self, world: World) -> None:
        """A reentrant lock that is lost under its second entry tells so, and stops nobody later."""
        alice = world.party()
        lock = alice.lock("x", **self.brief(world, on_loss="stop", reentrant=True))
        stay = await alice.enter_all(lock, lock)
        with pytest.raises(LockLost):
            await stay.ended()
        assert await alice.do(lambda: "at work") == "at work"

    async def test_somebody_elses_cancellation_is_passed_on(self, world: World) -> None:
        """Cancelled from outside, the body ends as cancelled and the lock is released."""
        alice = world.party()
        stay = await alice.enter("x", on_loss="stop")
        stay.interrupt()
        with pytest.raises(Interrupted):
            await stay.ended()
        assert not stay.lease.lost
        assert not (await world.look()).held

    async def test_a_lease_that_is_over_before_its_body(self, world: World) -> None:
        """Lost on the way in: ``LockLost`` comes out once, and nothing hits the owner later."""
        alice = world.party(observers=[_dawdle])
        client: Any = alice.client
        body = world.native(lambda: None)
        terms = {"ttl": 0.05, "renew": False, "on_loss": "stop"}
        with pytest.raises(LockLost):
            await alice.do(lambda: client.with_lock("x", body, **terms))
        assert await alice.do(lambda: "at work") == "at work"

    async def test_the_name_is_free_after_a_stop(self, world: World) -> None:
        """After its body was stopped the name can be had again, also by the same party."""
        alice = world.party()
        stay = await alice.enter("x", **self.brief(world, on_loss="stop"))
        with pytest.raises(LockLost):
            await stay.ended()
        lease = await alice.acquire("x")
        assert lease.token > stay.lease.token


def _dawdle(event: object) -> None:
    if type(event).__name__ == "Granted":
        time.sleep(0.15)
