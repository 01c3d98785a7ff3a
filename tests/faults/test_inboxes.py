"""The pipes beside the file: garbage, absence and fullness cost time, never a lock."""

import logging
import os
import shutil
import threading
from pathlib import Path

import pytest

from holdfast import Client
from holdfast.testing.watching import eventually


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Give a fresh file."""
    return f"sqlite:///{tmp_path / 'locks.db'}"


@pytest.mark.parametrize("line", [b"garbage\n", b"[]\n", b'["granted"]\n', b"\xff\xfe\n", b"{}\n"])
def test_garbage_in_the_inbox_hurts_nobody(
    tmp_path: Path, url: str, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever somebody writes into a client's pipe, its leases are kept."""
    caplog.set_level(logging.CRITICAL, "holdfast")
    with Client(url) as client, client.lock("x", ttl=3) as lease:
        (pipe,) = (tmp_path / "locks.db-inboxes").iterdir()
        for _ in range(3):
            with pipe.open("wb", buffering=0) as inbox:
                inbox.write(line)
        assert not lease.wait_lost(3.3)


def test_a_forged_notice_changes_nothing(tmp_path: Path, url: str) -> None:
    """A notice about a claim that this client does not have is ignored."""
    forged = b'["forced","x","not-the-id",1,0.0,0.0,[],"forged"]\n'
    with Client(url) as client, client.lock("x", ttl=3) as lease:
        (pipe,) = (tmp_path / "locks.db-inboxes").iterdir()
        with pipe.open("wb", buffering=0) as inbox:
            inbox.write(forged)
        assert not lease.wait_lost(3.3)


def test_waiters_get_there_although_their_inbox_is_gone(tmp_path: Path, url: str) -> None:
    """Somebody removed the folder of pipes: the hand-over takes a tick, and works."""
    with Client(url) as alice, Client(url) as bob:
        held = alice.lock("x").acquire()
        got: list[int] = []

        def wait() -> None:
            with bob.lock("x", wait=10) as lease:
                got.append(lease.token)

        thread = threading.Thread(target=wait)
        thread.start()
        eventually(lambda: alice.show("x").waiters == 1, what="bob in line")
        shutil.rmtree(tmp_path / "locks.db-inboxes")
        held.release()
        thread.join(8)
        assert got
        assert got[0] > held.token


def test_a_full_inbox_is_read_and_goes_on(tmp_path: Path, url: str) -> None:
    """A pipe that is full of notices for others does not jam its client."""
    with Client(url) as client, client.lock("x", ttl=3) as lease:
        (pipe,) = (tmp_path / "locks.db-inboxes").iterdir()
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        notice = b'["granted","x","not-the-id",1,3.0,0.0,[],""]\n'
        for _ in range(20_000):
            try:
                os.write(descriptor, notice)
            except BlockingIOError:
                continue
        os.close(descriptor)
        assert not lease.wait_lost(3.3)


def test_an_unusable_folder_for_inboxes_falls_back_to_the_tick(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Where no pipe can be made the client says so once, and works all the same."""
    (tmp_path / "locks.db-inboxes").write_text("a file in its place")
    with Client(url) as client:
        with client.lock("x"):
            pass
        with client.lock("x", ttl=3) as lease:
            assert not lease.wait_lost(3.3)
    warnings = [record for record in caplog.records if "pipe" in record.getMessage()]
    assert len(warnings) == 1
