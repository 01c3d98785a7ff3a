"""The wire for tasks: requests over the one connection of the client. Counterpart: ``sync``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast import clock
from holdfast.backends.postgres.line import Line
from holdfast.backends.postgres.office import Office
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request


class AioWire:
    """Suspends the caller for one round trip, shared with whoever asks meanwhile."""

    def __init__(self, office: Office, application: str) -> None:
        self.line = Line(office, application)

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        job = self.line.hand_in(request, deadline)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(max(0.0, deadline - clock.now()), self.line.expire, job)
        try:
            return await job.answer
        finally:
            timer.cancel()

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: they travel together."""
        asked = [self._answer(request, deadline) for request in requests]
        return list(await asyncio.gather(*asked))

    async def _answer(self, request: Request, deadline: float) -> Reply | BackendUnavailable:
        try:
            return await self.ask(request, deadline)
        except BackendUnavailable as error:
            return error

    def close(self) -> None:
        """Let go of the connection."""
        self.line.close()

    abandon = close
