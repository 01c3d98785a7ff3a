"""Questions straight to a wire, below every client: for families that need no story of their own.

An asker is one client's wire in one runtime. A sync one is asked on threads of their own, so that
several askers really meet; an async one on the test's loop.
"""
# ruff: noqa: S101 - for tests

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Sequence
from typing import TypeVar

from holdfast import clock
from holdfast.backends.registry import open_backend
from holdfast.errors import BackendUnavailable
from holdfast.ports import Backend
from holdfast.rules.messages import Reply, Request
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.testing.suite.backend import Mode
from holdfast.values import Capabilities, Holder

R = TypeVar("R", bound=tuple[object, ...])

LIMIT = 5.0
"""How long one exchange may take, in seconds."""


class Asker:
    """One wire of one client."""

    def __init__(self, url: str, prefix: str, mode: Mode) -> None:
        self._backend: Backend = open_backend(address(url), prefix)
        holder = Holder(os.urandom(8).hex(), "suite", os.getpid())
        self._mode = mode
        make = self._backend.sync_wire if mode == "sync" else self._backend.aio_wire
        self._wire = make(holder)

    @property
    def capabilities(self) -> Capabilities:
        """What the backend says of itself."""
        return self._backend.capabilities

    async def ask(self, request: Request) -> Reply:
        """Ask one thing."""
        asking = self._wire.ask(request, clock.now() + LIMIT)
        return await asyncio.to_thread(run, asking) if self._mode == "sync" else await asking

    async def ask_all(self, requests: Sequence[Request]) -> list[Reply | BackendUnavailable]:
        """Ask many things at once."""
        asking = self._wire.ask_all(requests, clock.now() + LIMIT)
        return await asyncio.to_thread(run, asking) if self._mode == "sync" else await asking

    async def expect(self, kind: type[R], request: Request) -> R:
        """Ask one thing that must be answered with this kind of reply."""
        reply = await self.ask(request)
        assert isinstance(reply, kind), f"{request} was answered with {reply}"
        return reply

    def close(self) -> None:
        """Let go of every connection."""
        self._wire.close()


def fresh_id() -> str:
    """Make an id as the flows do."""
    return base64.b64encode(os.urandom(12)).decode()
