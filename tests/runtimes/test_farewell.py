"""Processes that end give back what they hold, in whatever way they were started."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from holdfast import Client

KEPT: list[Any] = []
"""What a child still refers to when it ends, as a program's own globals do."""


def hold(url: str, name: str) -> None:
    """Take a lock, and end."""
    client = Client(url, ttl=60)
    KEPT.extend((client, client.lock(name).acquire()))


def hold_as_before(client: Client, name: str) -> None:
    """Take a lock with the client of the parent, and end."""
    KEPT.append(client.lock(name, ttl=60).acquire())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(method: str, tmp_path: Path) -> None:
    """They end without a look at ``atexit``, and in good order all the same."""
    url = f"sqlite:///{tmp_path}/locks.db?wakeup=tick"  # without pipes nobody notices their end
    child: Any = multiprocessing.get_context(method).Process(target=hold, args=(url, "x"))  # type: ignore[attr-defined]
    child.start()
    child.join()
    assert child.exitcode == 0
    with Client(url) as client:
        assert not client.show("x").held


def test_a_forked_child_with_the_client_of_its_parent(tmp_path: Path) -> None:
    """What the child has taken is given back, and what the parent has stays."""
    url = f"sqlite:///{tmp_path}/locks.db?wakeup=tick"
    with Client(url, ttl=60) as client, client.lock("mine") as lease:
        fork: Any = multiprocessing.get_context("fork")
        child = fork.Process(target=hold_as_before, args=(client, "x"))
        child.start()
        child.join()
        assert child.exitcode == 0
        assert not client.show("x").held
        assert client.show("mine").held
        lease.check()
