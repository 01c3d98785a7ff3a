"""The way into a space: a call, the same for threads and for tasks, that never blocks for long."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.backends.memory.space import Space
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request


class MemoryWire:
    """Answers at once."""

    def __init__(self, space: Space, prefix: str) -> None:
        self._space = space
        self._prefix = prefix

    async def ask(self, request: Request, deadline: float) -> Reply:  # noqa: ARG002 - the port's
        """Carry out one request."""
        return self._space.answer(self._prefix, (request,))[0]

    async def ask_all(
        self,
        requests: Sequence[Request],
        deadline: float,  # noqa: ARG002 - the port's shape; nothing here can be late
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many under one mutex."""
        return [*self._space.answer(self._prefix, requests)]

    def close(self) -> None:
        """Nothing is open."""

    abandon = close
