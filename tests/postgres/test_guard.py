"""A transaction that relies on a lease: it commits while the lease is held, and never after."""

import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import psycopg
import pytest

from holdfast import AsyncClient, Client, Lease, LockLost, clock
from holdfast.postgres import guard
from holdfast.testing.watching import eventually
from tests.postgres.conftest import Ledger
from tests.postgres.transactions import OPENERS, Kind, opened, settle
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]  # the first test starts a server


@asynccontextmanager
async def _held(client: Client) -> AsyncIterator[Lease]:
    """Hold ``x``; that it is lost meanwhile is no error of its own."""
    with client.lock("x", on_loss="flag") as lease:
        yield lease


def _sleepwalk(lease: Lease) -> None:
    """Let a lost lease believe that it is held, as if it had slept through all, its clock too."""
    told = threading.Event()
    lease.on_lost(told.set)  # the last that the keeper does about it
    assert told.wait(10)
    lease._state.loss, lease._state.deadline = "", clock.now() + 60
    assert lease.held


every_kind = pytest.mark.parametrize("kind", OPENERS)


@every_kind
async def test_a_lease_that_is_held(kind: Kind, client: Client, ledger: Ledger) -> None:
    """The transaction commits as if nobody had asked."""
    with client.lock("x") as lease:
        async with opened(kind) as own:
            await own.execute(ledger.writing)
            assert await settle(guard(own.given, lease)) is None
            await own.commit()
    assert ledger.rows() == 1


@every_kind
async def test_a_lease_that_was_taken_away(
    kind: Kind, client: Client, rival: Client, ledger: Ledger
) -> None:
    """``LockLost``, and nothing commits, even if the program goes on as if nothing had been."""
    async with opened(kind) as own, _held(client) as lease:
        await own.execute(ledger.writing)
        rival.break_lock("x", token=lease.token, force=True)
        with pytest.raises(LockLost, match="'x'") as error:
            await settle(guard(own.given, lease))
        assert (error.value.name, error.value.token) == ("x", lease.token)
        await own.commit()
    assert ledger.rows() == 0
    with rival.lock("x", wait=0) as taken:
        assert taken.token > lease.token


@every_kind
async def test_a_lease_that_ends_in_the_middle(kind: Kind, client: Client, rival: Client) -> None:
    """Given back while the transaction is open: nobody else gets in before that one ends."""
    lease = client.lock("x").acquire()
    async with opened(kind) as own:
        await settle(guard(own.given, lease))
        began = time.monotonic()
        lease.release()
        assert rival.lock("x").try_acquire() is None
        assert time.monotonic() - began < 8  # neither of them waited for the transaction
        await own.rollback()
    with rival.lock("x", wait=5) as taken:
        assert taken.token > lease.token


async def test_who_waits_for_it(client: Client, rival: Client) -> None:
    """Nobody is told of a commit; the keeper's next look finds the name free."""
    lease = client.lock("x").acquire()
    with ThreadPoolExecutor(1) as pool:
        async with opened("psycopg") as own:
            guard(own.given, lease)
            waiting = pool.submit(rival.with_lock, "x", time.monotonic, wait=20)
            eventually(lambda: client.show("x").waiters == 1, 10, "the rival in line")
            lease.release()
            committed_at = time.monotonic()
            await own.commit()
        assert committed_at < waiting.result(10) < committed_at + 5


async def test_a_lease_that_its_own_clock_has_given_up(client: Client, ledger: Ledger) -> None:
    """What the holder must not believe any more does not pass, whatever the database would say."""
    async with opened("psycopg") as own, _held(client) as lease:
        lease._state.deadline = 0.0
        await own.execute(ledger.writing)
        with pytest.raises(LockLost, match="deadline passed"):
            guard(own.given, lease)
        await own.commit()
    assert ledger.rows() == 0


async def test_a_lease_that_has_ended_and_nobody_has_taken(client: Client, prefix: str) -> None:
    """Also if the holder's own clock had stood still: the database's goes on."""
    over = "SELECT ends_at <= holdfast.clock() FROM holdfast.seats WHERE prefix = %s"
    with client.lock("x", ttl=0.1, renew=False, on_loss="flag") as lease:
        eventually(lambda: shared_postgres().ask(over, prefix) == [(True,)], 5, "its end")
        _sleepwalk(lease)
        async with opened("psycopg") as own:
            with pytest.raises(LockLost, match="in the database"):
                guard(own.given, lease)


