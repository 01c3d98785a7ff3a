"""The door: clients on a private memory backend, with faults and, if wanted, a virtual clock."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from types import TracebackType
from typing import Self, TypedDict, Unpack

from holdfast.api.client import AsyncClient, Client
from holdfast.durations import Duration
from holdfast.errors import Misuse
from holdfast.observe.events import Observer
from holdfast.testing.sandbox.faults import Faults
from holdfast.testing.sandbox.goodbye import close
from holdfast.testing.sandbox.ground import Ground, enter, leave
from holdfast.testing.sandbox.leaks import leaked, leaks_in, leaks_of
from holdfast.testing.sandbox.real_time import RealTime
from holdfast.testing.sandbox.virtual_clock import VirtualClock


class ClientOptions(TypedDict, total=False):
    """What ``Client`` and ``AsyncClient`` take besides a URL."""

    ttl: Duration
    wait: Duration | None
    call_limit: Duration
    holder: str | None
    prefix: str
    observers: Iterable[Observer]


class Sandbox:
    """A backend of one test's own, on which anything can be made to go wrong. A context manager.

    Its clients are ordinary ones: the flows, the keeper, the memory backend and the rule are those
    that ship. Only the way between them is unreliable, as told by ``faults``. With
    ``virtual_clock=True`` time passes only when ``clock`` is moved.

    Closing it closes its clients, and raises ``LeakedLease`` for what they still hold.
    """

    def __init__(self, *, virtual_clock: bool = False) -> None:
        self._clock = VirtualClock() if virtual_clock else None
        self._ground = Ground(secrets.token_hex(6), self._clock or RealTime())
        self._clients: list[Client | AsyncClient] = []
        self._leaks_allowed = False
        self._closed = False
        self.faults = Faults(self._ground)
        enter(self._ground)

    @property
    def url(self) -> str:
        """The address, for a client that the tested program makes itself."""
        return f"sandbox://{self._ground.name}"

    @property
    def clock(self) -> VirtualClock:
        """The virtual clock, if this sandbox was made with one."""
        if self._clock is None:
            raise Misuse(
                "this sandbox runs on real time; make it with virtual_clock=True (in pytest: let"
                " the test or a fixture of it have holdfast_clock as an argument)"
            )
        return self._clock

    def client(self, **options: Unpack[ClientOptions]) -> Client:
        """Make a client, with the options of ``holdfast.Client``; the sandbox closes it."""
        client = Client(self.url, **options)
        self._clients.append(client)
        return client

    def async_client(self, **options: Unpack[ClientOptions]) -> AsyncClient:
        """Make an async client; the sandbox closes it, also when its loop is gone by then."""
        client = AsyncClient(self.url, **options)
        self._clients.append(client)
        return client

    def allow_leaks(self) -> None:
        """Let leases be held at the end: for tests that mean it."""
        self._leaks_allowed = True

    def close(self) -> None:
        """End all faults, close the clients, and raise ``LeakedLease`` if anything is left."""
        leaks = self._shut()
        if leaks and not self._leaks_allowed:
            raise leaked(leaks)

    def _shut(self) -> list[str]:
        if self._closed:
            return []
        self._closed = True
        leaks = leaks_of(self._clients, self._ground)
        try:
            self.faults.clear()
            for client in self._clients:
                close(client, self._ground.time)
            return [*leaks, *leaks_in(self._ground)]
        finally:
            leave(self._ground)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:  # the test has its own failure to tell
            self._shut()

    def __repr__(self) -> str:
        return f"<Sandbox {self.url} on {'virtual' if self._clock else 'real'} time>"
