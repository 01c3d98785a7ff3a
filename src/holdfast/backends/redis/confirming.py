"""The second line to a server, for what replicas must have: one WAIT confirms it for many tasks.

During a WAIT the server does nothing else on that connection; so what needs none stays away, on the
ordinary line, where the inbox is. And a WAIT speaks of all that its own connection wrote before it:
so claims go where their WAIT goes, and all that is asked during one is confirmed by the next,
however many ask (decision 0038). Threads have connections of their own: see ``sync``.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any

from holdfast import clock
from holdfast.backends.redis.line import Everybody, Line
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.switchboard import Switchboard
from holdfast.backends.redis.target import Where

AT_ONCE = 0.25
"""No WAIT is longer, in seconds; who has more patience goes on to the next. So replicas that stall
hold up no claim for longer, and none comes later than that behind its own withdrawal."""


class Confirming:
    """The second lines of one client, one to each server that it asks for such things."""

    def __init__(self, office: Office) -> None:
        self._replicas = office.target.replicas
        self._lines = Switchboard(office)  # without an inbox, so nobody mends it but who needs it
        self._waits: dict[Where, _Waits] = {}
        self.line = self._lines.line
        self.close = self._lines.close

    def confirmation(self, line: Line, deadline: float) -> Confirmation:
        """Have all confirmed that was sent on ``line`` until now."""
        waits = self._waits.get(line.where)
        if waits is None or waits.line is not line:
            waits = self._waits[line.where] = _Waits(line, self._replicas)
        return Confirmation(waits, deadline)


class Confirmation:
    """What replicas say to one caller, who hears it in half of the time there is.

    A ``Waiter`` of the line: it goes from one WAIT to the next as long as too few replicas answer.
    """

    def __init__(self, waits: _Waits, deadline: float) -> None:
        now = clock.now()
        self.deadline = deadline
        self.patient_until = now + (deadline - now) / 2
        self.heard = waits.line.loop.create_future()
        self._waits = waits
        waits.join(self)

    def done(self) -> bool:
        """Whether the caller knows, or has left."""
        return self.heard.done()

    def set_result(self, heard: Any, /) -> None:
        """Tell the caller, unless the next WAIT may have better news for it."""
        lacking = isinstance(heard, int) and heard < self._waits.replicas
        if lacking and clock.now() < self.patient_until:
            self._waits.join(self)
        else:
            self.heard.set_result(heard)

    def set_exception(self, error: Any, /) -> None:
        """Tell the caller that nobody will know."""
        self.heard.set_exception(error)

    def forget(self) -> None:
        """Leave; what was not heard need not be."""
        if not self.heard.cancel() and not self.heard.cancelled():
            self.heard.exception()


class _Waits:
    """The WAITs of one line, one under way at most: who comes meanwhile shares the next.

    It stands behind all others who wait for a WAIT, so when it is told, they have been.
    """

    def __init__(self, line: Line, replicas: int) -> None:
        self.line = line
        self.replicas = replicas
        self._next: list[Confirmation] = []
        self._busy = False

    def join(self, confirmation: Confirmation) -> None:
        """Share the next WAIT; if none is under way, it is sent when this turn of the loop ends."""
        self._next.append(confirmation)
        if not self._busy:
            self._busy = True
            self.line.loop.call_soon(self._send)

    def _send(self) -> None:
        waiting = [one for one in self._next if not one.done()]
        self._next.clear()
        self._busy = bool(waiting)
        if waiting:
            patience = min(one.patient_until for one in waiting) - clock.now()
            milliseconds = max(1, ceil(min(patience, AT_ONCE) * 1000))
            together = Everybody((one, one.deadline) for one in waiting)
            together.append((self, inf))
            self.line.share(command("WAIT", self.replicas, milliseconds), together)

    # As the last who waits for each WAIT

    def done(self) -> bool:
        """Say that it wants to be told."""
        return False

    def set_result(self, heard: Any, /) -> None:  # noqa: ARG002 - the others have been told
        """Send the next."""
        self._send()

    def set_exception(self, error: Any, /) -> None:
        """Tell those who came meanwhile that the line is broken."""
        waiting, self._next, self._busy = self._next, [], False
        for one in waiting:
            if not one.done():
                one.set_exception(error)
