"""The lines of one async client: one per server, made when first needed, made again when lost.

Lines belong to one event loop; asked for from another, new ones are made. While the client has an
inbox it is subscribed on every line, and a line that is lost is mended even if nobody asks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import count
from math import inf
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, greeting
from holdfast.backends.redis.line import Line
from holdfast.backends.redis.link import CONNECT_LIMIT, tune
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules import backoff

LOOK_EVERY = 0.5
"""How often the keeper compares the masters of a cluster with the lines there are."""


class Switchboard:
    """Who asks for a server gets the line to it."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._lines: dict[Where, Line] = {}
        self._inboxes: dict[Where, Line] = {}
        self._opening: dict[Where, asyncio.Task[Line]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._mending: set[asyncio.Task[None]] = set()
        self._closed = False
        self._look_at = -inf
        self._listened: set[Where] = set()  # where anybody has ever listened
        self.last: Line | None = None  # the one that was opened last: for who has but one server
        self.channel = ""
        self.hear: Callable[[bytes], None] = lambda _payload: None
        self.deaf: Callable[[str], None] = lambda _refusal: None

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

    def _hang_up(self) -> None:
        for task in (*self._opening.values(), *self._mending):
            task.cancel()
        for line in (*self._lines.values(), *self._inboxes.values()):
            line.close()
        self._lines.clear()
        self._inboxes.clear()

    def ready(self) -> Line | None:
        """Give the line that was opened last, if it can be used as it is, on this loop."""
        line = self.last
        if (
            line is None
            or line.broken
            or line.generation != self._office.generation
            or line.loop is not asyncio.get_running_loop()
        ):
            return None
        return line

    async def where(self, slot: int, deadline: float) -> Where:
        """Give the server of a slot; who does not know it finds out, in a thread."""
        topology = self._office.topology
        where = topology.known(slot)
        if where is None:
            await asyncio.to_thread(topology.find, deadline)
            where = topology.known(slot)
        if where is None:
            raise self._office.unserved(slot)
        return where

    async def everywhere(self, deadline: float) -> tuple[Where, ...]:
        """Give all servers; who does not know them finds out, in a thread."""
        topology = self._office.topology
        servers = topology.masters()
        if not servers:
            await asyncio.to_thread(topology.find, deadline)
            servers = topology.masters()
        if not servers:
            raise self._office.unserved()
        return servers

    # Lines

    async def line(self, where: Where, deadline: float) -> Line:
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
            task.add_done_callback(lambda done: self._opened(where, done))
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

    def _opened(self, where: Where, task: asyncio.Task[Line]) -> None:
        self._opening.pop(where, None)
        if not task.cancelled():
            task.exception()  # seen, also where nobody waited for it to the end

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
        self._lines[where] = self.last = line
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
            # Gathered, so that the failure of all of them is seen, not that of the first alone.
            replies = await asyncio.gather(*(line.ask(word, deadline) for word in words))
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
            office.survey.read(await asyncio.gather(*asked))
        if office.births is not None:
            story, heard = office.births.questions(line.where), None
            try:
                while True:
                    heard = await line.ask(story.send(heard), deadline)
            except StopIteration as answered:
                line.held_until = answered.value

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
            self._listened.add(line.where)
            self.deaf("")

    def start_listening(self, channel: str) -> bool:
        """Subscribe on the lines that are open, and on all that will be.

        Say whether that comes before every claim: else a claim may be on its way meanwhile, or its
        slot move to a node where nobody listens yet.
        """
        self.channel = channel
        in_time = not self._office.clustered
        for line in tuple(self._lines.values()):
            if line.loop is self._loop and not line.broken:
                in_time = False
                self._do(self._listen(line, clock.now() + CONNECT_LIMIT))
        return in_time

    def heard_all(self) -> bool:
        """Whether somebody has listened, by now, on every server that there is."""
        masters = self._office.topology.masters()
        return bool(masters) and self._listened.issuperset(masters)

    def see_to_inboxes(self) -> None:
        """Listen to every master of a cluster, also to a new one; called on the keeper's thread.

        A fail-over that was ordered, or a slot that moved, breaks no line, and nobody may ask while
        all of them wait. But where nobody listens, who waits is passed over.
        """
        loop, now = self._loop, clock.now()
        if not self._office.clustered or not self.channel or loop is None or now < self._look_at:
            return
        self._look_at = now + LOOK_EVERY
        if any(where not in self._lines for where in self._office.topology.masters()):
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._mend_once)

    def _mend_once(self) -> None:
        if not self._mending and not self._closed:
            self._do(self._mend())

    def _heard(self, push: Any) -> None:
        if isinstance(push, list) and len(push) == 3 and push[0] == b"message":  # noqa: PLR2004
            self.hear(push[2])

    def _lost(self, line: Line) -> None:
        if self._lines.get(line.where) is line:
            del self._lines[line.where]
        if self._inboxes.get(line.where) is line:
            del self._inboxes[line.where]
        if self.channel and not self._closed and line.loop is self._loop:
            self._do(self._mend())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the side, and keep it from being collected meanwhile."""
        task = asyncio.ensure_future(_quietly(work))
        task.add_done_callback(lambda _: work.close())  # cancelled before it began
        self._mending.add(task)
        task.add_done_callback(self._mending.discard)

    async def _mend(self) -> None:
        """Connect again, so that the inbox hears; nobody may be asking while all of them wait."""
        for attempt in count():
            dice = int.from_bytes(os.urandom(4)) / (1 << 32)
            await asyncio.sleep(backoff.pause(attempt, dice))
            if self._closed:
                return
            try:
                for where in await self.everywhere(clock.now() + CONNECT_LIMIT):
                    await self.line(where, clock.now() + CONNECT_LIMIT)
            except BackendUnavailable:
                continue
            return


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(BackendUnavailable):  # whoever asks next is told
        await work
