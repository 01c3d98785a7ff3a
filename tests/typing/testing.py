"""The types of ``holdfast.testing``: checked by mypy, never run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_type

from holdfast import AsyncClient, AsyncLease, Client, Lease
from holdfast.testing import Fault, Faults, OncePerRun, Rival, Sandbox, VirtualClock

if not TYPE_CHECKING:
    raise ImportError("tests/typing is checked by mypy and never run")


def sandbox() -> None:
    """See that a sandbox gives ordinary clients, with the options that they take."""
    with Sandbox(virtual_clock=True) as made:
        assert_type(made, Sandbox)
        assert_type(made.client(ttl="1m", wait=None, holder="me"), Client)
        assert_type(made.async_client(call_limit=timedelta(seconds=1)), AsyncClient)
        assert_type(made.faults, Faults)
        assert_type(made.clock, VirtualClock)
        assert_type(made.url, str)
        made.client(tll="1m")  # type: ignore[call-arg]


def faults(faults: Faults, lease: Lease, async_lease: AsyncLease, client: Client) -> None:
    """See what can go wrong."""
    faults.lose(lease, "reason")
    faults.lose(async_lease)
    faults.lose("name")
    assert_type(faults.unavailable(client, outcome="unknown", transient=False), Fault)
    assert_type(faults.delay("1s"), Fault)
    assert_type(faults.skew("-1s", rate=2), Fault)
    with faults.hold("name", "holder", for_="1m") as rival:
        assert_type(rival, Rival)
    assert_type(faults.hold(client.lock("name")), Rival)
    faults.unavailable(outcome="maybe")  # type: ignore[arg-type]


async def clock(clock: VirtualClock, client: AsyncClient) -> None:
    """See that ``run`` gives what it awaits."""
    assert_type(clock.elapsed, float)
    await clock.advance_async("1m")
    assert_type(await clock.run(client.lock("x").acquire()), AsyncLease)


def once_per_run(once: OncePerRun) -> None:
    """See that what is made keeps its type, and that ``stop`` takes it."""
    assert_type(once("key", lambda: 1), int)

    def stop(value: list[str]) -> None:
        """Stop."""

    def make() -> list[str]:
        """Make."""
        return []

    assert_type(once("key", make, stop=stop, wait="5m"), list[str])
    once("key", lambda: 1, stop=stop)  # type: ignore[misc]
