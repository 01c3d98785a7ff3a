"""``postgresql://``: leases in a table, in a schema of its own.

One such object per client: the wires and the ear that it hands out share its office.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.backends.postgres.ear import Ear as KeeperEar
from holdfast.backends.postgres.ear import KeeperWire
from holdfast.backends.postgres.migrate import migrate, script
from holdfast.backends.postgres.office import Office, channel_of
from holdfast.backends.postgres.sync import SyncWire
from holdfast.backends.postgres.target import Target, target_of
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address
from holdfast.values import Capabilities, Holder

if TYPE_CHECKING:
    from holdfast.backends.postgres.aio import AioWire


__all__ = ["PostgresBackend", "connect", "migrate", "script"]


class PostgresBackend:
    """One client's way to PostgreSQL."""

    def __init__(self, target: Target, prefix: str) -> None:
        self.office = Office(target, prefix)
        self._keeper_wire: KeeperWire | None = None
        self._aio_wire: AioWire | None = None

    @property
    def capabilities(self) -> Capabilities:
        """What this server can do, as far as it has been seen."""
        return self.office.survey.capabilities

    def sync_wire(self, holder: Holder) -> Wire:
        """Open the way in for threads."""
        return SyncWire(self.office, _application(holder))

    def aio_wire(self, holder: Holder) -> Wire:
        """Open the way in for tasks."""
        from holdfast.backends.postgres.aio import AioWire  # asyncio only when it is used

        self._aio_wire = AioWire(self.office, _application(holder))
        return self._aio_wire

    def keeper_wire(self, holder: Holder) -> Wire:
        """Open the keeper's own way in."""
        self._keeper_wire = KeeperWire(self.office, f"{_application(holder)} keeper")
        return self._keeper_wire

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Open the inbox: on the loop's line if there is a loop, else on the keeper's own."""
        self.office.tell = deliver
        channel = channel_of(holder.client) if self.office.survey.push else ""
        keeper, loop = self._keeper_wire, self._aio_wire
        assert keeper is not None  # noqa: S101 - the engine opens it first
        if loop is not None:
            from holdfast.backends.postgres.aio_ear import AioEar

            return AioEar(loop.line, keeper, channel, deliver)
        return KeeperEar(keeper, channel, deliver)


def connect(address: Address, prefix: str) -> PostgresBackend:
    """Read the address; nothing is connected before the first question."""
    if address.client is None:
        return PostgresBackend(target_of(address), prefix)
    from holdfast.backends.postgres.adopt import adopted  # only for what other libraries made

    return PostgresBackend(adopted(address.client, address.shown), prefix)


def _application(holder: Holder) -> str:
    """Say who this is where the database lists its connections; it keeps 63 bytes of that."""
    label = holder.label if holder.label.isascii() and holder.label.isprintable() else ""
    return f"holdfast {label or holder.client}"[:63]
