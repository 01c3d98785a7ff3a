"""``on_loss="stop"`` in threads leaves the interpreter as it was, also under a tracer."""

import subprocess
import sys
import threading

import pytest

import holdfast
from holdfast.flows.lose import lost_error
from holdfast.runtimes.stop import ThreadStop

PROGRAM = """
import sys, time
import holdfast

def look_around():
    return [number for number in range(3)]

with holdfast.Client("memory://") as client:
    # Once before, so that the body below imports nothing: what is thrown into a thread while an
    # import runs its weak references' callbacks is ignored by the interpreter.
    warm = client.lock("warm", on_loss="flag").acquire()
    client.break_lock("warm", token=warm.token, force=True)
    assert warm.wait_lost(10)
    lock = client.lock("x", on_loss="stop")
    try:
        with lock as lease:
            client.break_lock("x", token=lease.token, force=True)
            while True:
                time.sleep(0.001)
    except holdfast.LockLost:
        print("stopped", flush=True)
    {after}
    print(look_around(), flush=True)
"""


@pytest.mark.parametrize("after", ["sys.settrace(lambda *_: None)", "pass"])
def test_a_stopped_body_leaves_nothing_behind(after: str) -> None:
    """Code that is traced after a stop runs on: 3.11 once hung in its first call."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(after=after)],
        check=True,
        capture_output=True,
        text=True,
        timeout=15,
    )
    assert done.stdout == "stopped\n[0, 1, 2]\n"


def test_a_body_left_in_another_thread_stops_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was thrown into the thread that entered is taken back by the one that leaves."""
    with holdfast.Client("memory://left-elsewhere") as client, client.lock("x") as lease:
        stop = ThreadStop(lambda: lost_error(client._engine.session, lease._state))

        def leave() -> None:
            stop.fire()
            stop.disarm()

        before = sys.getswitchinterval()
        sys.setswitchinterval(10)  # nobody else runs between the throw and its taking back
        monkeypatch.setattr(threading, "excepthook", lambda args: caught.append(args.exc_value))
        caught: list[object] = []
        try:
            thread = threading.Thread(target=leave)
            thread.start()
            thread.join(10)
        finally:
            sys.setswitchinterval(before)
        assert caught == []
        assert lease.held
