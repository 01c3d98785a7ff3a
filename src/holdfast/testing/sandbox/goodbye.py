"""Closing a client of either kind from wherever the test ends, with or without an event loop."""

from __future__ import annotations

from holdfast.api.client import AsyncClient, Client
from holdfast.testing.sandbox.real_time import Time
from holdfast.testing.sandbox.rest import Alarm

LIMIT = 5.0


class Goodbye:
    """A bell on an alarm: rung by the keeper with its last word."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._alarm = Alarm()

    def ring(self) -> None:
        """Say that it is done."""
        self._alarm.ring()

    async def wait(self, until: float) -> None:
        """Wait like ``block``."""
        self.block(until)

    def block(self, until: float) -> None:
        """Wait until it is done."""
        self._time.sleep(self._alarm, until)


def close(client: Client | AsyncClient, time: Time) -> None:
    """Give back what ``client`` holds, and wait for its keeper to end.

    An async client cannot be asked to close itself: its loop may be gone. Its keeper, a thread,
    gives everything back, as it does for clients that are dropped.
    """
    engine = client._engine  # noqa: SLF001 - one library
    if engine.closed:
        return
    if isinstance(client, Client):
        client.close()
        return
    engine.closed = True
    engine.session.wire.close()
    goodbye = Goodbye(time)
    if engine.keeper.stop(goodbye):
        goodbye.block(time.now() + LIMIT)
