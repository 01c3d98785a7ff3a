"""Replies that never come: what is asked again is not done twice, and not said to be undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from holdfast.backends.redis.scripts import script
from holdfast.errors import BackendUnavailable
from holdfast.rules.bucket_messages import Take, Terms, Took
from holdfast.rules.record_messages import Entry, Get, Swap, Swapped
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.wires import Asker, fresh_id
from tests.backends.redis.stage import proxied
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

SLOW = Terms(10, 3_600_000_000, 10)


async def _ask_until_answered(asker: Asker, request: Swap | Take) -> Swapped | Took:
    """Ask again with the same id, as a flow does."""
    for _ in range(5):
        (reply,) = await asker.ask_all([request])
        if isinstance(reply, (Swapped, Took)):
            return reply
        assert isinstance(reply, BackendUnavailable)
        assert reply.outcome == "unknown"
    pytest.fail("it was never answered")


@contextmanager
def _asker(mode: Mode) -> Iterator[tuple[Asker, Proxy]]:
    """Ask a server through a proxy; it knows the scripts already, so no reply is about those."""
    with RedisServer() as server, Proxy(server.address) as proxy:
        for name in ("record_swap", "bucket_take"):
            server.ask("SCRIPT", "LOAD", script(name).body)
        asker = Asker(proxied(server.url(quarantine=0), proxy.port), "p", mode)
        with closing(asker):
            yield asker, proxy


async def test_a_lost_reply_to_a_swap(mode: Mode) -> None:
    """The value was put there once, however often its reply was lost."""
    with _asker(mode) as (asker, proxy):
        swap = Swap("cell", "x", fresh_id(), b"1", 0)
        assert isinstance(await asker.ask(Get("cell", "x")), Entry)  # connected
        proxy.drop_reply(script("record_swap").sha, times=2)
        done = await _ask_until_answered(asker, swap)
        assert proxy.dropped_replies == 2
        entry = await asker.ask(Get("cell", "x"))
        assert isinstance(entry, Entry)
        assert isinstance(done, Swapped)
        assert entry.version == done.version
        assert done.version < done.at, "it was done the first time"


async def test_a_lost_reply_to_a_take(mode: Mode) -> None:
    """Its permits were taken once."""
    with _asker(mode) as (asker, proxy):
        await asker.ask(Take("limiter", "x", fresh_id(), 1, SLOW))  # connected
        proxy.drop_reply(script("bucket_take").sha, times=2)
        took = await _ask_until_answered(asker, Take("limiter", "x", fresh_id(), 3, SLOW))
        assert proxy.dropped_replies == 2
        assert took == Took(0, 6)
