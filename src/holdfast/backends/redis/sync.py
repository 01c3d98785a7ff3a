"""The wire for threads: a small stack of plain connections, used on the caller's own thread.

The one used last is used next, so few stay warm. A connection is lent to one caller at a time; if
anything goes wrong while it is lent (a silent server, a Ctrl-C), it is closed, never given back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults, listing
from holdfast.backends.redis.link import LOADING, Link, open_link
from holdfast.backends.redis.office import ROUNDS, Answer, Office, Resend, Sorter
from holdfast.backends.redis.replies import read_quick
from holdfast.backends.redis.requests import Letter, command
from holdfast.backends.redis.target import Where
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import ListNames, NameRequest, Reply, Request

IDLE_FOR = 10.0
"""A connection that nobody needed for so long is closed, down to the last one."""

MOST_IDLE = 16
"""So many connections are kept for the next callers; what a storm of threads needed is not."""

LOOK_AFTER = 0.2
"""A connection that rested for longer is looked at before it is trusted."""

Errand = tuple[Letter, Where, bytes]
"""A letter, the server it goes to, and the commands that go before it."""


class SyncWire:
    """Blocks the caller for one round trip."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._quick = office.post.quick
        self._fixed = office.target.mode == "single" and not office.target.replicas
        self._idle: dict[Where, list[Link]] = {}
        self._closed = False

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        if isinstance(request, ListNames):
            return self._list(request, deadline)
        if self._fixed and (data := self._quick(request)) is not None:
            now = clock.now()
            link = self._borrow(self._office.target.seeds[0], now, deadline)
            try:
                raw = link.ask(data, now, deadline)
            except BaseException:
                link.close()
                raise
            self._give_back(link)
            reply = read_quick(request, raw, self._office.mark)
            if reply is not None:
                return reply
            letter = self._office.post.letter(request)
            done = self._office.read(letter, raw, link.where)
            if not isinstance(done, Resend):
                return _or_raise(done[0])
            again = [(letter, done.where or link.where, done.before)]
            return _or_raise(self._deliver(again, 1, deadline)[0])
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
        self._closed = True
        for links in tuple(self._idle.values()):
            while links:
                links.pop().close()

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
        places: dict[Where, list[tuple[int, NameRequest]]] = {}
        for place, request in enumerate(requests):
            if isinstance(request, ListNames):
                raise TypeError("listings are asked for one at a time")
            where = self._where(office.slot(request), deadline)
            places.setdefault(where, []).append((place, request))
        errands: list[Errand] = []
        for where, asked in places.items():
            if office.clustered:
                self._meet(where, deadline)
            letters = office.post.letters(asked, office.held_back(where))
            errands += [(letter, where, b"") for letter in letters]
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
            data = b"".join(before + letter.data for letter, _, before in group)
            if any(office.needs_replicas(letter) for letter, _, _ in group):
                data += office.wait_command(deadline)
            try:
                link = self._borrow(where, clock.now(), deadline)
            except BackendUnavailable as error:
                for letter, _, _ in group:
                    sorter.fail(letter, error)
                continue
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
        self._give_back(link)
        for (letter, where, _), raw in zip(sent, raws, strict=True):
            done = office.read(letter, raw, where)
            if isinstance(done, Resend):
                again.append((letter, done.where or where, done.before))
            elif office.needs_replicas(letter):
                sorter.put(letter, office.confirmed(done, heard))
            else:
                sorter.put(letter, done)

    # Connections

    def _where(self, slot: int, deadline: float) -> Where:
        topology = self._office.topology
        where = topology.known(slot)
        if where is None:
            topology.find(deadline)
            where = topology.known(slot)
        if where is None:
            raise faults.refused(self._office.shown, f"CLUSTERDOWN slot {slot} has no master")
        return where

    def _meet(self, where: Where, deadline: float) -> None:
        """Know a cluster's node (and its birth mark) before the first letter to it is written."""
        if not self._idle.get(where):
            with suppress(BackendUnavailable):  # the letter itself will say so
                self._give_back(self._open(where, deadline))

    def _borrow(self, where: Where, now: float, deadline: float) -> Link:
        links = self._idle.get(where)
        while links:
            try:
                link = links.pop()
            except IndexError:  # another thread was quicker
                break
            fresh = link.generation == self._office.generation
            if fresh and (now - link.used_at < LOOK_AFTER or self._is_good(link)):
                return link
            link.close()
        return self._open(where, deadline)

    def _is_good(self, link: Link) -> bool:
        """Whether the server has not hung up while the link rested: nobody asked it anything."""
        return not link.has_something()

    def _give_back(self, link: Link) -> None:
        links = self._idle.get(link.where)
        if links is None:
            links = self._idle.setdefault(link.where, [])
        links.append(link)
        if self._closed:
            self.close()
        elif len(links) > MOST_IDLE or (
            len(links) > 1 and links[0].used_at < link.used_at - IDLE_FOR
        ):
            with suppress(IndexError):  # another thread was quicker
                links.pop(0).close()

    def _open(self, where: Where, deadline: float) -> Link:
        if self._closed:
            raise faults.closed(self._office.shown)
        office = self._office
        try:
            link = open_link(office.target, where, deadline)
        except BackendUnavailable:
            office.topology.suspect()
            raise
        link.generation = office.generation
        try:
            self._get_to_know(link, deadline)
        except BaseException:
            link.close()
            raise
        return link

    def _get_to_know(self, link: Link, deadline: float) -> None:
        """See whether this is a master, what it survives, and (in Cluster) its birth mark."""
        office = self._office
        try:
            if office.target.mode == "sentinel":
                (role,) = link.exchange(command("ROLE"), 1, deadline)
                office.insist_on_master(role)
            if not office.survey.done:
                questions = office.survey.QUESTIONS
                office.survey.read(link.exchange(b"".join(questions), len(questions), deadline))
            self._ask_birth(link, deadline)
        except BackendUnavailable as error:
            error.outcome = "none"  # the letter itself was not sent
            raise

    def _ask_birth(self, link: Link, deadline: float) -> None:
        """In Cluster: see whether the node still has its memory, and may grant."""
        key = self._office.birth_key(link.where)
        if key:
            (birth,) = link.exchange(self._office.birth_letter(key), 1, deadline)
            self._office.read_birth(link.where, key, birth)

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
            self._where(0, deadline)
            return [None]
        if isinstance(step, listing.Looks):
            return [_or_raise(one) for one in self._carry_out(step.requests, deadline)]
        link = self._borrow(step.where, clock.now(), deadline)
        try:
            reply = link.exchange(step.data, 1, deadline)
        except BaseException:
            link.close()
            raise
        self._give_back(link)
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
