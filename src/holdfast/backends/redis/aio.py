"""The wire for tasks: letters over the multiplexed lines of the switchboard.

What tasks ask in one turn of the loop leaves in one write. Counterpart: ``sync``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, listing
from holdfast.backends.redis.line import ALONE, Line
from holdfast.backends.redis.office import ROUNDS, Answer, Office, Resend, Sorter
from holdfast.backends.redis.replies import read_quick
from holdfast.backends.redis.requests import Asked, Letter
from holdfast.backends.redis.switchboard import Switchboard
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import ListNames, Reply, Request

Errand = tuple[Letter, Where, bytes]
"""A letter, the server it goes to, and the command that goes before it."""


class AioWire:
    """Suspends the caller for one round trip, shared with whoever asks in the same turn."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._parcel = office.post.parcel
        self._fixed = office.target.mode == "single" and not office.target.replicas
        self.lines = Switchboard(office)

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        office = self._office
        if isinstance(request, ListNames):
            return await self._list(request, deadline)
        if self._fixed and (parcel := self._parcel(request)) is not None:
            line = self.lines.ready() or await self.lines.line(office.target.seeds[0], deadline)
            future = line.loop.create_future()
            line.send_along(parcel, future, deadline)
            raw = await future
            reply = read_quick(request, raw, office.mark)
            return await self._heard(request, raw, line, deadline) if reply is None else reply
        if isinstance(request, ClaimAll) and self._office.is_apart(request):
            return Apart()
        return _or_raise((await self._carry_out([request], deadline))[0])

    async def _heard(self, request: Asked, raw: Any, line: Line, deadline: float) -> Reply:
        """Understand what few calls get; who was refused together with others asks alone."""
        letter = self._office.post.letter(request)
        try:
            reply = raw if raw is not ALONE else await line.ask(letter.data, deadline)
            done = self._office.read(letter, reply, line.where)
            if isinstance(done, Resend):
                again = [done.errand(letter, line.where)]
                done = await self._deliver(again, 1, deadline)
            return _or_raise(done[0])
        except BackendUnavailable as error:
            if raw is ALONE:
                error.outcome = "unknown"  # it may have been done before another made it fail
            raise

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: all leave in one turn of the loop."""
        try:
            return await self._carry_out(requests, deadline)
        except BackendUnavailable as error:
            return [error] * len(requests)

    def close(self) -> None:
        """Let go of every connection."""
        self.lines.close()

    abandon = close

    # One exchange with every server concerned

    async def _carry_out(self, requests: Sequence[Request], deadline: float) -> list[Answer]:
        return await self._deliver(await self._errands(requests, deadline), len(requests), deadline)

    async def _deliver(self, errands: list[Errand], count: int, deadline: float) -> list[Answer]:
        """Send letters until each is answered; redirections and lost scripts are followed."""
        sorter = Sorter(count)
        for _ in range(ROUNDS):
            if not errands:
                break
            sent = await asyncio.gather(*(self._send(*errand, deadline) for errand in errands))
            again: list[Errand] = []
            for (letter, where, _), done in zip(errands, sent, strict=True):
                if isinstance(done, Resend):
                    again.append(done.errand(letter, where))
                else:
                    sorter.put(letter, done)
            errands = again
        for letter, _, _ in errands:
            sorter.fail(letter, faults.refused(self._office.shown, "TRYAGAIN redirected for ever"))
        return sorter.result()

    async def _errands(self, requests: Sequence[Request], deadline: float) -> list[Errand]:
        office = self._office
        places: dict[Where, list[tuple[int, Asked]]] = {}
        for place, request in enumerate(requests):
            if isinstance(request, ListNames):
                raise TypeError("listings are asked for one at a time")
            where = await self.lines.where(office.slot(request), deadline)
            places.setdefault(where, []).append((place, request))
        errands: list[Errand] = []
        for where, asked in places.items():
            letters = office.post.letters(asked)
            errands += [(letter, where, office.post.before(letter)) for letter in letters]
        return errands

    async def _send(
        self, letter: Letter, where: Where, before: bytes, deadline: float
    ) -> list[Answer] | Resend:
        office = self._office
        try:
            line = await self.lines.line(where, deadline)
            if before and line.was_told(before):
                before = b""  # another task has just said it here
            waits = office.needs_replicas(letter)
            words = [before] if before else []
            words.append(office.written(letter, line.held_until))
            if waits:
                words.append(office.wait_command(deadline))
            replies = await asyncio.gather(*[line.ask(word, deadline) for word in words])
            first = replies.pop(0) if before else None
            done = office.read(letter, first if isinstance(first, Exception) else replies[0], where)
            if waits and not isinstance(done, Resend):
                done = office.confirmed(done, replies[1])
        except BackendUnavailable as error:
            office.topology.suspect()
            return [error] * len(letter.requests)
        return done

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
            return [*await self.lines.everywhere(deadline)]
        if isinstance(step, listing.Looks):
            return [_or_raise(one) for one in await self._carry_out(step.requests, deadline)]
        line = await self.lines.line(step.where, deadline)
        return [await line.ask(step.data, deadline)]


def _or_raise(answer: Answer) -> Reply:
    if isinstance(answer, BackendUnavailable):
        raise answer
    return answer
