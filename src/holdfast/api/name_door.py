"""The door to one name: an order, carried out by ``flows.acquire``, gives a ``Lease``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeAlias

from holdfast.api.checks import Given, Unset, checked_wait
from holdfast.api.door import AsyncDoor, Door, DoorFace, PerCall
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.place import caller
from holdfast.flows.acquire import acquire
from holdfast.flows.book import LeaseState
from holdfast.flows.inspect import show
from holdfast.flows.order import Order
from holdfast.flows.session import Session
from holdfast.runtimes.step import run
from holdfast.values import LockInfo

Story: TypeAlias = Callable[[Session, Order, tuple[str, int]], Coroutine[Any, Any, LeaseState]]


class NameFace(DoorFace):
    """What both twins have: the order of one name, and the story that carries it out."""

    __slots__ = ()

    _story: Story = staticmethod(acquire)

    @property
    def name(self) -> str:
        """What is locked."""
        return self._order.name

    def _ordered(self, wait: Given | None) -> Order:
        if isinstance(wait, Unset):
            return self._order
        return self._order.with_wait(checked_wait(wait))

    def _plate(self) -> str:
        return repr(self.name)

    def _for(self, order: Order) -> Self:
        """Give the same door for another order."""
        return type(self)(self._client, self._engine, order, self._on_loss)

    def _per_call(self, function: Callable[..., Any], *, wants_async: bool) -> PerCall[Self]:
        from holdfast.api.template import Template  # inspect is for decorators only

        fill = Template(self.name, function, wants_async=wants_async).fill
        return lambda args, kwargs: self._for(self._order.with_name(fill(args, kwargs)))


class NameDoor(NameFace, Door[Lease]):
    """One name, for threads."""

    __slots__ = ()

    def inspect(self) -> LockInfo:
        """Show who holds the name and who waits for it."""
        return run(show(self._engine.session, self.name))

    def _taken(self, order: Order) -> Lease:
        try:
            state = run(self._story(self._engine.session, order, caller()))
            if state.count > 1 and isinstance(face := state.face and state.face(), Lease):
                return face
            return Lease(self._client, self._engine, state, self._on_loss)
        except BaseException:
            self._engine.drop_orphan(order.name)  # a Ctrl-C between the grant and the lease
            raise


class AsyncNameDoor(NameFace, AsyncDoor[AsyncLease]):
    """One name, for tasks: the twin of ``NameDoor``."""

    __slots__ = ()

    async def inspect(self) -> LockInfo:
        """Show who holds the name and who waits for it."""
        return await show(self._engine.session, self.name)

    def _asked(self, order: Order) -> Coroutine[Any, Any, LeaseState]:
        return self._story(self._engine.session, order, caller())

    def _given(self, acquired: LeaseState) -> AsyncLease:
        state = acquired
        if state.count > 1 and isinstance(face := state.face and state.face(), AsyncLease):
            return face
        return AsyncLease(self._client, self._engine, state, self._on_loss)
