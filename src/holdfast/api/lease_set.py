"""Leases that stand and fall together: what ``lock_all`` gives, for threads and for tasks.

The set is held while all of its leases are. When one is lost the others are lost and given back
with it, and whoever asked to be told is told once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from holdfast.api.checks import checked_ttl, checked_wait
from holdfast.api.lease import AsyncLease, Lease
from holdfast.durations import Duration
from holdfast.errors import LockLost
from holdfast.flows.book import Company
from holdfast.flows.extend import extend_all
from holdfast.flows.lose import lost_error
from holdfast.flows.release import release_these
from holdfast.flows.wait_lost import wait_any_lost
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import Holder, OnLoss

L = TypeVar("L", Lease, AsyncLease)


class LeaseSetFace(Generic[L]):
    """What both twins say without asking anybody."""

    __slots__ = ("_claimant", "_company", "_engine", "_leases", "_on_loss")

    def __init__(
        self,
        client: object,
        engine: Engine,
        company: Company,
        on_loss: OnLoss,
        *,
        names: Sequence[str],
        lease: type[L],
    ) -> None:
        self._company = company
        self._claimant = company.states[0].owner  # the thread or task that acquired them
        self._engine = engine
        self._on_loss: OnLoss = on_loss
        states = {state.name: state for state in company.states}
        # A single lease of the set keeps the whole company from being collected.
        self._leases: dict[str, L] = {
            name: lease((client, company), engine, states[name], on_loss) for name in names
        }

    @property
    def leases(self) -> dict[str, L]:
        """The lease of each name, in the order in which they were asked for."""
        return dict(self._leases)

    @property
    def names(self) -> tuple[str, ...]:
        """What is held, in the order in which it was asked for."""
        return tuple(self._leases)

    @property
    def tokens(self) -> dict[str, int]:
        """The fencing number of each name: give each resource its own."""
        return {name: lease.token for name, lease in self._leases.items()}

    @property
    def holder(self) -> Holder:
        """Who holds them: this client."""
        return self._engine.holder

    @property
    def remaining(self) -> float:
        """Seconds until the first of the deadlines; 0 when the set is over."""
        return min(lease.remaining for lease in self._leases.values())

    @property
    def held(self) -> bool:
        """Whether all of the leases are good at this moment."""
        return self._company.holds(self._engine.session.runtime.now())

    @property
    def lost(self) -> bool:
        """Whether one of the leases ended without having been released."""
        return self._company.first_lost(self._engine.session.runtime.now()) is not None

    def check(self, at_least: Duration = 0) -> None:
        """Raise ``LockLost`` unless all leases are good for ``at_least`` longer. Local, no I/O."""
        if self.lost:
            raise self._lost_error()
        for lease in self._leases.values():
            lease.check(at_least)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` once when the set is lost; at once if it is lost already."""
        once = _Once(callback)
        for lease in self._leases.values():
            lease.on_lost(once)

    def _checked(self, ttl: Duration) -> float:
        renewed = self._company.states[0].wants_renewal
        return checked_ttl(ttl, renew=renewed, capabilities=self._engine.backend.capabilities)

    def _lost_error(self) -> LockLost:
        session, company = self._engine.session, self._company
        lost = company.first_lost(session.runtime.now()) or company.states[0]
        return lost_error(session, lost)

    def _goes_in(self) -> None:
        """Count nothing: several names are not entered again."""

    def _comes_out(self) -> bool:
        """Let go in any case."""
        return True

    def _complain(self) -> None:
        """Raise ``LockLost`` for a set that was not good to its end, once."""
        states = self._company.states
        told = any(state.complained for state in states)
        if any(state.loss for state in states) and not told and self._on_loss != "flag":
            for state in states:
                state.complained = True
            raise self._lost_error()

    def __repr__(self) -> str:
        state = "held" if self.held else "lost" if self.lost else "released"
        return f"<{type(self).__name__} {list(self._leases)} {state}>"


class LeaseSet(LeaseSetFace[Lease]):
    """Leases on several names, for threads. A context manager that releases all of them."""

    __slots__ = ()

    def wait_lost(self, wait: Duration | None = None) -> bool:
        """Wait until the set is lost; ``False`` when ``wait`` is over or it was released."""
        session, states = self._engine.session, self._company.states
        return run(wait_any_lost(session, states, checked_wait(wait)))

    def extend(self, ttl: Duration) -> None:
        """Let all leases live for ``ttl`` from now, and renew them by that from now on."""
        run(extend_all(self._engine.session, self._company.states, self._checked(ttl)))

    def release(self) -> None:
        """Give all leases back; harmless when repeated; ``LockLost`` if they were lost before."""
        run(release_these(self._engine.session, self._company.states))
        self._complain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run(release_these(self._engine.session, self._company.states))
        if error is None:
            self._complain()


class AsyncLeaseSet(LeaseSetFace[AsyncLease]):
    """Leases on several names, for tasks: the twin of ``LeaseSet``."""

    __slots__ = ()

    async def wait_lost(self, wait: Duration | None = None) -> bool:
        """Wait until the set is lost; ``False`` when ``wait`` is over or it was released."""
        session, states = self._engine.session, self._company.states
        return await wait_any_lost(session, states, checked_wait(wait))

    async def extend(self, ttl: Duration) -> None:
        """Let all leases live for ``ttl`` from now, and renew them by that from now on."""
        await extend_all(self._engine.session, self._company.states, self._checked(ttl))

    async def release(self) -> None:
        """Give all leases back; harmless when repeated; ``LockLost`` if they were lost before."""
        await self._let_go()
        self._complain()

    def _let_go(self) -> Awaitable[bool]:
        return release_these(self._engine.session, self._company.states)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._let_go()
        if error is None:
            self._complain()


class _Once:
    """A callback for several leases: whichever is lost first calls it, the others do not."""

    __slots__ = ("_box",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self._box = [callback]

    def __call__(self) -> Any:
        try:
            callback = self._box.pop()  # one atomic operation decides who makes the call
        except IndexError:
            return None
        return callback()
