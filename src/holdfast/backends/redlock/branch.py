"""The line to one server of the quorum, for tasks, and one question on it. Used by ``aio``.

A question is told of its answer when it comes, like a future, but at once: there are five of them
to every request. Many that are asked in one turn of the loop travel as one command; each is still
answered, or fails, for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.backends.redis import faults
from holdfast.backends.redis.line import ALONE, Line
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.switchboard import Switchboard
from holdfast.backends.redlock.bundle import answered, silent
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.node import QUESTIONS, Node, Self
from holdfast.backends.redlock.requests import Sheet
from holdfast.errors import BackendUnavailable
from holdfast.rules.play import Exchange
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Answer, Unsettled, VoterRequest


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
        self.run = said.run


class Branch:
    """The line to one server; ``make_up`` is called when it answers again."""

    def __init__(self, council: Council, node: Node, make_up: Callable[[Branch], None]) -> None:
        self.node = node
        self.council = council
        self.make_up = make_up
        office = Office(node.target, "")
        self._meeting = Meeting(council, node)
        office.survey = self._meeting  # type: ignore[assignment]  # it has the same shape
        self.lines = Switchboard(office)
        self.line = self.lines.ready  # gives the line, if it is open on this loop

    async def open(self, deadline: float) -> None:
        """Connect; a server that cannot be reached is not asked for a while."""
        try:
            await self.lines.line(self.node.where, deadline)
        except BackendUnavailable as error:
            self.node.failed(error.message.removeprefix(f"{self.node.name}: "))
        else:
            self.node.answered()
            self.make_up(self)

    def ask(self, line: Line, question: Question, *, alone: bool = False) -> None:
        """Send a question, with others like it where that can be."""
        manner, keys, words = question.sheet
        call = manner.call(self._meeting.run)
        if manner.along and not alone:
            line.send_along((call, keys, words), question, question.limit)
        else:
            line.send(call.one(keys, words), question, question.limit)


class Hearing(Exchange):
    """An exchange that a task waits for."""

    def __init__(self, asks: Sequence[Ask], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(asks)
        self.over = loop.create_future()
        self.closed = False

    def put(self, at: int, number: int, answer: Answer) -> None:
        """Note an answer, and wake who waits if it is the one that was still needed."""
        super().put(at, number, answer)
        if not self._left and not self.over.done():
            self.over.set_result(None)

    async def answered(self) -> list[dict[int, Answer]]:
        """Wait until enough is known; what comes later changes nothing."""
        try:
            if self._left:
                await self.over
        finally:
            self.closed = True
        return self.answers


class Question:
    """What one server was asked by one request, or told (then nobody hears the answer)."""

    __slots__ = ("_alone", "_at", "_branch", "_hearing", "_over", "_request", "limit", "sheet")

    def __init__(
        self,
        branch: Branch,
        request: VoterRequest,
        sheet: Sheet,
        limit: float,
        hearing: Hearing | None = None,
        at: int = 0,
    ) -> None:
        self._branch = branch
        self._request = request
        self.sheet = sheet
        self.limit = limit
        self._hearing = hearing
        self._at = at
        self._over = False
        self._alone = False

    def done(self) -> bool:
        """Whether it was answered or given up."""
        return self._over

    def set_result(self, raw: Any) -> None:
        """Take the answer, and draw conclusions about the server."""
        branch, hearing = self._branch, self._hearing
        if raw is ALONE:
            self._ask_alone()
            return
        self._over = True
        node = branch.node
        if node.fault:
            node.answered()
            branch.make_up(branch)
        if isinstance(raw, Exception):
            if str(raw).startswith("NOSCRIPT"):
                node.remember(self._request)
                self._hang_up()
        elif raw[0] == b"unsettled":
            branch.council.hear((Unsettled(),))
        if hearing is None or hearing.closed:
            return
        answer = answered(node, self._request, raw)
        if self._alone and isinstance(answer, BackendUnavailable):
            answer.outcome = "unknown"  # it may have been done before another made it fail
        hearing.put(self._at, node.number, answer)

    def set_exception(self, error: BackendUnavailable) -> None:
        """Take note that there is no answer: the server is not asked for a while."""
        self._over = True
        node, hearing = self._branch.node, self._hearing
        node.remember(self._request)
        if "no reply within" in error.message:
            error = silent(node)
        if self._alone:
            error.outcome = "unknown"
        node.failed(error.message.removeprefix(f"{node.name}: "))
        if hearing is not None and not hearing.closed:
            hearing.put(self._at, node.number, error)

    def _ask_alone(self) -> None:
        """Ask again by itself, also if nobody waits any more: an end is to be heard of."""
        self._alone = True
        line = self._branch.line()
        if line is None:
            name = self._branch.node.name
            self.set_exception(faults.broken(name, "it refused many at once and hung up"))
        else:
            self._branch.ask(line, self, alone=True)

    def _hang_up(self) -> None:
        """Hang up once what came with this was read: a new line brings the scripts again."""
        line = self._branch.line()
        if line is not None:
            line.loop.call_soon(line.close, "its scripts were flushed")
