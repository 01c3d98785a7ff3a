"""What an actor writes down of several names that it asks for at once: one claim for each.

Which of them is asked for, waited for and granted when, only the events of the client tell; so this
listens. What was granted and is asked for again was lost in between, and is begun anew.
"""

from __future__ import annotations

from typing import Any

from holdfast.observe import events
from holdfast.testing.history.moment import now_ns
from holdfast.testing.history.record import Recorder
from holdfast.testing.workload.turn import Turn


class CompanyNotes:
    """The claims of one call that are not over."""

    def __init__(self, recorder: Recorder, turn: Turn) -> None:
        self._recorder = recorder
        self._turn = turn
        self._asked: dict[str, int] = {}
        self._held: dict[str, int] = {}

    def hear(self, event: events.Event) -> None:
        """Put down what the client tells of its own names."""
        match event:
            case events.Claimed(name=name):
                self._end(name, "lost", "failed")
                self._ask(name)
            case events.Queued(name=name):
                self._note("queued", self._asked.get(name))
            case events.PlaceLost(name=name, reason=reason):
                self._note("displaced", self._asked.get(name), why=reason)
            case events.Granted(name=name, token=token):
                if name not in self._asked:  # broken before its body could start, and had again
                    self._end(name, "lost", "failed")
                    self._ask(name)
                number = self._asked.pop(name)
                self._held[name] = number
                self._note("held", number, token=token)
            case events.Released(name=name):
                self._end(name, "released", "failed")
            case events.ReleaseFailed(name=name):
                self._end(name, "unconfirmed", "failed")
            case _:
                pass

    def checked(self, at: int) -> None:
        """Put down that all of them were good at a moment that was taken before."""
        for number in self._held.values():
            self._recorder.note("checked", at=at, n=number)

    def over(self, how: str, why: str) -> None:
        """Put down the end of whatever is not over: ``why`` the call came to nothing."""
        for name in [*self._asked, *self._held]:
            self._end(name, how, why)

    def _ask(self, name: str) -> None:
        turn = self._turn
        self._asked[name] = number = self._recorder.claim()
        self._note("ask", number, name=name, ttl=turn.ttl, wait=turn.wait)

    def _end(self, name: str, how: str, why: str) -> None:
        if name in self._held:
            self._note("left", self._held.pop(name), since=now_ns(), how=how)
        elif name in self._asked:
            self._note(why, self._asked.pop(name), why="asked for together with others")

    def _note(self, do: str, number: int | None, **fields: Any) -> None:
        if number is not None:
            self._recorder.note(do, n=number, **fields)
