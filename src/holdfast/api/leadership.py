"""One of many leads, the others stand by: ``Leadership`` for threads, and its async twin for tasks.

A lock of a kind of its own: held for as long as one leads, given back to resign. Where the backend
keeps records, who leads is put down while the body works (``flows.stand``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lock import AsyncLock, Lock
from holdfast.flows.acquire import acquire
from holdfast.flows.order import Order
from holdfast.flows.stand import stand
from holdfast.runtimes.engine import Engine
from holdfast.values import OnLoss

if TYPE_CHECKING:
    from signal import Signals
    from types import TracebackType

    from holdfast.runtimes.resign import TaskResignation, ThreadResignation


class Leadership(Lock):
    """The lead of a name, for threads: ``with`` waits for it, leaving the body resigns."""

    __slots__ = ("_resign_on", "_stays", "_story")

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        on_loss: OnLoss,
        resign_on: Sequence[Signals] = (),
    ) -> None:
        super().__init__(client, engine, order, on_loss)
        self._story = stand if engine.backend.capabilities.records else acquire
        self._resign_on = resign_on
        self._stays: list[ThreadResignation] = []  # of the main thread: nobody else has any

    def _for(self, order: Order) -> Self:
        return type(self)(self._client, self._engine, order, self._on_loss, self._resign_on)

    def __enter__(self) -> Lease:
        if not self._resign_on:
            return super().__enter__()
        from holdfast.runtimes.resign import ThreadResignation

        stay = ThreadResignation(self._resign_on)
        lease: Lease | None = None
        try:
            lease = super().__enter__()
            self._stays.append(stay)
        except BaseException as error:
            stay.inside = False
            stay.leave()
            if lease is not None:  # the signal came in the very last moment
                super().__exit__(type(error), error, None)
            raise
        return lease

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._resign_on:
            super().__exit__(kind, error, traceback)
            return
        stay = self._stays.pop()
        raised, stay.inside = not stay.inside, False
        try:
            super().__exit__(kind, error, traceback)
        finally:
            stay.leave()
            if stay.signum and not raised:  # it came while the lease was being given back
                raise stay.exit()


class AsyncLeadership(AsyncLock):
    """The lead of a name, for tasks: the twin of ``Leadership``."""

    __slots__ = ("_resign_on", "_stays", "_story")

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        on_loss: OnLoss,
        resign_on: Sequence[Signals] = (),
    ) -> None:
        super().__init__(client, engine, order, on_loss)
        self._story = stand if engine.backend.capabilities.records else acquire
        self._resign_on = resign_on
        self._stays: dict[object, TaskResignation] = {}  # by task

    def _for(self, order: Order) -> Self:
        return type(self)(self._client, self._engine, order, self._on_loss, self._resign_on)

    async def __aenter__(self) -> AsyncLease:
        if not self._resign_on:
            return await super().__aenter__()
        from holdfast.runtimes.resign import TaskResignation

        stay = TaskResignation(self._resign_on)
        try:
            lease = await super().__aenter__()
        except BaseException as error:
            stay.disarm(error)
            stay.leave()
            if stay.due:
                raise stay.exit() from None
            raise
        self._stays[self._engine.session.runtime.owner()] = stay
        return lease

    def _left(self) -> TaskResignation:
        owner = self._engine.session.runtime.owner()
        if owner not in self._stays and len(self._stays) == 1:
            (owner,) = self._stays  # entered here and left there, as some frameworks do
        return self._stays.pop(owner)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._resign_on:
            await super().__aexit__(kind, error, traceback)
            return
        stay = self._left()
        stay.disarm(error)  # first: giving the lease back must not be cancelled
        try:
            await super().__aexit__(kind, error, traceback)
        finally:
            stay.leave()
            if stay.due:
                raise stay.exit() from None
