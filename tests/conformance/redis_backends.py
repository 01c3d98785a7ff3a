"""Redis as the suite meets it: one server, a group watched by sentinels, a cluster of three.

All three are shared by the tests of one process; each test keeps to a prefix of its own.
"""

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from holdfast.testing.suite import BackendUnderTest
from tests.servers.cluster import RedisCluster
from tests.servers.redis import RedisServer
from tests.servers.sentinel import RedisSentinels
from tests.servers.shared import shared_server


def _single() -> list[RedisServer]:
    server = shared_server()
    return [server] if isinstance(server, RedisServer) else []  # a given one is left alone


@functools.cache
def _sentinels(_process: int) -> RedisSentinels:
    return RedisSentinels().start()


@functools.cache
def _cluster(_process: int) -> RedisCluster:
    return RedisCluster().start()


def _silencer(
    servers: Callable[[], Iterable[RedisServer]],
) -> Callable[[str], AbstractContextManager[object]]:
    """Stop the servers' processes: they accept everything and answer nothing."""

    @contextmanager
    def silenced(_url: str) -> Iterator[None]:
        stopped = list(servers())
        for server in stopped:
            server.pause()
        try:
            yield
        finally:
            for server in stopped:
                server.resume()

    return silenced


def _searcher(servers: Callable[[], Iterable[RedisServer]]) -> Callable[[str], list[str]]:
    """Name inboxes that somebody still listens to, and keys that would stay for ever."""

    def left(_url: str) -> list[str]:
        found: list[str] = []
        for server in servers():
            found += server.ask("PUBSUB", "CHANNELS", "*:inbox:*")
            _, keys = server.ask("SCAN", 0, "COUNT", 10_000)
            found += [key for key in keys if server.ask("PTTL", key) == -1]
        return found

    return left


def _masters() -> list[RedisServer]:
    return _cluster(os.getpid()).masters()


def _watched() -> list[RedisServer]:
    return [_sentinels(os.getpid()).master()]


REDIS = BackendUnderTest(
    name="redis",
    schemes=frozenset({"redis", "rediss", "redis+unix", "valkey"}),
    fresh=lambda _folder: shared_server().url(quarantine=0),
    unreachable=_silencer(_single),
    litter=_searcher(_single),
)

REDIS_SENTINEL = BackendUnderTest(
    name="redis-sentinel",
    schemes=frozenset({"redis+sentinel"}),
    fresh=lambda _folder: _sentinels(os.getpid()).url(quarantine=0),
    litter=_searcher(_watched),
)

REDIS_CLUSTER = BackendUnderTest(
    name="redis-cluster",
    schemes=frozenset({"redis+cluster"}),
    fresh=lambda _folder: _cluster(os.getpid()).url(quarantine=0),
    unreachable=_silencer(_masters),
    litter=_searcher(_masters),
)
