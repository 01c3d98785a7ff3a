"""``on_loss="stop"``: how the body of a lost lease is brought to an end, in both runtimes.

Each object guards one stay inside a ``with``: it is fired at most once, and never after the body
was left. Counterpart: ``api.door``, which arms it on entering and disarms it on leaving.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from holdfast.errors import LockLost

ARRIVAL = 8
"""How many turns of a loop to wait for an exception that was thrown: one is enough."""


class ThreadStop:
    """Interrupts the holding thread at its next bytecode; a blocking call is waited out first."""

    def __init__(self, loss: Callable[[], LockLost]) -> None:
        self._loss = loss
        self._thread = ctypes.c_ulong(threading.get_ident())
        self._guard = threading.Lock()
        self._inside = True
        self._sent: type[LockLost] | None = None

    def fire(self) -> None:
        """Throw ``LockLost`` into the thread, if it is still inside. On the keeper's thread."""
        with self._guard:
            if self._inside:
                self._sent = _thrown(self._loss())
                error = ctypes.py_object(self._sent)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, error)

    def disarm(self) -> None:
        """Leave: nothing is thrown any more, and what has not arrived yet arrives here.

        Taking it back instead (throwing ``None``) leaves the interpreter in alarm until something
        does arrive: 3.12 runs slower, and 3.11 hangs once a debugger or coverage traces it.
        """
        try:
            with self._guard:
                self._inside = False
            here = threading.get_ident()
            if self._sent is not None and here != self._thread.value:  # entered in another thread
                ctypes.pythonapi.PyThreadState_SetAsyncExc(self._thread, None)
                error = ctypes.py_object(self._sent)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), error)
            for _ in range(ARRIVAL):
                pass  # each turn of a loop is a point at which it can arrive
        except LockLost as arrived:
            if type(arrived) is not self._sent:
                raise


def _thrown(told: LockLost) -> type[LockLost]:
    """Make a class whose instances tell this loss: a thread can only be sent a class."""

    class Thrown(LockLost):
        def __init__(self, *_: object) -> None:
            super().__init__(told.message, **vars(told))

        def __reduce__(self) -> tuple[object, ...]:
            return told.__reduce__()

    Thrown.__name__ = Thrown.__qualname__ = "LockLost"
    return Thrown


class TaskStop:
    """Cancels the holding task, and knows afterwards whether anybody else cancelled it too."""

    __slots__ = ("_cancelling", "_inside", "_task", "fired")

    def __init__(self, task: Any) -> None:
        if task is None:
            raise RuntimeError("an async lock can only be held by a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._inside = True
        self.fired = False

    def fire(self) -> None:
        """Cancel the task, if it is still inside.

        Always from a callback of the loop: cancelling one's own running task would leave a stray
        cancellation behind.
        """
        if self._inside and not self._task.done():
            self.fired = True
            self._task.cancel()

    def disarm(self, error: BaseException | None) -> bool:
        """Leave; say whether ``error``, which comes out of the body, is our cancellation alone."""
        self._inside = False
        if not self.fired:
            return False
        ours_alone = self._task.uncancel() <= self._cancelling
        return ours_alone and isinstance(error, asyncio.CancelledError)
