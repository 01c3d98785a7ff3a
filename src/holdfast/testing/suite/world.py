"""The world of one test: a fresh backend in one runtime, and the parties that meet there.

When the test is over everything is closed, and nothing may be left: no grant, no waiter, no thread
of the library, no litter of the backend. So every test of the suite is a test for leaks as well.
"""
# ruff: noqa: S101 - for tests

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal

import pytest

from holdfast import AsyncClient, Capabilities, Client, LockInfo
from holdfast.testing.suite.backend import BackendUnderTest, Combination, Mode, combinations
from holdfast.testing.suite.cranks import Crank, Pending, TaskCrank, ThreadCrank
from holdfast.testing.suite.needs import skip_if_refused
from holdfast.testing.suite.party import AnyClient, AnyLease, AnyLock, Party
from holdfast.testing.suite.wires import Asker
from holdfast.testing.watching import eventually_async

LONG = 30.0
"""A wait that is never meant to end: a test that gets so far fails with the library's own words."""


class World:
    """One fresh backend, one runtime, any number of parties."""

    def __init__(self, combination: Combination, folder: Path) -> None:
        self.backend = combination.backend
        self.mode: Mode = combination.mode
        self.url = combination.backend.fresh(folder)
        self.prefix = f"suite-{secrets.token_hex(4)}"
        self._clients: list[AnyClient] = []
        self._parties: list[Party] = []
        self._askers: list[Asker] = []
        self._waits: dict[tuple[Party, str], list[Pending[AnyLease]]] = {}
        self._onlooker: Party | None = None
        self._threads_before = _our_threads()

    @property
    def other_mode(self) -> Mode:
        """The runtime that this world is not about."""
        return "sync" if self.mode == "async" else "async"

    @property
    def capabilities(self) -> Capabilities:
        """What the backend says of itself."""
        return (self._clients[0] if self._clients else self.client()).capabilities

    @property
    def short(self) -> float:
        """A ttl for tests in which leases must end: as short as the backend renews reliably."""
        return max(0.3, self.capabilities.min_ttl)

    @property
    def brief(self) -> float:
        """A ttl for tests in which something must happen before the lease ends by itself."""
        return max(1.2, self.capabilities.min_ttl)

    @property
    def steady(self) -> float:
        """A ttl for tests in which leases must be kept: a busy machine may stop us for a while."""
        return max(3.0, self.capabilities.min_ttl)

    def client(self, mode: Mode | None = None, **options: Any) -> AnyClient:
        """Make a client; it is closed when the test is over."""
        client = self.unkept_client(mode, **options)
        self._clients.append(client)
        return client

    def unkept_client(self, mode: Mode | None = None, **options: Any) -> AnyClient:
        """Make a client that nobody but the caller refers to."""
        given: dict[str, Any] = {"prefix": self.prefix, "wait": LONG, **options}
        make = Client if (mode or self.mode) == "sync" else AsyncClient
        return make(self.url, **given)

    def party(
        self,
        name: str = "",
        *,
        client: AnyClient | None = None,
        mode: Mode | None = None,
        **options: Any,
    ) -> Party:
        """Make a party with a client of its own, or as one more owner in ``client``."""
        if client is None:
            client = self.client(mode, holder=name or None, **options)
        name = name or f"party-{len(self._parties)}"
        crank: Crank = ThreadCrank(name) if isinstance(client, Client) else TaskCrank(name)
        party = Party(name, client, crank)
        self._parties.append(party)
        return party

    def asker(
        self,
        family: Literal["records", "buckets"] | None = None,
        *,
        mode: Mode | None = None,
        prefix: str | None = None,
    ) -> Asker:
        """Make a wire without a client; skip the test where there is no such ``family``."""
        if family:
            self.require(family)
        asker = Asker(self.url, prefix or self.prefix, mode or self.mode)
        self._askers.append(asker)
        return asker

    async def look(self, name: str = "x") -> LockInfo:
        """See who holds ``name`` and who waits, through a client that does neither."""
        if self._onlooker is None:
            self._onlooker = self.party("onlooker")
        return await self._onlooker.show(name)

    async def in_line(
        self, party: Party, name: str = "x", *, at: AnyLock | None = None, **terms: Any
    ) -> Pending[AnyLease]:
        """Let ``party`` begin to wait, and come back when its place in the queue is taken.

        It waits for the lock on ``name``, or with ``at`` for whatever that describes.
        """
        name = name if at is None else at.name
        waits = self._waits.setdefault((party, name), [])
        before = sum(not wait.done() for wait in waits)

        async def places() -> int:
            seen = await self.look(name)
            return sum(place.holder == party.client.holder for place in seen.queue)

        async def as_before() -> bool:
            return await places() <= before

        async def longer() -> bool:
            return await places() > before

        # One of several servers may not have heard yet that an earlier wait is over.
        await eventually_async(as_before, 10.0, f"{party.name} out of the queue of {name}")
        pending = (
            party.begin_acquire(name, **terms) if at is None else party.begin_take(at, **terms)
        )
        waits.append(pending)
        await eventually_async(longer, 10.0, f"{party.name} in the queue of {name}")
        return pending

    async def pass_time(self, seconds: float) -> None:
        """Let time pass that is itself the point: beyond a ttl, say."""
        await asyncio.sleep(seconds)

    async def until_renewed(self, *leases: AnyLease) -> None:
        """Let a renewal of each of them pass; one that is lost keeps nobody waiting."""
        ends = [time.monotonic() + lease.remaining for lease in leases]

        def renewed() -> bool:
            now = time.monotonic()
            return all(
                lease.lost or now + lease.remaining > end
                for lease, end in zip(leases, ends, strict=True)
            )

        await eventually_async(renewed, LONG, "a renewal of each")

    def native(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Give ``function`` as this runtime wants it: as it is, or as an ``async def``."""
        if self.mode == "sync":
            return function

        async def twin(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        twin.__name__, twin.__qualname__ = function.__name__, function.__qualname__
        twin.__doc__ = function.__doc__
        twin.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return twin

    def unreachable(self) -> AbstractContextManager[object]:
        """Keep every client from the backend; the test is skipped where there is no way to."""
        if self.backend.unreachable is None:
            pytest.skip(f"nothing can stand between {self.backend.name} and its clients")
        return self.backend.unreachable(self.url)

    def require(self, what: str) -> None:
        """Skip the test where the backend says that it lacks a family, a kind or a queue."""
        told = self.capabilities
        if what not in told.kinds and not getattr(told, what, False):
            pytest.skip(f"{self.backend.name} says that it has no {what}")

    def only(self, mode: Mode, why: str) -> None:
        """Skip the test in the other runtime."""
        if self.mode != mode:
            pytest.skip(why)

    async def close(self) -> None:
        """End everything, and see that nothing is left."""
        for asker in self._askers:
            asker.close()
        for party in self._parties:
            party.open_doors()
        for client in self._clients:
            closed = client.close()
            if closed is not None:
                await closed
        for party in self._parties:
            await party.crank.stop()
        await self._nothing_is_left()
        # Whoever runs us may keep this world, and with it all that was ever made in it.
        for made in (self._clients, self._parties, self._askers, self._waits):
            made.clear()
        self._onlooker = None

    async def _nothing_is_left(self) -> None:
        with Client(self.url, prefix=self.prefix) as inspector:
            await eventually_async(
                lambda: not inspector.locks(), 2.0, "no grant and no waiter left"
            )
        await eventually_async(
            lambda: not (_our_threads() - self._threads_before), 1.0, "no thread left"
        )
        left = self.backend.litter(self.url)
        assert left == [], f"left behind: {left}"


def worlds(*backends: BackendUnderTest) -> Any:
    """Make the fixture ``world`` that runs each test of a module on all of these backends.

    Each backend is met in both runtimes. In the module of the tests: ``world = worlds(MINE)``.
    """

    @pytest.fixture(params=combinations(*backends), ids=str)
    async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
        made = World(request.param, tmp_path)
        try:
            if hasattr(request.cls, "needs"):
                skip_if_refused(made.client(), request.cls.needs)
            yield made
        finally:
            await made.close()

    return world


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run the suite on asyncio, the one loop that holdfast supports."""
    return "asyncio"


def _our_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("holdfast-")}
