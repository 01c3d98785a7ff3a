"""The time limit of a connection is the kernel's: told when it changes, and only then."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.link import ROUNDED, Link, open_link
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import target_of
from holdfast.settings import address
from tests.servers.redis import RedisServer

PING = command("PING")


class CountingSocket(socket.socket):
    """A socket that knows how often it was told anything."""

    told = 0

    def setsockopt(self, *what: object) -> None:
        """Count it and pass it on."""
        self.told += 1
        super().setsockopt(*what)  # type: ignore[call-overload]


@contextmanager
def _linked(server: RedisServer) -> Iterator[tuple[Link, CountingSocket]]:
    target = target_of(address(server.url()))
    link = open_link(target, target.seeds[0], clock.now() + 5)
    counting = CountingSocket(fileno=link._socket.detach())
    link._socket = counting
    try:
        yield link, counting
    finally:
        link.close()


def _ping(link: Link, seconds: float) -> object:
    now = clock.now()
    return link.ask(PING, now, now + seconds)


def test_calls_that_may_take_about_as_long_tell_the_kernel_once() -> None:
    """A caller that is a little late, or was earlier than the one before it, changes nothing."""
    with RedisServer() as server, _linked(server) as (link, counting):
        for late in (0.010, 0.000, 0.005, 0.001, 0.015):
            assert _ping(link, 5 - late) == b"PONG"
        assert counting.told == 2  # one limit for sending, one for receiving


def test_another_limit_is_told() -> None:
    """Shorter and longer ones are kept: to the millisecond if there is less than a second."""
    with RedisServer() as server, _linked(server) as (link, counting):
        for seconds in (5, 2, 5, 0.5, 0.4):
            before = counting.told
            _ping(link, seconds)
            assert counting.told == before + 2
            span = counting.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16)
            whole, parts = (int.from_bytes(span[at : at + 8], "little") for at in (0, 8))
            over = whole + parts / 1e6 - seconds
            # The kernel counts in ticks of its own, of up to 10 ms.
            assert -0.001 <= over <= (ROUNDED if seconds >= 1 else 0.0) + 0.011


def test_a_silent_server_is_given_up_at_the_limit() -> None:
    """What was rounded is rounded up: never before the time that the caller gave."""
    with RedisServer() as server, _linked(server) as (link, _):
        server.ask("CLIENT", "PAUSE", 30_000, "WRITE")
        began_at = time.monotonic()
        now = clock.now()
        with pytest.raises(BackendUnavailable, match="call_limit"):
            link.ask(command("SET", "name", "value"), now, now + 1.01)
        assert time.monotonic() - began_at >= 1.0
        server.ask("CLIENT", "UNPAUSE")
