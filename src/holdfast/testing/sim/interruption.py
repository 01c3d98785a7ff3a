"""Ctrl-C at a chosen moment: in sync an interruption may come at every call of a port."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.testing.sim.runtimes import SyncLike

PORTS = ("now", "owner", "dice", "bell", "push")


def interrupt(runtime: SyncLike, at: int) -> None:
    """Let the ``at``-th call of the runtime's ports raise ``KeyboardInterrupt``, once.

    Calls that suspend (asking, waiting, sleeping) are struck by the scheduler instead.
    """
    calls = 0

    def counted(port: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            nonlocal calls
            calls += 1
            runtime.calls = calls
            if calls == at:
                raise KeyboardInterrupt
            return port(*arguments)

        return call

    for name in PORTS:
        setattr(runtime, name, counted(getattr(runtime, name)))