async def test_a_lease_that_is_asked_to_end(client: Client, rival: Client) -> None:
    """Broken, though not by force: the holder is to stop, so it does not commit any more."""
    async with opened("psycopg") as own, _held(client) as lease:
        rival.break_lock("x", token=lease.token)
        _sleepwalk(lease)
        with pytest.raises(LockLost, match="in the database"):
            guard(own.given, lease)


async def test_a_lease_that_was_given_back(client: Client) -> None:
    """Said in those words."""
    lease = client.lock("x").acquire()
    lease.release()
    async with opened("psycopg") as own:
        with pytest.raises(LockLost, match="it was released"):
            guard(own.given, lease)


async def test_renewals_go_on_beside_it(client: Client, rival: Client) -> None:
    """A transaction longer than a life of the lease: it is held all the time, and afterwards."""
    with client.lock("x", ttl=3) as lease:
        async with opened("psycopg") as own:
            guard(own.given, lease)
            until = time.monotonic() + 3.5
            while time.monotonic() < until:
                lease.check()
                assert rival.lock("x").try_acquire() is None
            await own.commit()
        lease.check()


async def test_other_holders_are_not_held_up(client: Client, rival: Client) -> None:
    """One permit of a semaphore is guarded; the others come and go, and so do other names."""
    mine = client.semaphore("pool", permits=3).acquire()
    async with opened("psycopg") as own:
        guard(own.given, mine)
        began = time.monotonic()
        for _ in range(10):
            with rival.semaphore("pool", permits=3).acquire(weight=2, wait=0):
                pass
            with rival.lock("y", wait=0):
                pass
        assert time.monotonic() - began < 5
        await own.commit()
    mine.release()


async def test_guarded_twice_in_one_transaction(client: Client, ledger: Ledger) -> None:
    """At the beginning, so that nobody gets in, and before the commit: both are fine."""
    with client.lock("x") as lease:
        async with opened("psycopg") as own:
            guard(own.given, lease)
            await own.execute(ledger.writing)
            guard(own.given, lease)
            await own.commit()
    assert ledger.rows() == 1


async def test_leases_that_stand_and_fall_together(client: Client, rival: Client) -> None:
    """What ``lock_all`` gives is guarded as a whole; one that is gone is enough."""
    with client.lock_all(["a", "b"], on_loss="flag") as leases:
        async with opened("psycopg") as own:
            guard(own.given, leases)
            await own.commit()
        rival.break_lock("b", token=leases.tokens["b"], force=True)
        async with opened("psycopg") as own:
            with pytest.raises(LockLost):
                guard(own.given, leases)


async def test_an_async_lease_in_any_transaction(prefix: str, ledger: Ledger) -> None:
    """Which runtime the lease comes from does not matter to the database."""
    url = shared_postgres().url(quarantine=0)
    async with AsyncClient(url, prefix=prefix) as client, client.lock("x") as lease:
        for kind in ("psycopg", "alchemy-async"):
            async with opened(kind) as own:
                await own.execute(ledger.writing)
                await settle(guard(own.given, lease))
                await own.commit()
    assert ledger.rows() == 2


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
async def test_a_transaction_with_an_old_snapshot(
    level: str, client: Client, rival: Client
) -> None:
    """What it cannot see is not called lost: it is told to try again, and then it passes."""
    with psycopg.connect(shared_postgres().url()) as own:
        own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        own.execute("SELECT 1 FROM pg_class LIMIT 1")  # the snapshot
        async with _held(client) as lease:
            with pytest.raises(psycopg.errors.SerializationFailure):
                guard(own, lease)
            own.rollback()
            own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            guard(own, lease)
            own.commit()
            rival.break_lock("x", token=lease.token, force=True)
            own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            with pytest.raises(LockLost):
                guard(own, lease)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
async def test_an_old_snapshot_does_not_let_a_lost_lease_pass(
    level: str, client: Client, rival: Client
) -> None:
    """It shows the lease as held; but the row has changed hands since, and that is noticed."""
    with psycopg.connect(shared_postgres().url()) as own, client.lock("x", on_loss="flag") as lease:
        own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        own.execute("SELECT 1 FROM pg_class LIMIT 1")
        rival.break_lock("x", token=lease.token, force=True)
        with rival.lock("x", wait=0) as taken:
            _sleepwalk(lease)
            with pytest.raises(psycopg.errors.SerializationFailure):
                guard(own, lease)
            taken.check()
