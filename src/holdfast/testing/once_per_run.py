"""Something expensive, made once per test run although several processes want it.

The first to come makes it under a lock of holdfast's own; the others wait and get what it gave, as
JSON. The lock and the list of those who use it are leases in a SQLite file of the run, so a process
that is killed neither blocks the others nor counts as a user. What was made is on the ``Shelf``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from traceback import format_exception_only
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import quote

from holdfast.api.checks import checked_label, checked_name
from holdfast.api.client import Client
from holdfast.api.lease import Lease
from holdfast.durations import Duration
from holdfast.errors import HoldfastError, Misuse
from holdfast.testing.shelf import Entry, Shelf

T = TypeVar("T")


class SetUpFailed(HoldfastError):
    """Another process of this test run has tried to make it, and failed."""

    key: str = ""
    worker: str = ""
    failure: str = ""


class _Use(NamedTuple):
    """This process's use of what was made."""

    value: Any
    stop: Callable[[Any], object] | None
    lease: Lease | None


class OncePerRun:
    """Makes things once for all processes that share ``folder``. A context manager.

    ``worker`` is what this process is called in messages.
    """

    def __init__(self, folder: Path | str, *, worker: str = "") -> None:
        place = Path(folder).resolve()
        self._shelf = Shelf(place)
        self._worker = checked_label(worker) or f"process {os.getpid()}"
        self._url = f"sqlite:///{quote(str(place / 'once.db'))}"
        self._client = Client(self._url, holder=self._worker)
        self._uses: dict[str, _Use] = {}

    def __call__(
        self,
        key: str,
        make: Callable[[], T],
        *,
        stop: Callable[[T], object] | None = None,
        wait: Duration | None = None,
        keep_failure: bool = False,
    ) -> T:
        """Give what ``make`` gave, here or in another process of the run.

        ``make`` must give something that JSON can say and give back unchanged. If it fails, those
        who were waiting meanwhile get ``SetUpFailed`` with its words, and the next one to come
        tries again; with ``keep_failure`` nobody does. ``stop`` is called with the value by the
        last process to leave. ``wait`` bounds the wait for another process (``LockBusy`` then).
        """
        name = quote(checked_name(key, "key"), safe="")
        if key in self._uses:
            value: T = self._uses[key].value
            return value
        seen = self._shelf.read(key)
        with self._client.lock(f"make/{name}", wait=wait) as lease:
            use = self._use(name) if stop is not None else None
            try:
                value = self._given(key, make, lease, seen, keep_failure=keep_failure)
            except BaseException:
                if use is not None:
                    use.release()
                raise
        self._uses[key] = _Use(value, stop, use)
        return value

    def leave(self) -> None:
        """Say that this process needs nothing any more; stop what nobody else uses."""
        uses, self._uses = self._uses, {}
        failures: list[Exception] = []
        for key in reversed(uses):
            try:
                self._leave(key, uses[key])
            except Exception as error:  # noqa: BLE001 - the others are stopped first
                failures.append(error)
        self._client.close()
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("several things could not be stopped", failures)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def _use(self, name: str) -> Lease:
        """Let the others know that this process uses it, for as long as it lives."""
        mine = f"use/{name}/{quote(self._worker, safe='')}/{os.getpid()}"
        return self._client.lock(mine, on_loss="flag").acquire()

    def _given(
        self,
        key: str,
        make: Callable[[], T],
        lease: Lease,
        seen: Entry | None,
        *,
        keep_failure: bool,
    ) -> T:
        """Take what is there, or make it. Under the key's lock; ``seen`` was there before it."""
        entry = self._shelf.read(key)
        if entry is None or (entry.failure and not _tells_us(entry, seen)):
            attempt = 1 if entry is None else entry.attempt + 1
            return self._made(key, make, lease, attempt, keep_failure=keep_failure)
        if entry.failure:
            raise _failed(key, entry)
        value: T = entry.value  # type: ignore[assignment] # it was a T before it was JSON
        return value

    def _made(
        self,
        key: str,
        make: Callable[[], T],
        lease: Lease,
        attempt: int,
        *,
        keep_failure: bool,
    ) -> T:
        try:
            value = make()
            said = _as_json(key, value)
        except BaseException as error:
            if not isinstance(error, Exception) and not _says_failed(error):
                raise  # interrupted or skipped: the next one makes it
            lease.check()  # lost meanwhile, somebody else may be making it: nothing is put down
            failure = "".join(format_exception_only(error)).strip()
            failed = Entry(attempt, self._worker, failure=failure, final=keep_failure)
            self._shelf.write(key, failed)
            raise
        lease.check()
        self._shelf.write(key, Entry(attempt, self._worker, said))
        return value

    def _leave(self, key: str, use: _Use) -> None:
        if use.stop is None or use.lease is None:
            return
        name = quote(key, safe="")
        with self._client.lock(f"make/{name}"):
            use.lease.release()
            if self._in_use(name):
                return
            try:
                use.stop(use.value)
            finally:
                self._shelf.remove(key)  # whoever comes now makes it anew

    def _in_use(self, name: str) -> bool:
        """Whether a living process uses it.

        Asked through a client of its own: ours may have seen somebody alive a moment ago and still
        believe it.
        """
        with Client(self._url) as fresh:
            return bool(fresh.locks(f"use/{name}/"))


def _tells_us(entry: Entry, seen: Entry | None) -> bool:
    """Whether this failure is ours too: for good, or of an attempt that we have waited for."""
    return entry.final or entry.attempt > (0 if seen is None else seen.attempt)


def _as_json(key: str, value: object) -> Any:
    """Refuse what the other processes would not get as it is."""
    try:
        said = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise Misuse(f"what is made for {key!r} must be something JSON can say: {error}") from None
    if said != value:
        raise Misuse(
            f"what is made for {key!r} comes out of JSON as {said!r}, not as {value!r}: the other"
            " processes would get something else (tuples become lists, keys become strings)"
        )
    return said


def _failed(key: str, entry: Entry) -> SetUpFailed:
    again = "and is not tried again" if entry.final else "while this process waited for it"
    return SetUpFailed(
        f"{key!r} could not be made: it failed in {entry.worker}, {again}. {entry.failure}",
        key=key,
        worker=entry.worker,
        failure=entry.failure,
    )


def _says_failed(error: BaseException) -> bool:
    """Whether pytest's ``fail`` was called, which raises no ``Exception``."""
    kind = type(error)
    return (kind.__module__, kind.__name__) in {
        ("_pytest.outcomes", "Failed"),
        ("builtins", "Failed"),
    }
