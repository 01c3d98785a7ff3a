"""The wire for threads: stories of the quorum over bundles of connections. Counterpart: ``aio``.

A caller borrows a bundle for one call, on its own thread; there is no pool of threads. The one
small thread there is looks now and then whether a server is back that did not answer, so that no
caller waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.link import open_link
from holdfast.backends.redis.requests import command
from holdfast.backends.redlock.bundle import Bundle
from holdfast.backends.redlock.council import Council
from holdfast.backends.redlock.names import Scan, names_in_use
from holdfast.backends.redlock.node import Node
from holdfast.errors import BackendUnavailable
from holdfast.rules.many import Apart, ClaimAll
from holdfast.rules.messages import ListNames, Look, Reply, Request, Seen
from holdfast.rules.play import Play
from holdfast.rules.quorum import Ask
from holdfast.rules.quorum_messages import Stand

MOST_IDLE = 16
"""So many bundles are kept for the next callers; what a storm of threads needed is not."""

PROBE_LIMIT = 0.5


class SyncWire:
    """Blocks the caller until a majority has answered."""

    def __init__(self, council: Council) -> None:
        self.council = council
        self._idle: list[Bundle] = []
        self._closed = False

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        if isinstance(request, ListNames):
            return self._list(request, deadline)
        if isinstance(request, ClaimAll):
            return Apart()
        answer = self._carry_out([request], deadline)[0]
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many: what they ask of a server leaves in one write."""
        return self._carry_out(requests, deadline)

    def close(self) -> None:
        """Let go of every connection."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()

    abandon = close

    def _carry_out(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        bundle = self._borrow()
        try:
            self._prepare(bundle, deadline)
            replies = self._play(bundle, requests, deadline)
        except BaseException:
            bundle.close()
            raise
        self._give_back(bundle)
        return replies

    def _play(
        self, bundle: Bundle, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        council = self.council
        play = Play(requests, council.terms, council.claims)
        while play.asks:
            play.answer(bundle.exchange(play.asks, deadline))
            bundle.tell(play.take_tells())
        return council.noted(requests, play)

    def _prepare(self, bundle: Bundle, deadline: float) -> None:
        """Connect where it is worth it, and see whether somebody can be let in to vote."""
        council = self.council
        for node in council.nodes:
            if node.fault and node.begin_probe():
                look_after(node)
        bundle.connect(deadline)
        if council.must_settle():
            self.settle(bundle, deadline)

    def settle(self, bundle: Bundle, deadline: float) -> None:
        """Ask every server how it stands, and let in who may vote."""
        council = self.council
        everyone = council.terms.everyone(Stand())
        ask = Ask(everyone, lambda found: len(found) == len(everyone))
        let_in = council.admissions(bundle.exchange([ask], deadline)[0])
        if let_in:
            bundle.exchange([Ask(let_in, lambda found: len(found) == len(let_in))], deadline)

    # Bundles

    def _borrow(self) -> Bundle:
        if self._closed:
            raise faults.closed(self.council.shown)
        try:
            return self._idle.pop()
        except IndexError:
            return Bundle(self.council)

    def _give_back(self, bundle: Bundle) -> None:
        if len(self._idle) >= MOST_IDLE:
            bundle.close()
            return
        self._idle.append(bundle)
        if self._closed:
            self.close()

    # Listing

    def _list(self, request: ListNames, deadline: float) -> Reply:
        """List the names that any server knows, and look at each of them on all."""
        limit = deadline - clock.now()
        story = names_in_use(self.council, request)
        step = next(story)
        while True:
            try:
                step = story.send(self._step(step, clock.now() + limit))
            except StopIteration as done:
                found: Seen = done.value
                return found

    def _step(self, step: Scan | Sequence[Look], deadline: float) -> Any:
        if not isinstance(step, Scan):
            return self._carry_out(step, deadline)
        patience = max(3 * self.council.node_limit, 0.3)
        try:
            link = open_link(
                step.node.target, step.node.where, min(deadline, clock.now() + patience)
            )
        except BackendUnavailable as error:
            return error
        try:
            return link.exchange(step.data, 1, deadline)[0]
        except BackendUnavailable as error:
            return error
        finally:
            link.close()


def look_after(node: Node) -> None:
    """Look in the background whether a server is back."""
    thread = threading.Thread(
        target=_look, args=(node,), name=f"holdfast-probe-{node.name}", daemon=True
    )
    thread.start()


def _look(node: Node) -> None:
    try:
        deadline = clock.now() + PROBE_LIMIT
        link = open_link(node.target, node.where, deadline)
        try:
            link.exchange(command("PING"), 1, deadline)
        finally:
            link.close()
        node.answered()
    except BackendUnavailable as error:
        node.failed(error.message.removeprefix(f"{node.name}: "))
    finally:
        node.end_probe()
