"""A server for the drop-ins' tests alone: what they leave behind must not surprise others."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.compat.lab import Lab
from tests.servers.redis import RedisServer


@pytest.fixture(scope="session")
def server() -> Iterator[RedisServer]:
    """Give the server."""
    with RedisServer() as running:
        yield running


@pytest.fixture(params=["sync", "async"])
async def lab(server: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    """Give a client of either kind."""
    made = Lab(server, request.param)
    yield made
    await made.close()


@pytest.fixture(
    params=[("sync", False), ("sync", True), ("async", False), ("async", True)],
    ids=["sync", "sync-decoded", "async", "async-decoded"],
)
async def any_lab(server: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[Lab]:
    """Give a client of either kind, decoding responses or not."""
    kind, decoded = request.param
    made = Lab(server, kind, decoded=decoded)
    yield made
    await made.close()
