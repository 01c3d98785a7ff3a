"""The wire for tasks: stories of the quorum over one multiplexed line to each server.

What tasks ask in one turn of the loop leaves in one write per server. Whoever asks goes on as
soon as enough is known; what comes later is only read. Counterpart: ``sync``, ``bundle``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis.keys import packed
from holdfast.backends.redis.line import Line
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.switchboard import Switchboard
from holdfast.backends.redlock.bundle import answered, silent
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.names import Scan, names_in_use
from holdfast.backends.redlock.node import QUESTIONS, Node, Self
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import ListNames, Look, Release, Reply, Request, Seen, Withdraw
from holdfast.rules.play import Exchange, Play
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Answer, Stand, VoterRequest

PROBE_LIMIT = 0.5


class Meeting:
    """Asked of every new line, in the place of a single server's survey."""

    QUESTIONS = QUESTIONS
    done = False

    def __init__(self, council: Council, node: Node) -> None:
        self._council = council
        self._node = node
        self.run = b""

    def read(self, raw: list[Any]) -> None:
        """Note what the server says of itself."""
        said = Self(raw, self._node.target)
        self._council.meet(self._node, said)
        self.run = packed(said.run)


class Branch:
    """The line to one server."""

    def __init__(self, council: Council, node: Node) -> None:
        self.node = node
        office = Office(node.target, "")
        self._meeting = Meeting(council, node)
        office.survey = self._meeting  # type: ignore[assignment]  # it has the same shape
        self.lines = Switchboard(office)

    @property
    def run(self) -> bytes:
        """The word for the process at the other end."""
        return self._meeting.run

    def line(self) -> Line | None:
        """Give the line, if it is open on this loop."""
        return self.lines.ready()

    async def open(self, deadline: float) -> None:
        """Connect; a server that cannot be reached is not asked for a while."""
        try:
            await self.lines.line(self.node.where, deadline)
        except BackendUnavailable as error:
            self.node.failed(error.message.removeprefix(f"{self.node.name}: "))
        else:
            self.node.answered()


class AioWire:
    """Suspends the caller until a majority has answered."""

    def __init__(self, council: Council) -> None:
        self.council = council
        self._branches = [Branch(council, node) for node in council.nodes]
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
        await self._prepare(deadline)
        council = self.council
        play = Play(requests, council.terms, council.claims)
        while play.asks:
            try:
                answers = await self._exchange(play.asks, deadline)
            except asyncio.CancelledError:
                self._tell(play.take_tells())
                raise
            play.answer(answers)
            self._tell(play.take_tells())
        return council.noted(requests, play)

    # Connections, and who may vote

    async def _prepare(self, deadline: float) -> None:
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
        limit = min(deadline, clock.now() + max(3 * council.node_limit, 0.3))
        if worth:
            await asyncio.gather(*(branch.open(limit) for branch in worth))

    async def _look(self, branch: Branch) -> None:
        await branch.open(clock.now() + PROBE_LIMIT)
        branch.node.end_probe()
        self._make_up(branch)

    def _make_up(self, branch: Branch) -> None:
        if not branch.node.fault:
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
        let_in = council.admissions((await self._exchange([ask], deadline))[0])
        if let_in:
            await self._exchange([Ask(let_in, lambda found: len(found) == len(let_in))], deadline)

    # One exchange with all of them

    async def _exchange(self, asks: Sequence[Ask], deadline: float) -> list[dict[int, Answer]]:
        """Ask all servers at once; go on as soon as enough is known."""
        council = self.council
        limit = min(deadline, clock.now() + council.node_limit)
        current = Exchange(asks)
        done = asyncio.get_running_loop().create_future()
        asked = {node.number for node in council.asked()}
        for branch in self._branches:
            self._ask_one(branch, current, done, limit, is_asked=branch.node.number in asked)
        if not current.enough():
            await done
        for found in current.answers:
            council.hear(found.values())
        return [dict(found) for found in current.answers]  # what comes later changes nothing

    def _ask_one(
        self,
        branch: Branch,
        current: Exchange,
        done: asyncio.Future[None],
        limit: float,
        *,
        is_asked: bool,
    ) -> None:
        node, line = branch.node, branch.line()
        for at, ask in enumerate(current.asks):
            request = ask.requests.get(node.number)
            if request is None:
                continue
            if line is None or not is_asked:
                why = f"{node.name}: {node.fault or 'no connection yet'}"
                current.put(at, node.number, BackendUnavailable(why, backend="redlock"))
                if isinstance(request, (Release, Withdraw)):
                    self._tell(((node.number, request),))
                continue
            before, after = self.council.post.written(request)
            future = line.ask(before + branch.run + after, limit)
            future.add_done_callback(_Hearing(self, branch, current, at, request, done))

    def heard(self, branch: Branch, request: VoterRequest, future: asyncio.Future[Any]) -> Answer:
        """Read what a server answered, and draw conclusions about the server."""
        node = branch.node
        error = None if future.cancelled() else future.exception()
        if future.cancelled() or error is not None:
            node.remember(request)
            if not isinstance(error, BackendUnavailable):
                error = BackendUnavailable(f"{node.name}: cancelled", backend="redlock")
                error.outcome = "unknown"
                return error
            if "no reply within" in error.message:
                error = silent(node)
            node.failed(error.message.removeprefix(f"{node.name}: "))
            return error
        raw = future.result()
        if isinstance(raw, Exception) and str(raw).startswith("NOSCRIPT"):
            line = branch.line()
            if line is not None:
                line.close("its scripts were flushed")
        if node.fault:
            node.answered()
            self._make_up(branch)
        return answered(node, request, raw)

    def _tell(self, tells: Iterable[tuple[int, VoterRequest]]) -> None:
        for number, request in tells:
            branch = self._branches[number]
            line = branch.line()
            if line is None:
                branch.node.remember(request)
                continue
            before, after = self.council.post.written(request)
            limit = clock.now() + self.council.node_limit
            future = line.ask(before + branch.run + after, limit)
            future.add_done_callback(_Hearing(self, branch, None, 0, request, None))

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
        try:
            line = await branch.lines.line(step.node.where, deadline)
            return await line.ask(step.data, deadline)
        except BackendUnavailable as error:
            return error


class _Hearing:
    """Hands one answer on when it comes; also one that nobody waits for any more."""

    __slots__ = ("_at", "_branch", "_current", "_done", "_request", "_wire")

    def __init__(
        self,
        wire: AioWire,
        branch: Branch,
        current: Exchange | None,
        at: int,
        request: VoterRequest,
        done: asyncio.Future[None] | None,
    ) -> None:
        self._wire = wire
        self._branch = branch
        self._current = current
        self._at = at
        self._request = request
        self._done = done

    def __call__(self, future: asyncio.Future[Any]) -> None:
        answer = self._wire.heard(self._branch, self._request, future)
        current, done = self._current, self._done
        if current is None or done is None:
            return
        current.put(self._at, self._branch.node.number, answer)
        if not done.done() and current.enough():
            done.set_result(None)
