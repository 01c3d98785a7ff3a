"""At most N at a time: ``Semaphore`` for threads, ``AsyncSemaphore`` for tasks.

A permit has a slot, an index below ``permits`` that no other holder has meanwhile. A permit belongs
to its lease, not to the thread or task that asked for it: one may take it and another give it back.
"""

from __future__ import annotations

from holdfast.api.checks import UNSET, Given, checked_weight
from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.name_door import AsyncNameDoor, NameDoor, NameFace
from holdfast.errors import LockBusy
from holdfast.flows.order import Order
from holdfast.values import LockInfo


class SemaphoreFace(NameFace):
    """What both twins have."""

    __slots__ = ()

    @property
    def permits(self) -> int:
        """How many may hold at once; the same for everyone who uses the name."""
        return self._order.want.capacity

    def _weighed(self, weight: int, wait: Given | None) -> Order:
        return self._ordered(wait).with_weight(checked_weight(weight, self.permits))


class Semaphore(SemaphoreFace, NameDoor):
    """A number of permits on a name, for threads. ``with semaphore as lease`` takes one of them."""

    __slots__ = ()

    def acquire(self, weight: int = 1, wait: Given | None = UNSET) -> Lease:
        """Hold ``weight`` permits, or raise ``LockBusy`` when ``wait`` is over."""
        return self._taken(self._weighed(weight, wait))

    def try_acquire(self, weight: int = 1) -> Lease | None:
        """Hold ``weight`` permits if they are free and nobody is in line; otherwise ``None``."""
        try:
            return self.acquire(weight, wait=0)
        except LockBusy:
            return None

    def locked(self) -> bool:
        """Whether all permits are held."""
        return _is_full(self.inspect())


class AsyncSemaphore(SemaphoreFace, AsyncNameDoor):
    """A number of permits on a name, for tasks: the twin of ``Semaphore``."""

    __slots__ = ()

    async def acquire(self, weight: int = 1, wait: Given | None = UNSET) -> AsyncLease:
        """Hold ``weight`` permits, or raise ``LockBusy`` when ``wait`` is over."""
        return self._given(await self._asked(self._weighed(weight, wait)))

    async def try_acquire(self, weight: int = 1) -> AsyncLease | None:
        """Hold ``weight`` permits if they are free and nobody is in line; otherwise ``None``."""
        try:
            return await self.acquire(weight, wait=0)
        except LockBusy:
            return None

    async def locked(self) -> bool:
        """Whether all permits are held."""
        return _is_full(await self.inspect())


def _is_full(seen: LockInfo) -> bool:
    return seen.held and sum(held.weight for held in seen.holders) >= seen.capacity
