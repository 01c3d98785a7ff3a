"""An advisory lock that is held by a transaction, and by nothing else."""

import threading
import time

import psycopg
import pytest

from holdfast import LockBusy, Misuse
from holdfast.postgres import xact_lock
from holdfast.postgres.xact_lock import key_of
from tests.postgres.conftest import Ledger
from tests.postgres.transactions import OPENERS, Kind, opened, settle
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]  # the first test starts a server

every_kind = pytest.mark.parametrize("kind", OPENERS)


@every_kind
@pytest.mark.parametrize("ending", ["commit", "rollback"])
async def test_one_at_a_time(kind: Kind, ending: str, prefix: str) -> None:
    """Held until the transaction ends, in whatever way; the busy one is told who has it."""
    async with opened(kind) as own, opened(kind) as other:
        assert await settle(xact_lock(own.given, prefix)) is None
        with pytest.raises(LockBusy, match=r"held by pid .* in a transaction since") as error:
            await settle(xact_lock(other.given, prefix, wait=0))
        assert error.value.name == prefix
        await settle(xact_lock(other.given, f"{prefix} another", wait=0))
        await settle(getattr(own, ending)())
        await settle(xact_lock(other.given, prefix, wait=0))


@every_kind
async def test_a_wait_that_ends(kind: Kind, prefix: str, ledger: Ledger) -> None:
    """``LockBusy`` after that long; the transaction goes on and its settings are as they were."""
    async with opened(kind) as own, opened(kind) as other:
        await settle(xact_lock(own.given, prefix))
        await other.execute("SET LOCAL lock_timeout = '7s'")
        await other.execute(ledger.writing)
        began = time.monotonic()
        with pytest.raises(LockBusy, match="after waiting 200 ms"):
            await settle(xact_lock(other.given, prefix, wait="200ms"))
        assert 0.2 <= time.monotonic() - began < 5
        check = "SELECT 1 / (current_setting('lock_timeout') = '7s')::int"
        await other.execute(check)
        await own.commit()
        await settle(xact_lock(other.given, prefix, wait=5))
        await other.execute(check)
        await other.commit()
    assert ledger.rows() == 1


@pytest.mark.parametrize("wait", [None, 10])
async def test_a_wait_that_is_served(wait: int | None, prefix: str) -> None:
    """As soon as the other transaction ends."""
    order: list[str] = []

    def other() -> None:
        with psycopg.connect(shared_postgres().url()) as theirs:
            theirs.execute("SET LOCAL lock_timeout = '15s'")
            xact_lock(theirs, prefix, wait=wait)
            order.append("second")
            row = theirs.execute("SELECT current_setting('lock_timeout')").fetchone()
            assert row == ("15s",)

    async with opened("psycopg") as own:
        xact_lock(own.given, prefix)
        thread = threading.Thread(target=other)
        thread.start()
        waits = (
            f"SELECT 1 FROM pg_locks WHERE NOT granted AND objid = {key_of(prefix) & 0xFFFFFFFF}"  # noqa: S608
        )
        while not shared_postgres().ask(waits):
            assert thread.is_alive()
        order.append("first")
        await own.commit()
        thread.join(10)
    assert order == ["first", "second"]


@every_kind
async def test_shared_with_those_who_share(kind: Kind, prefix: str) -> None:
    """Many readers, or one writer."""
    async with opened(kind) as own, opened(kind) as other, opened("psycopg") as third:
        await settle(xact_lock(own.given, prefix, shared=True))
        await settle(xact_lock(other.given, prefix, shared=True, wait=0))
        with pytest.raises(LockBusy):
            xact_lock(third.given, prefix, wait=0)
        await own.commit()
        await other.commit()
        xact_lock(third.given, prefix, wait=0)
        with pytest.raises(LockBusy):
            await settle(xact_lock(own.given, prefix, shared=True, wait="10ms"))


async def test_asked_twice(prefix: str) -> None:
    """In one transaction it is simply held."""
    async with opened("psycopg") as own:
        for _ in range(2):
            xact_lock(own.given, prefix)


async def test_a_connection_with_a_limit_of_its_own(prefix: str) -> None:
    """Its ``lock_timeout`` ends the wait, which is busy too, and the transaction: that is said."""
    async with opened("psycopg") as own, opened("psycopg") as other:
        xact_lock(own.given, prefix)
        await other.execute("SET LOCAL lock_timeout = '100ms'")
        with pytest.raises(LockBusy, match="lock_timeout"):
            xact_lock(other.given, prefix)


@pytest.mark.parametrize("name", ["", "a\nb", 7, "x" * 513])
async def test_what_is_no_name(name: object) -> None:
    """As everywhere."""
    async with opened("psycopg") as own:
        with pytest.raises(Misuse, match="name"):
            xact_lock(own.given, name)  # type: ignore[call-overload]


def test_numbers_are_spread_over_64_bits() -> None:
    """A hundred thousand names, no two with one number; and the number is the same everywhere."""
    keys = {key_of(f"name {number}") for number in range(100_000)}
    assert len(keys) == 100_000
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert min(keys) < -(2**62) < 2**62 < max(keys)
    assert key_of("orders:42") == -2443013005474095601


@every_kind
@pytest.mark.parametrize("wait", [None, 0, 5])
async def test_repeatable_read_is_refused(kind: Kind, wait: float | None, prefix: str) -> None:
    """What it reads after the lock is how things were before: another holder's work is not seen."""
    async with opened(kind) as own:
        await own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with pytest.raises(Misuse, match="protects nothing"):
            await settle(xact_lock(own.given, prefix, wait=wait))
        await own.rollback()
        await own.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        await settle(xact_lock(own.given, prefix, wait=wait))
