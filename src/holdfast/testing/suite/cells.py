"""Cells: small shared values that many change without losing a change."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from holdfast import Conflict, LockLost, Misuse, clock
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async

KEPT: list[Any] = [
    None,
    0,
    "",
    "ä\U0001f600",
    b"",
    b"\x00\xff",
    [1, 2.5, None, True],
    {"a": {"b": []}},
    10**20,
]
REFUSED: list[Any] = [(1, 2), {1: "a"}, {"a": {1, 2}}, float("nan"), "\ud800", b"x" * (1 << 20)]


def cell(party: Party, name: str = "x", **terms: Any) -> Any:
    """Describe a cell of this party's client; what is in it goes by itself after the test."""
    return party.client.cell(name, **{"expire": "1m", **terms})


class TestCells:
    """``get``, ``swap``, ``update``, ``delete``."""

    pytestmark = pytest.mark.anyio
    needs = "records"

    async def test_what_is_put_in_comes_out(self, world: World) -> None:
        """A value comes back equal and of its kind; where there is none it is None, version 0."""
        alice, bob = world.party(), world.party()
        assert await bob.do(cell(bob).get) == (None, 0)
        version = 0
        for value in KEPT:
            version = await alice.do(partial(cell(alice).swap, value, version))
            found = await bob.do(cell(bob).get)
            assert found == (value, version)
            assert type(found.value) is type(value)

    async def test_what_could_not_come_back_is_refused(self, world: World) -> None:
        """Tuples, sets, numbers as keys, NaN, half a character, too much: nothing is written."""
        alice = world.party()
        for value in REFUSED:
            with pytest.raises(Misuse):
                await alice.do(partial(cell(alice).swap, value, 0))
            with pytest.raises(Misuse):
                await alice.do(partial(cell(alice).update, lambda _, value=value: value))
        assert await alice.do(cell(alice).get) == (None, 0)

    async def test_who_has_seen_an_older_version_is_refused(self, world: World) -> None:
        """The second of two who saw the same version gets ``Conflict``, with the version of now."""
        alice, bob = world.party(), world.party()
        first = await alice.do(partial(cell(alice).swap, "a", 0))
        second = await bob.do(partial(cell(bob).swap, "b", first))
        assert second > first
        with pytest.raises(Conflict, match=f"version {second}") as refused:
            await alice.do(partial(cell(alice).swap, "c", first))
        assert (refused.value.name, refused.value.version) == ("x", second)
        assert await alice.do(cell(alice).get) == ("b", second)

    async def test_no_update_is_lost(self, world: World) -> None:
        """Four parties add ten each at the same time, and the sum is forty."""

        async def add(party: Party) -> None:
            for _ in range(10):
                await party.do(partial(cell(party).update, lambda value: (value or 0) + 1))

        parties = [world.party() for _ in range(4)]
        await asyncio.gather(*map(add, parties))
        value, version = await parties[0].do(cell(parties[0]).get)
        assert value == 40
        assert version > 0

    async def test_an_update_gives_up(self, world: World) -> None:
        """When others are quicker each time, ``update`` ends in ``Conflict`` after its wait."""
        alice = world.party()
        other: Any = world.client("sync").cell("x", expire="1m")
        calls: list[Any] = []

        def overtaken(value: Any) -> int:
            calls.append(value)
            other.update(lambda _: len(calls))
            return -1

        with pytest.raises(Conflict, match="tries"):
            await alice.do(partial(cell(alice).update, overtaken, wait=1))
        assert len(calls) > 1
        assert calls == [None, *range(1, len(calls))]  # each time it was shown what was there
        assert other.get().value == len(calls)

    async def test_delete(self, world: World) -> None:
        """A deletion says if there was something; versions are not used again after it."""
        alice = world.party()
        first = await alice.do(partial(cell(alice).swap, 1, 0))
        with pytest.raises(Conflict):
            await alice.do(partial(cell(alice).delete, first + 1))
        assert await alice.do(partial(cell(alice).delete, first)) is True
        assert await alice.do(cell(alice).delete) is False
        assert await alice.do(cell(alice).get) == (None, 0)
        second = await alice.do(partial(cell(alice).swap, 2, 0))
        assert second > first
        assert await alice.do(cell(alice).delete) is True

    async def test_a_value_expires(self, world: World) -> None:
        """A value lives as long as was said, by each write or for the cell; then it is absent."""
        alice = world.party()
        short: Any = cell(alice, expire=0.2)
        await alice.do(partial(short.swap, "gone", 0))
        lasting = await alice.do(partial(cell(alice, "y").swap, "there", 0, expire="1h"))

        async def gone() -> bool:
            return bool(await alice.do(short.get) == (None, 0))

        await eventually_async(gone, 8.0, "an end of the value")
        assert await alice.do(cell(alice, "y").get) == ("there", lasting)

    async def test_a_write_under_an_older_lease_is_refused(self, world: World) -> None:
        """Once a later lease has written, the token of an earlier one is a ``Conflict``."""
        alice, bob = world.party(), world.party()
        old: Any = await alice.acquire("lock", on_loss="flag")
        await alice.do(partial(cell(alice).update, lambda _: "a", under=old))
        told: list[str] = []
        old.on_lost(lambda: told.append("lost"))
        await bob.break_lock("lock", old.token, force=True)
        await eventually_async(lambda: told, 5.0, "the loss")
        new = await bob.acquire("lock")
        _, version = await bob.do(partial(cell(bob).update, lambda _: "b", under=new))
        old._state.loss, old._state.deadline = "", clock.now() + 60  # noqa: SLF001 - a pause after the check
        with pytest.raises(Conflict, match="later lease"):
            await alice.do(partial(cell(alice).swap, "late", version, under=old))
        assert (await bob.do(cell(bob).get)).value == "b"

    async def test_a_write_under_a_lost_lease_is_refused(self, world: World) -> None:
        """What is known to be over is not even asked."""
        alice = world.party()
        lease = await alice.acquire("lock", ttl=world.short, renew=False, on_loss="flag")
        await eventually_async(lambda: lease.lost, 5.0, "the end of the lease")
        with pytest.raises(LockLost):
            await alice.do(partial(cell(alice).swap, 1, 0, under=lease))
        assert await alice.do(cell(alice).get) == (None, 0)
