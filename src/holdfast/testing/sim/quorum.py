"""A quorum in a simulated world: voters that fail one by one, and the wire that asks them all.

The voters run ``rules.voter``, the wire follows the stories of ``rules.quorum`` and lets voters in
by ``rules.standing``, as ``backends.redlock`` does with sockets. A letter belongs to a connection,
so one that left before a voter restarted never reaches the process that came after it. ``textbook``
makes of it the Redlock that everybody knows: a voter that comes back empty votes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from holdfast.errors import BackendUnavailable
from holdfast.rules import lease as rule
from holdfast.rules.ballot import Terms
from holdfast.rules.holding import Grant
from holdfast.rules.messages import (
    Claim,
    Granted,
    ListNames,
    Release,
    Reply,
    Request,
    Seen,
    Withdraw,
)
from holdfast.rules.play import Exchange, Play
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Admit, Answer, Stand, Stood, Unsettled, VoterRequest
from holdfast.rules.standing import Applicant, admissions
from holdfast.rules.voter import Slip, Standing, step
from holdfast.testing.sim.clocks import Clock
from holdfast.testing.sim.plan import Host, Quorum
from holdfast.testing.sim.scheduler import Killed, Scheduler, Task, park
from holdfast.testing.sim.server import Server, Watching
from holdfast.testing.sim.wire import Answers, SimWire

if TYPE_CHECKING:
    from holdfast.testing.sim.client import Client
    from holdfast.testing.sim.weather import Network

NODE_LIMIT = 0.5
"""How long one voter is waited for; short against every quarantine."""

OLD = 1000.0
"""How long voters have been up when a world begins."""


class Voter:
    """One voter, with a memory to lose."""

    def __init__(self, number: int, host: Host, quorum: Quorum, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._quorum = quorum
        self._clock = Clock(1000.0 * number, host.rate)
        self._wall = Clock(host.wall + quorum.skew * number, host.rate)
        self.slips: dict[str, Slip] = {}
        self.standing = Standing(settled=quorum.textbook)
        self._snapshot = self.slips, self.standing
        self._born_at = self.now() - OLD
        self._kept = False  # whether it is another process with the memory of one that was let in
        self.down = False
        self.run = 0

    def now(self) -> float:
        """Read its clock."""
        return self._clock.base + self._clock.rate * self._scheduler.time

    def age(self) -> float:
        """Say for how long its process has been up."""
        return self.now() - self._born_at

    def answer(self, request: VoterRequest, inboxes: dict[str, object]) -> Answer:
        """Answer, and tell whom it concerns."""
        name = getattr(request, "name", "")
        slip = self.slips.get(name) or Slip(name)
        wall = int((self._wall.base + self._wall.rate * self._scheduler.time) * 1e6)
        after, self.standing, reply, notices = step(slip, self.standing, request, self.now(), wall)
        if name:
            self.slips[name] = after
        for notice in notices:
            inbox = inboxes.get(notice.inbox)
            if inbox is not None:
                inbox.post(notice)  # type: ignore[attr-defined]  # the server's inboxes are those
        return reply._replace(remembers=self._kept) if isinstance(reply, Stood) else reply

    def take_snapshot(self) -> None:
        """Remember everything as it is now."""
        self._snapshot = dict(self.slips), self.standing

    def restart(self, memory: str) -> None:
        """Come back as another process: with all of the memory, an older one, or none."""
        self.run += 1
        self.down = False
        self._born_at = self.now()
        self._kept = memory == "restart" and self.standing.settled
        if memory == "forget":
            self.slips, self.standing = {}, Standing()
        elif memory == "rollback":
            self.slips, self.standing = dict(self._snapshot[0]), self._snapshot[1]
        self.standing = self.standing._replace(settled=self._quorum.textbook)


class QuorumServer(Server):
    """All voters: in the place where other worlds have their one server."""

    def __init__(self, host: Host, quorum: Quorum, scheduler: Scheduler, watch: Watching) -> None:
        super().__init__(host, scheduler, watch)
        self.voters = [Voter(number, host, quorum, scheduler) for number in range(quorum.nodes)]
        self.terms = Terms(tuple(f"v{number}" for number in range(quorum.nodes)))

    def take_snapshot(self) -> None:
        """Let every voter remember everything as it is now."""
        for voter in self.voters:
            voter.take_snapshot()

    def left(self) -> list[str]:
        """Name the votes that somebody still has, and those who still wait."""
        return [
            f"{name!r} at v{number}"
            for number, voter in enumerate(self.voters)
            for name, slip in voter.slips.items()
            if (slip.grant is not None and slip.grant.ends_at > voter.now())
            or any(one.until > voter.now() for one in slip.watchers)
        ]


class Round(Exchange):
    """One question to all voters, and who waits for the answers."""

    def __init__(self, asks: Sequence[Ask], task: Task) -> None:
        super().__init__(asks)
        self.task = task
        self.turn = task.turn


class QuorumWire(SimWire):
    """One client's way to all voters."""

    def __init__(self, client: Client, server: QuorumServer, network: Network, label: str) -> None:
        super().__init__(client, server, network, label)
        self._voters = server.voters
        self._terms = server.terms
        self._inboxes: dict[str, object] = server.inboxes  # type: ignore[assignment]
        self._claims: dict[str, Claim] = client.claimed
        self._ages: dict[int, float] = {}
        self._settle_at = -inf

    async def _exchange(self, requests: Sequence[Request], deadline: float) -> Answers:
        client = self.client
        if client.dead:
            raise Killed
        scheduler = client.scheduler
        client.world.note(client, "asks", self.label, requests)
        self.asking_since, self.asking = scheduler.time, requests
        asked_at = client.now()
        try:
            if scheduler.time >= self._settle_at:
                await self._settle(deadline)
            if isinstance(requests[0], ListNames):
                return [Seen(())]
            play = Play(requests, self._terms, self._claims)
            while play.asks:
                play.answer(await self._ask(play.asks, deadline))
                for number, request in play.take_tells():
                    self._post(number, request, None, 0)
        finally:
            self.asking_since, self.asking = inf, ()
        answers = [_known(reply) for reply in play.replies]
        for asked, answer in zip(requests, answers, strict=True):
            self._note(asked, answer, asked_at)
        client.world.note(client, "hears", self.label, answers)
        client.world.watch.heed.answers(client, answers)
        client.world.watch.deadlines.answers(client, answers)
        return answers

    def _note(self, asked: Request, answer: Reply | BackendUnavailable, asked_at: float) -> None:
        client = self.client
        if isinstance(asked, Claim) and isinstance(answer, Granted):
            self._claims[asked.claim_id] = asked
            if client.now() < rule.deadline(asked_at, answer.remaining):
                # From here on somebody may believe: in this order tokens have to grow.
                grant = Grant(asked.claim_id, asked.want, asked.holder, "", answer.token, 0.0, 0.0)
                client.world.watch.tokens.granted(asked.name, grant)
        elif isinstance(asked, (Release, Withdraw)):
            self._claims.pop(asked.claim_id, None)

    async def _settle(self, deadline: float) -> None:
        """Ask every voter how it stands, and let in who may vote."""
        everyone = self._terms.everyone(Stand())
        ask = Ask(everyone, lambda found: len(found) == len(everyone))
        found = (await self._ask([ask], deadline))[0]
        stood = {number: one for number, one in found.items() if isinstance(one, Stood)}
        settled = {number: one for number, one in stood.items() if one.settled}
        applicants = {
            number: Applicant(one, self._ages[number])
            for number, one in stood.items()
            if not one.settled
        }
        quarantine = self.client.world.plan.host.quarantine
        decided = admissions(settled, applicants, self._terms, quarantine)
        self._settle_at = self.client.scheduler.time + decided.look_in
        if decided.let_in:
            let_in = decided.let_in
            await self._ask([Ask(let_in, lambda found: len(found) == len(let_in))], deadline)

    # One question to all of them

    async def _ask(self, asks: Sequence[Ask], deadline: float) -> list[dict[int, Answer]]:
        client = self.client
        scheduler = client.scheduler
        task = scheduler.current
        if task is None:
            raise RuntimeError("only a task can ask")
        current = Round(asks, task)
        for at, ask in enumerate(asks):
            for number, request in ask.requests.items():
                self._post(number, request, current, at)
        until = min(deadline, client.now() + NODE_LIMIT)
        scheduler.at(client.clock.when(until, scheduler.time), task.resume, (task.turn, None))
        await park()
        answers = [dict(found) for found in current.answers]
        for found in answers:
            if any(isinstance(one, Unsettled) for one in found.values()):
                self._settle_at = min(self._settle_at, scheduler.time)
        return answers

    def _post(self, number: int, request: VoterRequest, current: Round | None, at: int) -> None:
        client, voter = self.client, self._voters[number]
        scheduler, fate = client.scheduler, self.network.fate()
        now, run = scheduler.time, voter.run
        if voter.down or fate.refused:
            if current is not None:
                self._hand_on((current, at, number, _silence("none")), now + fate.back)
            return
        if client.cut_until > now or not fate.arrives:
            return

        def arrive(_: object) -> None:
            if voter.down or voter.run != run:
                return  # the connection went with the process that it led to
            answer = voter.answer(request, self._inboxes)
            if isinstance(request, Stand):
                self._ages[number] = voter.age()
            heard = fate.answered and client.cut_until <= scheduler.time
            if current is not None and heard:
                self._hand_on((current, at, number, answer), scheduler.time + fate.back)

        scheduler.at(now + fate.there, arrive)
        if fate.again and not isinstance(request, Admit):
            scheduler.at(now + fate.there + fate.again, arrive)

    def _hand_on(self, heard: tuple[Round, int, int, Answer], at: float) -> None:
        self.client.scheduler.at(at, self._hear, heard)

    def _hear(self, heard: tuple[Round, int, int, Answer]) -> None:
        current, at, number, answer = heard
        if current.task.turn == current.turn:
            if number not in current.answers[at]:  # the first of two counts
                current.put(at, number, answer)
            if current.enough():
                current.task.resume((current.turn, None))


def _known(reply: Reply | BackendUnavailable | None) -> Reply | BackendUnavailable:
    if reply is None:
        raise RuntimeError("a story has not ended")
    return reply


def _silence(outcome: str) -> BackendUnavailable:
    return BackendUnavailable("it is down", backend="sim", outcome=outcome)
