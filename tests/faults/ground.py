"""What a fault run stands on: the servers of one backend, and what can be done to them.

A new backend is one file in ``grounds`` with a ``Ground`` in it, and a line in
``grounds/every.py``. What happens to workers and to the network in front of a server is the same
everywhere and comes from ``holdfast.testing.verify``.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Self

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.scope import Scoped
from holdfast.testing.verify.torments import Torment
from holdfast.testing.workload.processes import PROGRAM

ROOT = Path(__file__).parent.parent.parent
PREFIX = "faults"
NAMES = ("a", "b", "c", "d", "semaphore:s", "rwlock:r", "lead:l")
"""What the workers want; what a backend cannot do is left out."""

TTL = 1.0
SLOW_TTL = 3.0
"""The lives of leases: most workers are quick, some hold on for long and are renewed often."""

QUARANTINE = "3s"
"""As long as the longest life: whatever a server has forgotten is over by then."""


class Ground(Scoped):
    """Servers that are started and closed, and a list of what can happen to them."""

    name: ClassVar[str]
    proxy: Proxy | None = None
    queue: ClassVar[bool] = True

    def __init__(self) -> None:
        self.program: Sequence[str] = PROGRAM
        """What the workers' processes run."""

        self.left_out: list[str] = []
        """What cannot be done on this machine, and why."""

    def start(self) -> Self:
        """Start everything."""
        return self

    def close(self) -> None:
        """Leave nothing behind."""

    def url(self) -> str:
        """Give the URL that workers use."""
        raise NotImplementedError

    def torments(self) -> tuple[Torment, ...]:
        """List what can be done to the servers, or to the file."""
        raise NotImplementedError

    def undisturbed(self) -> tuple[Torment, ...]:
        """List those of them that cannot be done while a worker is paused."""
        return ()


class Server(Protocol):
    """What can be started and closed."""

    def start(self) -> object:
        """Start it, and wait until it answers."""
        ...

    def close(self) -> None:
        """End it and leave nothing behind."""
        ...


class OneServer(Ground):
    """A ground on one server, behind a proxy."""

    proxy: Proxy

    def __init__(self, server: Server, proxy: Proxy) -> None:
        super().__init__()
        self._behind = server
        self.proxy = proxy

    def start(self) -> Self:
        """Start the server, and what stands before it."""
        self._behind.start()
        self.proxy.start()
        return self

    def close(self) -> None:
        """End both."""
        self.proxy.close()
        self._behind.close()


def quiet() -> None:
    """Leave everybody alone until whoever holds what was forgotten must have been told."""
    time.sleep(SLOW_TTL)
