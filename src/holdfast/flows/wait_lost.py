"""Waiting for the end of a lease that one hopes never comes."""

from __future__ import annotations

from math import inf

from holdfast.flows.book import LeaseState
from holdfast.flows.session import Session


async def wait_lost(session: Session, state: LeaseState, wait: float | None) -> bool:
    """Wait until the lease is lost; ``False`` when ``wait`` is over or it was released."""
    runtime = session.runtime
    until = inf if wait is None else runtime.now() + wait
    bell = runtime.bell()
    state.watchers.append(bell)
    try:
        while True:
            now = runtime.now()
            if state.is_lost(now):
                return True
            if state.released or now >= until:
                return False
            await bell.wait(min(until, state.deadline))
    finally:
        state.watchers.remove(bell)
