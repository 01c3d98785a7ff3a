"""The wire for tasks: stories of the quorum over one multiplexed line to each server.

What tasks ask in one turn of the loop leaves in one write per server, and what is of one kind in
one command. Whoever asks goes on as
soon as enough is known; what comes later is only read. Counterpart: ``sync``, ``bundle``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis.line import Line
from holdfast.backends.redlock.branch import Branch, Hearing, Question
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.names import Scan, names_in_use
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import ListNames, Look, Release, Reply, Request, Seen, Withdraw
from holdfast.rules.play import Play
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Answer, Stand, VoterRequest

PROBE_LIMIT = 0.5


class AioWire:
    """Suspends the caller until a majority has answered."""

    def __init__(self, council: Council) -> None:
        self.council = council
        self._branches = [Branch(council, node, self._make_up) for node in council.nodes]
        self._aside: set[asyncio.Task[None]] = set()
        self._settling: asyncio.Task[None] | None = None

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        if isinstance(request, ListNames):
            return await self._list(request, deadline)
        if isinstance(request, ClaimAll):
            return Apart()
        answer = (await self._carry_out([request], deadline))[0]
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: what they ask leaves in one turn of the loop."""
        return await self._carry_out(requests, deadline)

    def close(self) -> None:
        """Let go of every connection, and of what is done on the side."""
        for task in (*self._aside, *((self._settling,) if self._settling else ())):
            loop = task.get_loop()
            if not task.done() and not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)
        for branch in self._branches:
            branch.lines.close()

    abandon = close

    async def _carry_out(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        council, lines = self.council, self._lines()
        if None in lines or council.must_settle():
            await self._prepare(deadline)
            lines = self._lines()
        play = Play(requests, council.terms, council.claims)
        while play.asks:
            try:
                answers = await self._exchange(play.asks, lines, deadline)
            except asyncio.CancelledError:
                self._tell(play.take_tells())
                raise
            play.answer(answers)
            self._tell(play.take_tells())
        return council.noted(requests, play)

    # Connections, and who may vote

    async def _prepare(self, deadline: float) -> None:
        """Connect where it is worth it, and see whether somebody can be let in to vote."""
        council = self.council
        missing = [branch for branch in self._branches if branch.line() is None]
        if missing:
            await self._connect(missing, deadline)
        if council.must_settle():
            loop, settling = asyncio.get_running_loop(), self._settling
            if settling is None or settling.done() or settling.get_loop() is not loop:
                settling = self._settling = loop.create_task(self._settle(deadline))
            await asyncio.wait((settling,), timeout=max(0.0, deadline - clock.now()))
            if settling.done() and not settling.cancelled():
                settling.result()  # what went wrong there is not kept to itself

    async def _connect(self, missing: Sequence[Branch], deadline: float) -> None:
        """Connect where it is worth waiting for, and on the side where it is not."""
        council = self.council
        asked = {node.number for node in council.asked()}
        worth = [branch for branch in missing if branch.node.number in asked]
        for branch in missing:
            if branch not in worth and branch.node.begin_probe():
                self._do(self._look(branch))
        now = clock.now()  # half of the time is left for those that do answer
        limit = now + min((deadline - now) / 2, max(3 * council.node_limit, 0.3))
        if worth:
            await asyncio.gather(*(branch.open(limit) for branch in worth))

    async def _look(self, branch: Branch) -> None:
        await branch.open(clock.now() + PROBE_LIMIT)
        branch.node.end_probe()

    def _make_up(self, branch: Branch) -> None:
        """Tell a server that is back what it was not told."""
        self._tell((branch.node.number, one) for one in branch.node.take_untold())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the side, and keep it from being collected meanwhile."""
        task = asyncio.ensure_future(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def _settle(self, deadline: float) -> None:
        council = self.council
        everyone = council.terms.everyone(Stand())
        ask = Ask(everyone, lambda found: len(found) == len(everyone))
        lines = self._lines()
        let_in = council.admissions((await self._exchange([ask], lines, deadline))[0])
        if let_in:
            ask = Ask(let_in, lambda found: len(found) == len(let_in))
            await self._exchange([ask], lines, deadline)

    # One exchange with all of them

    def _lines(self) -> list[Line | None]:
        return [branch.line() for branch in self._branches]

    async def _exchange(
        self, asks: Sequence[Ask], lines: Sequence[Line | None], deadline: float
    ) -> list[dict[int, Answer]]:
        """Ask all servers at once; go on as soon as enough is known."""
        council = self.council
        limit = min(deadline, clock.now() + council.node_limit)
        hearing = Hearing(asks, asyncio.get_running_loop())
        asked = council.asked()
        for at, ask in enumerate(asks):
            written: VoterRequest | None = None
            for number, request in ask.requests.items():
                if request is not written:  # the same goes to all servers, one after the other
                    sheet, written = council.post.sheet(request), request
                branch, line = self._branches[number], lines[number]
                if line is None or branch.node not in asked:
                    self._miss(branch, hearing, at, request)
                else:
                    branch.ask(line, Question(branch, request, sheet, limit, hearing, at))
        return await hearing.answered()

    def _miss(self, branch: Branch, hearing: Hearing, at: int, request: VoterRequest) -> None:
        """Do without a server; what gives something back is said all the same."""
        node = branch.node
        why = f"{node.name}: {node.fault or 'no connection yet'}"
        hearing.put(at, node.number, BackendUnavailable(why, backend="redlock"))
        if isinstance(request, (Release, Withdraw)):
            self._tell(((node.number, request),))

    def _tell(self, tells: Iterable[tuple[int, VoterRequest]]) -> None:
        """Tell servers something; nobody waits for what they say."""
        limit = clock.now() + self.council.node_limit
        for number, request in tells:
            branch = self._branches[number]
            line = branch.line()
            if line is None:
                branch.node.remember(request)
                continue
            sheet = self.council.post.sheet(request)
            branch.ask(line, Question(branch, request, sheet, limit))

    # Listing

    async def _list(self, request: ListNames, deadline: float) -> Reply:
        limit = deadline - clock.now()
        story = names_in_use(self.council, request)
        step = next(story)
        while True:
            try:
                step = story.send(await self._step(step, clock.now() + limit))
            except StopIteration as done:
                found: Seen = done.value
                return found

    async def _step(self, step: Scan | Sequence[Look], deadline: float) -> Any:
        if not isinstance(step, Scan):
            return await self._carry_out(step, deadline)
        branch = self._branches[step.node.number]
        patience = max(3 * self.council.node_limit, 0.3)
        try:
            line = await branch.lines.line(step.node.where, min(deadline, clock.now() + patience))
            return await line.ask(step.data, deadline)
        except BackendUnavailable as error:
            return error
