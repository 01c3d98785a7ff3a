"""``redlock://``: several independent Redis or Valkey servers, of which a majority decides.

One such object per client: the wires and the ear that it hands out share its council.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.ear import Ear as KeeperEar
from holdfast.backends.redlock.ear import KeeperWire
from holdfast.backends.redlock.sync import SyncWire
from holdfast.backends.redlock.target import Quorum, quorum_of
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address
from holdfast.values import Capabilities, Holder

if TYPE_CHECKING:
    from holdfast.backends.redlock.aio import AioWire


class RedlockBackend:
    """One client's way to a quorum."""

    def __init__(self, quorum: Quorum, prefix: str) -> None:
        self._council = Council(quorum, prefix)
        self._keeper_wire: KeeperWire | None = None
        self._aio_wire: AioWire | None = None

    @property
    def capabilities(self) -> Capabilities:
        """What a quorum can do."""
        return self._council.capabilities

    def sync_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the way in for threads."""
        return SyncWire(self._council)

    def aio_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the way in for tasks."""
        from holdfast.backends.redlock.aio import AioWire  # asyncio only when it is used

        self._aio_wire = AioWire(self._council)
        return self._aio_wire

    def keeper_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the keeper's own way in."""
        self._keeper_wire = KeeperWire(self._council)
        return self._keeper_wire

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:  # noqa: ARG002
        """Open the inbox, on the keeper's own connections in both runtimes."""
        assert self._keeper_wire is not None  # noqa: S101 - the engine opens it first
        return KeeperEar(self._keeper_wire, self._council.post.keys.inbox(holder.client))


def connect(address: Address, prefix: str) -> RedlockBackend:
    """Read the address; nothing is connected before the first question."""
    return RedlockBackend(quorum_of(address), prefix)
