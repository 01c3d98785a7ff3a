"""What a client offers for several names at once: all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from holdfast.api.checks import UNSET, Given, checked_names
from holdfast.api.face import ClientFace
from holdfast.durations import Duration
from holdfast.values import Json, OnLoss

if TYPE_CHECKING:
    from holdfast.api.lock_all import AsyncLockAll, LockAll


class Gathering(ClientFace):
    """Several names for threads."""

    def lock_all(
        self,
        names: Iterable[str],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "raise",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> LockAll:
        """Describe a lock on all of ``names``: all are held or none, and losing one loses all.

        Callers that name them in another order never wait for each other. Locking one more name
        inside can still end in a deadlock: name everything that is needed here.
        """
        from holdfast.api.lock_all import LockAll

        checked = checked_names(names)
        order = self._orders.order(
            checked[0],
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        return LockAll(self, self._engine, order, checked, self._orders.on_loss(on_loss))


class AsyncGathering(ClientFace):
    """Several names for tasks."""

    def lock_all(
        self,
        names: Iterable[str],
        *,
        ttl: Given = UNSET,
        wait: Given | None = UNSET,
        max_hold: Duration | None = None,
        on_loss: OnLoss = "stop",
        renew: bool = True,
        metadata: Mapping[str, Json] | None = None,
    ) -> AsyncLockAll:
        """Describe a lock on all of ``names``: all are held or none, and losing one loses all.

        Callers that name them in another order never wait for each other. Locking one more name
        inside can still end in a deadlock: name everything that is needed here.
        """
        from holdfast.api.lock_all import AsyncLockAll

        checked = checked_names(names)
        order = self._orders.order(
            checked[0],
            kind="lock",
            ttl=ttl,
            wait=wait,
            max_hold=max_hold,
            renew=renew,
            reentrant=False,
            metadata=metadata,
        )
        return AsyncLockAll(self, self._engine, order, checked, self._orders.on_loss(on_loss))
