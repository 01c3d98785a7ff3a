"""The wire for threads, asked as the flows ask it: shipped functions, the server's own clock."""

from __future__ import annotations

import os
from typing import Self

from holdfast import clock
from holdfast.backends.postgres.backend import connect
from holdfast.rules.messages import Claim, Reply, Request, Want
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.values import Holder, Kind
from tests.servers.scope import Scoped

HOLDER = Holder("0123456789abcdef", "host", 1)


class Asker(Scoped):
    """One client's wire, on a prefix of its own."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self.prefix = prefix or f"t{os.urandom(6).hex()}"
        self.backend = connect(address(url), self.prefix)

    def start(self) -> Self:
        """Make the wire; it connects when it is first asked."""
        self._wire = self.backend.sync_wire(HOLDER)
        return self

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def ask(self, request: Request) -> Reply:
        """Ask one thing; what goes wrong is raised."""
        return run(self._wire.ask(request, clock.now() + 5))

    def claim(
        self,
        name: str,
        claim_id: str,
        *,
        kind: Kind = "lock",
        capacity: int = 1,
        ttl: float = 10.0,
        patience: float = 0.0,
    ) -> Reply:
        """Claim one share of a name."""
        want = Want(kind, capacity, 1, ttl)
        return self.ask(Claim(name, claim_id, want, HOLDER, "", patience))
