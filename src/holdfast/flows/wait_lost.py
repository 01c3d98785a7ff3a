"""Waiting for the end of a lease, or of one of several, that one hopes never comes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from holdfast.flows.book import LeaseState
from holdfast.flows.session import Session


async def wait_lost(session: Session, state: LeaseState, wait: float | None) -> bool:
    """Wait until the lease is lost; ``False`` when ``wait`` is over or it was released."""
    return await wait_any_lost(session, (state,), wait)


async def wait_any_lost(session: Session, states: Sequence[LeaseState], wait: float | None) -> bool:
    """Wait until one of them is lost; ``False`` when ``wait`` is over or one was released."""
    runtime = session.runtime
    until = inf if wait is None else runtime.now() + wait
    bell = runtime.bell()
    for state in states:
        state.watchers.append(bell)
    try:
        while True:
            now = runtime.now()
            if any(state.is_lost(now) for state in states):
                return True
            if now >= until or any(state.released for state in states):
                return False
            await bell.wait(min(until, *(state.deadline for state in states)))
    finally:
        for state in states:
            state.watchers.remove(bell)
