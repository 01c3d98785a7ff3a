"""The port ``Wire`` over a simulated network: letters that are slow, lost, doubled or torn.

Two wires of one client do not know of each other, so what leaves on one may overtake what left on
the other; so may two letters of one wire, as on two connections of a pool. A letter whose sender
has given up may still arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Notice, Reply, Request
from holdfast.testing.sim.scheduler import Killed, Task, park
from holdfast.testing.sim.server import Server
from holdfast.testing.sim.weather import Fate, Network

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client

FORGOTTEN = Notice("forgotten", "", "", "", 0, reason="the server has lost its data")

Answers: TypeAlias = "list[Reply | BackendUnavailable]"


class Letter:
    """Some requests on their way, and who waits for the answers."""

    __slots__ = ("fate", "limit", "requests", "task", "turn", "wire")

    def __init__(
        self, wire: SimWire, task: Task, requests: Sequence[Request], limit: float, fate: Fate
    ) -> None:
        self.wire = wire
        self.task = task
        self.turn = task.turn
        self.requests = requests
        self.limit = limit  # the true time at which its sender gives up
        self.fate = fate


class SimWire:
    """One client's way to a server."""

    def __init__(self, client: Client, server: Server, network: Network, label: str) -> None:
        self.client = client
        self.server = server
        self.network = network
        self.label = label
        self.asking_since = inf  # when the call that is under way began; of a keeper there is one
        self.asking: Sequence[Request] = ()

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        answer = (await self._exchange((request,), deadline))[0]
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    async def ask_all(self, requests: Sequence[Request], deadline: float) -> Answers:
        """Carry out many in one letter."""
        return await self._exchange(requests, deadline)

    def close(self) -> None:
        """Let go: nothing is open."""

    abandon = close

    async def _exchange(self, requests: Sequence[Request], deadline: float) -> Answers:
        client = self.client
        if client.dead:
            raise Killed
        scheduler = client.scheduler
        task = scheduler.current
        if task is None:
            raise RuntimeError("only a task can ask")
        if client.world.trace is not None:
            client.world.note(client, "asks", self.label, requests)
        limit = client.clock.when(deadline, scheduler.time)
        self._send(Letter(self, task, requests, limit, self.network.fate()))
        self.asking_since, self.asking = scheduler.time, requests
        try:
            answers, mark = await park()
        finally:
            self.asking_since, self.asking = inf, ()
        if mark != client.mark and mark:
            before, client.mark = client.mark, mark
            if before:
                client.keeper.overhear(FORGOTTEN)
                client.world.watch.heed.amnesia(client)
        if client.world.trace is not None:
            client.world.note(client, "hears", self.label, answers)
        client.world.watch.heed.answers(client, answers)
        client.world.watch.deadlines.answers(client, answers)
        return answers  # type: ignore[no-any-return]  # what a task is resumed with is its own

    def _send(self, letter: Letter) -> None:
        scheduler, fate = self.client.scheduler, letter.fate
        now = scheduler.time
        if fate.refused:
            self._fail(letter, now + fate.back, "none")
            return
        arrives_at = now + fate.there
        if self.client.cut_until > now or not fate.arrives:
            # Nobody hears it. It fails at once where the connection is seen to break.
            fails_at = min(letter.limit, now + fate.cut) if fate.cut else letter.limit
            self._fail(letter, fails_at, "unknown")
            return
        self.client.world.watch.under_way(letter.requests[0], 1)
        if not fate.answered and fate.cut:
            letter.limit = min(letter.limit, now + fate.cut)
        if arrives_at >= letter.limit:
            self._fail(letter, letter.limit, "unknown")
        scheduler.at(arrives_at, self._arrive, letter)

    def _arrive(self, letter: Letter) -> None:
        client, fate = self.client, letter.fate
        now = client.scheduler.time
        client.world.watch.under_way(letter.requests[0], -1)
        if fate.again:
            client.world.watch.doubles(letter.requests)
            client.scheduler.at(now + fate.again, self._arrive_again, letter)
        waited_for = now < letter.limit
        if self.server.down:
            if waited_for:
                self._fail(letter, min(letter.limit, now + fate.back), "none")
            return
        done = letter.requests
        if fate.torn:
            done = done[: len(done) // 2]
        answers: Answers = [self.server.answer(request) for request in done]
        if not waited_for:
            return
        if not fate.answered or client.cut_until > now:
            self._fail(letter, letter.limit, "unknown")
            return
        if fate.torn:
            answers += [_silence("unknown") for _ in letter.requests[len(done) :]]
        back_at = now + fate.back
        if back_at >= letter.limit:
            self._fail(letter, letter.limit, "unknown")
        else:
            wake = (letter.turn, (answers, self.server.mark))
            client.scheduler.at(back_at, letter.task.resume, wake)

    def _arrive_again(self, letter: Letter) -> None:
        """Carry out a second copy, whose answer nobody waits for."""
        if not self.server.down:
            for request in letter.requests:
                self.server.answer(request)

    def _fail(self, letter: Letter, at: float, outcome: str) -> None:
        answers = [_silence(outcome) for _ in letter.requests]
        self.client.scheduler.at(at, letter.task.resume, (letter.turn, (answers, 0)))


def _silence(outcome: str) -> BackendUnavailable:
    return BackendUnavailable("no answer", backend="sim", outcome=outcome)
