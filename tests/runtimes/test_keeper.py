"""The keeper's thread goes on after a fault of its own: the leases still need it."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from holdfast import Client
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
