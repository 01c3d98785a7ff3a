"""A scripted wire, a virtual clock and a keeper that only takes note: the ports, for flow tests.

Every await point of a fake really suspends and says what it is, so that a test can count them and
throw an exception in at each (``play``). Nothing here decides anything: what the backend answers
is a list the test wrote, and time passes only where a fake says so.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from math import inf
from types import coroutine
from typing import Any, NamedTuple, TypeAlias, TypeVar

from holdfast.errors import BackendUnavailable
from holdfast.flows.acquire import acquire
from holdfast.flows.book import Book, LeaseState
from holdfast.flows.keep import Patience, turn
from holdfast.flows.order import Order
from holdfast.flows.session import Session
from holdfast.observe.events import Event
from holdfast.ports import Bell, Push
from holdfast.rules.messages import (
    Claim,
    Ended,
    Granted,
    Notice,
    Release,
    Renewed,
    Reply,
    Request,
    Waiting,
    Want,
    Withdraw,
)
from holdfast.values import Holder

T = TypeVar("T")
EventT = TypeVar("EventT", bound=Event)

START = 1000.0
TTL = 10.0
CALL_LIMIT = 5.0
ME = Holder("c0ffee", "here", 42, "me")


class Lost(NamedTuple):
    """The reply never comes: the wire notices after ``after`` seconds, or at the deadline."""

    after: float = inf
    outcome: str = "unknown"


class Late(NamedTuple):
    """The reply comes after ``after`` seconds."""

    after: float
    reply: Reply


Answer: TypeAlias = "Reply | Lost | Late"


@coroutine
def _suspend(point: str) -> Generator[str, None, None]:
    yield point


def play(
    flow: Coroutine[Any, Any, T],
    strikes: Mapping[int, BaseException] | None = None,
    *,
    points: list[str] | None = None,
    on_strike: Callable[[], object] = lambda: None,
) -> T:
    """Run a flow to its end; at the await points numbered in ``strikes`` throw those into it."""
    struck = dict(strikes or {})
    passed = 0
    throw: BaseException | None = None
    while True:
        try:
            point = flow.send(None) if throw is None else flow.throw(throw)
        except StopIteration as done:
            result: T = done.value
            return result
        if points is not None:
            points.append(point)
        throw = struck.pop(passed, None)
        if throw is not None:
            on_strike()
        passed += 1


def _in_place(callback: Callable[[], object]) -> None:
    callback()


class FakeBell:
    """A bell that lets virtual time pass until it is rung."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rung = 0

    def ring(self) -> None:
        """Count, and wake the waiter."""
        self.rung += 1

    async def wait(self, until: float) -> None:
        """Let time pass, and what is on the agenda happen, until rung or ``until``."""
        await _suspend("bell")
        self._world.waits.append(until - self._world.time)
        before = self.rung
        self._world.pass_time(until, lambda: self.rung > before)


