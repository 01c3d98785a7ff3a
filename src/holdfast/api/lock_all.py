"""Several names, all or nothing: ``LockAll`` for threads, ``AsyncLockAll`` for tasks."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self

from holdfast.api.checks import UNSET, Given, Unset, checked_wait
from holdfast.api.door import AsyncDoor, Door, DoorFace, PerCall
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lease_set import AsyncLeaseSet, LeaseSet
from holdfast.api.place import caller
from holdfast.errors import LockBusy
from holdfast.flows.book import Company
from holdfast.flows.many import acquire_all
from holdfast.flows.order import Order
from holdfast.flows.release import release_these
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import OnLoss


class LockAllFace(DoorFace):
    """What both twins have: the terms, and the names."""

    __slots__ = ("_names",)

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        names: Sequence[str],
        on_loss: OnLoss,
    ) -> None:
        super().__init__(client, engine, order, on_loss)
        self._names = tuple(dict.fromkeys(names))  # named twice is named once

    @property
    def names(self) -> tuple[str, ...]:
        """What is locked, in the order in which it was given."""
        return self._names

    def _ordered(self, wait: Given | None) -> Order:
        if isinstance(wait, Unset):
            return self._order
        return self._order.with_wait(checked_wait(wait))

    def _acquire_all(self, order: Order) -> Coroutine[Any, Any, Company]:
        orders = [order.with_name(name) for name in self._names]
        at_once = self._engine.backend.capabilities.all_at_once
        return acquire_all(self._engine.session, orders, caller(), at_once=at_once)

    def _plate(self) -> str:
        return repr(list(self._names))

    def _per_call(self, function: Callable[..., Any], *, wants_async: bool) -> PerCall[Self]:
        from holdfast.api.template import Template  # inspect is for decorators only

        templates = [Template(name, function, wants_async=wants_async) for name in self._names]
        return lambda args, kwargs: self._for([one.fill(args, kwargs) for one in templates])

    def _for(self, names: Sequence[str]) -> Self:
        return type(self)(self._client, self._engine, self._order, names, self._on_loss)


class LockAll(LockAllFace, Door[LeaseSet]):
    """Exclusive locks on several names, all or nothing, for threads.

    Whoever wants some of the same names in another order is not waited for crosswise.
    """

    __slots__ = ()

    def acquire(self, wait: Given | None = UNSET) -> LeaseSet:
        """Hold all names, or raise ``LockBusy`` when ``wait`` is over and hold none."""
        return self._taken(self._ordered(wait))

    def try_acquire(self) -> LeaseSet | None:
        """Hold all names if nobody else holds any of them; otherwise ``None``."""
        try:
            return self.acquire(wait=0)
        except LockBusy:
            return None

    def _taken(self, order: Order) -> LeaseSet:
        company = run(self._acquire_all(order))
        try:
            return LeaseSet(
                self._client, self._engine, company, self._on_loss, names=self._names, lease=Lease
            )
        except BaseException:  # a Ctrl-C between the grants and the leases
            run(release_these(self._engine.session, company.states))
            raise


class AsyncLockAll(LockAllFace, AsyncDoor[AsyncLeaseSet]):
    """Exclusive locks on several names, all or nothing, for tasks: the twin of ``LockAll``."""

    __slots__ = ()

    async def acquire(self, wait: Given | None = UNSET) -> AsyncLeaseSet:
        """Hold all names, or raise ``LockBusy`` when ``wait`` is over and hold none."""
        return self._given(await self._asked(self._ordered(wait)))

    async def try_acquire(self) -> AsyncLeaseSet | None:
        """Hold all names if nobody else holds any of them; otherwise ``None``."""
        try:
            return await self.acquire(wait=0)
        except LockBusy:
            return None

    def _asked(self, order: Order) -> Coroutine[Any, Any, Company]:
        return self._acquire_all(order)

    def _given(self, acquired: Company) -> AsyncLeaseSet:
        return AsyncLeaseSet(
            self._client, self._engine, acquired, self._on_loss, names=self._names, lease=AsyncLease
        )
