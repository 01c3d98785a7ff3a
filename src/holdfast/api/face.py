"""What every client is, whatever it offers: who it is, and what stands behind it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import partial

from holdfast.api.checks import checked_label, checked_name
from holdfast.api.orders import Orders
from holdfast.backends.registry import open_backend
from holdfast.durations import Duration, positive
from holdfast.observe.events import Observer
from holdfast.observe.hub import Hub
from holdfast.ports import Runtime
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.sync import SyncRuntime
from holdfast.settings import address
from holdfast.values import Capabilities, Holder


class ClientFace:
    """What both twins have in common. What they offer comes in parts, one family a file."""

    def __init__(
        self,
        url: object,
        runtime: Runtime | None,
        *,
        ttl: Duration,
        wait: Duration | None,
        call_limit: Duration,
        holder: str | None,
        prefix: str,
        observers: Iterable[Observer],
    ) -> None:
        where = address(url)
        backend = open_backend(where, checked_name(prefix, "prefix"))
        self._address = where._replace(client=None)  # theirs is not kept alive by ours
        self._orders = Orders(backend.capabilities, ttl, wait)
        self._engine = Engine(
            backend,
            runtime or SyncRuntime(),
            backend.aio_wire if runtime else backend.sync_wire,
            label=checked_label(holder),
            call_limit=positive(call_limit, "call_limit"),
            hub=Hub(observers),
            command=partial(self._address.command, prefix=prefix),
        )
        # When a client is collected its leases were too: tidy up without waiting for anything.
        finalizer = weakref.finalize(self, self._engine.abandon)
        finalizer.atexit = False  # at exit the engine itself gives back what is held, and waits

    @property
    def holder(self) -> Holder:
        """Who this client is, as others see it."""
        return self._engine.holder

    @property
    def capabilities(self) -> Capabilities:
        """What the backend can do, and in words what it cannot."""
        return self._engine.backend.capabilities

    def lifeline(self) -> int | None:
        """Give the descriptor whose closing tells others that this client is dead, if there is one.

        A child process that works under this client's lease should inherit it (through ``os.dup``).
        """
        return self._engine.keeper.lifeline()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._address.shown} as {self.holder}>"
