"""The wire for tasks: letters over the multiplexed lines of the switchboard.

What tasks ask in one turn of the loop leaves in one write. What replicas must have goes over a line
of its own (``confirming``). Counterpart: ``sync``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, listing
from holdfast.backends.redis.confirming import Confirmation, Confirming
from holdfast.backends.redis.line import ALONE, Line
from holdfast.backends.redis.office import ROUNDS, Answer, Office, Resend, Sorter, gives
from holdfast.backends.redis.replies import read_quick
from holdfast.backends.redis.requests import AHEAD, Asked, Letter
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
        self._confirming = Confirming(office)

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
        self._confirming.close()

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
            # What is asked together keeps its order, so it goes over the same line.
            slow = {where for letter, where, _ in errands if self._office.needs_replicas(letter)}
            sending = [self._send(*one, deadline, slow=one[1] in slow) for one in errands]
            # Most are alone, and need no task of their own.
            sent = [await sending[0]] if len(sending) == 1 else await asyncio.gather(*sending)
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
        self, letter: Letter, where: Where, before: bytes, deadline: float, *, slow: bool
    ) -> list[Answer] | Resend:
        """Send one letter; ``slow``: over the line on which others may wait for replicas."""
        office = self._office
        confirmation: Confirmation | None = None
        try:
            # First of all the line with the inbox: who joins a queue unheard would be passed over.
            line = await self.lines.line(where, deadline)
            if slow:
                line = await self._confirming.line(where, deadline)
            if before and line.was_told(before):
                before = b""  # another task has just said it here
            data = office.written(letter, line.held_until)
            if before == AHEAD:  # in one write, else it is answered before the letter comes
                return office.read(
                    letter, await line.ask(before + data, deadline, leads=True), where
                )
            ahead = line.ask(before, deadline) if before else None
            asked = line.ask(data, deadline)
            if office.needs_replicas(letter):
                confirmation = self._confirming.confirmation(line, deadline)
            # Gathered, so that the failure of both is seen.
            first, raw = await asyncio.gather(ahead, asked) if ahead else (None, await asked)
            done = office.read(letter, first if isinstance(first, Exception) else raw, where)
            if confirmation and not isinstance(done, Resend) and any(map(gives, done)):
                done = office.confirmed(done, await confirmation.heard)
        except BackendUnavailable as error:
            office.topology.suspect()
            return [error] * len(letter.requests)
        finally:
            if confirmation is not None:
                confirmation.forget()
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
