"""What can go wrong, on demand. Between client and backend only: all that runs is what ships."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import inf
from types import TracebackType
from typing import Self

from holdfast.api.checks import checked_label, checked_life, checked_name, checked_reason
from holdfast.api.client import AsyncClient, Client
from holdfast.api.lease import AsyncLease, Lease
from holdfast.durations import Duration, positive, seconds
from holdfast.errors import Misuse
from holdfast.testing.sandbox.backend import SandboxBackend
from holdfast.testing.sandbox.conditions import Delay, Outage, WhatHappened
from holdfast.testing.sandbox.ground import Ground
from holdfast.testing.sandbox.loss import lose
from holdfast.testing.sandbox.rival import Holdable, Rival, Share, share_of

Someone = Client | AsyncClient


class Fault:
    """Something that is wrong from the call that gave it until ``end``. A context manager."""

    def __init__(self, what: str, end: Callable[[], None]) -> None:
        self._what = what
        self._end: Callable[[], None] | None = end

    @property
    def active(self) -> bool:
        """Whether it is still wrong."""
        return self._end is not None

    def end(self) -> None:
        """Put it right; harmless when repeated."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<Fault {self._what} {'active' if self.active else 'ended'}>"


class Faults:
    """Everything that a test can do to the clients of one sandbox.

    What is begun here is wrong at once. It ends with ``end()`` or its ``with``, with ``clear()``,
    or with the sandbox.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._begun: list[Fault] = []
        self._rivals: list[Rival] = []

    def lose(self, lease: Lease | AsyncLease | str, reason: str = "faults.lose() said so") -> None:
        """Take a lease away right now; of a name, from everybody who holds it.

        It is broken by force on the backend, and its holder hears of it the way it would from an
        operator: ``check()`` raises at once, and when this call returns, callbacks have been called
        (on a loop: have been put on it) and the name is free for others.
        """
        lose(self._ground, lease, checked_reason(reason))

    def unavailable(
        self,
        client: Someone | None = None,
        *,
        outcome: WhatHappened = "none",
        transient: bool = True,
    ) -> Fault:
        """Let the backend be out of reach: for everybody, or for ``client`` alone.

        ``outcome="none"``: requests are lost on their way. ``"unknown"``: they arrive and are
        carried out, but their replies are lost. Notices do not come through either. As in real
        life, calls are repeated for ``call_limit`` before they raise ``BackendUnavailable``, unless
        the error does not look passing (``transient=False``, as a refused password).
        """
        if outcome not in ("none", "unknown"):
            raise Misuse(f"outcome must be 'none' or 'unknown', not {outcome!r}")
        whom = self._whom(client)
        outage = Outage(whom, outcome, transient)
        self._ground.conditions.begin(outage)

        def end() -> None:
            self._ground.conditions.end(outage)
            back = {one for one in self._ground.ears if whom in {None, one}}
            self._ground.tell_missed(
                {one for one in back if self._ground.conditions.outage(one) is None}
            )

        return self._begin(f"unavailable, outcome {outcome}", end)

    def delay(self, by: Duration, client: Someone | None = None) -> Fault:
        """Let each exchange take this long: half before the backend sees it, half after it.

        What takes longer than the asker's patience is ``BackendUnavailable`` with an unknown
        outcome, so a long delay is a backend that keeps silent.
        """
        delay = Delay(self._whom(client), positive(by, "delay"))
        self._ground.conditions.begin(delay)
        return self._begin(f"delay {by}", lambda: self._ground.conditions.end(delay))

    def skew(self, by: Duration = 0, *, rate: float = 1.0) -> Fault:
        """Let the backend's clock jump (``"1h"``, ``"-30s"``), or run at another rate, or both.

        holdfast assumes that this does not happen: see what your code does when leases end on the
        backend before their holders know it. Afterwards the clock is right again.
        """
        jump, pace = _signed(by), _checked_rate(rate)
        if jump == 0 and pace == 1:
            raise Misuse("this skew changes nothing: give a jump, a rate, or both")
        wrong = self._ground.clock.skew(jump, pace)
        return self._begin(
            f"skew by {by} at rate {pace:g}", lambda: self._ground.clock.correct(wrong)
        )

    def hold(
        self,
        what: str | Holdable,
        holder: str = "somebody else",
        *,
        for_: Duration | None = None,
        prefix: str = "holdfast",
    ) -> Rival:
        """Let somebody else hold ``what``: until it is released, or for a time.

        A name is held as a lock, under the ``prefix`` of the clients that are to meet it. Give the
        lock or semaphore itself (``client.lock("x")``) and the rival takes exactly what that would.
        """
        lives_for = None if for_ is None else checked_life(for_, "for_")
        if isinstance(what, str):
            share = Share(checked_name(what), checked_name(prefix, "prefix"))
        else:
            share = share_of(self._ground, what)
        rival = Rival(self._ground, share, checked_label(holder), lives_for)
        self._rivals.append(rival)
        return rival

    def clear(self) -> None:
        """Put everything right, and let every rival go."""
        begun, self._begun = self._begun, []
        for fault in reversed(begun):
            fault.end()
        rivals, self._rivals = self._rivals, []
        for rival in rivals:
            rival.release()

    def _begin(self, what: str, end: Callable[[], None]) -> Fault:
        fault = Fault(what, end)
        self._begun.append(fault)
        return fault

    def _whom(self, client: Someone | None) -> str | None:
        if client is None:
            return None
        if not isinstance(client, (Client, AsyncClient)):
            raise Misuse(f"client must be a client of this sandbox, not {client!r}")
        backend = client._engine.backend  # noqa: SLF001 - one library
        if not isinstance(backend, SandboxBackend) or backend.ground is not self._ground:
            raise Misuse(f"{client!r} is not a client of this sandbox: make it with its url")
        return client.holder.client


def _signed(by: Duration) -> float:
    """Read a span that may be negative."""
    if isinstance(by, str) and by.lstrip().startswith("-"):
        return -seconds(by.lstrip()[1:], "skew")
    if isinstance(by, (int, float, timedelta)) and not isinstance(by, bool):
        span = by.total_seconds() if isinstance(by, timedelta) else by
        return -seconds(-span, "skew") if span < 0 else seconds(span, "skew")
    return seconds(by, "skew")


def _checked_rate(rate: object) -> float:
    if isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 < rate < inf:
        return float(rate)
    raise Misuse(f"rate must be a positive number (1 is right), not {rate!r}")
