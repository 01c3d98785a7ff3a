"""What the tests of the command line share."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.keyboard import Keyboard
from tests.cli.shell import Shell

# Under nohup, say, SIGHUP comes ignored, and whatever we start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Give a shell with a backend of its own, also where the tests themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with Shell(tmp_path) as shell:
        yield shell
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def keyboards() -> Iterator[list[Keyboard]]:
    """Collect terminals that are closed in the end."""
    opened: list[Keyboard] = []
    yield opened
    for keyboard in opened:
        keyboard.close()
