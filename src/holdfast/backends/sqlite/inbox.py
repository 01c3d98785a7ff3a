"""A client's inbox is a named pipe beside the database, and its sign of life too.

Better than a datagram socket here: no limit on the length of its path, room for some six hundred
notices, and the kernel itself answers both questions that others have. Opening a pipe for writing
without blocking fails with ENXIO exactly when no process has it open for reading: then its client
is dead (kill -9 included). Where the pipe is missing nothing is known: nobody is taken for dead.
"""

from __future__ import annotations

import errno
import json
import os
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from holdfast import clock
from holdfast.backends.waking import LONGEST, Waker
from holdfast.rules.messages import Notice

ATOMIC = getattr(select, "PIPE_BUF", 512)
"""Writes up to this size arrive whole; a longer notice is left to the tick."""


_here: dict[str, Callable[[Notice], None]] = {}
"""The clients of this very process: telling them takes no pipe."""


class Pipe:
    """The reading end, owned by the client's keeper."""

    def __init__(
        self, folder: Path, client: str, access: int | None, deliver: Callable[[Notice], None]
    ) -> None:
        self.address = client
        _here[client] = deliver
        self._path = folder / client
        os.mkfifo(self._path)
        # Read and write: so the pipe never reports an end, and the keeper can wake itself.
        self._fd = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if access is not None:
            os.fchmod(self._fd, access)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._rest = b""

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until something is written, or until ``until``."""
        delay = min(max(0.0, until - clock.now()), LONGEST)
        if not self._poll.poll(delay * 1000 + 0.999):
            return ()
        try:
            arrived = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return ()
        lines = (self._rest + arrived).split(b"\n")
        self._rest = lines.pop()
        return [_read(line) for line in lines if line]

    def wake(self) -> None:
        """Write an empty line to oneself; a full pipe is awake anyway."""
        try:
            os.write(self._fd, b"\n")
        except (BlockingIOError, OSError):
            return

    def close(self) -> None:
        """Close and remove the pipe."""
        if self._fd >= 0:
            self.forget()
            with suppress(OSError):  # whoever took the folder away took the pipe with it
                self._path.unlink()

    def forget(self) -> None:
        """Close the inherited end only: the pipe belongs to the parent."""
        if self._fd >= 0:
            _here.pop(self.address, None)
            fd, self._fd = self._fd, -1
            os.close(fd)

    def lifeline(self) -> int | None:
        """Whoever has this open keeps the client from being taken for dead."""
        return self._fd


class Tick:
    """What serves where the file system has no pipes: the keeper looks once a second."""

    address = ""

    def __init__(self) -> None:
        self._waker = Waker()

    def listen(self, until: float) -> Sequence[Notice]:
        """Block until woken or until ``until``."""
        self._waker.sleep(until)
        return ()

    def wake(self) -> None:
        """Make ``listen`` return."""
        self._waker.wake()

    def close(self) -> None:
        """Nothing is open."""

    def forget(self) -> None:
        """Nothing was inherited."""

    def lifeline(self) -> int | None:
        """There is none: a crash is noticed when the lease ends."""
        return None


def is_dead(folder: Path, client: str) -> bool:
    """Whether the kernel says that nobody reads this client's inbox any more."""
    fd = _open(folder, client)
    if fd is None:
        return True
    if fd >= 0:
        os.close(fd)
    return False


def send(folder: Path, notice: Notice) -> None:
    """Tell a client; if it cannot be told, its keeper's next tick finds out."""
    deliver = _here.get(notice.inbox)
    if deliver is not None:
        deliver(notice)
        return
    line = _written(notice)
    fd = _open(folder, notice.inbox) if len(line) <= ATOMIC else -1
    if fd is None or fd < 0:
        return
    try:
        os.write(fd, line)
    except (BlockingIOError, BrokenPipeError):
        return
    finally:
        os.close(fd)


def _open(folder: Path, client: str) -> int | None:
    """Open the writing end; ``None`` if nobody reads it, -1 if that cannot be known."""
    try:
        return os.open(f"{folder}/{client}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return None if error.errno == errno.ENXIO else -1


def sweep(folder: Path, older_than: float) -> None:
    """Remove pipes that the dead left behind, long after any lease of theirs can matter."""
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < older_than and is_dead(folder, path.name):
                path.unlink(missing_ok=True)
        except OSError:  # somebody else was quicker, or may do it
            continue


def _written(notice: Notice) -> bytes:
    cells = [
        notice.what,
        notice.name,
        notice.claim_id,
        notice.token,
        notice.life,
        notice.granted_at,
        notice.slots,
        notice.reason,
    ]
    return json.dumps(cells, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read(line: bytes) -> Notice:
    what, name, claim_id, token, life, granted_at, slots, reason = json.loads(line)
    return Notice(
        what=what,
        inbox="",
        name=name,
        claim_id=claim_id,
        token=token,
        life=life,
        granted_at=granted_at,
        slots=tuple(slots),
        reason=reason,
    )
