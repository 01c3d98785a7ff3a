"""``memory://name``: one space per process and name, shared by all its clients."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.backends.memory.ear import MemoryEar
from holdfast.backends.memory.space import space
from holdfast.backends.memory.wire import MemoryWire
from holdfast.ports import Ear, Wire
from holdfast.rules.messages import Notice
from holdfast.settings import Address
from holdfast.values import KINDS, Capabilities, Holder


class MemoryBackend:
    """The simplest backend there is."""

    capabilities = Capabilities(
        backend="memory",
        scope="process",
        wakeup="push",
        notices_crash=True,
        min_ttl=0.1,
        kinds=KINDS,
        all_at_once=True,
        notes=("only the threads and tasks of one process see each other",),
        records=True,
        buckets=True,
    )

    def __init__(self, name: str, prefix: str) -> None:
        self._name = name
        self._prefix = prefix

    def sync_wire(self, holder: Holder) -> Wire:  # noqa: ARG002 - the port's shape
        """Open the way in for threads."""
        return MemoryWire(space(self._name), self._prefix)

    aio_wire = keeper_wire = sync_wire

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Register the client's inbox."""
        return MemoryEar(space(self._name), holder, deliver)


def connect(address: Address, prefix: str) -> MemoryBackend:
    """Join the space that ``address`` names."""
    address.refuse_unknown(())
    return MemoryBackend(address.place, prefix)
