"""A keeper that dies is noticed by those who wait for it."""

import ctypes
import threading
from pathlib import Path

import pytest

from holdfast import Client
from holdfast.testing.watching import eventually


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("backend", ["memory", "sqlite"])
def test_a_waiter_outlives_its_keeper(
    tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody kills the keeper's thread: the waiter starts another, and gets in."""
    # It goes on after whatever it meets, unless it cannot even say so.
    monkeypatch.setattr("holdfast.runtimes.keeper.complain", leave)
    url = f"sqlite:///{tmp_path / 'locks.db'}" if backend == "sqlite" else f"memory://{tmp_path}"
    with Client(url) as alice, Client(url) as bob:
        held = alice.lock("x").acquire()
        got: list[int] = []

        def wait() -> None:
            with bob.lock("x", wait=15) as lease:
                got.append(lease.token)

        waiter = threading.Thread(target=wait)
        waiter.start()
        eventually(lambda: alice.show("x").waiters == 1, what="bob in line")
        eventually(lambda: keepers_of(bob), what="his keeper")
        [keeper] = keepers_of(bob)
        ident = ctypes.c_ulong(keeper.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
        eventually(lambda: not keeper.is_alive(), what="the end of the keeper")
        eventually(lambda: keepers_of(bob), what="another keeper")
        held.release()
        waiter.join(10)
        assert got


def leave(*_: object) -> None:
    """End the thread that calls."""
    raise SystemExit


def keepers_of(client: Client) -> list[threading.Thread]:
    """Find the threads that keep this client's leases."""
    name = f"holdfast-keeper-{client.holder.client[:8]}"
    return [one for one in threading.enumerate() if one.name == name]
