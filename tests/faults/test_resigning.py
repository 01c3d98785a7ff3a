"""Leaders as real processes: SIGTERM resigns in good order, SIGKILL is noticed."""

import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from holdfast import Client, Misuse
from holdfast.testing.watching import eventually
from tests.faults.processes import Program
from tests.servers.redis import RedisServer


def address(folder: Path) -> str:
    """Give a file of the test's own."""
    return f"sqlite:///{folder / 'locks.db'}"


@pytest.mark.parametrize("how", ["sync", "async"])
def test_sigterm_resigns_at_once(tmp_path: Path, how: str) -> None:
    """The body tidies up while it still leads, the standby leads at once, the code is 143."""
    with (
        Program("leading", url=address(tmp_path), how=how) as leader,
        Program("leading", url=address(tmp_path), how=how) as standby,
    ):
        assert [leader.hear(), standby.hear()] == [{"standing_by": True}] * 2
        with Client(address(tmp_path)) as client:
            eventually(lambda: client.show("job").waiters == 1, what="a standby")
            first = client.leader("job")
            assert first is not None
            one, other = leader, standby
            if first.holder.pid == standby.pid:
                one, other = standby, leader
            assert one.hear() == {"leads": True, "token": first.token}
            asked_at = time.monotonic()
            one.send(signal.SIGTERM)
            assert one.hear() == {"tidied": True, "held": True}
            assert other.hear()["token"] > first.token
            assert time.monotonic() - asked_at < 5  # of a ttl of sixty
            assert one.ended() == 128 + signal.SIGTERM


@pytest.mark.parametrize("how", ["sync", "async"])
def test_sigterm_ends_the_standing_by(tmp_path: Path, how: str) -> None:
    """Who still waits leaves the line, and ends with the same code."""
    with (
        Client(address(tmp_path)) as client,
        client.lead("job"),
        Program("leading", url=address(tmp_path), how=how) as standby,
    ):
        assert standby.hear() == {"standing_by": True}
        eventually(lambda: client.show("job").waiters == 1, what="a standby")
        standby.send(signal.SIGTERM)
        assert standby.ended() == 128 + signal.SIGTERM
        eventually(lambda: client.show("job").waiters == 0, 2.0, "an empty line")


def test_handlers_are_what_they_were(tmp_path: Path) -> None:
    """Leaving the body puts back what was there; a decorated function resigns too."""
    with Program("leading", url=address(tmp_path), how="twice") as leader:
        assert leader.hear() == {"changed": True}
        assert leader.hear() == {"restored": True}
        assert leader.hear() == {"leads": True}
        leader.send(signal.SIGTERM)
        assert leader.ended() == 128 + signal.SIGTERM
    with Client(address(tmp_path)) as client:
        assert client.leader("job") is None


@pytest.mark.parametrize("kind", ["semaphore", "lead"])
def test_what_the_killed_had_comes_back_within_a_ttl(redis_server: RedisServer, kind: str) -> None:
    """On a server nobody resigns for a process that was killed: its ttl does."""
    url, ttl = redis_server.url(quarantine=0), 2.0
    with ExitStack() as stack:
        client = stack.enter_context(Client(url))
        count = 3 if kind == "semaphore" else 1
        plan = {"url": url, "name": "of the dead", "ttl": ttl, "kind": kind}
        holders = [stack.enter_context(Program("sharing", **plan)) for _ in range(count)]
        slots = sorted(holder.hear()["slot"] or 0 for holder in holders)
        assert slots == list(range(count))
        for holder in holders:
            holder.kill()
        killed_at = time.monotonic()
        if kind == "semaphore":
            lease = client.semaphore("of the dead", permits=3).acquire(weight=3)
            assert lease.slots == (0, 1, 2)
        else:
            lease = client.lead("of the dead").acquire()
        assert time.monotonic() - killed_at < ttl + 2  # the machine is shared
        lease.release()


def test_only_the_main_thread_can_be_told() -> None:
    """Elsewhere it is refused before anything is asked, and so is what is no signal."""
    with Client("memory://resigning") as client:
        errors: list[Exception] = []

        def elsewhere() -> None:
            try:
                with client.lead("job", resign_on=("SIGTERM",)):
                    pass
            except Misuse as error:
                errors.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert "main thread" in str(errors[0])
        assert client.leader("job") is None
        for names in (("SIGNOTHING",), ("SIGKILL",), "SIGTERM", (9999,)):
            with pytest.raises(Misuse):
                client.lead("job", resign_on=names)
