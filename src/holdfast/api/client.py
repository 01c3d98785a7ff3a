"""The door: one client per program and backend, sync or async, the same names in both."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from holdfast.api.checks import checked_beginning, checked_place, checked_reason, checked_token
from holdfast.api.election import AsyncElection, Election
from holdfast.api.gathering import AsyncGathering, Gathering
from holdfast.api.keeping import AsyncKeeping, Keeping
from holdfast.api.locking import AsyncLocking, Locking
from holdfast.api.sharing import AsyncSharing, Sharing
from holdfast.durations import Duration
from holdfast.flows.inspect import break_lock, locks, show
from holdfast.flows.release import release_all
from holdfast.observe.events import Observer
from holdfast.runtimes.step import run
from holdfast.values import LockInfo, NameSpace, Tenure


class Client(Locking, Sharing, Gathering, Election, Keeping):
    """Locks for threads and processes. A context manager; closing it releases what it holds."""

    def __init__(
        self,
        url: object = None,
        *,
        ttl: Duration = 10,
        wait: Duration | None = None,
        call_limit: Duration = 5,
        holder: str | None = None,
        prefix: str = "holdfast",
        observers: Iterable[Observer] = (),
    ) -> None:
        """Open the backend at ``url``, at ``$HOLDFAST_URL``, or the embedded default.

        Instead of a URL you may give a client of redis-py or valkey-py (or a list of them, for a
        quorum), a psycopg connection or pool, or an engine of SQLAlchemy: its settings are read,
        its connections are left alone.
        ``ttl`` and ``wait`` are the defaults of every lock; ``call_limit`` bounds one exchange with
        the backend; ``holder`` is a label that others see.
        """
        super().__init__(
            url,
            None,
            ttl=ttl,
            wait=wait,
            call_limit=call_limit,
            holder=holder,
            prefix=prefix,
            observers=observers,
        )

    def release_all(self) -> None:
        """Give back everything that this client holds."""
        run(release_all(self._engine.session))

    def locks(self, prefix: str = "") -> list[LockInfo]:
        """List the names in use that start with ``prefix``: who holds them, who waits."""
        return run(locks(self._engine.session, checked_beginning(prefix)))

    def show(self, name: str, *, space: NameSpace = "lock") -> LockInfo:
        """Show one name: who holds it, since when, who waits.

        ``space`` is ``"once"`` or ``"singleton"`` for those, whose names are apart from locks'.
        """
        return run(show(self._engine.session, checked_place(name, space)))

    def break_lock(
        self,
        name: str,
        *,
        token: int,
        reason: str = "",
        force: bool = False,
        space: NameSpace = "lock",
    ) -> Tenure:
        """Take the grant with this token away from its holder, and give what was broken.

        The holder is told, cannot renew, and the name passes on when it lets go or its lease ends;
        with ``force`` at once, although it may still be at work. ``Conflict`` if it moved on.
        """
        said, claimed = checked_reason(reason), checked_place(name, space)
        flow = break_lock(self._engine.session, claimed, checked_token(token), said, force=force)
        return run(flow)

    def close(self) -> None:
        """Release what this client holds and close its connections; harmless when repeated."""
        run(self._engine.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(AsyncLocking, AsyncSharing, AsyncGathering, AsyncElection, AsyncKeeping):
    """Locks for tasks: the twin of ``Client``, with coroutines where something is asked."""

    def __init__(
        self,
        url: object = None,
        *,
        ttl: Duration = 10,
        wait: Duration | None = None,
        call_limit: Duration = 5,
        holder: str | None = None,
        prefix: str = "holdfast",
        observers: Iterable[Observer] = (),
    ) -> None:
        """Open the backend at ``url``, at ``$HOLDFAST_URL``, or the embedded default.

        Instead of a URL you may give a client of redis-py or valkey-py (or a list of them, for a
        quorum), a psycopg connection or pool, or an engine of SQLAlchemy: its settings are read,
        its connections are left alone.
        ``ttl`` and ``wait`` are the defaults of every lock; ``call_limit`` bounds one exchange with
        the backend; ``holder`` is a label that others see.
        """
        from holdfast.runtimes.aio import AioRuntime

        super().__init__(
            url,
            AioRuntime(),
            ttl=ttl,
            wait=wait,
            call_limit=call_limit,
            holder=holder,
            prefix=prefix,
            observers=observers,
        )

    async def release_all(self) -> None:
        """Give back everything that this client holds."""
        await release_all(self._engine.session)

    async def locks(self, prefix: str = "") -> list[LockInfo]:
        """List the names in use that start with ``prefix``: who holds them, who waits."""
        return await locks(self._engine.session, checked_beginning(prefix))

    async def show(self, name: str, *, space: NameSpace = "lock") -> LockInfo:
        """Show one name: who holds it, since when, who waits.

        ``space`` is ``"once"`` or ``"singleton"`` for those, whose names are apart from locks'.
        """
        return await show(self._engine.session, checked_place(name, space))

    async def break_lock(
        self,
        name: str,
        *,
        token: int,
        reason: str = "",
        force: bool = False,
        space: NameSpace = "lock",
    ) -> Tenure:
        """Take the grant with this token away from its holder, and give what was broken.

        The holder is told, cannot renew, and the name passes on when it lets go or its lease ends;
        with ``force`` at once, although it may still be at work. ``Conflict`` if it moved on.
        """
        said, claimed = checked_reason(reason), checked_place(name, space)
        flow = break_lock(self._engine.session, claimed, checked_token(token), said, force=force)
        return await flow

    async def close(self) -> None:
        """Release what this client holds and close its connections; harmless when repeated."""
        await self._engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
