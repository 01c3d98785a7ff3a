"""What can be wrong with the file and its folder: a clear error, and loss that is told."""

import asyncio
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import AsyncClient, BackendUnavailable, Client, LockLost, Misuse
from holdfast.testing.watching import eventually


def taken(url: str) -> None:
    """Take a lock and give it back."""
    with Client(url, call_limit=1) as client, client.lock("x"):
        pass


async def taken_async(url: str) -> None:
    """Take a lock and give it back, in a task."""
    async with AsyncClient(url, call_limit=1) as client, client.lock("x"):
        pass


def refusal(url: str) -> BackendUnavailable:
    """Give the error that taking a lock ends in."""
    with pytest.raises(BackendUnavailable) as error:
        taken(url)
    return error.value


def test_not_a_database(tmp_path: Path) -> None:
    """A file of another kind is refused in words, and not touched."""
    file = tmp_path / "notes.txt"
    text = "these are my notes, not a database\n" * 100
    file.write_text(text)
    assert "not a SQLite database" in str(refusal(f"sqlite:///{file}"))
    assert file.read_text() == text


def test_a_damaged_file(tmp_path: Path) -> None:
    """A file with a hole in it says that it is damaged, and what to do."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    with Client(url) as client:
        for number in range(300):
            client.lock(f"name-{number}").acquire().release()
    content = bytearray(file.read_bytes())
    content[100:] = b"\x5a" * (len(content) - 100)
    file.write_bytes(content)
    error = refusal(url)
    assert "damaged" in str(error)
    assert "move it away" in str(error)
    assert not error.transient


@pytest.mark.parametrize("cells", ["garbage", "[[1, 2]]", "[null]"])
async def test_a_record_that_makes_no_sense(tmp_path: Path, cells: str) -> None:
    """A row that somebody has edited by hand is an error in words, sync and async."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    taken(url)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE names SET grants = ?, version = version + 1", (cells,))
    connection.close()
    with pytest.raises(BackendUnavailable):
        taken(url)
    with pytest.raises(BackendUnavailable):
        await taken_async(url)


def test_a_newer_holdfast_is_named(tmp_path: Path) -> None:
    """A file with a schema from the future is refused, saying so."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    taken(url)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
    connection.close()
    assert "newer holdfast" in str(refusal(url))


def test_a_record_of_a_newer_holdfast_is_named(tmp_path: Path) -> None:
    """A record in a format from the future is refused, saying so."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    taken(url)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE names SET format = 99")
    connection.close()
    assert "newer holdfast" in str(refusal(url))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A missing folder is named, with what to do."""
    with pytest.raises(BackendUnavailable, match="does not exist"):
        taken(f"sqlite:///{tmp_path / 'nowhere' / 'locks.db'}")


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    """A path below a file is refused too."""
    (tmp_path / "file").write_text("")
    with pytest.raises(BackendUnavailable):
        taken(f"sqlite:///{tmp_path / 'file' / 'locks.db'}")


def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    """A folder instead of a file is a mistake that is explained."""
    with pytest.raises(Misuse, match="is a folder"):
        taken(f"sqlite:///{tmp_path}")


UNPRIVILEGED = """
import logging, os, sys
from holdfast import Client, BackendUnavailable
import holdfast.observe.logs
with Client(f"sqlite:///{sys.argv[1]}/warm.db") as client, client.lock("x"):
    pass  # everything is imported: what follows may not be allowed to read the library
if os.geteuid() == 0:
    os.seteuid(65534)  # root could write everywhere: be nobody from here on
try:
    with Client(f"sqlite:///{sys.argv[2]}", call_limit=1) as client, client.lock("x"):
        print("taken")
except BackendUnavailable as error:
    print(error)
"""


@pytest.mark.parametrize("exists", [False, True], ids=["new file", "old file"])
def test_an_unwritable_folder(tmp_path: Path, exists: bool) -> None:  # noqa: FBT001
    """Without the right to write, the error says what is missing; no lock is taken."""
    folder = tmp_path / "readonly"
    folder.mkdir()
    if exists:
        taken(f"sqlite:///{folder / 'locks.db'}")
        (folder / "locks.db").chmod(0o444)
    folder.chmod(0o555)
    for parent in folder.parents:  # nobody must be able to get there at all
        if parent.stat().st_uid == os.geteuid() and parent.is_relative_to("/tmp"):  # noqa: S108
            parent.chmod(parent.stat().st_mode | 0o011)
    command = [sys.executable, "-c", UNPRIVILEGED, str(tmp_path), str(folder / "locks.db")]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "taken" not in said.stdout
    assert "write" in said.stdout, said


FILLING = """
import sys
from holdfast import Client, BackendUnavailable
client = Client(f"sqlite:///{sys.argv[1]}", call_limit=1)
leases = []
try:
    for number in range(100_000):
        leases.append(client.lock(f"name-{number}", metadata={"a": "b" * 3000}).acquire())
except BackendUnavailable as error:
    print(len(leases), error)
    assert all(lease.held for lease in leases)
    leases.pop().check()
"""


def run_filling(file: Path, before: list[str], limit: Callable[[], None] | None = None) -> str:
    """Take locks until there is no room left, and give what the error said."""
    done = subprocess.run(
        [*before, sys.executable, "-c", FILLING, str(file)],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=15,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """At the limit of a file's size taking one more lock fails in words; the held ones are good."""

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    said = run_filling(tmp_path / "locks.db", [], small)
    assert "the disk" in said


