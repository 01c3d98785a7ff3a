"""What all clients of one sandbox share, and how a URL leads there."""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.backends.memory.space import Space
from holdfast.errors import Misuse
from holdfast.rules.messages import Notice
from holdfast.testing.sandbox.conditions import Conditions
from holdfast.testing.sandbox.real_time import Time
from holdfast.testing.sandbox.server_clock import ServerClock

MISSED = Notice("missed", "", "", "", 0)


class Ground:
    """One space of names with its clock, and the conditions between it and its clients."""

    def __init__(self, name: str, time: Time) -> None:
        self.name = name
        self.time = time
        self.conditions = Conditions()
        self.clock = ServerClock(time.now, time.wall)
        self.space = Space(self.clock.now, self.clock.mint)
        self.ears: dict[str, Callable[[Notice], None]] = {}  # by client, once its keeper listens
        self.prefixes: set[str] = set()
        self._process = os.getpid()

    def refuse_in_child(self) -> None:
        """Raise ``Misuse`` in a forked child: its parent's sandbox is not there."""
        if os.getpid() != self._process:
            raise Misuse(
                "a sandbox stays with the process that made it, and this is a forked child; make a"
                " Sandbox here, or use sqlite:// where processes are to meet"
            )

    def tell_missed(self, clients: set[str]) -> None:
        """Tell those who were cut off that they may have missed something."""
        for client in clients & set(self.ears):
            self.ears[client](MISSED)


_open: dict[str, Ground] = {}


def enter(ground: Ground) -> None:
    """Let URLs lead to ``ground``."""
    _open[ground.name] = ground


def leave(ground: Ground) -> None:
    """Let no URL lead there any more."""
    _open.pop(ground.name, None)


def find(name: str) -> Ground:
    """Give the ground that a URL names."""
    ground = _open.get(name)
    if ground is None:
        raise Misuse(
            f"no sandbox {name!r} is open in this process; make a holdfast.testing.Sandbox, and use"
            " its url while it is open"
        )
    return ground
