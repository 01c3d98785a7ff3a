"""What a flow works with: one client's ports, its book, and who it is.

A client has two: one for its callers, in their runtime, and one for its keeper, which always
blocks. Both share the book.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from holdfast.errors import BackendUnavailable, Misuse
from holdfast.flows.book import Book, Chore, Ticket
from holdfast.observe.events import Event
from holdfast.ports import Bell, Runtime, Wire
from holdfast.rules import backoff
from holdfast.rules.messages import Release, Reply, Request, Withdraw
from holdfast.values import Holder


class Tells(Protocol):
    """Where events go."""

    @property
    def curious(self) -> bool:
        """Whether the everyday events are wanted."""
        ...

    def tell(self, event: Event) -> None:
        """Pass an event on."""
        ...


class Minds(Protocol):
    """The keeper, as a flow sees it."""

    def inbox(self) -> str:
        """Give the address where it hears notices, opening it first if need be."""
        ...

    def wake(self) -> None:
        """Make it look at the book soon, starting it if it does not run."""
        ...

    def mind(self) -> None:
        """Start it again if it died."""
        ...


class Session:
    """One client's ports, its book, and who it is."""

    def __init__(
        self,
        *,
        wire: Wire,
        runtime: Runtime,
        book: Book,
        holder: Holder,
        backend: str,
        call_limit: float,
        hub: Tells,
        keeper: Minds,
        new_id: Callable[[], str],
        command: Callable[[str], str],
    ) -> None:
        self.wire = wire
        self.runtime = runtime
        self.bell: Callable[[], Bell] = runtime.bell  # for those who wait in line
        self.book = book
        self.holder = holder
        self.backend = backend
        self.call_limit = call_limit
        self.hub = hub
        self.keeper = keeper
        self.new_id = new_id
        self._command = command

    def look(self, name: str) -> str:
        """Name the command that shows more of ``name``, for an error's last words."""
        return f"`{self._command(name)}`"

    def due(self, at: float) -> None:
        """Make sure that the keeper looks at the book by ``at``."""
        if at < self.book.asleep_until:
            self.keeper.wake()

    def leave(self, request: Release | Withdraw, until: float) -> None:
        """Leave a request to the keeper, which outlives this call."""
        self.book.chores.append(Chore(request, until))  # first: a keeper that ends looks once more
        self.keeper.wake()

    def refuse_if_closed(self) -> None:
        """Raise ``Misuse`` if the client was closed."""
        if self.book.closing:
            raise Misuse("this client is closed; make a new one, or keep it open for longer")


async def ask_until(session: Session, request: Request, deadline: float) -> tuple[Reply, float]:
    """Ask, and ask again until ``deadline``; give the reply and the send time it belongs to."""
    asked_at = session.runtime.now()
    try:
        reply = await session.wire.ask(request, min(deadline, asked_at + session.call_limit))
    except BackendUnavailable as error:
        return await ask_again(session, request, deadline, error)
    return reply, asked_at


async def ask_again(
    session: Session,
    request: Request,
    deadline: float,
    error: BackendUnavailable,
    ticket: Ticket | None = None,
) -> tuple[Reply, float]:
    """Go on asking after ``error``, the failure of the first try.

    Every request is idempotent, so a reply that never came is simply asked for again. Once an
    outcome was unknown it stays so: a later failure to ask says nothing about the first try, and
    ``ticket`` remembers that an earlier copy of its claim may still arrive.
    """
    runtime = session.runtime
    attempt = 0
    outcome = "none"
    while True:
        outcome = error.outcome = error.outcome if outcome == "none" else outcome
        if ticket is not None and outcome == "unknown":
            ticket.doubtful = True
        pause = backoff.pause(attempt, runtime.dice())
        if not error.transient or runtime.now() + pause >= deadline:
            raise error
        attempt += 1
        await runtime.sleep(pause)
        asked_at = runtime.now()
        try:
            reply = await session.wire.ask(request, min(deadline, asked_at + session.call_limit))
        except BackendUnavailable as next_error:
            error = next_error
        else:
            return reply, asked_at