def test_a_full_disk(tmp_path: Path) -> None:
    """On a disk without room the error says so, and what is held stays held."""
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = ["unshare", "--mount", "--map-root-user"] if os.geteuid() else ["unshare", "--mount"]
    mount = f'mount -t tmpfs -o size=1m tmpfs "{disk}" && exec "$@"'
    probe = [*inside, "sh", "-c", mount, "sh", "true"]
    if shutil.which("unshare") is None or subprocess.run(probe, check=False).returncode:
        pytest.skip("no way to mount a small disk here")
    said = run_filling(disk / "locks.db", [*inside, "sh", "-c", mount, "sh"])
    assert "the disk is full" in said


def test_a_moment_without_room_is_ridden_over(tmp_path: Path) -> None:
    """SQLite says "full" once: the client asks again, and the caller does not notice."""
    with Client(f"sqlite:///{tmp_path / 'locks.db'}", call_limit=3) as client:
        with client.lock("x"):
            pass
        connection = client._engine.session.wire._store._connection  # type: ignore[attr-defined]
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        for number in range(200):
            with client.lock(f"n{number}", metadata={"a": "b" * 4000}):
                pass
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")  # the one that had no room was given up


@pytest.mark.parametrize("fate", ["deleted", "replaced", "emptied"])
def test_the_file_goes_away_while_held(tmp_path: Path, fate: str) -> None:
    """The holder is told within a third of its ttl that its lease is forgotten."""
    file = tmp_path / "locks.db"
    ttl = 4.0
    with Client(f"sqlite:///{file}") as client:
        lease = client.lock("x", ttl=ttl).acquire()
        told: list[float] = []
        lease.on_lost(lambda: told.append(time.monotonic()))
        began = time.monotonic()
        if fate == "replaced":
            taken(f"sqlite:///{tmp_path / 'other.db'}")
            remove(tmp_path)
            (tmp_path / "other.db").replace(file)
        elif fate == "deleted":
            file.unlink()
        else:
            remove(tmp_path)
            file.touch()
        eventually(lambda: told, ttl + 2, "the loss")
        assert told[0] - began < 0.8 * ttl  # by a renewal, not by the end of its time
        with pytest.raises(LockLost):
            lease.release()
        with client.lock("x", wait=2) as again:
            assert again.token > lease.token


def remove(folder: Path) -> None:
    """Remove the database with its journal."""
    for suffix in ("", "-wal", "-shm"):
        (folder / f"locks.db{suffix}").unlink(missing_ok=True)


def test_a_holder_whose_path_leads_nowhere_is_told(tmp_path: Path) -> None:
    """A file that can no longer be reached by its name protects nobody: its holder is told."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with Client(f"sqlite:///{folder / 'locks.db'}") as client:
        lease = client.lock("x", ttl=0.6).acquire()
        folder.rename(tmp_path / "elsewhere")
        folder.write_text("now a file")
        assert lease.wait_lost(3) is True
        with pytest.raises(LockLost):
            lease.release()


async def test_the_folder_becomes_a_file(tmp_path: Path) -> None:
    """When the path leads nowhere any more, calls end with a clear error, sync and async."""
    folder = tmp_path / "folder"
    folder.mkdir()
    url = f"sqlite:///{folder / 'locks.db'}"
    client, aclient = Client(url, call_limit=1), AsyncClient(url, call_limit=1)
    with client.lock("x"):
        pass
    async with aclient.lock("x"):
        pass
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("now a file")
    await asyncio.sleep(0.15)  # an open connection looks at its path ten times a second
    with pytest.raises(BackendUnavailable):
        taken(url)
    with pytest.raises(BackendUnavailable), client.lock("y", wait=0):
        pass
    with pytest.raises(BackendUnavailable):
        async with aclient.lock("y", wait=0):
            pass
    client.close()
    await aclient.close()


def test_a_reboot_ends_all_leases(tmp_path: Path) -> None:
    """On the first use after a reboot nobody holds or waits, and tokens go on growing."""
    file = tmp_path / "locks.db"
    url = f"sqlite:///{file}"
    with Client(url) as client:
        lease = client.lock("x", ttl=600).acquire()
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE meta SET value = 'another boot' WHERE key = 'boot'")
        connection.close()
        with Client(url) as after, after.lock("x", wait=0) as next_lease:
            assert next_lease.token > lease.token


def test_a_jump_of_the_wall_clock_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases live on the boot clock: a wall clock that jumps by a day changes nothing."""
    with Client(f"sqlite:///{tmp_path / 'locks.db'}") as client:
        lease = client.lock("x", ttl=3).acquire()
        real, real_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: real() + 86_400)
        monkeypatch.setattr(time, "time_ns", lambda: real_ns() + 86_400 * 10**9)
        with Client(f"sqlite:///{tmp_path / 'locks.db'}") as other:
            assert other.lock("x").try_acquire() is None
            monkeypatch.setattr(time, "time_ns", lambda: real_ns() - 86_400 * 10**9)
            assert lease.wait_lost(3.3) is False
            lease.release()
            with other.lock("x", wait=0) as later:
                assert later.token > lease.token
