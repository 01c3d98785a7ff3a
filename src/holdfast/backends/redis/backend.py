"""``redis://`` and its relatives: one server, a group watched by sentinels, or a cluster.

One such object per client: the wires and the ear that it hands out share its office.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.backends.redis.ear import Ear as KeeperEar
from holdfast.backends.redis.ear import KeeperWire
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.sync import SyncWire
from holdfast.backends.redis.target import Target, target_of
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address
from holdfast.values import Capabilities, Holder

if TYPE_CHECKING:
    from holdfast.backends.redis.aio import AioWire


class RedisBackend:
    """One client's way to Redis or Valkey."""

    def __init__(self, target: Target, prefix: str) -> None:
        self._office = Office(target, prefix)
        self._keeper_wire: KeeperWire | None = None
        self._aio_wire: AioWire | None = None

    @property
    def capabilities(self) -> Capabilities:
        """What this server can do, as far as it has been seen."""
        return self._office.survey.capabilities

    def sync_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the way in for threads."""
        return SyncWire(self._office)

    def aio_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the way in for tasks."""
        from holdfast.backends.redis.aio import AioWire  # asyncio only when it is used

        self._aio_wire = AioWire(self._office)
        return self._aio_wire

    def keeper_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the keeper's own way in: the first of all, also in a forked child."""
        self._office.topology.start_anew()
        self._keeper_wire = KeeperWire(self._office)
        return self._keeper_wire

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Open the inbox: on the loop's line if there is a loop, else on the keeper's own."""
        self._office.tell = deliver
        channel = self._office.keys.inbox(holder.client)
        keeper, loop = self._keeper_wire, self._aio_wire
        assert keeper is not None  # noqa: S101 - the engine opens it first
        if loop is not None:
            from holdfast.backends.redis.aio_ear import AioEar

            return AioEar(loop.lines, keeper, channel, self._office.shown, deliver)
        return KeeperEar(keeper, channel, deliver)


def connect(address: Address, prefix: str) -> RedisBackend:
    """Read the address; nothing is connected before the first question."""
    if address.client is None:
        return RedisBackend(target_of(address), prefix)
    from holdfast.backends.redis.adopt import adopted  # only for clients of other libraries

    return RedisBackend(adopted(address.client, address.shown), prefix)
