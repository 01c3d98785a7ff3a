"""Many readers or one writer: ``RWLock`` for threads, ``AsyncRWLock`` for tasks.

Both sides are ``Lock``s on the same name. First come, first served: readers who come after a
waiting writer wait behind it, so a stream of readers cannot keep it out.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.api.checks import UNSET, Given, checked_name
from holdfast.api.lock import AsyncLock, Lock
from holdfast.api.orders import Orders
from holdfast.durations import Duration
from holdfast.flows.order import Order
from holdfast.runtimes.engine import Engine
from holdfast.values import READERS, Json, OnLoss


class RWLockFace:
    """What both twins have: a name, and who it is for."""

    __slots__ = ("_client", "_engine", "_name", "_orders")

    def __init__(self, client: object, engine: Engine, orders: Orders, name: str) -> None:
        self._client = client
        self._engine = engine
        self._orders = orders
        self._name = checked_name(name)
        orders.require("rwlock")

    @property
    def name(self) -> str:
        """What is read and written."""
        return self._name

    def _side(
        self,
        weight: int,
        *,
        ttl: Given,
        wait: Given | None,
        max_hold: Duration | None,
        renew: bool,
        reentrant: bool,
        metadata: Mapping[str, Json] | None,
    ) -> Order:
        return self._orders.order(
            self._name,
            kind="rwlock",
            capacity=READERS,
            weight=weight,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} on {self._engine.session.backend}>"


class RWLock(RWLockFace):
    """A readers/writer lock on a name, for threads."""

    __slots__ = ()

    def read(
        self,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> Lock:
        """Describe the readers' side: shared with other readers, never with a writer.

        With ``reentrant`` a reader may read again, and a writer may read; its lease stays the same.
        """
        order = self._side(
            1,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return Lock(self._client, self._engine, order, self._orders.on_loss(on_loss))

    def write(
        self,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> Lock:
        """Describe the writer's side: shared with nobody.

        A reader cannot become a writer: two that tried would wait for each other for ever.
        """
        order = self._side(
            READERS,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return Lock(self._client, self._engine, order, self._orders.on_loss(on_loss))


class AsyncRWLock(RWLockFace):
    """A readers/writer lock on a name, for tasks: the twin of ``RWLock``."""

    __slots__ = ()

    def read(
        self,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncLock:
        """Describe the readers' side: shared with other readers, never with a writer."""
        order = self._side(
            1,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return AsyncLock(self._client, self._engine, order, self._orders.on_loss(on_loss))

    def write(
        self,
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        reentrant: bool = False,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncLock:
        """Describe the writer's side: shared with nobody."""
        order = self._side(
            READERS,
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=reentrant,
            metadata=metadata,
        )
        return AsyncLock(self._client, self._engine, order, self._orders.on_loss(on_loss))
