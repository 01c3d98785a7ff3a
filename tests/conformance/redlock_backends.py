"""A quorum as the suite meets it: three servers, and five of which two are gone.

The servers are shared by the tests of one process; each test keeps to a prefix of its own.
"""

import functools
import os
from collections.abc import Callable

from holdfast.testing.suite import BackendUnderTest
from tests.conformance.redis_backends import _searcher, _silencer
from tests.servers.redis import RedisServer, query, start_all

TERMS: dict[str, str | int] = {"quarantine": 0, "node_limit": "500ms"}
"""A busy machine is no silent server: what is late is the matter of other tests."""


@functools.cache
def _servers(count: int, _process: int) -> list[RedisServer]:
    servers = [RedisServer() for _ in range(count)]
    start_all(servers)
    if count > 3:
        for server in servers[3:]:
            server.kill()
    return servers


def _running(count: int) -> Callable[[], list[RedisServer]]:
    return lambda: _servers(count, os.getpid())[:3]


def url_of(servers: list[RedisServer], **options: str | int) -> str:
    """Give the URL of a quorum of these servers."""
    hosts = ",".join(f"{server.address[0]}:{server.port}" for server in servers)
    return f"redlock://{hosts}{query({**TERMS, **options})}"


def shared_quorum_url() -> str:
    """Give the URL of the three servers that the tests of this process share."""
    return url_of(_servers(3, os.getpid()))


REDLOCK = BackendUnderTest(
    name="redlock",
    schemes=frozenset({"redlock", "redlock+tls"}),
    fresh=lambda _folder: shared_quorum_url(),
    unreachable=_silencer(_running(3)),
    litter=_searcher(_running(3)),
)

REDLOCK_HURT = BackendUnderTest(
    name="redlock-hurt",
    schemes=frozenset({"redlock"}),
    fresh=lambda _folder: url_of(_servers(5, os.getpid())),
    unreachable=_silencer(_running(5)),
    litter=_searcher(_running(5)),
)
