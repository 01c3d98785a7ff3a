"""One holder at a time: ``Lock`` for threads, ``AsyncLock`` for tasks, both usable as decorators.

Either side of a readers/writer lock is a ``Lock`` too: what it takes of the name is in its order.
"""

from __future__ import annotations

from holdfast.api.checks import UNSET, Given
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.name_door import AsyncNameDoor, NameDoor
from holdfast.errors import LockBusy


class Lock(NameDoor):
    """An exclusive lock on a name, for threads.

    ``with lock as lease`` waits for the lock, keeps it renewed and releases it even on error. The
    body never runs without the lock; what a pause after a check can spoil is caught by the token.
    """

    __slots__ = ()

    def acquire(self, wait: Given | None = UNSET) -> Lease:
        """Hold the name, or raise ``LockBusy`` when ``wait`` is over."""
        return self._taken(self._ordered(wait))

    def try_acquire(self) -> Lease | None:
        """Hold the name if nobody else does; ``None`` if somebody does."""
        try:
            return self.acquire(wait=0)
        except LockBusy:
            return None

    def locked(self) -> bool:
        """Whether anybody holds the name."""
        return self.inspect().held


class AsyncLock(AsyncNameDoor):
    """An exclusive lock on a name, for tasks: the twin of ``Lock``.

    When the lease is lost the body is cancelled, and ``LockLost`` comes out of the ``async with``.
    """

    __slots__ = ()

    async def acquire(self, wait: Given | None = UNSET) -> AsyncLease:
        """Hold the name, or raise ``LockBusy`` when ``wait`` is over."""
        return self._given(await self._asked(self._ordered(wait)))

    async def try_acquire(self) -> AsyncLease | None:
        """Hold the name if nobody else does; ``None`` if somebody does."""
        try:
            return await self.acquire(wait=0)
        except LockBusy:
            return None

    async def locked(self) -> bool:
        """Whether anybody holds the name."""
        return (await self.inspect()).held
