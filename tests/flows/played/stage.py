"""A stage for the flows: a clock that only tests move, a server that runs the rule, a faulty wire.

Fakes, not mocks: the server answers by ``rules.claim.step`` at the stage's own time, the wire does
to each message what the test has planned for it, and the keeper turns whenever time has come to
its next look. Nothing here suspends, so flows run to their end on one ``send``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from math import inf
from typing import Any, NamedTuple, TypeVar

from holdfast.errors import BackendUnavailable
from holdfast.flows.acquire import acquire
from holdfast.flows.book import Book, LeaseState
from holdfast.flows.keep import Patience, turn
from holdfast.flows.order import Order
from holdfast.flows.session import Session
from holdfast.observe.events import Event
from holdfast.ports import Bell, Push
from holdfast.rules import record
from holdfast.rules.claim import step
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    Claim,
    ListNames,
    Notice,
    Reply,
    Request,
    Seen,
    Want,
)
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Get, Swap
from holdfast.rules.together import step_all
from holdfast.runtimes.step import run
from holdfast.values import Holder

T = TypeVar("T")

START = 1000.0


class Clock:
    """Time, and what is going to happen at which moment of it."""

    def __init__(self) -> None:
        self.time = START
        self._agenda: list[tuple[float, Callable[[], object]]] = []
        self.keepers: list[FakeKeeper] = []

    def now(self) -> float:
        """Read the clock."""
        return self.time

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Plan something; the times of a plan count from the start."""
        self._agenda.append((START + time, action))

    def move(self, until: float, rung: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, with all that happens meanwhile, until ``until`` or until rung."""
        while not rung():
            upcoming = [keeper.due() for keeper in self.keepers]
            upcoming += [(time, action) for time, action in self._agenda]
            moment, action = min(upcoming, key=lambda one: one[0], default=(inf, None))
            if action is None or moment > until:
                self.time = max(self.time, until)
                return
            self.time = max(self.time, moment)
            self._agenda = [one for one in self._agenda if one[1] is not action]
            action()


class FakeBell:
    """Rung from the agenda; waiting moves the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rung = False

    def ring(self) -> None:
        """Ring."""
        self._rung = True

    async def wait(self, until: float) -> None:
        """Let time pass until rung."""
        self._clock.move(until, lambda: self._rung)
        self._rung = False


class FakeRuntime:
    """The stage's time, even dice, and one owner."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.now = clock.now
        self.me: object = "the owner"
        self.owner: Callable[[], object] = lambda: self.me
        self.pushed: list[Callable[[], object]] = []

    def dice(self) -> float:
        """Throw the middle, always."""
        return 0.5

    def bell(self) -> Bell:
        """Make a bell."""
        return FakeBell(self.clock)

    def push(self, owner: object) -> Push:  # noqa: ARG002 - the port's shape
        """Call back in place."""

        def in_place(callback: Callable[[], object]) -> None:
            callback()

        return in_place

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.move(self.clock.time + seconds)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Just do it."""
        return await work


class FakeServer:
    """Answers by the rule, at the stage's own time, and notes who would be told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.records: dict[str, Record] = {}
        self.kept: dict[tuple[str, str], Kept] = {}  # of the other family, by space and name
        self.notices: list[Notice] = []
        self.deliver: Callable[[Notice], None] | None = None

    def answer(self, request: Request) -> Reply:
        """Step one request."""
        if isinstance(request, ListNames):
            return Seen(())
        time = self._clock.time
        mint = int(time * 1_000_000)
        reply: Reply
        if isinstance(request, ClaimAll):
            names = [claim.name for claim in request.claims]
            before = {name: self.records.get(name) or Record(name) for name in names}
            after, reply, notices = step_all(before, request, time, mint)
            self.records.update(after)
        elif isinstance(request, (Get, Swap)):
            place = (request.space, request.name)
            self.kept[place], reply = record.step(self.kept.get(place) or Kept(), request, mint)
            notices = ()
        else:
            assert isinstance(request, CLAIM_REQUESTS), "no buckets are played here"
            known = self.records.get(request.name) or Record(request.name)
            self.records[request.name], reply, notices = step(known, request, time, mint)
        for notice in notices:
            self.notices.append(notice)
            if self.deliver is not None:
                self.deliver(notice)
        return reply

    def held_by(self, name: str = "x") -> list[str]:
        """Name the claims that hold."""
        record = self.records.get(name)
        return [grant.claim_id for grant in record.grants] if record else []

    def waiting_for(self, name: str = "x") -> list[str]:
        """Name the claims that wait."""
        record = self.records.get(name)
        return [waiter.claim_id for waiter in record.queue] if record else []


class Asked(NamedTuple):
    """One message, as it left."""

    request: Request
    at: float
    deadline: float


Fate = Callable[[Request, float], Reply]
"""What becomes of one message: given the request and the deadline, a reply or an error."""


class FakeWire:
    """Does to each message what was planned for it; what was not planned goes well."""

    def __init__(self, clock: Clock, server: FakeServer) -> None:
        self.clock = clock
        self.server = server
        self.asked: list[Asked] = []
        self.plan: deque[Fate] = deque()
        self.default: Fate = self.well
        self.closed = False

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Send one message."""
        self.asked.append(Asked(request, self.clock.time, deadline))
        fate = self.plan.popleft() if self.plan else self.default
        return fate(request, deadline)

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Send many; a failure meets them all, as in one transaction."""
        fate = self.plan.popleft() if self.plan else self.default
        answers: list[Reply | BackendUnavailable] = []
        for request in requests:
            self.asked.append(Asked(request, self.clock.time, deadline))
        for request in requests:
            try:
                answers.append(fate(request, deadline))
            except BackendUnavailable as error:
                answers.append(error)
        return answers

    def close(self) -> None:
        """Note it."""
        self.closed = True

    abandon = close

    def requests(self, kind: type[T]) -> list[T]:
        """Give the messages of one kind."""
        return [one.request for one in self.asked if isinstance(one.request, kind)]

    def well(self, request: Request, deadline: float) -> Reply:  # noqa: ARG002 - a fate's shape
        """Let it arrive, and the answer too."""
        return self.server.answer(request)

    def lost_request(self, request: Request, deadline: float) -> Reply:  # noqa: ARG002
        """Let it never arrive; its sender waits until the deadline."""
        self.clock.time = max(self.clock.time, deadline)
        raise BackendUnavailable("no answer", backend="fake", outcome="unknown")

    def lost_reply(self, request: Request, deadline: float) -> Reply:
        """Let it be carried out, but lose the answer."""
        self.server.answer(request)
        return self.lost_request(request, deadline)

    def refused(self, request: Request, deadline: float) -> Reply:  # noqa: ARG002
        """Fail at once: certainly nothing was changed."""
        raise BackendUnavailable("connection refused", backend="fake")

    def slow(self, there: float, back: float) -> Fate:
        """Make a fate that takes its time on the way there and on the way back."""

        def fate(request: Request, deadline: float) -> Reply:  # noqa: ARG001
            self.clock.time += there
            reply = self.server.answer(request)
            self.clock.time += back
            return reply

        return fate

    def says(self, reply: Reply) -> Fate:
        """Make a fate that answers with this, whatever the rule would say."""
        return lambda _request, _deadline: reply


class FakeKeeper:
    """Turns the keeper's flow whenever its time has come; can be told to sleep for good."""

    def __init__(self, clock: Clock, book: Book) -> None:
        self._clock = clock
        self._book = book
        self._patience = Patience()
        self.session: Session | None = None
        self.asleep = False
        self.minded = 0
        self._next = inf
        clock.keepers.append(self)

    def inbox(self) -> str:
        """Give an address."""
        return "inbox"

    def wake(self) -> None:
        """Look at once."""
        self._next = self._clock.time

    def mind(self) -> None:
        """Note that somebody cared."""
        self.minded += 1

    def due(self) -> tuple[float, Callable[[], object]]:
        """Say when to turn next."""
        return (inf if self.asleep else self._next), self.turn

    def turn(self) -> None:
        """Turn once."""
        assert self.session is not None
        self._next = inf
        looks_at = run(turn(self.session, self._patience))
        self._next = min(self._next, max(looks_at, self._clock.time))


class Listener:
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.curious = True

    def tell(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def heard(self, kind: type[T]) -> list[T]:
        """Give the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


class Stage:
    """One client on the stage: its session, its keeper, and the server behind two wires."""

    def __init__(self, *, call_limit: float = 5.0) -> None:
        self.clock = Clock()
        self.server = FakeServer(self.clock)
        self.wire = FakeWire(self.clock, self.server)
        self.keeper_wire = FakeWire(self.clock, self.server)
        self.runtime = FakeRuntime(self.clock)
        self.book = Book()
        self.hub = Listener()
        self.keeper = FakeKeeper(self.clock, self.book)
        self._ids = 0
        self.session = self._session(self.wire, call_limit)
        self.keeper.session = self._session(self.keeper_wire, call_limit)
        self.server.deliver = self._deliver

    def _session(self, wire: FakeWire, call_limit: float) -> Session:
        return Session(
            wire=wire,
            runtime=self.runtime,
            book=self.book,
            holder=Holder("me", "host", 1, "label"),
            backend="fake",
            call_limit=call_limit,
            hub=self.hub,
            keeper=self.keeper,
            new_id=self._new_id,
            command=lambda name: f"holdfast show {name}",
        )

    def _new_id(self) -> str:
        self._ids += 1
        return f"claim-{self._ids}"

    def _deliver(self, notice: Notice) -> None:
        if notice.inbox == "inbox":
            self.book.deliver(notice)
            self.keeper.wake()

    @property
    def time(self) -> float:
        """How long the play has lasted."""
        return self.clock.time - START

    def rival_takes(self, name: str = "x", ttl: float = 60.0, claim_id: str = "rival") -> None:
        """Let somebody else hold the name, or wait for it."""
        want = Want(kind="lock", capacity=1, weight=1, ttl=ttl)
        rival = Holder("rival", "elsewhere", 2)
        self.server.answer(Claim(name, claim_id, want, rival, "rival's", 60.0))

    def book_is_empty(self) -> bool:
        """Whether this client neither holds nor waits nor owns."""
        return not (self.book.leases or self.book.tickets or self.book.owned)

    def lose_notices(self) -> None:
        """From now on no notice arrives."""
        self.server.deliver = None


def cut_after(stage: Stage, seconds: float) -> Fate:
    """Make a fate: carried out, and the connection breaks ``seconds`` later."""

    def fate(request: Request, _deadline: float) -> Reply:
        stage.server.answer(request)
        stage.clock.time += seconds
        raise BackendUnavailable("connection lost", backend="fake", outcome="unknown")

    return fate


def order(wait: float | None = None, ttl: float = 10.0, **terms: Any) -> Order:
    """Order ``x``."""
    want = Want(kind="lock", capacity=1, weight=1, ttl=ttl, detached=terms.pop("detached", False))
    return Order(name="x", want=want, wait=wait, **terms)


def acquired(stage: Stage, wanted: Order) -> LeaseState:
    """Acquire, as a thread would."""
    return run(acquire(stage.session, wanted, ("test.py", 1)))
