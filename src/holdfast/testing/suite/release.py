"""Giving back: once, by whoever has the lease, one by one or all together."""
# ruff: noqa: S101 - these are tests

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from holdfast import Misuse
from holdfast.testing.suite.cranks import Interrupted
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

_SYNC = ("__enter__", "__exit__")


class TestRelease:
    """The end of a lease as it should be."""

    pytestmark = pytest.mark.anyio

    async def test_repeating_a_release_is_harmless(self, world: World) -> None:
        """A second release does nothing, least of all to the next holder."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x")
        await alice.release(lease)
        await alice.release(lease)
        rival = await bob.acquire("x")
        await alice.release(lease)
        assert rival.held
        assert (await world.look()).holders[0].token == rival.token

    async def test_another_owner_may_release(self, world: World) -> None:
        """A lease belongs to its client: another thread or task of it can give it back."""
        alice = world.party()
        twin = world.party(client=alice.client)
        lease = await alice.acquire("x")
        await twin.release(lease)
        assert not lease.held
        assert (await twin.acquire("x")).held

    async def test_a_lease_is_a_context_manager(self, world: World) -> None:
        """``with lock.acquire() as lease`` releases at the end of the body, also on an error."""
        alice = world.party()
        lease = await alice.acquire("x")
        if world.mode == "sync":
            with pytest.raises(ZeroDivisionError), lease as same:  # type: ignore[union-attr]
                raise ZeroDivisionError
        else:
            with pytest.raises(ZeroDivisionError):
                async with lease as same:  # type: ignore[union-attr]
                    raise ZeroDivisionError
        assert same is lease
        assert (lease.held, lease.lost) == (False, False)
        assert not (await world.look()).held

    async def test_an_error_in_the_body_releases(self, world: World) -> None:
        """The lock is given back when the body of its ``with`` fails."""
        alice = world.party()
        stay = await alice.enter("x")
        with pytest.raises(ZeroDivisionError):
            await stay.leave(ZeroDivisionError())
        assert not (await world.look()).held

    async def test_a_body_may_be_left_by_another_owner(self, world: World) -> None:
        """Entered here and left there, as some frameworks do: released, or refused in words."""
        alice = world.party()
        twin = world.party(client=alice.client)
        lock: Any = alice.lock("x")
        enter, leave = ("__aenter__", "__aexit__") if world.mode == "async" else _SYNC
        lease = await alice.do(getattr(lock, enter))
        try:
            await twin.do(lambda: getattr(lock, leave)(None, None, None))
        except Misuse:
            await alice.release(lease)
        assert not lease.held
        assert not (await world.look()).held

    async def test_release_all(self, world: World) -> None:
        """``release_all`` gives back everything of this client, and nothing of others."""
        alice, bob = world.party(), world.party()
        twin = world.party(client=alice.client)
        mine = [await alice.acquire(f"x{number}") for number in range(5)]
        mine.append(await twin.acquire("twin"))
        theirs = await bob.acquire("y")
        await alice.release_all()
        assert [lease.name for lease in mine if lease.held or lease.lost] == []
        assert theirs.held
        assert [one.name for one in await bob.locks()] == ["y"]
        await alice.release_all()
        for lease in mine:
            await alice.release(lease)

    async def test_release_all_hands_over(self, world: World) -> None:
        """Whoever waits for one of the names gets it."""
        alice, bob = world.party(), world.party()
        await alice.acquire("x")
        pending = await world.in_line(bob)
        await alice.release_all()
        assert (await pending).held

    async def test_release_all_ends_wait_lost(self, world: World) -> None:
        """Whoever watches a lease hears at once that it was given back."""
        alice = world.party()
        watcher = world.party(client=alice.client)
        lease = await alice.acquire("x", ttl=60)
        pending = watcher.begin_wait_lost(lease, 6)
        await asyncio.sleep(0)
        await alice.release_all()
        await eventually_async(pending.done, 8.0, "the end of wait_lost")
        assert await pending is False

    async def test_a_released_name_has_no_owner(self, world: World) -> None:
        """After its release the same owner may ask for the name again, and wait for it."""
        alice, bob = world.party(), world.party()
        await alice.release(await alice.acquire("x"))
        await alice.acquire("x")
        await alice.release_all()
        rival = await bob.acquire("x")
        pending = await world.in_line(alice)
        await bob.release(rival)
        assert (await pending).held


class TestClosing:
    """Closing a client."""

    pytestmark = pytest.mark.anyio

    async def test_closing_releases(self, world: World) -> None:
        """What a client holds is given back when it is closed, to whoever is next."""
        alice, bob = world.party(), world.party()
        lease = await alice.acquire("x")
        await alice.acquire("y")
        pending = await world.in_line(bob)
        await alice.close()
        assert (await pending).held
        assert (lease.held, lease.lost) == (False, False)
        assert not (await world.look("y")).held

    async def test_closing_twice_is_harmless(self, world: World) -> None:
        """Close again, and release what it held: nothing happens."""
        alice = world.party()
        lease = await alice.acquire("x")
        await alice.close()
        await alice.close()
        await alice.release(lease)

    async def test_a_closed_client_refuses(self, world: World) -> None:
        """Whoever asks a closed client is told so, at once and in words."""
        alice = world.party()
        await alice.acquire("warm")
        await alice.close()
        with pytest.raises(Misuse, match="closed"):
            await alice.acquire("x")

    async def test_a_closed_client_answers_or_refuses_but_never_hangs(self, world: World) -> None:
        """Looking through a closed client ends soon, one way or the other."""
        alice = world.party()
        await alice.acquire("warm")
        await alice.close()
        pending = alice.begin(lambda: alice.client.show("x"))
        await eventually_async(pending.done, 8.0, "an answer or a refusal")
        pending = alice.begin(alice.client.locks)
        await eventually_async(pending.done, 8.0, "an answer or a refusal")

    async def test_closing_ends_the_waits_of_the_client(self, world: World) -> None:
        """Whoever waits through a client that is closed is told, and leaves the queue."""
        alice, bob = world.party(), world.party()
        twin = world.party(client=bob.client)
        held = await alice.acquire("x")
        pending = await world.in_line(bob)
        await twin.close()
        with pytest.raises(Misuse, match="closed"):
            await pending

        async def nobody_waits() -> bool:
            return (await world.look()).waiters == 0

        # At once where there is a queue; the last server of a quorum hears of it a little later.
        # Who is only gone, and has not left, would stay for three seconds.
        await eventually_async(nobody_waits, 1.5, "nobody in line")
        await alice.release(held)
        assert (await alice.acquire("x", wait=5)).held

    async def test_closing_leaves_nothing_to_its_own_waiters(self, world: World) -> None:
        """What a client gives back while it waits for the same name is free, not handed to it."""
        alice, bob = world.party(), world.party()
        twin = world.party(client=alice.client)
        await alice.acquire("x")
        pending = await world.in_line(twin)
        await alice.close()
        with pytest.raises(Misuse, match="closed"):
            await pending
        # On the last server of a quorum a little later; handed to nobody it is held for seconds.
        assert (await bob.acquire("x", wait=2)).held

    async def test_a_cancelled_close_can_be_repeated(self, world: World) -> None:
        """Cancelled in the middle, closing is taken up again by the next call."""
        world.only("async", "a thread that waits for a reply is interrupted after it")
        outage = world.unreachable()
        alice = world.party()
        lease = await alice.acquire("x", ttl=60)
        with outage:
            pending = alice.begin(alice.client.close)
            await world.pass_time(0.2)
            pending.interrupt()
            with pytest.raises(Interrupted):
                await pending
        await alice.close()
        assert not lease.held
        with pytest.raises(Misuse, match="closed"):
            await alice.acquire("y")

    async def test_a_client_is_a_context_manager(self, world: World) -> None:
        """Leaving the ``with`` of a client closes it."""
        client = world.client()
        if world.mode == "sync":
            with client as same:  # type: ignore[union-attr]
                pass
        else:
            async with client as same:  # type: ignore[union-attr]
                pass
        assert same is client
        alice = world.party(client=client)
        with pytest.raises(Misuse, match="closed"):
            await alice.acquire("x")
