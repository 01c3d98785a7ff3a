"""The way from one client to a sandbox's backend: the memory backend's own, made unreliable."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.durations import readable
from holdfast.errors import BackendUnavailable
from holdfast.ports import Runtime, Wire
from holdfast.rules.messages import Reply, Request
from holdfast.testing.sandbox.ground import Ground


class SandboxWire:
    """Asks through ``wire``, unless the conditions keep it from that."""

    def __init__(self, ground: Ground, client: str, wire: Wire, runtime: Runtime) -> None:
        self._ground = ground
        self._client = client
        self._wire = wire
        self._runtime = runtime

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request, as far as the conditions let it."""
        (reply,) = await self.ask_all((request,), deadline)
        if isinstance(reply, BackendUnavailable):
            raise reply
        return reply

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: half of a delay lies before the backend sees them, half after it."""
        self._ground.refuse_in_child()
        way = self._ground.conditions.delay(self._client) / 2
        if not await self._travel(way, deadline):
            return [self._too_slow(way * 2) for _ in requests]
        outage = self._ground.conditions.outage(self._client)
        if outage is not None and outage.outcome == "none":
            return [self._cut_off("none", transient=outage.transient) for _ in requests]
        replies = await self._wire.ask_all(requests, deadline)
        if outage is not None:
            return [self._cut_off("unknown", transient=outage.transient) for _ in requests]
        if not await self._travel(way, deadline):
            return [self._too_slow(way * 2) for _ in requests]
        return replies

    async def _travel(self, way: float, deadline: float) -> bool:
        """Be under way; ``False`` if the asker's patience ends first."""
        if way <= 0:
            return True
        left = deadline - self._runtime.now()
        await self._runtime.sleep(max(0.0, min(way, left)))
        return way <= left

    def _cut_off(self, outcome: str, *, transient: bool) -> BackendUnavailable:
        what = "cannot be reached" if outcome == "none" else "did not answer"
        return BackendUnavailable(
            f"the backend {what}: this test has said faults.unavailable()",
            backend="memory",
            outcome=outcome,
            transient=transient,
        )

    def _too_slow(self, delay: float) -> BackendUnavailable:
        return BackendUnavailable(
            f"the backend did not answer in time: this test has said faults.delay(), and an"
            f" exchange takes {readable(delay)}",
            backend="memory",
            outcome="unknown",
        )

    def close(self) -> None:
        """Nothing is open."""

    abandon = close


class CallersWire(SandboxWire):
    """The same for the user's threads: each is noted, so that the sandbox can wait for its rest."""

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, and let it be known who asks."""
        self._ground.time.rest.enter()
        return await super().ask_all(requests, deadline)


class TasksWire(SandboxWire):
    """The same for the user's tasks: their loop is noted."""

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, and let it be known on which loop."""
        self._ground.time.enter_loop()
        return await super().ask_all(requests, deadline)


class KeepersWire(SandboxWire):
    """The same for one client's keeper, which takes its seat by asking."""

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, and let it be known whose keeper asks."""
        import threading

        rest = self._ground.time.rest
        rest.seat(self._client, self._client).thread = threading.current_thread()
        return await super().ask_all(requests, deadline)
