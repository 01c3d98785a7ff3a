"""What one thread or task of a worker writes down: its claims, step by step, and its mishaps.

Moments are taken where the form of histories wants them: before a call or after it, see
``holdfast.testing.history.form``. The same diary serves threads and tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from holdfast.api.lease import AsyncLease, Lease
from holdfast.errors import HoldfastError
from holdfast.observe import events
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.record import Recorder
from holdfast.testing.workload.company import CompanyNotes
from holdfast.testing.workload.kinds import room
from holdfast.testing.workload.plan import Plan
from holdfast.testing.workload.resource import Refused, Resource
from holdfast.testing.workload.turn import Turn

current: ContextVar[Diary] = ContextVar("current")
"""The diary of the thread or task that runs: what an observer is told there belongs to it."""


class Diary:
    """The history of one thread or task, and what it may write to."""

    def __init__(self, plan: Plan, actor: str, client: str) -> None:
        """Begin the history of ``actor``, which works with the client of this id."""
        folder = Path(plan.folder)
        self.actor = actor
        self._recorder = Recorder(folder, actor, seed=plan.seed, client=client)
        self._number = 0
        self._failure: Exception | None = None
        self._company: CompanyNotes | None = None  # while several names are asked for at once
        self._elsewhere = False  # on an errand that has no claim of ours
        self._fenced, self._unfenced = (
            {
                name: Resource(folder, f"{kind}-{number}", fenced=kind == "fenced")
                for number, name in enumerate(plan.names)
            }
            for kind in ("fenced", "unfenced")
        )

    def ask(self, turn: Turn) -> None:
        """Put down what will be asked for, before it is asked."""
        self._number = self._recorder.claim()
        weight, capacity = room(turn.name, shares=turn.shares)
        self.note(
            "ask",
            name=turn.name,
            weight=weight,
            capacity=capacity,
            ttl=turn.ttl,
            wait=turn.wait,
            renew=turn.renew,
            max_hold=turn.max_hold,
        )

    def note(self, do: str, /, **fields: Any) -> None:
        """Put down something about the claim that is under way."""
        self._raise_failure()
        self._recorder.note(do, n=self._number, **fields)

    def remark(self, do: str, /, *, at: int | None = None, **fields: Any) -> None:
        """Put down something that is about no claim."""
        self._raise_failure()
        self._recorder.note(do, at=at, **fields)

    @contextmanager
    def company(self, turn: Turn) -> Iterator[CompanyNotes]:
        """Put down what becomes of several names that are asked for meanwhile."""
        self._company = CompanyNotes(self._recorder, turn)
        try:
            yield self._company
        finally:
            self._company = None

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Put down nothing of the claims that are made meanwhile: a rule of its own judges them."""
        self._elsewhere = True
        try:
            yield
        finally:
            self._elsewhere = False

    def check(self, lease: Lease | AsyncLease) -> None:
        """See that the lease is good, and put down that it was at this moment."""
        at = now_ns()
        lease.check()
        self._recorder.note("checked", at=at, n=self._number)

    def left(self, since: int, how: str) -> None:
        """Put down that a lease was given back."""
        self.note("left", since=since, how=how)

    def gave_up(self, error: HoldfastError, do: str) -> None:
        """Put down that a claim came to nothing."""
        self.note(do, why=type(error).__name__)

    def mishap(self, kind: str) -> None:
        """Put down something rash of our own."""
        self._recorder.note("mishap", kind=kind)

    def breaking(self, name: str, token: int, *, force: bool) -> None:
        """Put down that a lock will be broken: before, for from then on two may believe."""
        self._recorder.note("breaking", name=name, token=token, force=force)

    def broke(self, name: str, token: int, how: str, *, force: bool) -> None:
        """Put down what became of it."""
        self._recorder.note("broke", name=name, token=token, force=force, how=how)

    def read(self, name: str, token: int, *, fenced: bool) -> int | None:
        """Read the counter that the lock protects; ``None`` if the token is refused."""
        resource = (self._fenced if fenced else self._unfenced)[name]
        try:
            return resource.read(token, self.actor, self._number)
        except Refused as refusal:
            self.note("refused", resource=resource.name, seen=refusal.seen)
            return None

    def write(self, name: str, token: int, value: int, *, fenced: bool) -> None:
        """Write the counter that the lock protects."""
        resource = (self._fenced if fenced else self._unfenced)[name]
        try:
            resource.write(token, self.actor, self._number, value)
        except Refused as refusal:
            self.note("refused", resource=resource.name, seen=refusal.seen)

    def inherited(self, lease: Lease, parent: Diary) -> None:
        """Put down, in a forked child, whether it believes in its parent's lease."""
        self._recorder.note("inherited", n=parent._number, held=lease.held, parent=parent.actor)

    def end(self) -> None:
        """Put down that there is nothing more to do."""
        self._raise_failure()
        self._recorder.note("end")
        self._recorder.close()

    def hear(self, event: events.Event) -> None:
        """Put down what only an observer hears; a failure must not end in a log unseen."""
        try:
            if self._company is not None:
                self._company.hear(event)
                return
            if self._elsewhere:
                return
            match event:
                case events.Queued():
                    self.note("queued")
                case events.PlaceLost(reason=reason):
                    self.note("displaced", why=reason)
                case _:
                    pass
        except Exception as failure:  # noqa: BLE001 - raised at the next word of this diary
            self._failure = failure

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def observe(event: events.Event) -> None:
    """Give an event to the diary of the thread or task in which it happened; keepers have none."""
    with suppress(LookupError):
        current.get().hear(event)
