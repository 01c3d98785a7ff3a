"""One completed run per slot of the backend's clock: is the slot closed, open it, close it.

The claim sees to one run at a time, the record to one *completed* run: it says which slot is
closed. A run that fails or crashes closes nothing. No client's wall clock comes into it: each
answer of the backend says when it was given. As in ``once``, beginning writes the fence, so that
a run whose lease is over cannot close the slot of its successor.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.errors import BackendUnavailable
from holdfast.flows.content import unreadable
from holdfast.flows.session import Session
from holdfast.flows.swap import BEGUN_FOR, Fencing, look, overtaken, replace
from holdfast.rules.record_messages import Entry, Swapped
from holdfast.rules.slot import Slot, slot_at
from holdfast.values import apart, called

FORM = b"1"

ROUNDS = 5


class Slots(NamedTuple):
    """Whose slots, and how long each is, in microseconds."""

    name: str
    per: int


class Opened(NamedTuple):
    """A slot in which a run has begun, and when that was."""

    slot: Slot
    at: int


async def glance(session: Session, slots: Slots) -> Entry | None:
    """Look whether a run is due; ``None`` if this slot is closed."""
    entry = await look(session, "singleton", slots.name)
    return None if _is_closed(session, entry) else entry


async def open_slot(session: Session, slots: Slots, seen: Entry, lease: Fencing) -> Opened | None:
    """Begin a run under the claim; ``None`` if the slot was closed since it was ``seen``."""
    entry = seen
    for _ in range(ROUNDS):
        reply = await replace(
            session,
            "singleton",
            slots.name,
            None,
            if_version=entry.version,
            keep=BEGUN_FOR,
            under=lease,
        )
        if isinstance(reply, Swapped):
            lease.check()  # a late answer may come after the end of the lease: no run starts then
            return Opened(slot_at(reply.at, slots.per), reply.at)
        if reply.why == "fence":
            raise overtaken(_called(slots), lease, reply.entry.fence)
        entry = reply.entry
        if _is_closed(session, entry):
            return None
    raise BackendUnavailable(
        f"{_called(slots)} keeps changing although this client holds it: does somebody else write"
        f" to what holdfast keeps on {session.backend}?",
        backend=session.backend,
        transient=False,
    )


async def close_slot(session: Session, slots: Slots, opened: Opened, lease: Fencing) -> None:
    """Say that the run is complete; the record goes by itself when the slot is over."""
    starts_at, ends_at = opened.slot
    closed = FORM + f" {starts_at} {ends_at}".encode()
    reply = await replace(
        session,
        "singleton",
        slots.name,
        closed,
        if_version=0,
        keep=ends_at - opened.at,
        under=lease,
    )
    if not isinstance(reply, Swapped):
        raise overtaken(_called(slots), lease, reply.entry.fence)


def _is_closed(session: Session, entry: Entry) -> bool:
    if entry.value is None:
        return False
    form, *moments = entry.value.split()
    if form != FORM:
        raise unreadable(session.backend)
    return Slot(*map(int, moments)).contains(entry.at)


def _called(slots: Slots) -> str:
    return called(apart("singleton", slots.name))
