"""Bad input is refused the same way on every backend, before anything is asked."""
# ruff: noqa: S101, PLR2004 - these are tests

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from holdfast import Misuse
from holdfast.testing.suite.world import World

BAD_NAMES: list[Any] = ["", "a\x00b", "a\nb", "\x7f", "n" * 513, "ä" * 257, "\ud800", 7, None, b"x"]
BAD_SPANS: list[Any] = [
    -1,
    float("nan"),
    float("inf"),
    "",
    "10",
    "10 parsecs",
    "-5s",
    True,
    timedelta(seconds=-1),
    [1],
]
BAD_METADATA: list[Any] = [
    {"a": object()},
    {"a": float("nan")},
    {"a": "b" * 4090},
    {"a": "\ud800"},
    ["a list"],
    "text",
]


class TestArguments:
    """What can never be right."""

    pytestmark = pytest.mark.anyio

    @pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: ascii(name)[:12])
    async def test_bad_names(self, world: World, name: Any) -> None:
        """A name is non-empty text of at most 512 bytes without control characters."""
        client: Any = world.client()
        alice = world.party(client=client)
        with pytest.raises(Misuse):
            client.lock(name)
        with pytest.raises(Misuse):
            await alice.do(lambda: client.show(name))
        with pytest.raises(Misuse):
            await alice.do(lambda: client.break_lock(name, token=1))
        with pytest.raises(Misuse):
            world.client(prefix=name)

    @pytest.mark.parametrize("span", BAD_SPANS, ids=repr)
    async def test_bad_durations(self, world: World, span: Any) -> None:
        """Spans of time are positive, bounded and written in a known form, wherever they appear."""
        client = world.client()
        alice = world.party(client=client)
        for terms in ({"ttl": span}, {"wait": span}, {"max_hold": span}):
            with pytest.raises(Misuse, match=next(iter(terms))):
                client.lock("x", **terms)
        for options in ({"ttl": span}, {"wait": span}, {"call_limit": span}):
            with pytest.raises(Misuse, match=next(iter(options))):
                world.client(**options)
        lease = await alice.acquire("x")
        with pytest.raises(Misuse):
            await alice.extend(lease, span)
        with pytest.raises(Misuse):
            lease.check(at_least=span)
        with pytest.raises(Misuse):
            await alice.do(lambda: lease.wait_lost(span))
        with pytest.raises(Misuse):
            await alice.take(client.lock("y"), wait=span)
        assert lease.held

    @pytest.mark.parametrize("option", ["ttl", "call_limit", "max_hold"])
    async def test_zero_is_too_short(self, world: World, option: str) -> None:
        """Only ``wait`` may be zero."""
        make: Callable[..., object] = world.client
        if option == "max_hold":
            make = partial(world.client().lock, "x")
        with pytest.raises(Misuse, match=option):
            make(**{option: 0})

    async def test_durations_can_be_written_in_three_ways(self, world: World) -> None:
        """Seconds, short strings and ``timedelta`` mean the same."""
        alice = world.party(ttl="1m", call_limit=timedelta(seconds=3))
        assert 50 < (await alice.acquire("a")).remaining <= 60
        assert 50 < (await alice.acquire("b", ttl=timedelta(minutes=1))).remaining <= 60
        assert 80 < (await alice.acquire("c", ttl="1m30s")).remaining <= 90
        assert 7 < (await alice.acquire("d", ttl=9.5)).remaining <= 9.5

    @pytest.mark.parametrize("metadata", BAD_METADATA, ids=lambda data: ascii(data)[:20])
    async def test_bad_metadata(self, world: World, metadata: Any) -> None:
        """Metadata is a mapping that JSON can say, in at most 4 KiB."""
        with pytest.raises(Misuse, match="metadata"):
            world.client().lock("x", metadata=metadata)

    async def test_the_largest_metadata(self, world: World) -> None:
        """Four KiB of metadata are kept and shown."""
        alice, bob = world.party(), world.party()
        metadata = {"a": "ä" * 2040}
        held = await alice.acquire("x", metadata=metadata)
        pending = await world.in_line(bob, metadata=metadata)
        await alice.release(held)
        assert (await pending).metadata == metadata

    @pytest.mark.parametrize("label", ["\ud800", "l" * 513, 7], ids=lambda one: ascii(one)[:12])
    async def test_bad_labels(self, world: World, label: Any) -> None:
        """A label is text of at most 512 bytes."""
        with pytest.raises(Misuse, match="holder"):
            world.client(holder=label)

    @pytest.mark.parametrize("reason", ["\ud800", "r" * 513, 7], ids=lambda one: ascii(one)[:12])
    async def test_bad_reasons(self, world: World, reason: Any) -> None:
        """A reason is text of at most 512 bytes."""
        alice = world.party()
        lease = await alice.acquire("x")
        with pytest.raises(Misuse, match="reason"):
            await alice.break_lock("x", lease.token, reason=reason)
        assert lease.held

    async def test_odd_labels_are_kept_and_shown_escaped(self, world: World) -> None:
        """Labels are untrusted text: kept as they are, and harmless where they are shown."""
        alice = world.party("\x1b[31mred\n'\"; DROP TABLE names\U0010ffff")
        await alice.acquire("x")
        seen = await world.look()
        assert seen.holder == alice.client.holder
        assert "\x1b" not in str(seen.holder)
        assert "\n" not in str(seen.holder)

    async def test_an_unknown_policy(self, world: World) -> None:
        """``on_loss`` is one of three words."""
        client: Any = world.client()
        with pytest.raises(Misuse, match="on_loss"):
            client.lock("x", on_loss="ignore")

    async def test_an_odd_prefix_of_a_listing(self, world: World) -> None:
        """What cannot be the beginning of a name is refused, or finds nothing."""
        alice = world.party()
        await alice.acquire("x")
        locks: Any = alice.client.locks
        for prefix in ("\ud800", 7):
            try:
                found = await alice.do(partial(locks, prefix))
            except Misuse:
                continue
            assert found == []
