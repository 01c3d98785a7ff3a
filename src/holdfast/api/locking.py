"""What a client offers first: one holder of a name at a time, for threads and for tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from holdfast.api.body import awaited, called
from holdfast.api.checks import UNSET, Given
from holdfast.api.face import ClientFace
from holdfast.api.lock import AsyncLock, Lock
from holdfast.durations import Duration
from holdfast.errors import LockBusy
from holdfast.values import Json, OnLoss, Outcome

T = TypeVar("T")


class Locking(ClientFace):
    """Locks for threads."""

    def lock(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> Lock:
        """Describe a lock on ``name``: use it in a ``with``, as a decorator, or ``acquire`` it."""
        order = self._orders.order(
            name,
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return Lock(self, self._engine, order, self._orders.on_loss(on_loss))

    def with_lock(
        self,
        name: str,
        fn: Callable[[], T],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> T:
        """Run ``fn`` under the lock and give what it returns."""
        with self.lock(
            name,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        ):
            return called(fn)

    def try_with_lock(
        self,
        name: str,
        fn: Callable[[], T],
        *,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> Outcome[T]:
        """Run ``fn`` under the lock if it is free; otherwise skip it, without an error."""
        lock = self.lock(
            name,
            ttl=ttl,
            wait=0,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        )
        entered = False
        try:
            with lock:
                entered = True
                return Outcome(executed=True, result=called(fn))
        except LockBusy:
            if entered:  # it is the function's own
                raise
            return Outcome(executed=False)


class AsyncLocking(ClientFace):
    """Locks for tasks."""

    def lock(
        self,
        name: str,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncLock:
        """Describe a lock on ``name``: use it in a ``with``, as a decorator, or ``acquire`` it."""
        order = self._orders.order(
            name,
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return AsyncLock(self, self._engine, order, self._orders.on_loss(on_loss))

    async def with_lock(
        self,
        name: str,
        fn: Callable[[], Awaitable[T]],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> T:
        """Run ``fn`` under the lock and give what it returns."""
        async with self.lock(
            name,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        ):
            return await awaited(fn)

    async def try_with_lock(
        self,
        name: str,
        fn: Callable[[], Awaitable[T]],
        *,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> Outcome[T]:
        """Run ``fn`` under the lock if it is free; otherwise skip it, without an error."""
        lock = self.lock(
            name,
            ttl=ttl,
            wait=0,
            max_hold=max_hold,
            on_loss=on_loss,
            renew=renew,
            metadata=metadata,
        )
        entered = False
        try:
            async with lock:
                entered = True
                return Outcome(executed=True, result=await awaited(fn))
        except LockBusy:
            if entered:  # it is the function's own
                raise
            return Outcome(executed=False)
