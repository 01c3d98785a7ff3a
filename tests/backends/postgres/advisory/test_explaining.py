"""What pg_locks means: names, sessions, who waits, also of locks that other programs took."""

import re
import signal
import threading
from collections.abc import Iterator

import psycopg
import pytest

from holdfast import Client, LockBusy, Misuse, Unsupported
from holdfast.api.handle import acquire_handle
from holdfast.backends.advisory import ledger
from holdfast.testing.watching import eventually
from tests.backends.postgres.advisory.stage import SESSIONS, ask, plain, waiting
from tests.conformance.advisory_backends import advisory_url
from tests.faults.processes import Program


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client of the shared database."""
    with Client(advisory_url(), holder="the importer") as one:
        yield one


def test_our_own_locks_name_their_session(client: Client) -> None:
    """A lock says which process of the server has it; so does whoever waits for it."""
    with Client(advisory_url(), holder="the next") as other, client.lock("x"):
        thread = threading.Thread(target=lambda: other.lock("x", wait=5).acquire().release())
        thread.start()
        eventually(lambda: waiting() == 1, 5.0, "somebody in line")
        info = client.show("x")
        pids = {pid for (pid,) in ask(SESSIONS)}
        for session in (info.holders[0].session, info.queue[0].session):
            found = re.match(r"server process (\d+), holdfast the (importer|next), from ", session)
            assert found, session
            assert int(found[1]) in pids
        assert info.queue[0].as_json()["session"] == info.queue[0].session
        client.release_all()
        thread.join()


def test_locks_of_other_programs_are_shown(client: Client) -> None:
    """By number, with the session that has them; holdfast neither hides nor touches them."""
    where = plain(advisory_url())
    with psycopg.connect(where, application_name="nightly", autocommit=True) as own:
        own.execute("SELECT pg_advisory_lock(42), pg_advisory_lock(-1, 7)")
        own.execute("SELECT pg_advisory_lock_shared(-5)")
        shown = {one.name: one for one in client.locks()}
        assert list(shown) == ["#-1,7", "#-5", "#42"]
        assert (shown["#-5"].kind, shown["#42"].kind) == ("rwlock", "lock")
        [held] = shown["#42"].holders
        pid = own.info.backend_pid
        assert (held.token, held.holder.label, held.holder.pid) == (0, "nightly", pid)
        assert f"server process {pid}, nightly" in held.session
        assert str(held.holder).endswith(f", pid {pid}")
        assert client.show("#42").holders == (held,)
        assert not client.show("#43").held
        assert [one.name for one in client.locks("#4")] == ["#42"]
    eventually(lambda: client.locks() == [], 5.0, "its session gone")


def test_a_name_whose_number_another_program_has(client: Client) -> None:
    """It is busy, and the error says who has it and until when."""
    number = client._engine.backend._desk(client.holder).ledger.number("x")  # type: ignore[attr-defined]
    with psycopg.connect(plain(advisory_url()), application_name="psql", autocommit=True) as own:
        own.execute("SELECT pg_advisory_lock(%s)", (number,))
        with pytest.raises(LockBusy, match=r"psql on .*, until its session ends"):
            client.lock("x").acquire(wait=0)


def test_names_that_share_a_number(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names PostgreSQL cannot tell apart are not mixed up: the second is refused in words."""
    monkeypatch.setattr(ledger, "number_of", lambda _prefix, _name: 7)
    with (
        client.lock("first"),
        Client(advisory_url()) as other,
        pytest.raises(Misuse, match=r"'second'.*64-bit number is that of 'first'.*postgresql://"),
    ):
        other.lock("second").acquire(wait=5)
    with client.lock("second", wait=0) as lease:
        assert lease.held


def test_force_ends_the_session_of_a_holder_that_is_stopped(client: Client) -> None:
    """It cannot let go by itself, so all that its session holds ends; the next one gets in."""
    with Program("holding", how="sync", url=advisory_url(), name="stuck", ttl=60) as holder:
        token = holder.hear()["token"]
        holder.send(signal.SIGSTOP)
        client.break_lock("stuck", token=token, reason="it hangs", force=True)
        with client.lock("stuck", wait=0) as lease:
            assert lease.token > token
            holder.send(signal.SIGCONT)
            assert holder.hear()["lost"] is True


def test_a_lease_without_a_process(client: Client) -> None:
    """Nothing could hold it: refused, with those that can."""
    with pytest.raises(Unsupported, match=r"without a process; sqlite, redis and postgres can"):
        acquire_handle(client, "x")
