"""What a client keeps for all its copies: cells, once keys, rates, and the turns of singletons.

The classes behind these methods are imported when first asked for: a program that only takes a
lock does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from holdfast.api.checks import UNSET, Given, checked_life, checked_name
from holdfast.api.face import ClientFace
from holdfast.durations import Duration
from holdfast.errors import Misuse
from holdfast.flows.order import Order
from holdfast.values import Json, OnLoss

if TYPE_CHECKING:
    from holdfast.api.cell import AsyncCell, Cell
    from holdfast.api.limiter import AsyncLimiter, Limiter
    from holdfast.api.once import AsyncOnce, Once
    from holdfast.api.singleton import AsyncSingleton, OnBusy, Singleton
    from holdfast.flows.limit import Limit

SHORTEST_PERIOD = 0.1


class _KeepingFace(ClientFace):
    """What both twins do with the arguments."""

    def _cell_name(self, name: str) -> str:
        self._require("cell", "records")
        return checked_name(name)

    def _limit(self, name: str, rate: str, burst: int | None, *, adopt: bool) -> Limit:
        from holdfast.api.rate import terms_of
        from holdfast.flows.limit import Limit

        self._require("limiter", "buckets")
        return Limit(checked_name(name), terms_of(rate, burst), adopt)

    def _once_order(
        self,
        key: str,
        *,
        ttl: Given,
        wait: Given | None,
        max_hold: Duration | None,
    ) -> Order:
        self._require("once", "records")
        checked_name(key, "key")
        return self._claim(key, ttl=ttl, wait=wait, max_hold=max_hold)

    def _singleton_order(
        self,
        name: str,
        on_busy: OnBusy,
        *,
        ttl: Given,
        wait: Given | None,
        max_hold: Duration | None,
    ) -> Order:
        if on_busy not in ("skip", "wait", "raise"):
            raise Misuse(f"on_busy must be 'skip', 'wait' or 'raise', not {on_busy!r}")
        order = self._claim(name, ttl=ttl, wait=wait, max_hold=max_hold)
        if on_busy == "wait":
            return order
        if wait is not UNSET:
            raise Misuse(
                f"on_busy={on_busy!r} does not wait: leave wait out, or say on_busy='wait'"
            )
        return order.with_wait(0.0)

    def _claim(
        self, name: str, *, ttl: Given, wait: Given | None, max_hold: Duration | None
    ) -> Order:
        return self._orders.order(
            name,
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=True,
            reentrant=False,
            metadata=None,
        )

    def _period(self, per: Duration | None) -> int | None:
        if per is None:
            return None
        self._require("singleton with per", "records")
        period = checked_life(per, "per")
        if period < SHORTEST_PERIOD:
            raise Misuse(f"a slot of {period * 1000:g} ms is too short to be kept: 100 ms at least")
        return round(period * 1e6)

    def _require(self, what: str, family: Literal["records", "buckets"]) -> None:
        from holdfast.api.needs import require

        require(self.capabilities, what, family)


class Keeping(_KeepingFace):
    """Cells, once keys, limiters and singletons for threads."""

    def cell(self, name: str, *, expire: Duration | None = None) -> Cell:
        """Describe a small shared value with a version; ``expire`` is how long each write lives."""
        from holdfast.api.cell import Cell

        return Cell(self, self._engine, self._cell_name(name), expire)

    def once(
        self,
        key: str,
        keep: Duration | None = "7d",
        payload: Json | bytes = None,
        *,
        wait: Given | None = UNSET,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        store_errors: bool = False,
    ) -> Once:
        """Describe work that is done once: ``run(fn)``, a ``with``, or a decorator.

        The result is given back for ``keep`` (``None``: for ever). ``payload`` is what the key
        stands for: it is hashed, and another one under the same key is a ``Conflict``. ``wait``
        bounds the waiting for somebody else who is at it.
        """
        from holdfast.api.once import Once

        order = self._once_order(key, ttl=ttl, wait=wait, max_hold=max_hold)
        kept, policy = _kept(keep), self._orders.on_loss(on_loss)
        return Once(self, self._engine, order, kept, payload, policy, store_errors=store_errors)

    def limiter(
        self,
        name: str,
        rate: str = "10/s",
        burst: int | None = None,
        *,
        wait: Given | None = UNSET,
        adopt: bool = False,
    ) -> Limiter:
        """Describe a rate that all copies share, such as ``"10/s"`` or ``"5000/h"``.

        ``burst`` is how many can be had at once; without it, the number per period. While it is
        in use others must give the same terms; with ``adopt`` it goes on under these.
        """
        from holdfast.api.limiter import Limiter

        limit = self._limit(name, rate, burst, adopt=adopt)
        return Limiter(self, self._engine, limit, self._orders.wait(wait))

    def singleton(
        self,
        name: str,
        per: Duration | None = None,
        on_busy: OnBusy = "skip",
        *,
        wait: Given | None = UNSET,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
    ) -> Singleton:
        """Describe what runs in one copy at a time; with ``per``, once per slot of that length.

        Slots are those of the backend's clock, centred on the multiples of ``per``. A decorated
        function gives an ``Outcome`` that says whether it ran.
        """
        from holdfast.api.singleton import Singleton

        order = self._singleton_order(name, on_busy, ttl=ttl, wait=wait, max_hold=max_hold)
        period, policy = self._period(per), self._orders.on_loss(on_loss)
        return Singleton(self, self._engine, order, period, on_busy, policy)


class AsyncKeeping(_KeepingFace):
    """Cells, once keys, limiters and singletons for tasks."""

    def cell(self, name: str, *, expire: Duration | None = None) -> AsyncCell:
        """Describe a small shared value with a version; ``expire`` is how long each write lives."""
        from holdfast.api.cell import AsyncCell

        return AsyncCell(self, self._engine, self._cell_name(name), expire)

    def once(
        self,
        key: str,
        keep: Duration | None = "7d",
        payload: Json | bytes = None,
        *,
        wait: Given | None = UNSET,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        store_errors: bool = False,
    ) -> AsyncOnce:
        """Describe work that is done once: ``run(fn)``, an ``async with``, or a decorator."""
        from holdfast.api.once import AsyncOnce

        order = self._once_order(key, ttl=ttl, wait=wait, max_hold=max_hold)
        kept, policy = _kept(keep), self._orders.on_loss(on_loss)
        return AsyncOnce(
            self, self._engine, order, kept, payload, policy, store_errors=store_errors
        )

    def limiter(
        self,
        name: str,
        rate: str = "10/s",
        burst: int | None = None,
        *,
        wait: Given | None = UNSET,
        adopt: bool = False,
    ) -> AsyncLimiter:
        """Describe a rate that all copies share, such as ``"10/s"`` or ``"5000/h"``."""
        from holdfast.api.limiter import AsyncLimiter

        limit = self._limit(name, rate, burst, adopt=adopt)
        return AsyncLimiter(self, self._engine, limit, self._orders.wait(wait))

    def singleton(
        self,
        name: str,
        per: Duration | None = None,
        on_busy: OnBusy = "skip",
        *,
        wait: Given | None = UNSET,
        ttl: Given = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
    ) -> AsyncSingleton:
        """Describe what runs in one copy at a time; with ``per``, once per slot of that length."""
        from holdfast.api.singleton import AsyncSingleton

        order = self._singleton_order(name, on_busy, ttl=ttl, wait=wait, max_hold=max_hold)
        period, policy = self._period(per), self._orders.on_loss(on_loss)
        return AsyncSingleton(self, self._engine, order, period, on_busy, policy)


def _kept(keep: Duration | None) -> int | None:
    return None if keep is None else int(checked_life(keep, "keep") * 1e6)
