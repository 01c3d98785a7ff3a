"""The types that users see: checked by mypy, never run.

Nothing here is a test function and the file has no test's name, so pytest does not collect it; if
it is imported all the same, it stops at once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_type

import holdfast
from holdfast import (
    AsyncCell,
    AsyncClient,
    AsyncLeadership,
    AsyncLeaderWatch,
    AsyncLease,
    AsyncLeaseSet,
    AsyncLimiter,
    AsyncLock,
    AsyncLockAll,
    AsyncOnce,
    AsyncOnceRun,
    AsyncRWLock,
    AsyncSemaphore,
    AsyncSingleton,
    AsyncTurn,
    Capabilities,
    Cell,
    Client,
    Holder,
    Leadership,
    LeaderWatch,
    Lease,
    LeaseSet,
    Limiter,
    Lock,
    LockAll,
    LockInfo,
    Once,
    OnceRun,
    Outcome,
    Permit,
    Place,
    RWLock,
    Semaphore,
    Singleton,
    Tenure,
    Turn,
    Versioned,
)
from holdfast.values import Json, Kind

if not TYPE_CHECKING:
    raise ImportError("tests/typing is checked by mypy and never run")


def work() -> int:
    """Work."""
    return 1


async def async_work() -> bytes:
    """Work."""
    return b""


def clients(client: Client, async_client: AsyncClient) -> None:
    """See that clients say who they are, and are their own context managers."""
    assert_type(client.holder, Holder)
    assert_type(client.capabilities, Capabilities)
    assert_type(async_client.holder, Holder)
    assert_type(async_client.capabilities, Capabilities)
    Client("memory://", ttl="10s", wait=timedelta(seconds=1), call_limit=0.5, holder="me")
    AsyncClient(ttl=3, wait=None, prefix="p", observers=(print,))
    with client as same:
        assert_type(same, Client)


def locks(client: Client) -> None:
    """See that a sync lock gives leases, or none."""
    lock = client.lock("n", ttl="5s", wait=None, max_hold=60, on_loss="flag", metadata={"a": [1]})
    assert_type(lock, Lock)
    assert_type(lock.name, str)
    assert_type(lock.acquire(), Lease)
    assert_type(lock.acquire(wait="1s"), Lease)
    assert_type(lock.acquire(wait=None), Lease)
    assert_type(lock.try_acquire(), Lease | None)
    assert_type(lock.locked(), bool)
    assert_type(lock.inspect(), LockInfo)
    with lock as lease:
        assert_type(lease, Lease)
    with lock.acquire() as lease:
        assert_type(lease, Lease)


async def async_locks(client: AsyncClient) -> None:
    """See that an async lock gives async leases, or none."""
    lock = client.lock("n", renew=False, reentrant=True, on_loss="stop")
    assert_type(lock, AsyncLock)
    assert_type(lock.name, str)
    assert_type(await lock.acquire(), AsyncLease)
    assert_type(await lock.try_acquire(), AsyncLease | None)
    assert_type(await lock.locked(), bool)
    assert_type(await lock.inspect(), LockInfo)
    async with lock as lease:
        assert_type(lease, AsyncLease)
    async with client as same:
        assert_type(same, AsyncClient)


def leases(lease: Lease) -> None:
    """See that a lease says what it is without asking anybody."""
    assert_type(lease.name, str)
    assert_type(lease.token, int)
    assert_type(lease.holder, Holder)
    assert_type(lease.metadata, dict[str, Json])
    assert_type(lease.acquired_at, float)
    assert_type(lease.remaining, float)
    assert_type(lease.held, bool)
    assert_type(lease.lost, bool)
    assert_type(lease.slot, int | None)
    assert_type(lease.slots, tuple[int, ...])
    assert_type(lease.wait_lost(wait=1), bool)
    lease.check(at_least="1s")
    lease.on_lost(lambda: None)
    lease.on_lost(work)
    lease.extend(timedelta(minutes=1))
    lease.release()


async def async_leases(lease: AsyncLease) -> None:
    """See that the async twin says the same; what asks is awaited."""
    assert_type(lease.name, str)
    assert_type(lease.token, int)
    assert_type(lease.holder, Holder)
    assert_type(lease.metadata, dict[str, Json])
    assert_type(lease.acquired_at, float)
    assert_type(lease.remaining, float)
    assert_type(lease.held, bool)
    assert_type(lease.lost, bool)
    assert_type(lease.slot, int | None)
    assert_type(lease.slots, tuple[int, ...])
    assert_type(await lease.wait_lost(), bool)
    lease.check()
    lease.on_lost(lambda: None)
    await lease.extend(1)
    await lease.release()


def functions(client: Client) -> None:
    """See that what a function returns comes through, as it is or as an outcome."""
    assert_type(client.with_lock("n", work), int)
    assert_type(client.with_lock("n", lambda: "text", wait=1), str)
    outcome = client.try_with_lock("n", work)
    assert_type(outcome, Outcome[int])
    assert_type(outcome.executed, bool)
    assert_type(outcome.result, int | None)
    client.with_lock("n", 5)  # type: ignore[arg-type]


async def async_functions(client: AsyncClient) -> None:
    """See that the async twins take coroutine functions and give their results."""
    assert_type(await client.with_lock("n", async_work), bytes)
    assert_type(await client.try_with_lock("n", async_work), Outcome[bytes])
    await client.with_lock("n", work)  # type: ignore[arg-type]


async def decorators(client: Client, async_client: AsyncClient) -> None:
    """See that a decorated function keeps its arguments, their names, and its result."""

    @client.lock("n:{number}")
    def twice(number: int, *, loud: bool = False) -> str:
        return str(number) * (3 if loud else 2)

    @async_client.lock("n:{number}")
    async def thrice(number: int, *, loud: bool = False) -> str:
        return str(number) * (4 if loud else 3)

    assert_type(twice(1), str)
    assert_type(twice(number=1, loud=True), str)
    assert_type(await thrice(1, loud=True), str)
    twice("1")  # type: ignore[arg-type]
    twice()  # type: ignore[call-arg]
    twice(1, quiet=True)  # type: ignore[call-arg]
    await thrice("1")  # type: ignore[arg-type]
    async_client.lock("n")(work)  # type: ignore[arg-type]


def shares(client: Client) -> None:
    """See that readers, writers and permits give leases, and several names a set of them."""
    assert_type(client.rwlock("n"), RWLock)
    assert_type(client.rwlock("n").read(ttl=1, reentrant=True), Lock)
    assert_type(client.rwlock("n").write(wait=None), Lock)
    semaphore = client.semaphore("n", permits=3, on_loss="flag")
    assert_type(semaphore, Semaphore)
    assert_type(semaphore.permits, int)
    assert_type(semaphore.acquire(2, wait="1s"), Lease)
    assert_type(semaphore.try_acquire(weight=2), Lease | None)
    with semaphore as lease:
        assert_type(lease, Lease)
    every = client.lock_all(("a", "b"), metadata={"a": 1})
    assert_type(every, LockAll)
    assert_type(every.names, tuple[str, ...])
    assert_type(every.acquire(), LeaseSet)
    assert_type(every.try_acquire(), LeaseSet | None)
    with every as leases:
        assert_type(leases, LeaseSet)
        assert_type(leases.tokens, dict[str, int])
        assert_type(leases.leases, dict[str, Lease])
        assert_type(leases.wait_lost(0), bool)
    client.semaphore("n")  # type: ignore[call-arg]
    client.semaphore("n", permits="3")  # type: ignore[arg-type]
    client.rwlock("n").acquire()  # type: ignore[attr-defined]


async def async_shares(client: AsyncClient) -> None:
    """See that the async twins give async leases."""
    assert_type(client.rwlock("n"), AsyncRWLock)
    assert_type(client.rwlock("n").read(), AsyncLock)
    assert_type(client.semaphore("n", permits=3), AsyncSemaphore)
    assert_type(await client.semaphore("n", permits=3).acquire(2), AsyncLease)
    assert_type(client.lock_all(["a"]), AsyncLockAll)
    async with client.lock_all(["a"]) as leases:
        assert_type(leases, AsyncLeaseSet)
        assert_type(leases.leases, dict[str, AsyncLease])


async def elections(client: Client, async_client: AsyncClient) -> None:
    """See that leading gives a lease, asking a tenure, and watching tenures."""
    assert_type(client.lead("n", resign_on=("SIGTERM",)), Leadership)
    assert_type(async_client.lead("n"), AsyncLeadership)
    assert_type(client.leader("n"), Tenure | None)
    assert_type(await async_client.leader("n"), Tenure | None)
    assert_type(client.watch_leader("n", wait=1), LeaderWatch)
    assert_type(async_client.watch_leader("n"), AsyncLeaderWatch)
    with client.lead("n") as lease:
        assert_type(lease, Lease)
    for tenure in client.watch_leader("n"):
        assert_type(tenure, Tenure | None)
    async for tenure in async_client.watch_leader("n"):
        assert_type(tenure, Tenure | None)


def looking(client: Client, info: LockInfo) -> None:
    """See that listings are plain values."""
    assert_type(client.locks("a"), list[LockInfo])
    assert_type(client.show("n"), LockInfo)
    assert_type(client.break_lock("n", token=1, reason="r", force=True), Tenure)
    assert_type(info.name, str)
    assert_type(info.kind, Kind)
    assert_type(info.token, int)
    assert_type(info.capacity, int)
    assert_type(info.held, bool)
    assert_type(info.waiters, int)
    assert_type(info.holder, Holder | None)
    assert_type(info.expires_in, float | None)
    assert_type(info.holders, tuple[Tenure, ...])
    assert_type(info.queue, tuple[Place, ...])
    assert_type(info.as_json(), dict[str, Json])


async def async_looking(client: AsyncClient) -> None:
    """See that the async twins give the same values."""
    assert_type(await client.locks(), list[LockInfo])
    assert_type(await client.show("n"), LockInfo)
    assert_type(await client.break_lock("n", token=1), Tenure)


def keeping(client: Client, lease: Lease) -> None:
    """See what cells, once keys, limiters and singletons give."""
    cell = client.cell("c", expire="1h")
    assert_type(cell, Cell)
    assert_type(cell.get(), Versioned)
    assert_type(cell.get().version, int)
    assert_type(cell.swap({"a": [1]}, 0, under=lease), int)
    assert_type(cell.update(lambda value: value + 1, wait=None, expire=5), Versioned)
    assert_type(cell.delete(if_version=5), bool)
    limiter = client.limiter("l", "10/s", burst=5, wait=1, adopt=True)
    assert_type(limiter, Limiter)
    assert_type(limiter.acquire(2, wait="1s"), Permit)
    assert_type(limiter.try_acquire().retry_after, float)
    assert_type(limiter(work)(), int)
    once = client.once("k", keep=None, payload={"a": 1}, store_errors=True)
    assert_type(once, Once)
    assert_type(once.run(work), int)
    assert_type(once(work)(), int)
    assert_type(once.forget(), bool)
    with once as visit:
        assert_type(visit, OnceRun)
        assert_type(visit.lease, Lease | None)
        visit.store(b"bytes")
    singleton = client.singleton("s", per="5m", on_busy="raise")
    assert_type(singleton, Singleton)
    assert_type(singleton.run(work), Outcome[int])
    assert_type(singleton(work)(), Outcome[int])
    assert_type(singleton.turn(), Turn | None)
    client.singleton("s", on_busy="explode")  # type: ignore[arg-type]
    client.once("k", payload=object())  # type: ignore[arg-type]
    cell.swap({1, 2}, 0)  # type: ignore[arg-type]


async def async_keeping(client: AsyncClient, lease: AsyncLease) -> None:
    """See what their async twins give."""
    cell = client.cell("c")
    assert_type(cell, AsyncCell)
    assert_type(await cell.get(), Versioned)
    assert_type(await cell.swap("text", 0, under=lease), int)
    assert_type(await cell.update(lambda value: value + 1), Versioned)
    limiter = client.limiter("l", "10/s")
    assert_type(limiter, AsyncLimiter)
    assert_type(await limiter.acquire(), Permit)
    assert_type(await limiter(async_work)(), bytes)
    once = client.once("k")
    assert_type(once, AsyncOnce)
    assert_type(await once.run(async_work), bytes)
    async with once as visit:
        assert_type(visit, AsyncOnceRun)
        await visit.store({"a": None})
    singleton = client.singleton("s", "1h", wait=5, on_busy="wait")
    assert_type(singleton, AsyncSingleton)
    assert_type(await singleton.run(async_work), Outcome[bytes])
    assert_type(await singleton(async_work)(), Outcome[bytes])
    assert_type(await singleton.turn(), AsyncTurn | None)
    await once.run(work)  # type: ignore[arg-type]


def shortcuts() -> None:
    """See that the module-level functions have the types of the client's methods."""
    assert_type(holdfast.lock("n", ttl=1), Lock)
    assert_type(holdfast.locks("n"), list[LockInfo])
    assert_type(holdfast.show("n"), LockInfo)
    assert_type(holdfast.break_lock("n", token=1), Tenure)
    assert_type(holdfast.with_lock("n", work), int)
    assert_type(holdfast.try_with_lock("n", work), Outcome[int])
    assert_type(holdfast.cell("c"), Cell)
    assert_type(holdfast.once("k"), Once)
    assert_type(holdfast.limiter("l", "10/s"), Limiter)
    assert_type(holdfast.singleton("s", per=60), Singleton)
    assert_type(holdfast.rwlock("n"), RWLock)
    assert_type(holdfast.semaphore("n", permits=2), Semaphore)
    assert_type(holdfast.lock_all(["n"]), LockAll)
    assert_type(holdfast.lead("n"), Leadership)
    assert_type(holdfast.leader("n"), Tenure | None)
    assert_type(holdfast.watch_leader("n"), LeaderWatch)
    assert_type(holdfast.key("n", 1), str)
    holdfast.key(1.5)  # type: ignore[arg-type]
    holdfast.release_all()
    holdfast.lock()  # type: ignore[call-arg]
    holdfast.lock("n", timeout=1)  # type: ignore[call-arg]


def mistakes(client: Client) -> None:
    """See that the type checker refuses what can never be right."""
    client.lock("n", on_loss="explode")  # type: ignore[arg-type]
    client.lock("n", ttl=None)  # type: ignore[arg-type]
    client.lock(5)  # type: ignore[arg-type]
    client.lock("n", metadata={"a": object()})  # type: ignore[dict-item]
    client.lock("n").acquire().token = 5  # type: ignore[misc]
