"""What has happened between two looks at the locks. Pure: no clock, no backend, no terminal.

    event        a grant or a waiter …                        known by
    held         is there that was not                        its token
    freed        is not there any more                        its token
    broken       was marked broken                            its token
    waiting      is in line that was not                      its client and since when
    left         is not in line any more, and does not hold   its client and since when

What begins and ends between two looks is not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from holdfast.values import (
    Holder,
    Json,
    LockInfo,
    NameSpace,
    Place,
    Tenure,
    apart,
    called,
    printable,
)

Event: TypeAlias = Literal["held", "freed", "broken", "waiting", "left"]

_WORDS: dict[Event, str] = {
    "held": "is held by",
    "freed": "was freed by",
    "broken": "was taken away from",
    "waiting": "is waited for by",
    "left": "is no longer waited for by",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that has happened to a name."""

    event: Event
    name: str
    space: NameSpace = "lock"
    holder: Holder
    token: int | None
    reason: str
    waiters: int

    def __str__(self) -> str:
        token = f" (token {self.token})" if self.token is not None else ""
        reason = f": {printable(self.reason)}" if self.reason else ""
        waiters = f", {self.waiters} waiting" if self.waiters else ""
        name = self.name if self.space == "lock" else called(apart(self.space, self.name))
        what = f"{printable(name)} {_WORDS[self.event]} {self.holder}"
        return f"{what}{token}{reason}{waiters}"

    def as_json(self) -> dict[str, Json]:
        """Give the change as ``watch --json`` prints it, without the time."""
        return {
            "event": self.event,
            "name": self.name,
            "space": self.space,
            "token": self.token,
            "holder": str(self.holder),
            "client": self.holder.client,
            "host": self.holder.host,
            "pid": self.holder.pid,
            "label": self.holder.label,
            "reason": self.reason or None,
            "waiters": self.waiters,
        }


def changes(before: Iterable[LockInfo], after: Iterable[LockInfo]) -> Iterator[Change]:
    """Compare two looks, name by name; within a name, what ended comes before what began."""
    old = {_place(info): info for info in before}
    new = {_place(info): info for info in after}
    for place in sorted(old.keys() | new.keys()):
        yield from _of_name(old.get(place), new.get(place))


def _place(info: LockInfo) -> tuple[bytes, str]:
    """Tell apart what may have the same name: locks, once keys and singletons."""
    return info.name.encode(), info.space


def _of_name(old: LockInfo | None, new: LockInfo | None) -> Iterator[Change]:
    either = new or old
    if either is None:
        return
    waiters = new.waiters if new else 0

    def change(event: Event, who: Tenure | Place) -> Change:
        token, reason = (who.token, who.broken) if isinstance(who, Tenure) else (None, "")
        return Change(
            event=event,
            name=either.name,
            space=either.space,
            holder=who.holder,
            token=token,
            reason=reason,
            waiters=waiters,
        )

    had = {held.token: held for held in (old.holders if old else ())}
    has = {held.token: held for held in (new.holders if new else ())}
    began = [held for token, held in has.items() if token not in had]
    yield from (change("freed", held) for token, held in had.items() if token not in has)
    yield from (
        change("broken", held)
        for token, held in has.items()
        if held.broken and not (token in had and had[token].broken)
    )
    yield from (change("held", held) for held in began)
    waited = Counter(old.queue if old else ())
    waits = Counter(new.queue if new else ())
    served = {held.holder.client for held in began}
    yield from (
        change("left", place)
        for place in (waited - waits).elements()
        if place.holder.client not in served
    )
    yield from (change("waiting", place) for place in (waits - waited).elements())
