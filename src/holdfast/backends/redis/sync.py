"""The wire for threads: letters over the connections of the stack, on the caller's own thread.

Counterpart: ``aio``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, listing
from holdfast.backends.redis.link import LOADING, Link
from holdfast.backends.redis.office import ROUNDS, Answer, Office, Resend, Sorter
from holdfast.backends.redis.replies import read_quick
from holdfast.backends.redis.requests import Asked, Letter
from holdfast.backends.redis.stack import Stack
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import ListNames, Reply, Request

Errand = tuple[Letter, Where, bytes]
"""A letter, the server it goes to, and the commands that go before it."""


class SyncWire:
    """Blocks the caller for one round trip."""

    def __init__(self, office: Office, stack: Stack | None = None) -> None:
        self._office = office
        self._parcel = office.post.parcel
        self._fixed = office.target.mode == "single" and not office.target.replicas
        self.stack = stack or Stack(office)

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        if isinstance(request, ListNames):
            return self._list(request, deadline)
        if self._fixed and (parcel := self._parcel(request)) is not None:
            call, keys, words = parcel
            now = clock.now()
            link = self.stack.borrow(self._office.target.seeds[0], now, deadline)
            try:
                raw = link.ask(call.one(keys, words), now, deadline)
                if call.leads:
                    raw = link.read(deadline)
            except BaseException:
                link.close()
                raise
            self.stack.give_back(link)
            reply = read_quick(request, raw, self._office.mark)
            if reply is not None:
                return reply
            letter = self._office.post.letter(request)
            done = self._office.read(letter, raw, link.where)
            if not isinstance(done, Resend):
                return _or_raise(done[0])
            again = [done.errand(letter, link.where)]
            return _or_raise(self._deliver(again, 1, deadline)[0])
        if isinstance(request, ClaimAll) and self._office.is_apart(request):
            return Apart()
        return _or_raise(self._carry_out([request], deadline)[0])

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: all are sent before any is read."""
        try:
            return self._carry_out(requests, deadline)
        except BackendUnavailable as error:
            return [error] * len(requests)

    def close(self) -> None:
        """Let go of every connection."""
        self.stack.close()

    abandon = close

    # One exchange with every server concerned

    def _carry_out(self, requests: Sequence[Request], deadline: float) -> list[Answer]:
        return self._deliver(self._errands(requests, deadline), len(requests), deadline)

    def _deliver(self, errands: list[Errand], count: int, deadline: float) -> list[Answer]:
        """Send letters until each is answered; redirections and lost scripts are followed."""
        sorter = Sorter(count)
        for _ in range(ROUNDS):
            again: list[Errand] = []
            lent = self._send(errands, deadline, sorter)
            for link, sent in lent:
                self._read(link, sent, deadline, sorter, again)
            errands = again
            if not errands:
                break
        for letter, _, _ in errands:
            sorter.fail(letter, faults.refused(self._office.shown, "TRYAGAIN redirected for ever"))
        return sorter.result()

    def _errands(self, requests: Sequence[Request], deadline: float) -> list[Errand]:
        office = self._office
        places: dict[Where, list[tuple[int, Asked]]] = {}
        for place, request in enumerate(requests):
            if isinstance(request, ListNames):
                raise TypeError("listings are asked for one at a time")
            where = self.stack.where(office.slot(request), deadline)
            places.setdefault(where, []).append((place, request))
        errands: list[Errand] = []
        for where, asked in places.items():
            letters = office.post.letters(asked)
            errands += [(letter, where, office.post.before(letter)) for letter in letters]
        return errands

    def _send(
        self, errands: list[Errand], deadline: float, sorter: Sorter
    ) -> list[tuple[Link, list[Errand]]]:
        office = self._office
        by_server: dict[Where, list[Errand]] = {}
        for errand in errands:
            by_server.setdefault(errand[1], []).append(errand)
        lent: list[tuple[Link, list[Errand]]] = []
        for where, asked in by_server.items():
            group = _said_once(asked)
            try:
                link = self.stack.borrow(where, clock.now(), deadline)
            except BackendUnavailable as error:
                for letter, _, _ in group:
                    sorter.fail(letter, error)
                continue
            held_until = link.held_until
            data = b"".join(
                before + office.written(letter, held_until) for letter, _, before in group
            )
            if any(office.needs_replicas(letter) for letter, _, _ in group):
                data += office.wait_command(deadline)
            try:
                link.send(data, deadline)
            except BackendUnavailable as error:
                link.close()
                for letter, _, _ in group:
                    sorter.fail(letter, error)
                continue
            except BaseException:
                link.close()
                raise
            lent.append((link, group))
        return lent

    def _read(
        self,
        link: Link,
        sent: list[Errand],
        deadline: float,
        sorter: Sorter,
        again: list[Errand],
    ) -> None:
        office = self._office
        waits = any(office.needs_replicas(letter) for letter, _, _ in sent)
        try:
            raws: list[Any] = []
            for _, _, before in sent:
                first = link.read(deadline) if before else None
                raw = link.read(deadline)
                raws.append(first if isinstance(first, Exception) else raw)
            heard = link.read(deadline) if waits else None
        except BackendUnavailable as error:
            link.close()
            self._office.topology.suspect()
            for letter, _, _ in sent:
                sorter.fail(letter, error)
            return
        except BaseException:
            link.close()
            raise
        self.stack.give_back(link)
        for (letter, where, _), raw in zip(sent, raws, strict=True):
            done = office.read(letter, raw, where)
            if isinstance(done, Resend):
                again.append(done.errand(letter, where))
            elif office.needs_replicas(letter):
                sorter.put(letter, office.confirmed(done, heard))
            else:
                sorter.put(letter, done)

    def _list(self, request: ListNames, deadline: float) -> Reply:
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
            by = clock.now() + limit
            answers = self._step(step, by)

    def _step(self, step: listing.Step, deadline: float) -> list[Any]:
        if isinstance(step, listing.Find):
            return [*self.stack.everywhere(deadline)]
        if isinstance(step, listing.Looks):
            return [_or_raise(one) for one in self._carry_out(step.requests, deadline)]
        link = self.stack.borrow(step.where, clock.now(), deadline)
        try:
            reply = link.exchange(step.data, 1, deadline)
        except BaseException:
            link.close()
            raise
        self.stack.give_back(link)
        return reply


def _said_once(group: list[Errand]) -> list[Errand]:
    """Load each script once, however many letters call it."""
    said: set[bytes] = set()
    kept: list[Errand] = []
    for letter, where, before in group:
        again = before in said and before.startswith(LOADING)
        kept.append((letter, where, b"" if again else before))
        said.add(before)
    return kept


def _or_raise(answer: Answer) -> Reply:
    if isinstance(answer, BackendUnavailable):
        raise answer
    return answer
