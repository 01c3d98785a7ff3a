"""Who watches a simulated world: told of everything, it asks each invariant in turn.

The world tells it what truly happens (the server's records, who is inside, who is dead), so that
what clients believe can be held against it. The first violation stops the world; it is noted and
not raised, because it would be raised inside the very code that is being examined.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.errors import BackendUnavailable
from holdfast.flows.book import LeaseState
from holdfast.observe.events import Event, Lost, Unrecorded
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import Break, Claim, Ended, Release, Reply, Request, Withdraw
from holdfast.testing.sim.client import Client
from holdfast.testing.sim.family_watch import FamilyWatch
from holdfast.testing.sim.invariants.deadlines import Deadlines
from holdfast.testing.sim.invariants.exclusion import Exclusion
from holdfast.testing.sim.invariants.fencing import Fencing
from holdfast.testing.sim.invariants.ghosts import Ghosts
from holdfast.testing.sim.invariants.heed import Heed
from holdfast.testing.sim.invariants.honesty import Honesty
from holdfast.testing.sim.invariants.keeping import Keeping
from holdfast.testing.sim.invariants.loudness import Loudness
from holdfast.testing.sim.invariants.order import FirstCome
from holdfast.testing.sim.invariants.records import Records
from holdfast.testing.sim.invariants.tokens import Tokens
from holdfast.testing.sim.resource import Resource, Write
from holdfast.testing.sim.scheduler import Task
from holdfast.testing.sim.server import Server
from holdfast.testing.sim.stay import Stay

if TYPE_CHECKING:
    from holdfast.testing.sim.world import World


class Violation(NamedTuple):
    """What was broken, when, and how it showed."""

    invariant: str
    at: float
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at:.6f} s: {self.text}"


class Watch:
    """Keeps what the invariants need to know, and the first violation."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.promises = world.promises
        self.violation: Violation | None = None
        self.stays: dict[str, list[Stay]] = {}  # by name, those whose body has not ended
        self.past: list[Stay] = []  # those whose body has ended, if their client is alive
        self.crowded: dict[str, list[Stay]] = {}  # names under which more are inside than may be
        self.asking: dict[Task | None, str] = {}  # which claim a caller sees through
        self.gathering: dict[Task | None, list[str]] = {}  # all ids of one that makes several
        self.minded: dict[str, float] = {}  # claims that somebody asks for or has, and since when
        self.ended_at: dict[str, float] = {}  # since when nobody minds a claim
        self.forced: set[tuple[str, int]] = set()  # grants broken by force
        self.flying: dict[str, int] = {}  # how many copies of a claim are under way
        self.doubled: set[str] = set()  # claims of which the network has made copies
        self.unfaced: set[str] = set()  # claims whose leases nobody ever had
        self.entries = 0
        self.losses = 0
        self.resource = Resource()
        self.exclusion = Exclusion(self)
        self.deadlines = Deadlines(self)
        self.tokens = Tokens(self)
        self.order = FirstCome(self)
        self.records = Records(self)
        self.heed = Heed(self)
        self.ghosts = Ghosts(self)
        self.honesty = Honesty(self)
        self.loudness = Loudness(self)
        self.keeping = Keeping(self)
        self.fencing = Fencing(self)
        self.family = FamilyWatch(self)

    def fail(self, invariant: str, text: str) -> None:
        """Note a violation and stop the world; only the first counts."""
        if self.violation is None:
            scheduler = self.world.scheduler
            self.violation = Violation(invariant, scheduler.time, text)
            self.world.note(None, "VIOLATION", invariant, text)
            scheduler.stopped = True

    def look(self) -> None:
        """Look after an event, while more are inside of some name than may be."""
        self.exclusion.look()

    # What the server does

    def stepped(
        self,
        server: Server,
        request: Request,
        before: Record,
        after: Record,
        closed: Collection[str],
    ) -> None:
        """Note that a record was changed."""
        if type(request) is Break and request.force:
            self._forced(request)
        if after.grants != before.grants:
            known = {grant.claim_id for grant in before.grants}
            new = [grant for grant in after.grants if grant.claim_id not in known]
            if new:
                for grant in new:
                    self.tokens.granted(after.name, grant)
                    self.family.leaders.granted(after.name)
                self.order.granted(before, after, closed)
            self.records.stepped(before, after)
            self.ghosts.look(server, after)

    def answered(self, request: Request, reply: Reply | BackendUnavailable) -> None:
        """Note what the server has answered: a claim that it called over stays so."""
        asked = type(request) in (Claim, Release, Withdraw)
        if asked and type(reply) is Ended and reply.how != "unknown":
            self.records.ended(reply.claim_id)

    def _forced(self, request: Break) -> None:
        self.forced.add((request.name, request.token))
        for stay in self.stays.get(request.name, ()):
            if stay.state.token == request.token:
                stay.excused = True

    def doubles(self, requests: Sequence[Request]) -> None:
        """Note that the network has made second copies of requests."""
        self.doubled.update(one.claim_id for request in requests for one in _claims(request))

    def under_way(self, request: Request, change: int) -> None:
        """Note that a claim has left, or has arrived; a claim is always alone in its letter."""
        for claim in _claims(request):
            self.flying[claim.claim_id] = self.flying.get(claim.claim_id, 0) + change

    # What callers do

    def claims(self, client: Client, claim_id: str) -> None:
        """Note that a caller begins to ask."""
        task = client.scheduler.current
        self.minded[claim_id] = client.scheduler.time
        if task in self.gathering:
            self.gathering[task].append(claim_id)
            return
        self._unmind(self.asking.get(task))
        self.asking[task] = claim_id

    def gathered(self, task: Task | None) -> None:
        """Note that nobody minds any more what a caller has gathered, and not kept."""
        for claim_id in self.gathering.pop(task, ()):
            self._unmind(claim_id)

    def asked_in_vain(self, client: Client, error: BaseException) -> None:
        """Note that an acquire ended without a lease."""
        claim_id = self.asking.pop(client.scheduler.current, None)
        if claim_id is not None and not client.dead:
            self._unmind(claim_id)
            self.honesty.refused(client, claim_id, error)

    def asked_all_in_vain(self, client: Client, ids: list[str], error: BaseException) -> None:
        """Note that several were asked for at once, and none was had."""
        if not client.dead:
            for claim_id in ids:
                self._unmind(claim_id)
                self.honesty.refused(client, claim_id, error)

    def entered(self, client: Client, state: LeaseState) -> Stay:
        """Note that a body was let in."""
        self.asking.pop(client.scheduler.current, None)
        self.entries += 1
        stay = Stay(client, state, self.world.scheduler.time)
        stay.excused = (state.name, state.token) in self.forced
        self.world.note(client, "is in", state.name, state.token)
        inside = self.stays.setdefault(state.name, [])
        self.tokens.seen(client.name, state.name, state.token)
        inside.append(stay)
        self._count(state.name)
        self.exclusion.look()
        self.exclusion.entered(stay, inside)
        self.loudness.entered(stay, inside)
        self.deadlines.entered(stay)
        return stay

    def inherits(self, child: Client, state: LeaseState) -> None:
        """Note that a forked child has a copy of a lease."""
        stay = Stay(child, state, 0.0)
        stay.inherited = True
        self.stays.setdefault(state.name, []).append(stay)
        self._count(state.name)

    def left(self, stay: Stay) -> None:
        """Note that a body has ended."""
        stay.over = True
        state = stay.state
        self.stays[state.name].remove(stay)
        self.past.append(stay)
        self._count(state.name)
        if not stay.inherited:
            self._unmind(state.claim_id)
        self.world.note(stay.client, "is out", state.name, state.token)

    def dropped(self, client: Client, state: LeaseState) -> None:
        """Note that an interruption came between the grant and the lease: nobody has it."""
        self.asking.pop(client.scheduler.current, None)
        self._unmind(state.claim_id)
        self.unfaced.add(state.claim_id)
        self.world.note(client, "drops", state.name, state.token)

    def crashed(self, client: Client) -> None:
        """Note that a client is dead: it believes nothing, and nobody minds its claims."""
        for name in tuple(self.stays):
            for stay in tuple(self.stays[name]):
                if stay.client is client:
                    self.stays[name].remove(stay)
                    self._unmind(stay.state.claim_id)
            self._count(name)
        for task, claim_id in tuple(self.asking.items()):
            if task is not None and task.process is client:
                self._unmind(claim_id)
                del self.asking[task]
        for task in tuple(self.gathering):
            if task is not None and task.process is client:
                self.gathered(task)
        self.past = [stay for stay in self.past if stay.client is not client]

    def wrote(self, write: Write) -> None:
        """Note that a write has arrived at what the lock protects."""
        self.fencing.wrote(write, *self.resource.write(write))

    def told(self, client: Client, event: Event) -> None:
        """Note what a client's observers were told."""
        if self.world.trace is not None:
            self.world.note(client, "tells", type(event).__name__, event)
        if type(event) is Unrecorded:
            self.family.leaders.unrecorded(event)
        if type(event) is Lost:
            self.losses += 1
            self.family.together.lost(client, event)
            for stay in (*self.stays.get(event.name, ()), *self.past):
                state = stay.state
                if stay.client is client and (state.name, state.token) == (event.name, event.token):
                    stay.told += 1
                    stay.told_at = self.world.scheduler.time

    def stumbled(self, client: Client, who: str, error: BaseException) -> None:
        """Note that something came out of the product that must never come out of it."""
        self.fail("nothing breaks", f"{client.name}: {who} ended with {error!r}")

    def number_of(self, state: LeaseState) -> int:
        """Say which of all grants a lease is."""
        return self.tokens.numbers.get((state.claim_id, state.token), 0)

    def _unmind(self, claim_id: str | None) -> None:
        if claim_id is not None and self.minded.pop(claim_id, None) is not None:
            self.ended_at[claim_id] = self.world.scheduler.time

    def _count(self, name: str) -> None:
        inside = self.stays[name]
        if sum(stay.state.want.weight for stay in inside) > (
            inside[0].state.want.capacity if inside else 0
        ):
            self.crowded[name] = inside
        else:
            self.crowded.pop(name, None)


def _claims(request: Request) -> tuple[Claim, ...]:
    if type(request) is Claim:
        return (request,)
    return request.claims if type(request) is ClaimAll else ()
