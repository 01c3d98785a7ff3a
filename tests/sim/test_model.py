"""The model itself: its server, its clocks, its processes. What is wrong here proves nothing."""

from math import inf

import pytest

from holdfast.errors import BackendUnavailable
from holdfast.rules.bucket_messages import BucketReply, GiveBack, Take
from holdfast.rules.holding import Record
from holdfast.rules.messages import Claim, Ended, Granted, ListNames, Release, Request, Seen, Want
from holdfast.rules.messages import Waiting as InLine
from holdfast.rules.record import Kept
from holdfast.rules.record_messages import Swap
from holdfast.testing.sim import World
from holdfast.testing.sim.clocks import Clock
from holdfast.testing.sim.plan import Fault, Hold, Host, Member, Plan
from holdfast.testing.sim.scenarios import STEADY, lock
from holdfast.testing.sim.scheduler import Process, Scheduler, Task, park
from holdfast.testing.sim.server import Server
from holdfast.values import Holder


class Unwatched:
    """Nobody looks."""

    @property
    def family(self) -> "Unwatched":
        """Nobody looks at records and buckets either."""
        return self

    def swapped(self, request: Swap, before: Kept, after: Kept, now: int) -> None:
        """Look away."""

    def drew(self, request: Take | GiveBack, reply: BucketReply, *, anew: bool) -> None:
        """Look away."""

    def stepped(
        self, server: Server, request: Request, before: Record, after: Record, closed: object
    ) -> None:
        """Look away."""

    def answered(self, request: Request, reply: object) -> None:
        """Look away."""


def a_server(host: Host | None = None) -> Server:
    """Start a server that nobody watches."""
    return Server(host or Host(), Scheduler(), Unwatched())


def a_claim(claim_id: str, patience: float = 3.0, ttl: float = 5.0) -> Claim:
    """Claim ``a`` for oneself."""
    want = Want("lock", 1, 1, ttl)
    return Claim("a", claim_id, want, Holder(claim_id, "", 0), claim_id, patience)


def test_a_server_answers_by_the_rule() -> None:
    """Granted, in line, handed over when it is given back."""
    server = a_server()
    assert isinstance(server.answer(a_claim("x")), Granted)
    assert isinstance(server.answer(a_claim("y")), InLine)
    assert isinstance(server.answer(Release("a", "x")), Ended)
    seen = server.answer(ListNames(""))
    assert isinstance(seen, Seen)
    assert seen.locks[0].waiters == 1  # its inbox was never opened: passed over, not dropped
    assert isinstance(server.answer(a_claim("y")), Granted)


def test_a_server_without_memory_waits_out_its_quarantine() -> None:
    """It queues who waits, refuses who does not, grants nothing; then it has another mark."""
    server = a_server(Host(quarantine=10.0))
    before = server.mark
    server.answer(a_claim("x"))
    server.restart("forget")
    assert server.mark == 0
    waiting = server.answer(a_claim("y", patience=20.0))
    assert isinstance(waiting, InLine)
    assert waiting.retry_in == pytest.approx(10.0)
    refused = server.answer(a_claim("z", patience=0.0))
    assert isinstance(refused, BackendUnavailable)
    assert refused.outcome == "none"
    server.scheduler.time = 9.9
    assert isinstance(server.answer(a_claim("y", patience=20.0)), InLine)
    server.scheduler.time = 10.0
    assert isinstance(server.answer(a_claim("y")), Granted)
    assert server.mark not in (0, before)


def test_a_server_comes_back_with_its_memory_or_an_older_one() -> None:
    """A plain restart forgets nothing; a roll-back forgets what came after the snapshot."""
    server = a_server()
    server.take_snapshot()
    server.answer(a_claim("x"))
    server.restart("restart")
    assert server.records["a"].grants
    server.restart("rollback")
    assert server.records == {}
    assert server.mark == 1


def test_leases_may_run_on_the_wall_clock() -> None:
    """With one clock setting it back makes leases longer; with two it changes tokens alone."""
    one, two = a_server(Host(one_clock=True)), a_server()
    for server in (one, two):
        server.answer(a_claim("x", ttl=5.0))
        server.wall.step(-100.0)
        server.scheduler.time = 6.0
    assert isinstance(one.answer(a_claim("y")), InLine)
    assert isinstance(two.answer(a_claim("y")), Granted)


@pytest.mark.parametrize("rate", [0.995, 1.0, 1.005])
def test_a_clock_shows_what_it_was_asked_for(rate: float) -> None:
    """At the true time that it names it shows that time, never a hair less."""
    clock = Clock(1234.5, rate)
    for shown in (1234.5, 1300.1, 99999.9):
        time = clock.when(shown, 0.0)
        assert clock.at(time) >= shown
        assert clock.at(time) == pytest.approx(shown)
    assert clock.when(inf, 0.0) == inf
    assert clock.when(-inf, 7.0) == 7.0


def test_a_stopped_process_does_later_what_came_meanwhile() -> None:
    """In the order in which it came, and not before it goes on."""
    scheduler = Scheduler()
    process = Process(scheduler)
    heard: list[object] = []

    async def listen() -> None:
        while True:
            heard.append(await park())

    task = Task(process, listen(), "listener")
    scheduler.run(1.0, {}, lambda: None)
    process.halt()
    scheduler.at(2.0, task.resume, (task.turn, "early"))
    scheduler.run(3.0, {}, lambda: None)
    assert heard == []
    process.go_on()
    scheduler.run(4.0, {}, lambda: None)
    assert heard == ["early"]
    process.die()
    assert task.done


def test_a_dead_process_cleans_nothing_up() -> None:
    """What a killed client held stays held until it ends by itself, and its rival waits."""
    holder = Hold("a", lock(4.0), steps=(10.0,))
    rival = Hold("a", lock(4.0), before=0.5)
    members = (Member(0, "aio", ((holder,),)), Member(1, "sync", ((rival,),)))
    plan = Plan(members, (Fault(1.0, "crash"),), STEADY, heals_at=10.0)
    world = World(plan, traced=True)
    assert world.run() is None
    entered = [note.at for note in world.trace or [] if note.what == "is in"]
    assert entered[1] == pytest.approx(4.0, abs=0.1)


def test_a_forked_child_leaves_its_parent_alone() -> None:
    """The parent works on undisturbed; the child has to wait for it."""
    mine = Hold("a", lock(2.0), steps=(1.0, 1.0))
    plan = Plan((Member(0, "sync", ((mine,),)),), (Fault(0.5, "fork"),), STEADY, heals_at=8.0)
    world = World(plan)
    assert world.run() is None
    assert world.watch.entries == 2
    assert world.watch.losses == 0
