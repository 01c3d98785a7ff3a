"""Leases that a test has left behind: in production each would block others for a long time."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.api.client import AsyncClient, Client
from holdfast.flows.book import LeaseState
from holdfast.rules.messages import ListNames, Seen
from holdfast.testing.sandbox.ground import Ground
from holdfast.values import printable


class LeakedLease(AssertionError):
    """A lease was still held when the test was over."""


def leaks_of(clients: Iterable[Client | AsyncClient], ground: Ground) -> list[str]:
    """Say which leases these clients still hold, and where they were taken."""
    now = ground.time.now()
    return [
        _told(state)
        for client in clients
        for state in tuple(client._engine.book.leases.values())  # noqa: SLF001 - one library
        if state.holds(now)
    ]


def leaks_in(ground: Ground) -> list[str]:
    """Say what is held although every client that the sandbox knows of is closed."""
    found: list[str] = []
    for prefix in sorted(ground.prefixes):
        (reply,) = ground.space.answer(prefix, (ListNames(""),))
        locks = reply.locks if isinstance(reply, Seen) else ()
        found.extend(
            f"{printable(lock.name)!r} by {held.holder}, a client that nobody has closed"
            for lock in locks
            for held in lock.holders
        )
    return found


def leaked(leaks: Iterable[str]) -> LeakedLease:
    """Make the error that names them."""
    return LeakedLease(
        f"still held at the end of the test: {'; '.join(leaks)}. Release it in the tested code (a"
        " with statement does), or say allow_leaks() if the test means it."
    )


def _told(state: LeaseState) -> str:
    file, line = state.place
    return f"{printable(state.name)!r}, taken at {file}:{line}"
