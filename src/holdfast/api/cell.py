"""A small value that many change without losing a change: ``Cell`` and its async twin.

Whoever writes says which version was seen; if somebody else was quicker, nothing is written. A
cell object is a description, not a state: it may be shared by any number of threads or tasks.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.api.body import refuse_unfit
from holdfast.api.checks import UNSET, Given, Unset, checked_life, checked_token, checked_wait
from holdfast.api.lease import AsyncLease, Lease
from holdfast.durations import Duration
from holdfast.flows.swap import Versioned, Write, delete, get, swap, update
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import Json

INSIST_FOR = 10.0
"""How long ``update`` and ``delete`` try when others keep coming first."""


class _CellFace:
    """What both twins have: a name, and how long a value lives in it."""

    __slots__ = ("_client", "_engine", "_expire", "_name")

    def __init__(self, client: object, engine: Engine, name: str, expire: Duration | None) -> None:
        self._client = client  # kept alive as long as its cells are
        self._engine = engine
        self._name = name
        self._expire = _microseconds(expire)

    @property
    def name(self) -> str:
        """Which cell this is."""
        return self._name

    def _write(self, expire: Given | None, under: Lease | AsyncLease | None) -> Write:
        keep = self._expire if isinstance(expire, Unset) else _microseconds(expire)
        return Write(self._name, keep, under)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} on {self._engine.session.backend}>"


class Cell(_CellFace):
    """A value with a version, for threads. Values are bytes, or what JSON can say."""

    __slots__ = ()

    def get(self) -> Versioned:
        """Read value and version; ``(None, 0)`` where there is none."""
        return run(get(self._engine.session, self._name))

    def swap(
        self,
        value: Json | bytes,
        if_version: int,
        *,
        expire: Given | None = UNSET,
        under: Lease | None = None,
    ) -> int:
        """Write ``value`` if the version is still ``if_version`` (0: there is none); give the new.

        ``Conflict`` if somebody else was quicker. ``under`` is a lease whose token must not be
        older than any under which this cell was written; ``expire`` is how long the value lives.
        """
        write = self._write(expire, under)
        return run(swap(self._engine.session, write, value, _version(if_version)))

    def update(
        self,
        fn: Callable[[Any], Json | bytes],
        *,
        wait: Duration | None = INSIST_FOR,
        expire: Given | None = UNSET,
        under: Lease | None = None,
    ) -> Versioned:
        """Write what ``fn`` makes of the value, and give that with its version.

        ``fn`` gets ``None`` where there is no value. It is called again whenever somebody else was
        quicker, so it should have no effects of its own; ``Conflict`` when ``wait`` is over.
        """
        refuse_unfit(fn, wants_async=False)

        async def change(value: Any) -> object:
            return fn(value)

        write = self._write(expire, under)
        return run(update(self._engine.session, write, change, checked_wait(wait)))

    def delete(
        self,
        if_version: int | None = None,
        *,
        wait: Duration | None = INSIST_FOR,
        under: Lease | None = None,
    ) -> bool:
        """Delete the value, or only that version of it; say whether there was one."""
        version = None if if_version is None else _version(if_version)
        write = self._write(None, under)
        return run(delete(self._engine.session, write, version, checked_wait(wait)))


class AsyncCell(_CellFace):
    """A value with a version, for tasks: the twin of ``Cell``."""

    __slots__ = ()

    async def get(self) -> Versioned:
        """Read value and version; ``(None, 0)`` where there is none."""
        return await get(self._engine.session, self._name)

    async def swap(
        self,
        value: Json | bytes,
        if_version: int,
        *,
        expire: Given | None = UNSET,
        under: AsyncLease | None = None,
    ) -> int:
        """Write ``value`` if the version is still ``if_version`` (0: there is none); give the new.

        ``Conflict`` if somebody else was quicker. See ``Cell.swap``.
        """
        write = self._write(expire, under)
        return await swap(self._engine.session, write, value, _version(if_version))

    async def update(
        self,
        fn: Callable[[Any], Json | bytes | Awaitable[Json | bytes]],
        *,
        wait: Duration | None = INSIST_FOR,
        expire: Given | None = UNSET,
        under: AsyncLease | None = None,
    ) -> Versioned:
        """Write what ``fn`` makes of the value, and give that with its version.

        ``fn`` may be a coroutine function. See ``Cell.update``.
        """

        async def change(value: Any) -> object:
            made = fn(value)
            return await made if inspect.isawaitable(made) else made

        write = self._write(expire, under)
        return await update(self._engine.session, write, change, checked_wait(wait))

    async def delete(
        self,
        if_version: int | None = None,
        *,
        wait: Duration | None = INSIST_FOR,
        under: AsyncLease | None = None,
    ) -> bool:
        """Delete the value, or only that version of it; say whether there was one."""
        version = None if if_version is None else _version(if_version)
        write = self._write(None, under)
        return await delete(self._engine.session, write, version, checked_wait(wait))


def _microseconds(expire: Duration | None) -> int | None:
    return None if expire is None else int(checked_life(expire, "expire") * 1e6)


def _version(if_version: object) -> int:
    return checked_token(if_version, "if_version")
