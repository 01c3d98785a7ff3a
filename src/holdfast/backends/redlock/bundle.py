"""The connections of one thread to a quorum, one to each server: sent to all, then read from all.

Nobody waits for a server whose answer is not needed. What it still owes is read when it comes:
its replies arrive in the order of the questions, so the next call finds them first. One bundle is
lent to one caller at a time; after a Ctrl-C in the middle it is closed. Counterpart: ``aio``.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from hiredis import PushNotification

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.inboxes import complain
from holdfast.backends.redis.link import SHORTEST, Link, open_link
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.node import QUESTIONS, Node, Self
from holdfast.backends.redlock.replies import read
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Release, Withdraw
from holdfast.rules.play import Exchange
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Answer, VoterRequest

SILENT = "no answer in the time that a server has (node_limit)"


class Strand:
    """The connection to one server, and what it still owes: which questions await their answer."""

    __slots__ = ("link", "node", "owed", "run", "since")

    def __init__(self, node: Node, link: Link, run: bytes) -> None:
        self.node = node
        self.link = link
        self.run = run
        self.owed: deque[tuple[Exchange | None, int, VoterRequest]] = deque()
        self.since = 0.0  # when the oldest of those was asked


class Bundle:
    """One connection to each server, as far as they can be reached."""

    def __init__(self, council: Council) -> None:
        self._council = council
        self._strands: dict[int, Strand] = {}
        self._poll = select.poll()
        self._by_descriptor: dict[int, Strand] = {}
        self.pushes: list[Any] = []
        self.used_at = 0.0

    def close(self) -> None:
        """Hang up everywhere."""
        for strand in tuple(self._strands.values()):
            self._drop(strand)

    def descriptors(self) -> list[int]:
        """Give what to wait on, for who listens."""
        return list(self._by_descriptor)

    def number_open(self) -> int:
        """Say to how many servers there is a connection."""
        return len(self._strands)

    # Connections

    def connect(self, deadline: float, greet: bytes = b"") -> None:
        """Connect to every server that is worth asking; ``greet`` is said first on each.

        One after the other, so each has its share of the time: a silent one leaves the others
        theirs. Those that failed least come first.
        """
        council = self._council
        missing = [node for node in council.asked() if node.number not in self._strands]
        missing.sort(key=lambda node: node.failures)
        for at, node in enumerate(missing):
            now = clock.now()
            share = (deadline - now) / (len(missing) - at)
            try:
                self._open(node, now + min(share, max(3 * council.node_limit, 0.3)), greet)
            except BackendUnavailable as error:
                node.failed(_without_name(error, node))

    def _open(self, node: Node, deadline: float, greet: bytes) -> None:
        link = open_link(node.target, node.where, deadline)
        try:
            said = Self(link.exchange(b"".join(QUESTIONS), len(QUESTIONS), deadline), node.target)
            self._council.meet(node, said)
            if greet and link.protocol == 3:  # noqa: PLR2004 - in RESP2 it could do nothing else
                link.send(greet, deadline)
                heard = link.read_anything(deadline)
                if isinstance(heard, Exception):
                    complain(node.name, str(heard))
                else:
                    self.pushes.append(heard)  # from now on; what was said before is missed
        except BaseException:
            link.close()
            raise
        node.answered()
        strand = self._strands[node.number] = Strand(node, link, said.run)
        self._by_descriptor[link.fileno()] = strand
        self._poll.register(link.fileno(), select.POLLIN)
        self._make_up(strand)

    def _make_up(self, strand: Strand) -> None:
        """Tell a server that is back what it was not told."""
        untold = strand.node.take_untold()
        if untold:
            self._send(strand, [(None, 0, request) for request in untold])

    def _drop(self, strand: Strand) -> None:
        descriptor = strand.link.fileno()
        if self._strands.get(strand.node.number) is strand:
            del self._strands[strand.node.number]
            if self._by_descriptor.pop(descriptor, None) is not None:
                self._poll.unregister(descriptor)
        strand.link.close()

    def _lost(self, strand: Strand, error: BackendUnavailable) -> None:
        """Tell whoever waits for this server that it is gone."""
        self._drop(strand)
        strand.node.failed(_without_name(error, strand.node))
        for exchange, at, request in strand.owed:
            if exchange is not None:
                exchange.put(at, strand.node.number, error)
            strand.node.remember(request)
        strand.owed.clear()

    # One exchange with all of them

    def exchange(self, asks: Sequence[Ask], deadline: float) -> list[dict[int, Answer]]:
        """Ask all servers at once; come back as soon as enough is known."""
        council = self._council
        limit = min(deadline, clock.now() + council.node_limit)
        self._take_in_owed()
        current = Exchange(asks)
        asked = {node.number for node in council.asked()}
        for node in council.nodes:
            self._ask_one(node, current, is_asked=node.number in asked)
        while not current.enough():
            left, owed = limit - clock.now(), self._number_owed()
            self._take_in(max(0.0, left))
            if self._number_owed() < owed:  # of very many, answers come one after the other
                limit = min(deadline, clock.now() + council.node_limit)
            elif left <= 0:
                break
        self._blame(current)
        return current.answers

    def _number_owed(self) -> int:
        return sum(len(strand.owed) for strand in self._strands.values())

    def tell(self, tells: Iterable[tuple[int, VoterRequest]]) -> None:
        """Tell servers something, and do not wait for what they say."""
        by_node: dict[int, list[tuple[Exchange | None, int, VoterRequest]]] = {}
        for number, request in tells:
            by_node.setdefault(number, []).append((None, 0, request))
        for number, words in by_node.items():
            strand = self._strands.get(number)
            if strand is not None:
                self._send(strand, words)
            else:
                for _, _, request in words:
                    self._council.nodes[number].remember(request)

    def _ask_one(self, node: Node, current: Exchange, *, is_asked: bool) -> None:
        words: list[tuple[Exchange | None, int, VoterRequest]] = [
            (current, at, ask.requests[node.number])
            for at, ask in enumerate(current.asks)
            if node.number in ask.requests
        ]
        if not words:
            return
        strand = self._strands.get(node.number)
        if strand is not None and is_asked:
            self._send(strand, words)
            return
        why = BackendUnavailable(
            f"{node.name}: {node.fault or 'no connection yet'}", backend="redlock"
        )
        for _, at, _ in words:
            current.put(at, node.number, why)
        # What gives something back is said all the same: it stands behind what it takes back.
        self.tell(
            (node.number, request)
            for _, _, request in words
            if isinstance(request, (Release, Withdraw))
        )

    def _send(
        self, strand: Strand, words: Sequence[tuple[Exchange | None, int, VoterRequest]]
    ) -> None:
        parts: list[bytes] = []
        for _, _, request in words:
            call, keys, own = self._council.post.parcel(request, strand.run)
            parts.append(call.one(keys, own))
        now = clock.now()
        if not strand.owed:
            strand.since = now
        strand.owed.extend(words)
        try:
            # Small, and into a buffer: if that is full, the server has not read for long.
            strand.link.send(b"".join(parts), now + SHORTEST)
        except BackendUnavailable as error:
            self._lost(strand, error)

    def _take_in_owed(self) -> None:
        """Read what came since, and find out who has owed an answer for too long."""
        if not any(strand.owed for strand in self._strands.values()):
            return
        self._take_in(0.0)
        overdue = clock.now() - self._council.node_limit
        for strand in tuple(self._strands.values()):
            if strand.owed and strand.since < overdue:
                strand.node.failed(SILENT)

    def _take_in(self, seconds: float) -> bool:
        """Wait for answers, at most so long, and hand them out."""
        ready = self._poll.poll(seconds * 1000)
        for descriptor, _ in ready:
            self._read(self._by_descriptor[descriptor])
        return bool(ready)

    def hear(self, descriptor: int) -> None:
        """Read what has come unasked."""
        strand = self._by_descriptor.get(descriptor)
        if strand is not None:
            self._read(strand)

    def _read(self, strand: Strand) -> None:
        try:
            arrived = strand.link.read_pushes()
        except BackendUnavailable as error:
            self._lost(strand, error)
            return
        strand.since = clock.now()
        was_silent, forgot = bool(strand.node.fault), False
        strand.node.answered()
        for raw in arrived:
            if isinstance(raw, PushNotification) or not strand.owed:
                self.pushes.append(raw)
                continue
            exchange, at, request = strand.owed.popleft()
            if isinstance(raw, Exception) and str(raw).startswith("NOSCRIPT"):
                forgot = True
                strand.node.remember(request)
            answer = answered(strand.node, request, raw)
            if exchange is not None:
                exchange.put(at, strand.node.number, answer)
        if forgot:
            self._lost(strand, unscripted(strand.node))
        elif was_silent:
            self._make_up(strand)

    def _blame(self, current: Exchange) -> None:
        """Say who kept us waiting, if anybody did."""
        if current.enough():
            for found in current.answers:
                self._council.hear(found.values())
            return
        for strand in tuple(self._strands.values()):
            late = [(at, request) for one, at, request in strand.owed if one is current]
            if late:
                strand.node.failed(SILENT)
            for at, _ in late:
                current.put(at, strand.node.number, silent(strand.node))
        for found in current.answers:
            self._council.hear(found.values())


def answered(node: Node, request: VoterRequest, raw: Any) -> Answer:
    """Read what a server answered. What nobody understands is no vote, and no matter of others."""
    if not isinstance(raw, Exception):
        try:
            return read(request, raw, node.name)
        except (LookupError, TypeError, ValueError) as error:
            return BackendUnavailable(
                f"{node.name}: its answer makes no sense ({error!r}): has somebody else written to"
                " the keys of holdfast?",
                backend="redlock",
                outcome="unknown",
            )
    text = str(raw)
    return unscripted(node) if text.startswith("NOSCRIPT") else faults.refused(node.name, text)


def silent(node: Node) -> BackendUnavailable:
    """Say that a server has not answered in its time; it may have done what it was asked."""
    return BackendUnavailable(f"{node.name}: {SILENT}", backend="redlock", outcome="unknown")


def unscripted(node: Node) -> BackendUnavailable:
    """Say that somebody made the server forget its scripts: a new connection brings them again."""
    return BackendUnavailable(f"{node.name}: its scripts were flushed", backend="redlock")


def _without_name(error: BackendUnavailable, node: Node) -> str:
    return error.message.removeprefix(f"{node.name}: ")
