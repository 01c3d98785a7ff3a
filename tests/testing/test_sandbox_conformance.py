"""The sandbox behaves as every backend does: the suite runs on it, cut off by its own faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.errors import Misuse
from holdfast.testing import LeakedLease, Sandbox, suite
from holdfast.testing.suite import (
    BackendUnderTest,
    TestBreaking,
    TestInterruption,
    TestLoss,
    TestOutage,
    TestRenewal,
    TestWaiting,
    World,
    worlds,
)
from holdfast.testing.suite.forking import in_child

__all__ = [
    "TestBreaking",
    "TestInterruption",
    "TestLoss",
    "TestOutage",
    "TestRenewal",
    "TestWaiting",
]

_open: dict[str, Sandbox] = {}


def _fresh(_folder: Path) -> str:
    sandbox = Sandbox()
    _open[sandbox.url] = sandbox
    return sandbox.url


@contextmanager
def _cut_off(url: str) -> Iterator[None]:
    """Keep every client from the backend; each try takes a little, as it does in a network."""
    faults = _open[url].faults
    with faults.unavailable(), faults.delay("100ms"):
        yield


def _leaks(url: str) -> list[str]:
    """Close the sandbox, which names what is still held in it."""
    try:
        _open.pop(url).close()
    except LeakedLease as error:
        return [str(error)]
    return []


world = worlds(
    BackendUnderTest(
        name="sandbox",
        schemes=frozenset({"sandbox"}),
        fresh=_fresh,
        unreachable=_cut_off,
        litter=_leaks,
    )
)


class TestForking(suite.TestForking):
    """As everywhere, but for one thing: a sandbox does not follow into a child."""

    @pytest.mark.anyio
    async def test_the_child_can_work_for_itself(self, world: World) -> None:
        """A child is told that the sandbox is not there, instead of finding an empty one."""
        alice = world.party()
        lease = await alice.acquire("x", ttl=world.steady)
        client = alice.client

        def refused() -> dict[str, str]:
            try:
                client.lock("y").try_acquire()
            except Misuse as error:
                return {"said": str(error)}
            return {"said": ""}

        async def refused_async() -> dict[str, str]:
            try:
                await client.lock("y").try_acquire()  # type: ignore[misc]
            except Misuse as error:
                return {"said": str(error)}
            return {"said": ""}

        report = await in_child(alice, refused if world.mode == "sync" else refused_async)
        assert "forked child" in report["said"]
        assert lease.held
