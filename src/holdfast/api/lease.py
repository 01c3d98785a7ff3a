"""What every primitive gives you: a lease, and its async twin. The clock alone says ``held``."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from holdfast.api.checks import checked_ttl, checked_wait
from holdfast.durations import Duration, seconds
from holdfast.errors import LockLost
from holdfast.flows.book import Chore, LeaseState
from holdfast.flows.lose import disown, lost_error, short_error
from holdfast.flows.release import release
from holdfast.rules.messages import Release
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import Holder, Json, OnLoss, called, loaded, origin


class _LeaseFace:
    """What both twins say without asking anybody."""

    __slots__ = ("__weakref__", "_claimant", "_engine", "_on_loss", "_owner", "_state")

    def __init__(self, owner: object, engine: Engine, state: LeaseState, on_loss: OnLoss) -> None:
        self._owner = owner  # the client: it must not be collected while its lease is in use
        self._engine = engine
        self._state = state
        self._claimant = state.owner  # the thread or task that acquired it
        self._on_loss = on_loss
        state.face = weakref.ref(self)

    @property
    def name(self) -> str:
        """What is held: a lock's name, or the key or name behind which this lease stands."""
        return origin(self._state.name)[1]

    @property
    def token(self) -> int:
        """The fencing number: larger on every later grant of the same name."""
        return self._state.token

    @property
    def holder(self) -> Holder:
        """Who holds it: this client."""
        return self._engine.holder

    @property
    def metadata(self) -> dict[str, Json]:
        """What was said about this lease when it was asked for."""
        return loaded(self._state.want.metadata) or {}

    @property
    def acquired_at(self) -> float:
        """When it was granted, by the backend's wall clock: for people, never for a decision."""
        return self._state.granted_at

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, on this host's own clock; 0 when the lease is over."""
        now = self._engine.session.runtime.now()
        return max(0.0, self._state.deadline - now) if self._state.holds(now) else 0.0

    @property
    def held(self) -> bool:
        """Whether the lease is good at this moment."""
        return self._state.holds(self._engine.session.runtime.now())

    @property
    def lost(self) -> bool:
        """Whether the lease ended without having been released."""
        return self._state.is_lost(self._engine.session.runtime.now())

    @property
    def slots(self) -> tuple[int, ...]:
        """The indices of a semaphore's permits, unique among its holders."""
        return self._state.slots

    @property
    def slot(self) -> int | None:
        """The first of ``slots``."""
        return self._state.slots[0] if self._state.slots else None

    def check(self, at_least: Duration = 0) -> None:
        """Raise ``LockLost`` unless the lease is good for ``at_least`` longer. Local, no I/O.

        What no check can see is a pause right after it: give ``token`` to the protected resource.
        """
        state = self._state
        margin = 0.0 if at_least == 0 else seconds(at_least, "at_least")
        now = self._engine.session.runtime.now()
        if not state.holds(now):
            raise self._lost_error()
        if not state.holds(now + margin):
            raise short_error(state, state.deadline - now, margin)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when the lease is lost; at once if it is lost already."""
        state = self._state
        state.listeners.append(callback)
        if state.loss and state.claim_id not in self._engine.book.leases:
            # Told already: whoever takes the callback off the list makes the one call.
            try:
                state.listeners.remove(callback)
            except ValueError:
                return
            state.push(callback)

    def _checked(self, ttl: Duration) -> float:
        capabilities = self._engine.backend.capabilities
        return checked_ttl(ttl, renew=self._state.wants_renewal, capabilities=capabilities)

    def _lost_error(self) -> LockLost:
        return lost_error(self._engine.session, self._state)

    def _goes_in(self) -> None:
        """Count a ``with``."""
        self._state.withs += 1

    def _comes_out(self) -> bool:
        """Say whether a ``with`` lets go: if it was released by hand, the rest is not its own."""
        state = self._state
        state.withs -= 1
        if state.let_go:
            state.let_go -= 1
            return False
        return True

    def _by_hand(self) -> None:
        """Note that the innermost ``with`` is released, if there is nothing but those."""
        state = self._state
        if 1 < state.count == state.withs:
            state.let_go += 1

    def _complain(self) -> None:
        """Raise ``LockLost`` for a lease that was not good to its end, once to whoever let go."""
        state = self._state
        lost = state.loss or (not state.released and self.lost)  # an inner ``with`` lets nothing go
        if lost and not state.complained and self._on_loss != "flag":
            state.complained = state.released  # what the inner one says, the outer one says too
            raise self._lost_error()

    def __repr__(self) -> str:
        now = self._engine.session.runtime.now()
        state = "held" if self._state.holds(now) else "lost" if self.lost else "released"
        return f"<{type(self).__name__} {self.name!r} token={self.token} {state}>"

    def __del__(self) -> None:
        try:
            state = self._state
        except AttributeError:  # an interruption came before it had one
            return
        if state.released or state.want.detached:
            return
        state.released = True
        if self._engine.book.leases.pop(state.claim_id, None) is None:
            return
        # A finaliser takes no lock and does no I/O: it leaves word for the keeper.
        release_later = Chore(Release(state.name, state.claim_id), state.surely_over_at)
        disown(self._engine.session, state)
        self._engine.book.chores.append(release_later)
        self._engine.keeper.nudge()
        warnings.warn(
            f"the lease on {called(state.name)} was dropped without being released",
            ResourceWarning,
            stacklevel=1,
            source=self,
        )


class Lease(_LeaseFace):
    """A granted claim, for threads. A context manager that releases."""

    __slots__ = ()

    def wait_lost(self, wait: Duration | None = None) -> bool:
        """Wait until the lease is lost; ``False`` when ``wait`` is over or it was released."""
        from holdfast.flows.wait_lost import wait_lost  # few wait for it

        return run(wait_lost(self._engine.session, self._state, checked_wait(wait)))

    def extend(self, ttl: Duration) -> None:
        """Let the lease live for ``ttl`` from now, and renew it by that from now on."""
        from holdfast.flows.extend import extend  # few need it

        run(extend(self._engine.session, self._state, self._checked(ttl)))

    def release(self) -> None:
        """Give the lease back; harmless when repeated; ``LockLost`` if it was lost before."""
        self._by_hand()
        run(release(self._engine.session, self._state))
        self._complain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run(release(self._engine.session, self._state))
        if error is None:
            self._complain()


class AsyncLease(_LeaseFace):
    """A granted claim, for tasks: the twin of ``Lease``. An async context manager that releases."""

    __slots__ = ()

    async def wait_lost(self, wait: Duration | None = None) -> bool:
        """Wait until the lease is lost; ``False`` when ``wait`` is over or it was released."""
        from holdfast.flows.wait_lost import wait_lost  # few wait for it

        return await wait_lost(self._engine.session, self._state, checked_wait(wait))

    async def extend(self, ttl: Duration) -> None:
        """Let the lease live for ``ttl`` from now, and renew it by that from now on."""
        from holdfast.flows.extend import extend  # few need it

        await extend(self._engine.session, self._state, self._checked(ttl))

    async def release(self) -> None:
        """Give the lease back; harmless when repeated; ``LockLost`` if it was lost before."""
        self._by_hand()
        await release(self._engine.session, self._state)
        self._complain()

    def _let_go(self) -> Awaitable[None]:
        return release(self._engine.session, self._state)

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
