"""The resource refuses who comes with an older token than the newest it has seen."""

import threading
import time

import psycopg
import pytest

from holdfast import BackendUnavailable, Client, LockLost, Misuse
from holdfast.postgres import fence
from holdfast.testing.watching import eventually
from tests.postgres.conftest import Ledger
from tests.postgres.transactions import OPENERS, Kind, opened, settle
from tests.servers.shared_postgres import shared_postgres

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("client"), pytest.mark.timeout(60)]

every_kind = pytest.mark.parametrize("kind", OPENERS)


@every_kind
async def test_tokens_that_grow(kind: Kind, prefix: str, ledger: Ledger) -> None:
    """The same token as often as it likes, a larger one at any time."""
    async with opened(kind) as own:
        for token in (7, 7, 8, 1_794_813_122_396_825, 2**63 - 1):
            assert await settle(fence(own.given, prefix, token)) is None
        await own.execute(ledger.writing)
        await own.commit()
    assert ledger.rows() == 1


@every_kind
async def test_a_smaller_token(kind: Kind, prefix: str, ledger: Ledger) -> None:
    """``LockLost`` with the token that was there before, and nothing commits."""
    async with opened(kind) as own:
        await settle(fence(own.given, prefix, 8))
        await own.commit()
        await own.execute(ledger.writing)
        with pytest.raises(LockLost, match="token 8") as error:
            await settle(fence(own.given, prefix, 7))
        assert (error.value.name, error.value.token) == (prefix, 7)
        await own.commit()
    assert ledger.rows() == 0


async def test_resources_do_not_know_each_other(prefix: str) -> None:
    """Each has a largest token of its own."""
    async with opened("psycopg") as own:
        fence(own.given, f"{prefix} a", 8)
        fence(own.given, f"{prefix} b", 7)


async def test_a_transaction_that_is_rolled_back(prefix: str) -> None:
    """What was not committed was not seen."""
    async with opened("psycopg") as own:
        fence(own.given, prefix, 8)
        await own.rollback()
        fence(own.given, prefix, 7)
        await own.commit()


async def test_who_comes_meanwhile_waits(prefix: str) -> None:
    """An old holder that is in the middle of it ends first; then its token is the older one."""
    done: list[str] = []

    def newer() -> None:
        with psycopg.connect(shared_postgres().url()) as theirs:
            fence(theirs, prefix, 8)
            done.append("newer")

    async with opened("psycopg") as own:
        fence(own.given, prefix, 7)
        other = threading.Thread(target=newer)
        other.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        eventually(lambda: shared_postgres().ask(waits) != [(0,)], 5, "the other to wait")
        done.append("older")
        await own.commit()
        other.join(10)
        assert done == ["older", "newer"]
        with pytest.raises(LockLost, match="token 8"):
            fence(own.given, prefix, 7)


async def test_the_token_of_a_lease_on_any_backend(prefix: str) -> None:
    """The fence is in the database; the lock need not be."""
    with Client(f"memory://{prefix}") as elsewhere, psycopg.connect(shared_postgres().url()) as own:
        with elsewhere.lock("x") as first:
            fence(own, prefix, first.token)
        with elsewhere.lock("x") as second:
            fence(own, prefix, second.token)
        with pytest.raises(LockLost):
            fence(own, prefix, first.token)


async def test_another_schema(prefix: str) -> None:
    """Where the tables are elsewhere that can be said, and where there are none that is said."""
    schema = f"s{prefix}"
    with Client(shared_postgres().url(quarantine=0, schema=schema)) as one:
        one.locks()
    with psycopg.connect(shared_postgres().url()) as own:
        fence(own, prefix, 8)
        fence(own, prefix, 7, schema=schema)
        own.commit()
        with pytest.raises(BackendUnavailable, match="holdfast migrate") as error:
            fence(own, prefix, 9, schema="nowhere_to_be_seen")
        assert error.value.transient is False
    shared_postgres().ask(f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.parametrize("token", [0, -1, True, "7", 1.5, None, 2**63])
async def test_what_is_no_token(token: object, prefix: str) -> None:
    """Refused before anything is asked."""
    async with opened("psycopg") as own:
        with pytest.raises(Misuse, match="token"):
            fence(own.given, prefix, token)  # type: ignore[call-overload]


async def test_what_is_no_resource_or_schema() -> None:
    """A name as everywhere; a schema is put into the statement, so it must be a plain one."""
    async with opened("psycopg") as own:
        with pytest.raises(Misuse, match="resource"):
            fence(own.given, "", 1)
        with pytest.raises(Misuse, match="schema"):
            fence(own.given, "x", 1, schema="x; DROP TABLE y")


async def test_the_row_stays_locked_no_longer_than_the_transaction(prefix: str) -> None:
    """A resource that was refused is free for the next one at once."""
    async with opened("psycopg") as own, opened("psycopg") as other:
        fence(own.given, prefix, 8)
        await own.commit()
        with pytest.raises(LockLost):
            fence(own.given, prefix, 7)
        began = time.monotonic()
        fence(other.given, prefix, 9)
        assert time.monotonic() - began < 5
