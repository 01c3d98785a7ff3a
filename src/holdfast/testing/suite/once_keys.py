"""Once: the first caller works, everybody gets the result, and a crash is taken over."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from holdfast import Conflict, FailedBefore, LockBusy, LockLost, Misuse
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.work import Work
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

RESULTS: list[Any] = [None, 0, "text", [1, {"a": None}], b"\x00bytes"]


def begin(party: Party, work: Work, **terms: Any) -> Any:
    """Begin ``work`` under the key ``k``."""
    once: Any = party.client.once("k", **terms)
    return party.begin(partial(once.run, work.call))


async def run(party: Party, work: Work, **terms: Any) -> Any:
    """Do ``work`` under the key ``k``."""
    return await begin(party, work, **terms)


async def in_line(world: World, waiters: int) -> None:
    """Come back when so many wait for the key."""
    onlooker: Any = world.client("sync")
    await eventually_async(
        lambda: onlooker.show("k", space="once").waiters == waiters, 5.0, f"{waiters} in line"
    )


class TestOnce:
    """``run``, ``with``, ``forget``."""

    pytestmark = pytest.mark.anyio
    needs = "records"

    async def test_the_result_is_given_back(self, world: World) -> None:
        """Later callers get what the first one's work returned, equal and of its kind."""
        alice, bob = world.party(), world.party()
        client: Any = alice.client
        other: Any = bob.client
        for number, result in enumerate(RESULTS):
            work, key = Work(world, result), f"key:{number}"
            assert await alice.do(partial(client.once(key).run, work.call)) == result
            again = await bob.do(partial(other.once(key).run, work.call))
            assert (again, type(again)) == (result, type(result))
            assert work.runs == 1

    async def test_who_comes_meanwhile_waits_for_the_result(self, world: World) -> None:
        """Callers during the work wait, and get the result of the one run."""
        parties = [world.party() for _ in range(4)]
        work = Work(world, {"order": 7}, held=True)
        pending = [begin(parties[0], work)]
        await work.begun()
        pending += [begin(party, work) for party in parties[1:]]
        await in_line(world, 3)
        work.finish()
        assert [await one for one in pending] == [{"order": 7}] * 4
        assert work.runs == 1

    async def test_who_does_not_wait_is_told_who_is_at_it(self, world: World) -> None:
        """With ``wait=0`` the key is busy, and the error shows how to see more."""
        alice, bob = world.party("worker"), world.party()
        work = Work(world, held=True)
        pending = begin(alice, work)
        await work.begun()
        with pytest.raises(LockBusy, match=r"once\('k'\) is busy: held by worker") as busy:
            await run(bob, work, wait=0)
        assert busy.value.name == "k"
        [seen] = await bob.locks("k")
        assert (seen.name, seen.space) == ("k", "once")
        assert await bob.try_acquire("k") is not None  # a lock of that name is another thing
        work.finish()
        await pending

    async def test_another_payload_is_refused(self, world: World) -> None:
        """One key stands for one request; the order of its fields does not matter."""
        alice, bob = world.party(), world.party()
        work = Work(world)
        await run(alice, work, payload={"amount": 5, "to": ["x"]})
        assert await run(bob, work, payload={"to": ["x"], "amount": 5}) == "done"
        for payload in ({"amount": 6, "to": ["x"]}, b"bytes", None):
            with pytest.raises(Conflict, match="another payload"):
                await run(bob, work, payload=payload)
        assert work.runs == 1

    async def test_a_failure_is_not_stored_and_the_next_takes_over(self, world: World) -> None:
        """The error comes out of the one who worked; one of those who waited works next."""
        alice, bob = world.party(), world.party()
        failing, work = Work(world, held=True), Work(world, "second")
        failing.error = ValueError("no such order")
        pending = begin(alice, failing)
        await failing.begun()
        waiting = begin(bob, work)
        await in_line(world, 1)
        failing.finish()
        with pytest.raises(ValueError, match="no such order"):
            await pending
        assert await waiting == "second"
        assert (failing.runs, work.runs) == (1, 1)

    async def test_a_failure_is_stored_when_asked_for(self, world: World) -> None:
        """With ``store_errors`` others are told of the failure instead of trying again."""
        alice, bob = world.party(), world.party()
        work = Work(world)
        work.error = ValueError("no such order")
        with pytest.raises(ValueError, match="no such order"):
            await run(alice, work, store_errors=True)
        with pytest.raises(FailedBefore, match="ValueError: no such order") as failed:
            await run(bob, work)
        assert (failed.value.kind, failed.value.name) == ("ValueError", "k")
        assert work.runs == 1
        client: Any = bob.client
        assert await bob.do(client.once("k").forget) is True
        work.error = None
        assert await run(bob, work) == "done"

    async def test_a_worker_that_was_overtaken_stores_nothing(self, world: World) -> None:
        """Who loses the lease during the work is told; the result is that of the next one."""
        alice, bob = world.party(), world.party()
        first, second = Work(world, "first", held=True), Work(world, "second")
        pending = begin(alice, first, on_loss="flag")
        await first.begun()
        client: Any = bob.client
        token = (await bob.do(lambda: client.show("k", space="once"))).holders[0].token
        await bob.do(lambda: client.break_lock("k", token=token, force=True, space="once"))
        assert await run(bob, second) == "second"
        first.finish()
        with pytest.raises(LockLost):
            await pending
        assert await run(alice, first) == "second"

    async def test_what_cannot_be_stored_is_not_lost(self, world: World) -> None:
        """The work was done, so the error carries what it returned; nothing is stored."""
        alice = world.party()
        work = Work(world, {1, 2})
        with pytest.raises(Misuse, match="the result of once") as refused:
            await run(alice, work, store_errors=True)  # the work itself has not failed
        assert refused.value.result == {1, 2}
        work.result = [1, 2]
        assert await run(alice, work) == [1, 2]
        assert work.runs == 2

    async def test_forget(self, world: World) -> None:
        """What is forgotten can be done again; so can what was kept for long enough."""
        alice = world.party()
        client: Any = alice.client
        work = Work(world)
        await run(alice, work)
        assert await alice.do(client.once("k").forget) is True
        assert await alice.do(client.once("k").forget) is False
        await run(alice, work, keep=0.2)

        async def done_again() -> bool:
            await run(alice, work)
            return work.runs == 3

        await eventually_async(done_again, 8.0, "the end of what was kept")

    async def test_in_a_with(self, world: World) -> None:
        """Inside of a ``with`` one asks ``done`` and stores; leaving with nothing is a mistake."""
        alice, bob = world.party(), world.party()
        assert await alice.do(_visit(world, alice, "stored")) == (False, "stored")
        assert await bob.do(_visit(world, bob, "not this")) == (True, "stored")
        with pytest.raises(Misuse, match="left without a result"):
            await bob.do(_visit(world, bob, None, key="other"))
        assert await alice.do(_visit(world, alice, "other", key="other")) == (False, "other")


def _visit(world: World, party: Party, value: str | None, key: str = "k") -> Any:
    once: Any = party.client.once(key)

    def in_thread() -> tuple[bool, Any]:
        with once as visit:
            was_done = visit.done
            if not was_done and value is not None:
                visit.store(value)
            return was_done, visit.result if visit.done else None

    async def in_task() -> tuple[bool, Any]:
        async with once as visit:
            was_done = visit.done
            if not was_done and value is not None:
                await visit.store(value)
            return was_done, visit.result if visit.done else None

    return in_task if world.mode == "async" else in_thread