class World:
    """One client's ports and book: runtime, wire, keeper and hub in one, with a record of all."""

    curious = True

    def __init__(self, *script: Answer, call_limit: float = CALL_LIMIT) -> None:
        self.script = list(script)
        self.time = START
        self.sent: list[tuple[float, tuple[Request, ...]]] = []
        self.limits: list[float] = []
        self.events: list[Event] = []
        self.waits: list[float] = []
        self.woken = self.minded = 0
        self.patience = Patience()
        self.book = Book()
        self._agenda: list[tuple[float, Callable[[], object]]] = []
        self._ids = 0
        self.session = Session(
            wire=self,
            runtime=self,
            book=self.book,
            holder=ME,
            backend="fake",
            call_limit=call_limit,
            hub=self,
            keeper=self,
            new_id=self._new_id,
            command="show {}".format,
        )

    def acquire(self, order: Order | None = None) -> LeaseState:
        """Play the whole of ``acquire``."""
        return play(acquire(self.session, order or an_order(), ("here.py", 1)))

    def turn(self) -> float:
        """Play one turn of the keeper."""
        return play(turn(self.session, self.patience))

    def at(self, after: float, action: Callable[[], object]) -> None:
        """Make something happen when the clock reaches ``START + after``."""
        self._agenda.append((START + after, action))
        self._agenda.sort(key=lambda entry: entry[0])

    def pass_time(self, until: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Move the clock to ``until``, doing on the way what is on the agenda."""
        while self._agenda and self._agenda[0][0] <= until and not enough():
            at, action = self._agenda.pop(0)
            self.time = max(self.time, at)
            action()
        if not enough():
            assert until < inf, "a flow waits for ever"
            self.time = max(self.time, until)

    def rewrite(self, *script: Answer) -> None:
        """Let the backend answer this from now on."""
        self.script[:] = script

    def told(self, kind: type[EventT]) -> list[EventT]:
        """List the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def requests(self) -> list[Request]:
        """All that was ever sent, in order."""
        return [request for _, batch in self.sent for request in batch]

    @property
    def claims(self) -> list[str]:
        """The ids of all claims sent, in order."""
        return [request.claim_id for request in self.requests if isinstance(request, Claim)]

    @property
    def chores(self) -> list[Release | Withdraw]:
        """What was left to the keeper."""
        return [chore.request for chore in self.book.chores]

    def _new_id(self) -> str:
        self._ids += 1
        return f"c{self._ids}"

    def now(self) -> float:
        """Read the virtual clock."""
        return self.time

    def dice(self) -> float:
        """Throw a one every time."""
        return 0.0

    def owner(self) -> object:
        """There is one thread."""
        return "the thread"

    def bell(self) -> Bell:
        """Make a bell."""
        return FakeBell(self)

    def push(self, owner: object) -> Push:  # noqa: ARG002 - the port's shape
        """Call back in place."""
        return _in_place

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await _suspend("sleep")
        self.pass_time(self.time + seconds)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Just do it, as threads do."""
        return await work

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Answer with the next of the script."""
        answer = (await self.ask_all((request,), deadline))[0]
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Answer each with the next of the script; time passes as the slowest of them says."""
        self.sent.append((self.time, tuple(requests)))
        self.limits.append(deadline - self.time)
        await _suspend(type(requests[0]).__name__)
        began = self.time
        return [self._answer(request, began, deadline) for request in requests]

    def _answer(
        self, request: Request, began: float, deadline: float
    ) -> Reply | BackendUnavailable:
        assert self.script, f"the script has no answer to {request}"
        answer = self.script.pop(0)
        if isinstance(answer, Lost):
            self.pass_time(min(began + answer.after, max(began, deadline)))
            return BackendUnavailable("no answer", backend="fake", outcome=answer.outcome)
        if isinstance(answer, Late):
            self.pass_time(began + answer.after)
            return answer.reply
        return answer

    def close(self) -> None:
        """Nothing is open."""

    abandon = close

    def inbox(self) -> str:
        """Give the client's address."""
        return "inbox"

    def wake(self) -> None:
        """Count."""
        self.woken += 1

    def mind(self) -> None:
        """Count."""
        self.minded += 1

    def tell(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)


def an_order(name: str = "n", wait: float | None = None, ttl: float = TTL, **terms: Any) -> Order:
    """Order all of ``name``."""
    detached = bool(terms.pop("detached", False))
    return Order(name, Want("lock", 1, 1, ttl, detached=detached), wait, **terms)


def granted(claim_id: str = "c1", token: int = 7, remaining: float = TTL) -> Granted:
    """Grant a claim."""
    return Granted(claim_id, token, remaining, 0.0)


def waiting(retry_in: float | None = None) -> Waiting:
    """Leave a claim in the queue."""
    return Waiting(retry_in, ())


def renewed(*answers: Granted | Waiting | Ended) -> Renewed:
    """Answer the items of one renewal."""
    return Renewed(answers)


def notice(claim_id: str = "c1", token: int = 7, life: float = 3.0) -> Notice:
    """Tell of a grant handed over."""
    return Notice("granted", "inbox", "n", claim_id, token, life)
