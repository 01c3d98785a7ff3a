"""Records, asked on the wire: one value under a name, replaced only by those who saw it."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

import asyncio
import time

import pytest

from holdfast.errors import Unsupported
from holdfast.rules.messages import Claim, Granted, Look, Refused, Release, Request, Seen, Want
from holdfast.rules.record import VALUE_LIMIT
from holdfast.rules.record_messages import Entry, Get, Moved, Swap, Swapped
from holdfast.testing.suite.inspection import ODD_NAMES
from holdfast.testing.suite.wires import Asker, fresh_id
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async
from holdfast.values import Holder, Space

GET = Get("cell", "x")
MINUTE = 60_000_000


def _swap(value: bytes | None, if_version: int, keep: int | None = MINUTE, fence: int = 0) -> Swap:
    return Swap("cell", "x", fresh_id(), value, if_version, keep, fence)


async def _get(asker: Asker, name: str = "x", space: Space = "cell") -> Entry:
    return await asker.expect(Entry, Get(space, name))


async def _put(asker: Asker, value: bytes | None, keep: int | None = MINUTE, fence: int = 0) -> int:
    """Replace what is there, and give the version."""
    seen = (await _get(asker)).version
    return (await asker.expect(Swapped, _swap(value, seen, keep, fence))).version


class TestRecords:
    """``Get`` and ``Swap``."""

    pytestmark = pytest.mark.anyio

    async def test_a_backend_has_them_or_says_that_it_has_not(self, world: World) -> None:
        """What ``capabilities`` does not promise is refused as unsupported, not in some odd way."""
        asker = world.asker()
        if world.capabilities.records:
            await _get(asker)
            return
        with pytest.raises(Unsupported):
            await asker.ask(GET)

    async def test_a_value_is_made_read_replaced_and_deleted(self, world: World) -> None:
        """Each from the version that was seen, and each with a newer version than all before."""
        asker = world.asker("records")
        assert (await _get(asker))[:4] == (None, 0, None, 0)
        first = await asker.expect(Swapped, _swap(b"a", 0, keep=None))
        seen = await _get(asker)
        assert (seen.value, seen.version, seen.left) == (b"a", first.version, None)
        second = await asker.expect(Swapped, _swap(b"b", first.version))
        assert second.version > first.version
        third = await asker.expect(Swapped, _swap(None, second.version))
        assert third.version > second.version
        assert (await _get(asker))[:4] == (None, 0, None, 0)
        fourth = await asker.expect(Swapped, _swap(b"c", 0))
        assert fourth.version > third.version

    async def test_who_comes_too_late_is_told_what_is_there(self, world: World) -> None:
        """Nothing is overwritten, and the answer has all it takes to try again."""
        alice, bob = world.asker("records"), world.asker("records")
        seen = await _put(alice, b"a")
        newest = await _put(bob, b"b")
        late = await alice.expect(Moved, _swap(b"c", seen))
        assert (late.why, late.certain) == ("version", True)
        assert (late.entry.value, late.entry.version) == (b"b", newest)
        created = await alice.expect(Moved, _swap(b"c", 0))
        assert created.entry.value == b"b"
        assert (await _get(bob)).value == b"b"

    async def test_a_swap_asked_again_was_done_once(self, world: World) -> None:
        """A reply that was lost is found again, by whatever way it is asked for."""
        alice, bob = world.asker("records"), world.asker("records", mode=world.other_mode)
        mine = _swap(b"mine", 0)
        done = await alice.expect(Swapped, mine)
        assert (await alice.expect(Swapped, mine)).version == done.version
        theirs = await bob.expect(Swapped, _swap(b"theirs", done.version))
        assert (await bob.expect(Swapped, mine)).version == done.version
        assert (await _get(alice))[:2] == (b"theirs", theirs.version)

    async def test_nobodys_update_is_lost(self, world: World) -> None:
        """Whatever the race, a counter that many raise has been raised by each of them."""
        askers = [world.asker("records") for _ in range(4)]
        versions: list[int] = []

        async def raise_it(asker: Asker) -> None:
            for _ in range(10):
                entry = await _get(asker)
                while True:
                    value = b"%d" % (int(entry.value or b"0") + 1)
                    reply = await asker.ask(_swap(value, entry.version))
                    if isinstance(reply, Swapped):
                        versions.append(reply.version)
                        break
                    assert isinstance(reply, Moved)
                    entry = reply.entry

        await asyncio.gather(*map(raise_it, askers))
        assert (await _get(askers[0])).value == b"40"
        assert len(set(versions)) == 40

    async def test_of_many_who_create_one_does(self, world: World) -> None:
        """The others are told what it made."""
        askers = [world.asker("records") for _ in range(5)]
        swaps = [_swap(b"%d" % number, 0) for number in range(5)]
        replies = await asyncio.gather(
            *(asker.ask(swap) for asker, swap in zip(askers, swaps, strict=True))
        )
        (won,) = [place for place, reply in enumerate(replies) if isinstance(reply, Swapped)]
        lost = [reply for reply in replies if isinstance(reply, Moved)]
        assert [reply.entry.value for reply in lost] == [b"%d" % won] * 4

    async def test_a_value_ends_by_itself(self, world: World) -> None:
        """It counts down, is gone at its end, and its version is never seen again."""
        asker = world.asker("records")
        version = await _put(asker, b"a", keep=1_500_000)
        seen = await _get(asker)
        assert seen.value == b"a"
        assert seen.left is not None
        assert 0 < seen.left <= 1_500_000

        async def gone() -> bool:
            return (await _get(asker)).value is None

        await eventually_async(gone, 5.0, "the end of the value")
        late = await asker.expect(Moved, _swap(b"b", version))
        assert late.entry.version == 0
        assert await _put(asker, b"c") > version

    async def test_a_stale_lease_cannot_write(self, world: World) -> None:
        """A smaller token than one that has written is refused, after a deletion too."""
        asker = world.asker("records")
        version = await _put(asker, b"new", fence=8)
        stale = await asker.expect(Moved, _swap(b"old", version, fence=7))
        assert (stale.why, stale.entry.fence) == ("fence", 8)
        await _put(asker, None, fence=9)
        late = await asker.expect(Moved, _swap(b"old", 0, fence=8))
        assert (late.why, late.entry.value, late.entry.fence) == ("fence", None, 9)
        assert await _put(asker, b"newer", fence=9)

    @pytest.mark.parametrize("name", ODD_NAMES)
    async def test_any_name_and_any_bytes(self, world: World, name: str) -> None:
        """Names and values are nobody's business but the caller's."""
        asker = world.asker("records")
        value = bytes(range(256)) + name.encode()
        await asker.expect(Swapped, Swap("cell", name, fresh_id(), value, 0, MINUTE))
        assert (await _get(asker, name)).value == value
        assert (await _get(asker, name + "x")).value is None

    async def test_a_value_may_be_empty_or_large_but_not_too_large(self, world: World) -> None:
        """Up to a mebibyte; one byte more is refused in words, and changes nothing."""
        asker = world.asker("records")
        await _put(asker, b"")
        assert (await _get(asker)).value == b""
        largest = _bytes(VALUE_LIMIT)
        await _put(asker, largest)
        assert (await _get(asker)).value == largest
        refused = await asker.expect(Refused, _swap(largest + b"x", (await _get(asker)).version))
        assert (refused.why, str(VALUE_LIMIT) in refused.detail) == ("value", True)
        assert (await _get(asker)).value == largest

    async def test_spaces_prefixes_and_locks_are_apart(self, world: World) -> None:
        """The same name means something else in each."""
        asker, other = world.asker("records"), world.asker("records", prefix=world.prefix + "-b")
        await _put(asker, b"in cells")
        await asker.expect(Swapped, Swap("once", "x", fresh_id(), b"in once", 0, MINUTE))
        lease = await asker.expect(Granted, _claim("x"))
        assert (await _get(asker)).value == b"in cells"
        assert (await _get(asker, space="once")).value == b"in once"
        assert (await _get(asker, space="singleton")).value is None
        assert (await _get(other)).value is None
        seen = await asker.expect(Seen, Look("x"))
        assert [held.token for held in seen.locks[0].holders] == [lease.token]
        await asker.ask(Release("x", lease.claim_id))

    async def test_a_batch_is_carried_out_in_its_order(self, world: World) -> None:
        """What is asked together is done one after the other: a claim, a look, a swap, a look.

        A look says when it was made, so it can be told from one that was made before the grant:
        where a server must first be taught a script, that request comes later than its batchmates.
        """
        asker = world.asker("records")
        for taught in (_claim("x"), GET, _swap(None, 0), Look("x")):
            reply = await asker.ask(taught)
            if isinstance(reply, Granted):
                await asker.ask(Release("x", reply.claim_id))
        claim = _claim("x")
        release = Release("x", claim.claim_id)
        requests: list[Request] = [claim, GET, _swap(b"a", 0), GET, release, Look("x")]
        granted, before, swapped, after, _, seen = await asker.ask_all(requests)
        assert isinstance(granted, Granted)
        assert isinstance(before, Entry)
        assert before.value is None
        assert before.at >= round(granted.granted_at * 1e6)
        assert isinstance(swapped, Swapped)
        assert isinstance(after, Entry)
        assert after[:2] == (b"a", swapped.version)
        assert isinstance(seen, Seen)
        assert not seen.locks[0].held

    async def test_every_answer_says_what_time_it_is(self, world: World) -> None:
        """By the backend's wall clock, which does not go back."""
        asker = world.asker("records")
        first = (await _get(asker)).at
        second = (await asker.expect(Swapped, _swap(b"a", 0))).at
        third = (await asker.expect(Moved, _swap(b"b", 0))).entry.at
        assert first <= second <= third
        assert abs(third / 1e6 - time.time()) < 5


def _bytes(size: int) -> bytes:
    return bytes(range(251)) * (size // 251) + b"x" * (size % 251)


def _claim(name: str) -> Claim:
    return Claim(name, fresh_id(), Want("lock", 1, 1, 10.0), Holder("suite", "host", 1), "", 0)
