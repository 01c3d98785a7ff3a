"""A command and its process group, without any lock."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from holdfast.cli import codes, kernel
from holdfast.cli.attend import Attendance, Untethered
from holdfast.cli.child import CannotStart, Child
from holdfast.cli.signals import Inbox, Interrupted


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    """Give an inbox that hears this process's signals."""
    with Inbox() as inbox:
        yield inbox


def attended(inbox: Inbox, *command: str, grace: float = 5.0) -> Attendance:
    """Run a command to its end."""
    attendance = Attendance(Child.start(command), inbox, Untethered(grace))
    attendance.see_out()
    return attendance


def test_exit_codes(inbox: Inbox) -> None:
    """They come through: small ones, those that holdfast has a meaning for, signals', the last."""
    codes = [0, 1, 2, 3, 42, *range(64, 79), *range(125, 132), 137, 143, 192, 254, 255]
    seen = [attended(inbox, "sh", "-c", f"exit {code}").child.code for code in codes]
    assert seen == codes


def test_every_deadly_signal(inbox: Inbox) -> None:
    """Each signal that kills is seen as 128 + N."""
    deadly = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM]
    seen = [attended(inbox, "sh", "-c", f"kill -{signum.value} $$") for signum in deadly]
    assert [attendance.child.code for attendance in seen] == [128 + signum for signum in deadly]


def test_a_group_of_its_own(inbox: Inbox) -> None:
    """The command leads a process group, so that signals reach all of it and nobody else."""
    script = "test $(ps -o pgid= -p $$) = $$"
    assert attended(inbox, "sh", "-c", script).child.code == 0


def test_a_signal_to_us_reaches_the_group(inbox: Inbox) -> None:
    """What this process receives is passed on, and remembered as a wish to end."""
    child = Child.start(["sleep", "100"])
    os.kill(os.getpid(), signal.SIGHUP)
    attendance = Attendance(child, inbox, Untethered(5.0))
    attendance.see_out()
    assert attendance.asked_to_end == signal.SIGHUP
    assert child.code == 128 + signal.SIGHUP


def test_an_interrupted_wait(inbox: Inbox) -> None:
    """While we wait, a signal is an exception; before and after, it is a message."""
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Interrupted) as before, inbox.interrupting():
        pytest.fail("it had been asked to end before")
    with pytest.raises(Interrupted) as during, inbox.interrupting():
        os.kill(os.getpid(), signal.SIGQUIT)
    assert (before.value.signum, during.value.signum) == (signal.SIGTERM, signal.SIGQUIT)
    assert inbox.wait(0) == [signal.SIGQUIT]
    with inbox.interrupting():
        os.kill(os.getpid(), signal.SIGUSR1)


def test_a_ring_wakes_without_a_signal(inbox: Inbox) -> None:
    """Another thread's ring ends the wait, and is no signal."""
    inbox.ring()
    assert inbox.wait(10) == []


@pytest.mark.parametrize(
    "command, code", [("/no/such/thing", codes.NOT_FOUND), ("/etc", codes.NOT_EXECUTABLE)]
)
def test_cannot_start(command: str, code: int) -> None:
    """Not found and not executable are told apart."""
    with pytest.raises(CannotStart) as refused:
        Child.start([command])
    assert refused.value.code == code


def test_only_what_is_named_stays_open(inbox: Inbox) -> None:
    """The command inherits the descriptors it should, and no others."""
    kept, closed = os.pipe()
    script = f"test -e /proc/self/fd/{kept} && ! test -e /proc/self/fd/{closed}"
    child = Child.start(["sh", "-c", script], keep_open=[kept])
    os.close(kept)
    os.close(closed)
    Attendance(child, inbox, Untethered(5.0)).see_out()
    assert child.code == 0


def test_what_is_out_of_reach(
    inbox: Inbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What may not be signalled does not keep us for ever, but is told."""
    child = Child.start(["sh", "-c", "sleep 100 & exit 3"])
    monkeypatch.setattr(child, "signal", lambda _: False)
    Attendance(child, inbox, Untethered(0.01)).see_out()
    assert child.code == 3
    assert "runs as another user" in capsys.readouterr().err
    os.killpg(child.group, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_zombie_is_not_alive() -> None:
    """A group of zombies is gone, though the kernel still knows it."""
    child = Child.start(["true"])
    os.waitid(os.P_PID, child.group, os.WEXITED | os.WNOWAIT)
    os.killpg(child.group, 0)
    assert not kernel.group_lives(child.group)
    assert child.reap()


def test_an_empty_group() -> None:
    """Where nobody is left, nobody is signalled and nobody lives."""
    child = Child.start(["true"])
    while not child.reap():
        pass
    assert not kernel.group_lives(child.group)
    assert child.signal(signal.SIGTERM)
