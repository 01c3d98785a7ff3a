"""``sandbox://name``: the memory backend of one ``Sandbox``, reached through wires that can fail.

A URL like every other, so that also a client which the tested program makes itself can be led here.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.backends.memory.backend import MemoryBackend
from holdfast.backends.memory.wire import MemoryWire
from holdfast.ports import Ear, Runtime, Wire
from holdfast.rules.messages import Notice
from holdfast.runtimes.sync import SyncRuntime
from holdfast.settings import Address
from holdfast.testing.sandbox.ear import SandboxEar
from holdfast.testing.sandbox.ground import Ground, find
from holdfast.testing.sandbox.wire import CallersWire, KeepersWire, TasksWire
from holdfast.values import Holder


class SandboxBackend:
    """One client's part of a sandbox."""

    capabilities = MemoryBackend.capabilities

    def __init__(self, ground: Ground, prefix: str) -> None:
        self.ground = ground
        self.prefix = prefix
        ground.prefixes.add(prefix)

    def on_its_time(self, runtime: Runtime) -> Runtime:
        """Give ``runtime`` as it is on the sandbox's time."""
        return self.ground.time.on_its_time(runtime)

    def sync_wire(self, holder: Holder) -> Wire:
        """Open the way in for threads."""
        runtime = self.on_its_time(SyncRuntime())
        return CallersWire(self.ground, holder.client, self._direct(), runtime)

    def aio_wire(self, holder: Holder) -> Wire:
        """Open the way in for tasks."""
        from holdfast.runtimes.aio import AioRuntime

        runtime = self.on_its_time(AioRuntime())
        return TasksWire(self.ground, holder.client, self._direct(), runtime)

    def keeper_wire(self, holder: Holder) -> Wire:
        """Open the keeper's own way in."""
        runtime = self.on_its_time(SyncRuntime())
        return KeepersWire(self.ground, holder.client, self._direct(), runtime)

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Open the client's inbox."""
        return SandboxEar(self.ground, holder, deliver)

    def _direct(self) -> MemoryWire:
        return MemoryWire(self.ground.space, self.prefix)


def connect(address: Address, prefix: str) -> SandboxBackend:
    """Enter the sandbox that ``address`` names."""
    address.refuse_unknown(())
    return SandboxBackend(find(address.place), prefix)
