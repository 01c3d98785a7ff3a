"""A simulated world: a plan brought to life, run to its end, and watched all the way.

Three acts. Until ``heals_at`` faults happen. Then the weather is calm and everyone who asks must
get in. At the end clients are closed or left alone, time passes, and nothing may be left over.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules.lease import PATIENCE
from holdfast.testing.sim.caller import STRUCK, Caller
from holdfast.testing.sim.client import Client
from holdfast.testing.sim.faults import happen, pause
from holdfast.testing.sim.invariants import ghosts, leaks, liveness
from holdfast.testing.sim.plan import Member, Plan
from holdfast.testing.sim.promises import promised_in
from holdfast.testing.sim.quorum import QuorumServer
from holdfast.testing.sim.scheduler import MOST_STEPS, Killed, Scheduler, Task
from holdfast.testing.sim.server import Server
from holdfast.testing.sim.watch import Violation, Watch

LOOK_EVERY = 1.0
"""How often it is looked whether somebody waits for too long."""


class Note(NamedTuple):
    """One line of a trace."""

    at: float
    who: str
    what: str
    label: str
    detail: object


class World:
    """Everything there is in one run."""

    def __init__(self, plan: Plan, *, traced: bool = False) -> None:
        self.plan = plan
        self.promises = promised_in(plan)
        self.trace: list[Note] | None = [] if traced else None
        self.scheduler = Scheduler()
        self.weather = plan.weather
        self.healed = False
        self.watch = Watch(self)
        self.server: Server = Server(plan.host, self.scheduler, self.watch)
        if plan.quorum is not None:
            self.server = QuorumServer(plan.host, plan.quorum, self.scheduler, self.watch)
        self.clients: list[Client] = []
        self.callers: list[Caller] = []
        self.turns: dict[str, int] = {}  # how often each caller was suspended
        self._running = 0

    def server_of(self, client: Client) -> Server:  # noqa: ARG002 - one day there are several
        """Say which server a client talks to."""
        return self.server

    def note(self, who: Client | None, what: str, label: str = "", detail: object = None) -> None:
        """Write a line into the trace, if there is one."""
        if self.trace is not None:
            name = who.name if who is not None else ""
            self.trace.append(Note(self.scheduler.time, name, what, label, detail))

    def run(self) -> Violation | None:
        """Live through the plan; give the first violation, if there is one."""
        for fault in self.plan.faults:
            self.scheduler.at(fault.at, lambda fault: happen(self, fault), fault)
            if fault.kind == "rollback":
                earlier = max(0.0, fault.at - fault.amount)
                self.scheduler.at(earlier, lambda _: self.server.take_snapshot())
        for member in self.plan.members:
            self.scheduler.at(member.starts_at, self._start, member)
        self._live_until_healed()
        if self._goes_on():
            self._see_everyone_in()
        if self._goes_on():
            self._end()
        for client in self.clients:  # so that no coroutine is left to the collector
            client.die()
        return self.watch.violation

    def _goes_on(self) -> bool:
        if self.scheduler.steps >= MOST_STEPS:
            self.watch.fail("nothing goes round in circles", f"{self.scheduler.steps} events")
        return self.watch.violation is None

    def _pass(self, seconds: float) -> None:
        until = self.scheduler.time + seconds
        self.scheduler.run(until, self.watch.crowded, self.watch.look)

    def _live_until_healed(self) -> None:
        while self.scheduler.time < self.plan.heals_at and self._goes_on():
            self._pass(min(LOOK_EVERY, self.plan.heals_at - self.scheduler.time))
            liveness.check(self, 0.0)

    def _see_everyone_in(self) -> None:
        self.healed = True
        self.weather = self.plan.weather.calm()
        self.note(None, "heals")
        for client in self.clients:
            client.network.blow(self.weather)
            client.keeper_network.blow(self.weather)
        prompt = self.scheduler.time + ghosts.promptly(self.plan)
        self.scheduler.at(prompt, self.watch.ghosts.sweep, self.server)
        longest = liveness.longest_wait(self.plan)
        while self._running and self._goes_on():
            self._pass(LOOK_EVERY)
            liveness.check(self, longest)

    def _end(self) -> None:
        """Close every other client, and give what is left the time to end."""
        for client in self.clients:
            if client.plan.closes and not client.dead:
                Task(client, client.close(), "close", self._closed)
        longest = max(self.plan.longest_ttl(), PATIENCE) + self.plan.weather.latest
        back = sum(-fault.amount for fault in self.plan.faults if fault.amount < 0)
        self._pass(1.02 * (longest + back) + 2 * LOOK_EVERY + self.plan.host.quarantine)
        if self._goes_on():
            self.watch.loudness.settle()
            self.watch.keeping.settle()
            self.watch.family.settle()
            leaks.check(self)

    def _start(self, member: Member) -> None:
        client = Client(self, member, f"c{member.number}")
        self.clients.append(client)
        self.note(client, "starts", member.style)
        self.begin(client)

    def freeze(self, client: Client, span: float) -> None:
        """Stop a process here and now."""
        pause(self, client, self.scheduler.time + span)

    def begin(self, client: Client) -> None:
        """Let a client's callers begin with their jobs."""
        kind = STRUCK[0] if client.plan.style == "aio" else STRUCK[1]
        for number, jobs in enumerate(client.plan.jobs):
            caller = Caller(self, client, number, jobs)
            self.callers.append(caller)
            self._running += 1
            strikes: dict[int, tuple[float, BaseException]] = {
                strike.suspension: (strike.after, kind())
                for strike in client.plan.strikes
                if strike.task == number
            }
            Task(client, caller.run(), caller.label, self._ended, strikes)

    def lost_callers(self, client: Client) -> None:
        """Forget the callers of a client that is dead."""
        gone = [caller for caller in self.callers if caller.client is client]
        self._running -= sum(1 for caller in gone if not caller.done)
        self.callers = [caller for caller in self.callers if caller.client is not client]

    def _ended(self, task: Task) -> None:
        self._running -= 1
        if isinstance(task.process, Client):
            self.turns[f"{task.process.name}/{task.label}"] = task.turn
        for caller in self.callers:
            if caller.client is task.process and caller.label == task.label:
                caller.done = True
                if task.error is not None and not isinstance(task.error, Killed):
                    self.watch.stumbled(caller.client, task.label, task.error)

    def left_bodies(self, task: Task) -> None:
        """See a forked child out of what its parent was doing."""
        for inside in tuple(self.watch.stays.values()):
            for stay in tuple(inside):
                if stay.client is task.process and stay.inherited:
                    self.watch.left(stay)
        self._closed(task)

    def _closed(self, task: Task) -> None:
        struck = isinstance(task.error, (*STRUCK, Killed))
        if task.error is not None and not struck and isinstance(task.process, Client):
            self.watch.stumbled(task.process, task.label, task.error)
