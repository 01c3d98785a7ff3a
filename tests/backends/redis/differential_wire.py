"""The wire for threads, asked as the flows ask it: shipped scripts, the server's own clock."""

from __future__ import annotations

import os
from typing import Self

from holdfast import clock
from holdfast.backends.redis.backend import connect
from holdfast.rules.messages import Claim, NameRequest, Reply, Want
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.values import Holder
from tests.servers.scope import Scoped

HOLDER = Holder("client", "host", 1)


class Asker(Scoped):
    """One client's wire, on a prefix of its own."""

    def __init__(self, url: str, prefix: str = "") -> None:
        self.prefix = prefix or f"t{os.urandom(6).hex()}"
        self.backend = connect(address(url), self.prefix)
        self.keys = self.backend._office.keys

    def start(self) -> Self:
        """Make the wire; it connects when it is first asked."""
        self._wire = self.backend.sync_wire(HOLDER)
        return self

    def close(self) -> None:
        """Hang up."""
        self._wire.close()

    def ask(self, request: NameRequest) -> Reply:
        """Ask one thing; what goes wrong is raised."""
        return run(self._wire.ask(request, clock.now() + 5))

    def claim(self, name: str, claim_id: str, *, ttl: float = 10.0, patience: float = 0.0) -> Reply:
        """Claim a name as a lock."""
        want = Want("lock", 1, 1, ttl)
        return self.ask(Claim(name, claim_id, want, HOLDER, "", patience))
