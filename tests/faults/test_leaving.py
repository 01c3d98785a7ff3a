"""The end of a process that still holds: given back at once, not after the ttl."""

import signal
import time
from pathlib import Path

import pytest

from holdfast import Client, LockBusy
from holdfast.testing.watching import eventually
from tests.faults.processes import Program


@pytest.mark.parametrize("how", ["quietly", "quietly-async"])
def test_the_end_of_the_interpreter_releases(tmp_path: Path, how: str) -> None:
    """A program that ends while holding gives its lock back on the way out."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Client(url) as client, Program("holding", url=url, name="x", ttl=60, how=how) as holder:
        holder.hear()
        assert client.show("x").held
        holder.say()
        assert holder.ended() == 0
        assert not client.show("x").held
        with client.lock("x", wait=0):
            pass
    assert list((tmp_path / "locks.db-inboxes").iterdir()) == []


def test_a_terminated_process_is_noticed(tmp_path: Path) -> None:
    """SIGTERM ends a program without a word; its lock is free soon all the same."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    holding = Program("holding", url=url, name="x", ttl=60, how="quietly")
    with Client(url) as client, holding as holder:
        holder.hear()
        holder.send(signal.SIGTERM)
        holder.ended()
        eventually(lambda: not client.show("x").held, 8.0, "a free name")


def test_an_interrupted_waiter_leaves_the_line(tmp_path: Path) -> None:
    """Ctrl-C ends a wait at once; its place is given up, and the program can go on."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Client(url) as client, client.lock("x"), Program("waiting", url=url) as waiter:
        eventually(lambda: client.show("x").waiters == 1, what="the waiter in line")
        interrupted_at = time.monotonic()
        waiter.send(signal.SIGINT)
        said = waiter.hear()
        assert time.monotonic() - interrupted_at < 5
        assert said["waiters"] == 0
        assert waiter.ended() == 0
        assert client.show("x").waiters == 0


def test_forked_while_holding(tmp_path: Path) -> None:
    """The child holds nothing and works for itself; the parent's body ends normally."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Program("forking", url=url, ttl=2.5) as family:
        said = [family.hear(), family.hear()]
        assert family.ended() == 0
    child, parent = sorted(said, key=lambda report: str(report["who"]))
    assert (child["held"], child["busy"]) == (False, True)
    assert parent == {"who": "parent", "held_to_the_end": True, "free": True}
    with Client(url) as client:
        assert client.locks() == []


def test_a_child_that_stays_when_its_parent_leaves(tmp_path: Path) -> None:
    """What a forked child holds stays its own after the parent's end: no second holder."""
    url = f"sqlite:///{tmp_path / 'locks.db'}"
    with Program("leaving_child", url=url, ttl=2.5) as family:
        token = family.hear()["token"]
        assert family.ended() == 0
        with Client(url) as client:
            intruder = token_of_an_intruder(client, 3.0)
            family.say()
            assert family.hear() == {"held": True}
            assert intruder is None, f"token {intruder} got in beside {token}"


def token_of_an_intruder(client: Client, seconds: float) -> int | None:
    """Try for a while to get in where somebody is; give the token if that works."""
    try:
        with client.lock("x", wait=seconds) as lease:
            return lease.token
    except LockBusy:
        return None
