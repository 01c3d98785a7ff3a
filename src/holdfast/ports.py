"""The two narrow ports between the flows and the world, and what a backend must offer.

Flows are written once, as ``async def``, over ``Wire`` (asking the backend) and ``Runtime`` (time,
waiting, cleaning up). In sync both block inside, so a flow never suspends. Deadlines are points in
time on ``Runtime.now``; nothing below a flow decides how long to try.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Notice, Reply, Request
from holdfast.values import Capabilities, Holder

T = TypeVar("T")


class Wire(Protocol):
    """One client's way to its backend, in one runtime."""

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request, or raise ``BackendUnavailable`` at the latest at ``deadline``."""
        ...

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, all sent before any is read; one failure never touches the others."""
        ...

    def close(self) -> None:
        """Let go of every connection."""
        ...

    def abandon(self) -> None:
        """Let go soon, without taking a lock or waiting: for finalisers."""
        ...


class Ear(Protocol):
    """The inbox of one client, read by its keeper. ``address`` is empty where there is none."""

    @property
    def address(self) -> str:
        """Where the backend tells this client something."""
        ...

    def listen(self, until: float) -> Sequence[Notice]:
        """Wait for notices, at most until ``until`` or the next ``wake``."""
        ...

    def wake(self) -> None:
        """Make ``listen`` return soon; safe from any thread and from finalisers."""
        ...

    def close(self) -> None:
        """Close the inbox: from now on the backend passes this client over."""
        ...

    def forget(self) -> None:
        """Let go of what a fork inherited, without disturbing the parent."""
        ...

    def lifeline(self) -> int | None:
        """Give the descriptor whose closing tells others that this client is dead, if any."""
        ...


class Bell(Protocol):
    """Rung once, from any thread, to wake the one flow that waits for it."""

    def ring(self) -> None:
        """Wake the waiting flow, or make its next wait return at once."""
        ...

    async def wait(self, until: float) -> None:
        """Return when rung, or at ``until``; a bell may also return early without cause."""
        ...


@runtime_checkable
class LendsBells(Protocol):
    """An ear at which a thread that waits can listen itself, so that no other has to wake it."""

    def bell(self) -> Bell:
        """Make a bell for the thread that is running: who waits at it listens, if nobody does."""
        ...


Push = Callable[[Callable[[], object]], None]
"""Runs a callback where the lease's owner wants it: in place, or on the owner's event loop."""


class Runtime(Protocol):
    """Who turns the crank: time, waiting, and clean-up that cancellation cannot cut short."""

    @property
    def now(self) -> Callable[[], float]:
        """Read the suspend-aware clock."""
        ...

    def dice(self) -> float:
        """Throw the dice: a number in [0, 1)."""
        ...

    @property
    def owner(self) -> Callable[[], object]:
        """Give the thread or task that is asking."""
        ...

    def bell(self) -> Bell:
        """Make a bell for the flow that is running."""
        ...

    def push(self, owner: object) -> Push:
        """Give the way to call back ``owner``, which is running now."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Pause."""
        ...

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry ``work`` to its end although the caller is being cancelled."""
        ...


class Backend(Protocol):
    """Where the truth lives, for one client. One folder each, with the same file names inside."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do; a server is known better once there was a connection."""
        ...

    def sync_wire(self, holder: Holder) -> Wire:
        """Open the way in for threads."""
        ...

    def aio_wire(self, holder: Holder) -> Wire:
        """Open the way in for tasks."""
        ...

    def keeper_wire(self, holder: Holder) -> Wire:
        """Open the keeper's own way in: for one thread, in both runtimes."""
        ...

    def ear(self, holder: Holder, deliver: Callable[[Notice], None]) -> Ear:
        """Open the client's inbox; what does not pass through ``listen`` goes to ``deliver``."""
        ...


@runtime_checkable
class KeepsTime(Protocol):
    """A backend that brings a time of its own, on which its clients run: for tests."""

    def on_its_time(self, runtime: Runtime) -> Runtime:
        """Give ``runtime`` as it is on the backend's own time."""
        ...
