"""The wire for tasks: one multiplexed line per server, the client's inbox on the same line.

A line belongs to one event loop; asked from another loop, the wire makes new ones. A line that
breaks is made again by the next who asks, or, while the client has an inbox, by itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, greeting, listing
from holdfast.backends.redis.line import Line
from holdfast.backends.redis.link import CONNECT_LIMIT, tune
from holdfast.backends.redis.office import ROUNDS, Answer, Office, Resend, Sorter
from holdfast.backends.redis.replies import read
from holdfast.backends.redis.requests import Letter, command
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff
from holdfast.rules.messages import ListNames, NameRequest, Renew, Reply, Request


class AioWire:
    """Suspends the caller for one round trip, shared with whoever asks in the same turn."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._letter = office.post.letter
        self._fixed = office.target.mode == "single" and not office.target.replicas
        self._lines: dict[Where, Line] = {}
        self._inboxes: dict[Where, Line] = {}
        self._opening: dict[Where, asyncio.Task[Line]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mending: set[asyncio.Task[None]] = set()
        self._closed = False
        self.channel = ""
        self.waits_for_replicas = bool(office.target.replicas)
        self.hear: Callable[[bytes], None] = lambda _payload: None
        self.deaf: Callable[[str], None] = lambda _refusal: None

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        office = self._office
        if self._fixed and not isinstance(request, (ListNames, Renew)):
            letter = self._letter(request)
            line = self._lines.get(office.target.seeds[0])
            if line is None or line.loop is not asyncio.get_running_loop() or not self._good(line):
                line = await self._line(office.target.seeds[0], deadline)
            raw = await line.ask(letter.data, deadline)
            if type(raw) is list and raw[0] == office.mark:
                return read(request, raw)
            done = office.read(letter, raw, line.where)
            if not isinstance(done, Resend):
                return _or_raise(done[0])
        if isinstance(request, ListNames):
            return await self._list(request, deadline)
        return _or_raise((await self._carry_out([request], deadline))[0])

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: all leave in one turn of the loop."""
        try:
            return await self._carry_out(requests, deadline)
        except BackendUnavailable as error:
            return [error] * len(requests)

    def close(self) -> None:
        """Let go of every connection; from another thread or loop the loop does it itself."""
        self._closed = True
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed():
            return
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            self._hang_up()
        else:
            loop.call_soon_threadsafe(self._hang_up)

    abandon = close

    def _hang_up(self) -> None:
        for task in (*self._opening.values(), *self._mending):
            task.cancel()
        for line in (*self._lines.values(), *self._inboxes.values()):
            line.close()
        self._lines.clear()
        self._inboxes.clear()

    # One exchange with every server concerned

    async def _carry_out(self, requests: Sequence[Request], deadline: float) -> list[Answer]:
        sorter = Sorter(len(requests))
        errands = await self._errands(requests, deadline)
        for _ in range(ROUNDS):
            if not errands:
                break
            sent = await asyncio.gather(*(self._send(*errand, deadline) for errand in errands))
            again: list[tuple[Letter, Where, bytes]] = []
            for (letter, where, _), done in zip(errands, sent, strict=True):
                if isinstance(done, Resend):
                    again.append((letter, done.where or where, done.before))
                else:
                    sorter.put(letter, done)
            errands = again
        for letter, _, _ in errands:
            sorter.fail(letter, faults.refused(self._office.shown, "TRYAGAIN redirected for ever"))
        return sorter.result()

    async def _errands(
        self, requests: Sequence[Request], deadline: float
    ) -> list[tuple[Letter, Where, bytes]]:
        office = self._office
        places: dict[Where, list[tuple[int, NameRequest]]] = {}
        for place, request in enumerate(requests):
            if isinstance(request, ListNames):
                raise TypeError("listings are asked for one at a time")
            where = await self._where(office.slot(request), deadline)
            places.setdefault(where, []).append((place, request))
        errands: list[tuple[Letter, Where, bytes]] = []
        for where, asked in places.items():
            if office.clustered and where not in self._lines:
                try:
                    await self._line(where, deadline)  # know its birth mark before writing to it
                except BackendUnavailable:
                    office.topology.suspect()
            letters = office.post.letters(asked, office.held_back(where))
            errands += [(letter, where, b"") for letter in letters]
        return errands

    async def _send(
        self, letter: Letter, where: Where, before: bytes, deadline: float
    ) -> list[Answer] | Resend:
        office = self._office
        try:
            line = await self._line(where, deadline)
            first = line.ask(before, deadline) if before else None
            reply = line.ask(letter.data, deadline)
            waits = office.needs_replicas(letter)
            heard = line.ask(office.wait_command(deadline), deadline) if waits else None
            refusal = None if first is None else await first
            raw = await reply
            done = office.read(letter, refusal if isinstance(refusal, Exception) else raw, where)
            if heard is not None:
                confirmation = await heard
                if not isinstance(done, Resend):
                    done = office.confirmed(done, confirmation)
        except BackendUnavailable as error:
            office.topology.suspect()
            return [error] * len(letter.requests)
        return done

    async def _where(self, slot: int, deadline: float) -> Where:
        topology = self._office.topology
        where = topology.known(slot)
        if where is None:
            await asyncio.to_thread(topology.find, deadline)
            where = topology.known(slot)
        if where is None:
            raise faults.refused(self._office.shown, f"CLUSTERDOWN slot {slot} has no master")
        return where

    # Lines

    async def _line(self, where: Where, deadline: float) -> Line:
        """Give the line to a server, making it first if need be; one caller makes it for all."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        line = self._lines.get(where)
        if line is not None and self._good(line):
            return line
        task = self._opening.get(where)
        if task is None:
            if self._closed:
                raise faults.closed(self._office.shown)
            task = self._opening[where] = loop.create_task(self._open(where, deadline))
            task.add_done_callback(lambda _: self._opening.pop(where, None))
        left = max(0.0, deadline - clock.now())
        done, _ = await asyncio.wait((task,), timeout=left)
        if not done:
            raise faults.unreachable(self._office.shown, TimeoutError("it does not answer"))
        if task.cancelled():
            raise faults.closed(self._office.shown)
        error = task.exception()
        if error is not None:
            raise error
        return task.result()

    def _good(self, line: Line) -> bool:
        if line.generation != self._office.generation:
            line.close("it led to a replica")
        return not line.broken

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Lines of another loop cannot be used here; that loop is most likely over."""
        old, self._loop = self._loop, loop
        lines = (*self._lines.values(), *self._inboxes.values())
        self._lines.clear()
        self._inboxes.clear()
        self._opening.clear()
        self._mending.clear()
        if old is not None and not old.is_closed():
            for line in lines:
                old.call_soon_threadsafe(line.close)

    async def _open(self, where: Where, deadline: float) -> Line:
        office = self._office
        deadline = min(deadline, clock.now() + CONNECT_LIMIT)
        try:
            async with asyncio.timeout(max(0.0, deadline - clock.now())):
                line = await self._dial(where)
        except (OSError, TimeoutError) as error:
            office.topology.suspect()
            raise faults.unreachable(office.shown, error) from error
        try:
            await self._introduce(line, deadline)
            await self._listen(line, deadline)
        except BackendUnavailable as error:
            line.close()
            office.topology.suspect()
            error.outcome = "none"  # nothing but a greeting was sent
            raise
        except BaseException:
            line.close()
            raise
        line.generation = office.generation
        self._lines[where] = line
        return line

    async def _dial(self, where: Where) -> Line:
        loop = asyncio.get_running_loop()
        target = self._office.target
        host, port = where

        def make() -> Line:
            return Line(loop, where, target.shown, self._heard, self._lost)

        if not port:
            return (await loop.create_unix_connection(make, host))[1]
        transport, line = await loop.create_connection(make, host, port, ssl=target.tls)
        tune(transport.get_extra_info("socket"))
        return line

    async def _introduce(self, line: Line, deadline: float) -> None:
        office = self._office
        target = office.target
        line.protocol = target.protocol
        while True:
            words = greeting.greeting(target.login(), target.database, line.protocol)
            replies = [await one for one in [line.ask(word, deadline) for word in words]]
            if line.protocol == 2 or not greeting.speaks_old(replies):  # noqa: PLR2004 - RESP2
                break
            line.protocol = 2
        refusal = greeting.refusal(target, replies)
        if refusal is not None:
            raise refusal
        if target.mode == "sentinel":
            office.insist_on_master(await line.ask(command("ROLE"), deadline))
        if not office.survey.done:
            asked = [line.ask(question, deadline) for question in office.survey.QUESTIONS]
            office.survey.read([await one for one in asked])
        key = office.birth_key(line.where)
        if key:
            birth = await line.ask(office.birth_letter(key), deadline)
            office.read_birth(line.where, key, birth)

    # The inbox

    async def _listen(self, line: Line, deadline: float) -> None:
        """Subscribe: on the line itself in RESP3, on one of its own in RESP2."""
        if not self.channel:
            return
        if line.protocol == 2:  # noqa: PLR2004 - RESP2
            line = await self._dial(line.where)
            await self._introduce(line, deadline)
            self._inboxes[line.where] = line
        await self._subscribe(line, deadline)

    async def _subscribe(self, line: Line, deadline: float) -> None:
        reply = await line.ask(command("SUBSCRIBE", self.channel), deadline)
        if isinstance(reply, Exception):
            self.channel = ""
            self.deaf(str(reply))
        else:
            self.deaf("")

    def start_listening(self, channel: str) -> None:
        """Subscribe on the lines that are open, and on all that will be."""
        self.channel = channel
        for line in tuple(self._lines.values()):
            if line.loop is self._loop and not line.broken:
                self._do(self._listen(line, clock.now() + CONNECT_LIMIT))

    def _heard(self, push: Any) -> None:
        if isinstance(push, list) and len(push) == 3 and push[0] == b"message":  # noqa: PLR2004
            self.hear(push[2])

    def _lost(self, line: Line) -> None:
        if self._lines.get(line.where) is line:
            del self._lines[line.where]
        if self._inboxes.get(line.where) is line:
            del self._inboxes[line.where]
        if self.channel and not self._closed and line.loop is self._loop:
            self._do(self._mend(line.where))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the side, and keep it from being collected meanwhile."""
        task = asyncio.ensure_future(_quietly(work))
        task.add_done_callback(lambda _: work.close())  # cancelled before it began
        self._mending.add(task)
        task.add_done_callback(self._mending.discard)

    async def _mend(self, where: Where) -> None:
        """Connect again, so that the inbox hears; nobody may be asking while all of them wait."""
        for attempt in range(1_000_000):
            dice = int.from_bytes(os.urandom(4)) / (1 << 32)
            await asyncio.sleep(backoff.pause(attempt, dice))
            if self._closed or self._lines.get(where) is not None:
                return
            if where not in self._office.topology.masters():
                return  # it is no longer a master; whoever asks finds the new one
            try:
                await self._line(where, clock.now() + CONNECT_LIMIT)
            except BackendUnavailable:
                continue
            return

    # Listing

    async def _list(self, request: ListNames, deadline: float) -> Reply:
        """List names without ever holding up the server: in small steps, each with its limit."""
        limit = deadline - clock.now()
        story = listing.listing(self._office, request)
        answers: list[Any] = []
        while True:
            try:
                step = story.send(answers or None)  # type: ignore[arg-type]
            except StopIteration as done:
                found: Reply = done.value
                return found
            answers = await self._step(step, clock.now() + limit)

    async def _step(self, step: listing.Step, deadline: float) -> list[Any]:
        if isinstance(step, listing.Find):
            await self._where(0, deadline)
            return [None]
        if isinstance(step, listing.Looks):
            return [_or_raise(one) for one in await self._carry_out(step.requests, deadline)]
        line = await self._line(step.where, deadline)
        return [await line.ask(step.data, deadline)]


def _or_raise(answer: Answer) -> Reply:
    if isinstance(answer, BackendUnavailable):
        raise answer
    return answer


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(BackendUnavailable):  # whoever asks next is told
        await work
