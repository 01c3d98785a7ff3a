"""A world on a server of the test's own, and a room in which nobody may meet anybody.

The parties are those of the conformance suite; a `Room` is what the lock protects. Whoever enters
while another believes that he holds the lock, or with a token that is not newer, is noted.
"""

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from holdfast import BackendUnavailable, LockLost
from holdfast.testing.suite import BackendUnderTest
from holdfast.testing.suite.backend import Combination, Mode
from holdfast.testing.suite.party import Party
from holdfast.testing.suite.world import World
from holdfast.testing.watching import eventually_async


@asynccontextmanager
async def world_at(url: str, mode: Mode) -> AsyncIterator[World]:
    """Meet at ``url``; at the end everything is closed and nothing may be left there."""
    backend = BackendUnderTest(
        name="redis", schemes=frozenset({"redis"}), fresh=lambda _folder: url
    )
    with tempfile.TemporaryDirectory() as folder:
        world = World(Combination(backend, mode), Path(folder))
        try:
            yield world
        finally:
            await world.close()


def proxied(url: str, port: int) -> str:
    """Give the same URL through another port of this host."""
    place, _, options = url.partition("?")
    scheme, _, rest = place.partition("://")
    host, _, database = rest.partition("/")
    return f"{scheme}://{host.rpartition(':')[0]}:{port}/{database}?{options}"


class Room:
    """Notes everybody who comes in; a meeting is a violation."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.entries = 0
        self._inside: dict[str, Any] = {}
        self._token = 0

    def enter(self, who: str, lease: Any) -> str:
        """Come in; the pass is for leaving."""
        for other, held in self._inside.items():
            if held.held and lease.held:
                self.violations.append(f"{who} met {other}")
        if lease.token <= self._token:
            self.violations.append(f"{who} came with token {lease.token} after {self._token}")
        self._token = max(self._token, lease.token)
        self.entries += 1
        ticket = f"{who}-{secrets.token_hex(4)}"
        self._inside[ticket] = lease
        return ticket

    def leave(self, ticket: str) -> None:
        """Go out."""
        del self._inside[ticket]


class Workers:
    """Parties that go in and out of the room until they are told to stop."""

    def __init__(self, parties: list[Party], room: Room, ttl: float) -> None:
        self._parties = parties
        self._room = room
        self._ttl = ttl
        self._stop = asyncio.Event()
        self._tasks = [asyncio.ensure_future(self._work(party)) for party in parties]

    async def _work(self, party: Party) -> None:
        while not self._stop.is_set():
            try:
                lease = await party.acquire("room", ttl=self._ttl)
            except BackendUnavailable:
                continue  # nobody was let in: that is all it says
            ticket = self._room.enter(party.name, lease)
            await asyncio.sleep(0.005)
            self._room.leave(ticket)
            with suppress(LockLost):  # told in time: nobody else was in the room
                await party.release(lease)

    async def go_on(self, entries: int, within: float = 15.0) -> None:
        """Come back when so many more have been inside."""
        goal = self._room.entries + entries

        async def enough() -> bool:
            return self._room.entries >= goal

        await eventually_async(enough, within, f"{entries} more in the room")

    async def stop(self) -> None:
        """Let everybody finish, and see that nobody stumbled."""
        self._stop.set()
        await asyncio.gather(*self._tasks)
