"""One simulated process: a client with its book, its two ways to the server, its keeper.

It is put together as ``runtimes.engine`` does it, around the shipped flows and their book. The
process can be paused, killed and forked; each of its hosts' clocks goes its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from math import inf
from random import Random
from typing import TYPE_CHECKING

from holdfast.flows import release as releasing
from holdfast.flows import rounds
from holdfast.flows.book import Book
from holdfast.flows.session import Session
from holdfast.observe.events import Event
from holdfast.rules.messages import Claim
from holdfast.testing.sim.clocks import Clock
from holdfast.testing.sim.interruption import interrupt
from holdfast.testing.sim.keeper import SimKeeper
from holdfast.testing.sim.plan import Member
from holdfast.testing.sim.quorum import QuorumServer, QuorumWire
from holdfast.testing.sim.runtimes import AioLike, SyncLike
from holdfast.testing.sim.scheduler import Process, Task
from holdfast.testing.sim.server import Server
from holdfast.testing.sim.weather import Network
from holdfast.testing.sim.wire import SimWire
from holdfast.values import Holder

if TYPE_CHECKING:
    from holdfast.testing.sim.world import World

A_MOMENT = 0.0005
"""How long it takes at most until a thread or task runs that was woken."""


class Hub:
    """Passes a client's events on to whoever watches the world."""

    __slots__ = ("_client", "curious")

    def __init__(self, client: Client) -> None:
        self._client = client
        self.curious = client.world.trace is not None

    def tell(self, event: Event) -> None:
        """Pass an event on; a dead client tells nothing."""
        if not self._client.dead:
            self._client.world.watch.told(self._client, event)


class Client(Process):
    """One client, alone in its process."""

    def __init__(self, world: World, plan: Member, name: str) -> None:
        super().__init__(world.scheduler)
        self.world = world
        self.plan = plan
        self.name = name
        self.clock = Clock(plan.base, plan.rate)
        self.dice = Random(f"{world.plan.noise}/{name}")
        self.server: Server = world.server_of(self)
        self.holder = Holder(name, f"host-{plan.number}", plan.number)
        self.book = Book()
        self.hub = Hub(self)
        self.mark = 0
        self.cut_until = -inf
        self.resumed_at = -inf  # when its last pause ended
        self.latency = 2 * A_MOMENT  # how long it may take to run what is due
        self.claims = 0
        weather = world.weather
        self.network = Network(weather, self.dice, dict(plan.asks))
        self.keeper_network = Network(weather, self.dice, dict(plan.keeps))
        self.keeper = SimKeeper(self)
        self.runtime = AioLike(self) if plan.style == "aio" else SyncLike(self)
        if plan.interrupt_at:
            interrupt(self.runtime, plan.interrupt_at)
        self.claimed: dict[str, Claim] = {}  # by a quorum's wires: what its leases asked for
        self.session = self._session(self._wire(self.network, ""), self.runtime)
        self.keeper_wire = self._wire(self.keeper_network, "keeper ")
        self.keeper_session = self._session(self.keeper_wire, SyncLike(self))

    def _wire(self, network: Network, label: str) -> SimWire:
        if isinstance(self.server, QuorumServer):
            return QuorumWire(self, self.server, network, label)
        return SimWire(self, self.server, network, label)

    def _session(self, wire: SimWire, runtime: SyncLike) -> Session:
        return Session(
            wire=wire,
            runtime=runtime,
            book=self.book,
            holder=self.holder,
            backend="sim",
            call_limit=self.plan.call_limit,
            hub=self.hub,
            keeper=self.keeper,
            new_id=self._new_id,
            command=_command,
        )

    def _new_id(self) -> str:
        self.claims += 1
        claim_id = f"{self.name}-{self.claims}"
        self.world.watch.claims(self, claim_id)
        return claim_id

    def now(self) -> float:
        """Read the host's clock."""
        return self.clock.base + self.clock.rate * self.scheduler.time

    def wake_up(self, task: Task, turn: int) -> None:
        """Let a task go on in a moment."""
        scheduler = self.scheduler
        scheduler.at(scheduler.time + A_MOMENT * self.dice.random(), task.resume, (turn, None))

    def time_out(self, task: Task, until: float) -> None:
        """Let a task go on when the host's clock shows ``until``."""
        time = self.clock.when(until, self.scheduler.time)
        if time < inf:
            self.scheduler.at(time, task.resume, (task.turn, None))

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call back in a moment, when this process runs."""
        self.scheduler.at(self.scheduler.time + A_MOMENT, self._call, callback)

    def _call(self, callback: Callable[[], object]) -> None:
        if self.dead:
            return
        if self.halted:
            self.backlog.append((self._call, callback))
            return
        callback()

    async def close(self) -> None:
        """Give back what is held and end, as ``Engine.close`` does."""
        self.book.closing = True
        await releasing.release_all(self.session)
        goodbye = self.runtime.bell()
        if self.keeper.stop(goodbye):
            await goodbye.wait(self.now() + self.plan.call_limit)

    def fork(self, child: Client) -> Book:
        """Give the book that ``child`` inherits: the shipped flow says what it is worth there."""
        inherited = Book()
        inherited.leases = {claim_id: copy(state) for claim_id, state in self.book.leases.items()}
        inherited.tickets = {claim_id: copy(one) for claim_id, one in self.book.tickets.items()}
        rounds.disinherit(inherited)
        child.mark = self.mark
        return inherited

    async def leave_bodies(self, inherited: Book) -> None:
        """End the bodies that a fork copied, as the child's ``with`` statements do."""
        for state in tuple(inherited.leases.values()):
            await releasing.release(self.session, state)


def _command(name: str) -> str:
    return f"holdfast show {name}"
