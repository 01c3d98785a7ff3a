"""The keeper's thread: it goes on after a fault of its own, and judges nobody by a standstill."""

import asyncio
import ctypes
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client
from holdfast.api.lease import _LeaseFace
from holdfast.errors import BackendUnavailable
from holdfast.observe.events import Event, Renewed
from holdfast.ports import Wire
from holdfast.rules.messages import Reply, Request
from holdfast.testing.watching import eventually


class Stumbling:
    """A wire that breaks once, with an error that nobody has foreseen."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.broke = False

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Break the first time."""
        if not self.broke:
            self.broke = True
            raise RuntimeError("not foreseen")
        return await self._wire.ask_all(requests, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


def test_a_keeper_that_stumbles_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A lease is renewed although the first try broke in a way that nobody has foreseen."""
    told: list[Event] = []
    with Client(f"memory://{uuid4()}", observers=[told.append]) as client:
        session = client._engine.keeper._session
        stumbling = session.wire = Stumbling(session.wire)
        lease = client.lock("x", ttl=3).acquire()
        eventually(lambda: any(isinstance(one, Renewed) for one in told), 5.0, "a renewal")
        assert stumbling.broke
        assert lease.held
        lease.release()
    assert "stumbled and goes on" in caplog.text


class Still:
    """Lets every thread of this process stand still while a lease is handed to its caller.

    As a full collection of a large heap does: nobody gets the interpreter's lock meanwhile.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened = 0
        made = _LeaseFace.__init__

        def make(face: _LeaseFace, *given: Any) -> None:
            self.happened += 1
            ctypes.PyDLL(None).usleep(1_500_000)
            made(face, *given)

        monkeypatch.setattr(_LeaseFace, "__init__", make)


def test_a_standstill_between_grant_and_lease_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keeper, awake first, does not take the lease for one that nobody has: in a thread."""
    with Client(f"memory://{uuid4()}") as client:
        still = Still(monkeypatch)
        with client.lock("x") as lease:
            assert still.happened == 1
            lease.check()


def test_a_standstill_between_grant_and_lease_loses_nothing_in_a_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor in a task."""

    async def body() -> None:
        async with AsyncClient(f"memory://{uuid4()}") as client:
            still = Still(monkeypatch)
            async with client.lock("x") as lease:
                assert still.happened == 1
                lease.check()

    asyncio.run(body())
