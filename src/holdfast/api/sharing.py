"""What a client offers for sharing a name: readers and a writer, a number of permits.

The classes are imported when they are asked for: most programs use one or two kinds of lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.api.checks import UNSET, Given, checked_permits
from holdfast.api.face import ClientFace
from holdfast.durations import Duration
from holdfast.values import Json, OnLoss

if TYPE_CHECKING:
    from holdfast.api.rwlock import AsyncRWLock, RWLock
    from holdfast.api.semaphore import AsyncSemaphore, Semaphore


class Sharing(ClientFace):
    """Sharing for threads."""

    def rwlock(self, name: str) -> RWLock:
        """Describe a readers/writer lock on ``name``: hold its ``read()`` or its ``write()``."""
        from holdfast.api.rwlock import RWLock

        return RWLock(self, self._engine, self._orders, name)

    def semaphore(
        self,
        name: str,
        *,
        permits: int,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> Semaphore:
        """Describe a semaphore on ``name``: at most ``permits`` are held at any time.

        Everyone must say the same number: while the name is in use another one is ``Misuse``.
        """
        from holdfast.api.semaphore import Semaphore

        order = self._orders.order(
            name,
            kind="semaphore",
            capacity=checked_permits(permits),
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        return Semaphore(self, self._engine, order, self._orders.on_loss(on_loss))


class AsyncSharing(ClientFace):
    """Sharing for tasks."""

    def rwlock(self, name: str) -> AsyncRWLock:
        """Describe a readers/writer lock on ``name``: hold its ``read()`` or its ``write()``."""
        from holdfast.api.rwlock import AsyncRWLock

        return AsyncRWLock(self, self._engine, self._orders, name)

    def semaphore(
        self,
        name: str,
        *,
        permits: int,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncSemaphore:
        """Describe a semaphore on ``name``: at most ``permits`` are held at any time.

        Everyone must say the same number: while the name is in use another one is ``Misuse``.
        """
        from holdfast.api.semaphore import AsyncSemaphore

        order = self._orders.order(
            name,
            kind="semaphore",
            capacity=checked_permits(permits),
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        return AsyncSemaphore(self, self._engine, order, self._orders.on_loss(on_loss))
