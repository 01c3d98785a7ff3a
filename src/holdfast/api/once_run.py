"""One visit to a once key, inside of a ``with``: what was done before, or the right to do it."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from holdfast.api.lease import AsyncLease, Lease
from holdfast.api.lock import AsyncLock, Lock
from holdfast.errors import HoldfastError, LockBusy, Misuse
from holdfast.flows.once import Plan, Stored, begin, recall, store, store_failure
from holdfast.flows.order import Order
from holdfast.runtimes.engine import Engine
from holdfast.runtimes.step import run
from holdfast.values import Json, OnLoss

LeaseT = TypeVar("LeaseT", Lease, AsyncLease)
LockT = TypeVar("LockT", Lock, AsyncLock)


class Terms:
    """What all visits to a key have in common."""

    __slots__ = ("client", "engine", "on_loss", "order", "plan", "store_errors")

    def __init__(
        self,
        client: object,
        engine: Engine,
        order: Order,
        plan: Plan,
        on_loss: OnLoss,
        *,
        store_errors: bool,
    ) -> None:
        self.client = client
        self.engine = engine
        self.order = order
        self.plan = plan
        self.on_loss: OnLoss = on_loss
        self.store_errors = store_errors


class _RunFace(Generic[LockT, LeaseT]):
    """What both twins say without asking anybody."""

    __slots__ = ("_given_up", "_lease", "_lock", "_stored", "_terms", "_worked")

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._lock: LockT | None = None
        self._lease: LeaseT | None = None
        self._stored: Stored | None = None
        self._given_up = False
        self._worked = False

    @property
    def key(self) -> str:
        """Which key this is about."""
        return self._terms.plan.key

    @property
    def done(self) -> bool:
        """Whether there is a result: somebody else's, or the one stored here."""
        return self._stored is not None

    @property
    def result(self) -> Any:
        """The result; ``Misuse`` while there is none."""
        if self._stored is None:
            raise Misuse(f"{self._terms.plan.called} has no result yet: ask done first")
        return self._stored.result

    @property
    def lease(self) -> LeaseT | None:
        """The lease under which the work is done; ``None`` where it was done before."""
        return self._lease

    def give_up(self) -> None:
        """Leave without a result on purpose: whoever comes next does the work."""
        self._given_up = True

    def _at_work(self) -> LeaseT:
        if self._lease is None or self._stored is not None:
            raise Misuse(
                f"{self._terms.plan.called} is done already; its result cannot be replaced"
            )
        self._worked = True  # what goes wrong from here on is no failure of the work
        return self._lease

    def _keep(self, lease: LeaseT, value: object) -> None:
        self._stored = Stored(value)
        lease._on_loss = "flag"  # noqa: SLF001 - it is stored: a loss from here on spoils nothing

    def _to_be_stored(self, error: BaseException | None) -> Exception | None:
        """Give the error whose story others are to be told, if that was asked for."""
        wanted = self._terms.store_errors and not self._worked
        return error if wanted and isinstance(error, Exception) else None

    def _insist_on_result(self, error: BaseException | None) -> None:
        if error is None and not self.done and not self._given_up:
            raise Misuse(
                f"{self._terms.plan.called} was left without a result, so the work would be done"
                " again: store() it (None is a result too), or say give_up()"
            )

    def __repr__(self) -> str:
        state = "done" if self.done else "at work"
        return f"<{type(self).__name__} {self.key!r} {state}>"


class OnceRun(_RunFace[Lock, Lease]):
    """A visit to a once key, for threads."""

    __slots__ = ()

    def store(self, value: Json | bytes) -> None:
        """Store the result: bytes, or what JSON can say. From now on everybody gets it.

        ``LockLost`` if somebody else has taken over meanwhile: then nothing is stored.
        """
        lease = self._at_work()
        run(store(self._terms.engine.session, self._terms.plan, lease, value))
        self._keep(lease, value)

    def __enter__(self) -> Self:
        terms = self._terms
        session = terms.engine.session
        self._stored = run(recall(session, terms.plan))
        if self._stored is not None:
            return self
        lock = Lock(terms.client, terms.engine, terms.order, terms.on_loss)
        try:
            lease = lock.__enter__()
        except LockBusy:  # the wait ended in the line of those who only want to see the result
            self._stored = run(recall(session, terms.plan))
            if self._stored is None:
                raise
            return self
        try:
            self._stored = run(begin(session, terms.plan, lease))
        except BaseException:
            lock.__exit__(*sys.exc_info())
            raise
        if self._stored is not None:
            lease._on_loss = "flag"  # noqa: SLF001 - there is nothing to be spoiled
            lock.__exit__(None, None, None)
            return self
        self._lock, self._lease = lock, lease
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lock, lease = self._lock, self._lease
        if lock is None or lease is None:
            return
        try:
            failure = self._to_be_stored(error)
            if failure is not None:
                terms = self._terms
                run(store_failure(terms.engine.session, terms.plan, lease, failure))
        except HoldfastError as unstored:
            _note(error, unstored)
        finally:
            lock.__exit__(kind, error, traceback)
        self._insist_on_result(error)


class AsyncOnceRun(_RunFace[AsyncLock, AsyncLease]):
    """A visit to a once key, for tasks: the twin of ``OnceRun``."""

    __slots__ = ()

    async def store(self, value: Json | bytes) -> None:
        """Store the result: bytes, or what JSON can say. From now on everybody gets it.

        ``LockLost`` if somebody else has taken over meanwhile: then nothing is stored.
        """
        lease = self._at_work()
        await store(self._terms.engine.session, self._terms.plan, lease, value)
        self._keep(lease, value)

    async def __aenter__(self) -> Self:
        terms = self._terms
        session = terms.engine.session
        self._stored = await recall(session, terms.plan)
        if self._stored is not None:
            return self
        lock = AsyncLock(terms.client, terms.engine, terms.order, terms.on_loss)
        try:
            lease = await lock.__aenter__()
        except LockBusy:  # the wait ended in the line of those who only want to see the result
            self._stored = await recall(session, terms.plan)
            if self._stored is None:
                raise
            return self
        try:
            self._stored = await begin(session, terms.plan, lease)
        except BaseException:
            await lock.__aexit__(*sys.exc_info())
            raise
        if self._stored is not None:
            lease._on_loss = "flag"  # noqa: SLF001 - there is nothing to be spoiled
            await lock.__aexit__(None, None, None)
            return self
        self._lock, self._lease = lock, lease
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lock, lease = self._lock, self._lease
        if lock is None or lease is None:
            return
        try:
            failure = self._to_be_stored(error)
            if failure is not None:
                terms = self._terms
                await store_failure(terms.engine.session, terms.plan, lease, failure)
        except HoldfastError as unstored:
            _note(error, unstored)
        finally:
            await lock.__aexit__(kind, error, traceback)
        self._insist_on_result(error)


def _note(error: BaseException | None, unstored: HoldfastError) -> None:
    """Say beside the work's own error that others will not be told of it."""
    if error is not None:
        error.add_note(f"holdfast could not store this failure: {unstored.message}")
