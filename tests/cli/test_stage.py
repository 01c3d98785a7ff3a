"""Starting a command: not after a signal, not under a tether that is about to end."""

import os
import signal
from pathlib import Path

import pytest

from holdfast.cli.attend import Untethered
from holdfast.cli.signals import Inbox, Interrupted
from holdfast.cli.stage import Stage, Stopped


class Short:
    """A tether of which only this much is left."""

    grace = 1.0
    margin = 0.1

    def __init__(self, left: float, *, broken: bool = False) -> None:
        self._left = left
        self._broken = broken

    def left(self) -> float:
        """Say how much is left."""
        return self._left

    def broken(self) -> bool:
        """Say whether it is broken."""
        return self._broken

    def why(self) -> str:
        """Give a reason."""
        return "it is too short"


def test_a_signal_before_the_start(tmp_path: Path) -> None:
    """A signal that came while the lock was being taken ends us; the command is not started."""
    with Inbox() as inbox:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Interrupted) as interrupted:
            Stage(inbox).perform(["touch", str(tmp_path / "ran")], Untethered(1.0))
    assert interrupted.value.signum == signal.SIGTERM
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("tether", [Short(0), Short(1.05), Short(100, broken=True)])
def test_too_little_is_left(
    tmp_path: Path, tether: Short, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that would have to be stopped at once is not started, and that is said."""
    with Inbox() as inbox, pytest.raises(Stopped):
        Stage(inbox).perform(["touch", str(tmp_path / "ran")], tether)
    assert not (tmp_path / "ran").exists()
    assert capsys.readouterr().err == "holdfast: not starting the command: it is too short\n"


def test_enough_is_left() -> None:
    """A command under a good tether runs, and its code comes back."""
    with Inbox() as inbox:
        assert Stage(inbox).perform(["sh", "-c", "exit 7"], Short(100)) == 7


@pytest.mark.parametrize("answer, done", [("true", True), ("false", False), ("exit 127", False)])
def test_a_question(answer: str, *, done: bool) -> None:
    """Only 0 is a yes."""
    with Inbox() as inbox:
        assert Stage(inbox).ask(answer, Untethered(1.0)) is done
