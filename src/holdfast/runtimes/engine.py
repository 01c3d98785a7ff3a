"""What stands behind one client: its identity, its book, its keeper and its two sessions.

Here is also what must hold for every client of the process: after a fork the child holds nothing
and starts anew. What is given back when the process ends is in ``farewell``.
"""

from __future__ import annotations

import os
import weakref
from binascii import b2a_base64
from collections.abc import Callable

from holdfast.flows.book import Book
from holdfast.flows.release import release_all
from holdfast.flows.rounds import disinherit
from holdfast.flows.session import Session, Tells
from holdfast.ports import Backend, KeepsTime, Runtime, Wire
from holdfast.rules.messages import Release
from holdfast.runtimes import farewell
from holdfast.runtimes.keeper import Keeper
from holdfast.runtimes.sync import SyncRuntime
from holdfast.values import Holder

DRAWN = 256
"""How many claim ids are drawn at a time."""

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine:
    """The private half of a client, the same for both runtimes."""

    def __init__(
        self,
        backend: Backend,
        runtime: Runtime,
        open_wire: Callable[[Holder], Wire],
        *,
        label: str,
        call_limit: float,
        hub: Tells,
        command: Callable[[str], str],
    ) -> None:
        self.backend = backend
        self.hub = hub
        self._command = command
        self.call_limit = call_limit
        self._runtime = self._on_time(runtime)
        self._open_wire = open_wire
        self._label = label
        self.closed = False
        self._start()
        _engines.add(self)

    def _start(self) -> None:
        # A client id is never shared: a forked child gets one of its own.
        client = os.urandom(8).hex()
        self.holder = holder = Holder(client, _host_name(), os.getpid(), self._label)
        self.book = book = Book()
        self.keeper = Keeper(
            self.backend,
            holder,
            book,
            lambda keeper: self._session(
                keeper, self._on_time(SyncRuntime()), self.backend.keeper_wire(holder)
            ),
        )
        self.session = session = self._session(self.keeper, self._runtime, self._open_wire(holder))
        if type(self._runtime) is SyncRuntime:
            session.bell = self.keeper.bell

    def _on_time(self, runtime: Runtime) -> Runtime:
        return self.backend.on_its_time(runtime) if isinstance(self.backend, KeepsTime) else runtime

    def _session(self, keeper: Keeper, runtime: Runtime, wire: Wire) -> Session:
        return Session(
            wire=wire,
            runtime=runtime,
            book=self.book,
            holder=self.holder,
            backend=self.backend.capabilities.backend,
            call_limit=self.call_limit,
            hub=self.hub,
            keeper=keeper,
            new_id=_new_id,
            command=self._command,
        )

    async def close(self) -> None:
        """Give back what is held and let go of every connection; harmless when repeated."""
        if self.closed:
            return
        self.book.closing = True  # nothing new is begun, also if this call is cancelled now
        await release_all(self.session)
        goodbye = self._runtime.bell()
        if self.book.tickets:
            self.keeper.mind()  # somebody has to withdraw what is still being asked for
        if self.keeper.stop(goodbye):
            await goodbye.wait(self._runtime.now() + self.call_limit)
        self.session.wire.close()
        self.closed = True

    def drop_orphan(self, name: str) -> None:
        """Give back what this owner was granted and never received, if anything."""
        state = self.book.owned.get((name, self._runtime.owner()))
        if state is not None and state.face is None:
            self.book.owned.pop((name, state.owner), None)
            if self.book.leases.pop(state.claim_id, None) is not None:
                self.session.leave(Release(name, state.claim_id), state.surely_over_at)

    def abandon(self) -> None:
        """Close without waiting: for finalisers, which must not take a lock."""
        if not self.closed:
            self.closed = True
            self.session.wire.abandon()
            self.keeper.abandon()

    def start_anew(self) -> None:
        """Forget, in a forked child, everything that belongs to the parent."""
        disinherit(self.book)
        self.keeper.forget()
        _inherited.append(self.session)  # closing it here would disturb the parent's connections
        _inherited.append(self.keeper)
        if not self.closed:
            self._start()


_inherited: list[object] = []


def _host_name() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # Windows

    return platform.node()


_secrets: list[str] = []
"""Claim ids for the next calls, drawn from the kernel many at a time; emptied in a forked child."""


def _new_id() -> str:
    """Make a claim's secret: 96 random bits, printable."""
    try:
        return _secrets.pop()
    except IndexError:  # also when another thread took the last one
        drawn = b2a_base64(os.urandom(12 * DRAWN), newline=False).decode()
        _secrets.extend([drawn[at : at + 16] for at in range(16, len(drawn), 16)])
        return drawn[:16]


def _in_forked_child() -> None:
    _secrets.clear()
    farewell.forget()
    for engine in tuple(_engines):
        engine.start_anew()


os.register_at_fork(after_in_child=_in_forked_child)
