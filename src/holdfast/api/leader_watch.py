"""Following who leads: ``LeaderWatch`` for threads, ``AsyncLeaderWatch`` for tasks.

An iterator that gives the leader of now at first, and then every change, in order.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from holdfast.flows.lead import Watching, next_change
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import Tenure


class LeaderWatchFace:
    """What both twins have."""

    __slots__ = ("_client", "_engine", "_wait", "_watching")

    def __init__(self, client: object, engine: Engine, name: str, wait: float | None) -> None:
        self._client = client
        self._engine = engine
        self._watching = Watching(name, journal=engine.backend.capabilities.records)
        self._wait = wait

    @property
    def name(self) -> str:
        """What is led."""
        return self._watching.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} on {self._engine.session.backend}>"


class LeaderWatch(LeaderWatchFace):
    """Changes of the lead, for threads: ``for leader in watch``, ``None`` while nobody leads."""

    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Tenure | None:
        change = run(next_change(self._engine.session, self._watching, self._wait))
        if change is None:
            raise StopIteration
        return change.leader

    def close(self) -> None:
        """End the iteration, also from another thread while this one waits."""
        self._watching.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncLeaderWatch(LeaderWatchFace):
    """Changes of the lead, for tasks: the twin of ``LeaderWatch``, for ``async for``."""

    __slots__ = ()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Tenure | None:
        change = await next_change(self._engine.session, self._watching, self._wait)
        if change is None:
            raise StopAsyncIteration
        return change.leader

    def close(self) -> None:
        """End the iteration, also from another task while this one waits."""
        self._watching.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
