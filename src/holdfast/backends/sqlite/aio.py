"""The wire for tasks: one thread of the client does the transactions. Counterpart: ``sync``."""

from __future__ import annotations

from holdfast.backends.sqlite import faults
from holdfast.backends.sqlite.store import Store
from holdfast.backends.threaded import ThreadedWire


class AioWire(ThreadedWire):
    """Hands requests to the client's thread, which does in one transaction what has gathered."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, faults, "holdfast-sqlite")
