"""Work that is done once per key: is there a result, begin, store it; others get it back.

    the record is     who asks          who has the claim   a worker whose lease is over
    ----------------  ----------------  ------------------  ----------------------------
    absent            gets in line      begins              is refused: the fence
    a result          is given it       is given it         is refused: the fence
    a failure         is told of it     is told of it       is refused: the fence

The claim decides who works, the record what came of it. Beginning already writes the fence, so
whoever held the claim before can never store, not even if it slept through its own end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.errors import Conflict, FailedBefore, Misuse
from holdfast.flows.content import DIGEST_SIZE, packed, unpacked, unreadable
from holdfast.flows.session import Session
from holdfast.flows.swap import BEGUN_FOR, Fencing, look, overtaken, replace
from holdfast.observe import events
from holdfast.rules.record_messages import Moved, Swapped
from holdfast.values import apart, called, printable

RESULT, FAILURE = b"r", b"e"

NO_PAYLOAD = bytes(DIGEST_SIZE)

TEXT_LIMIT = 4096


class Plan(NamedTuple):
    """A key, what its payload looked like, and how long (microseconds) its result is kept."""

    key: str
    digest: bytes
    keep: int | None

    @property
    def called(self) -> str:
        """The key as a person reads it."""
        return called(apart("once", self.key))


class Stored(NamedTuple):
    """What came of the work, done at whatever time by whomever."""

    result: Any


async def recall(session: Session, plan: Plan) -> Stored | None:
    """Give the result if there is one."""
    entry = await look(session, "once", plan.key)
    return None if entry.value is None else _opened(session, plan, entry.value)


async def begin(session: Session, plan: Plan, lease: Fencing) -> Stored | None:
    """Begin under the claim; a result that came while this caller was in line is given instead."""
    reply = await _replaced(session, plan, None, BEGUN_FOR, lease)
    if isinstance(reply, Swapped):
        lease.check()  # a late answer may come after the end of the lease: no work starts then
        return None
    if reply.why == "fence" or reply.entry.value is None:
        raise overtaken(plan.called, lease, reply.entry.fence)
    return _opened(session, plan, reply.entry.value)


async def store(session: Session, plan: Plan, lease: Fencing, result: object) -> None:
    """Store the result, as long as the lease is good; what cannot be stored is not lost."""
    try:
        data = packed(result, f"the result of {plan.called}")
    except Misuse as error:
        error.result = result
        raise
    await _store(session, plan, lease, RESULT + plan.digest + data)


async def store_failure(session: Session, plan: Plan, lease: Fencing, error: Exception) -> None:
    """Store that the work failed, and in which words."""
    told = {"kind": type(error).__qualname__, "text": _text(error)}
    data = packed(told, "failure")
    await _store(session, plan, lease, FAILURE + plan.digest + data)


async def forget(session: Session, key: str) -> bool:
    """Drop what is stored, so that the work can be done again; say whether there was anything."""
    while True:
        entry = await look(session, "once", key)
        if entry.value is None:
            return False
        # The fence is remembered for as long as after a beginning, for the same reason.
        reply = await replace(session, "once", key, None, if_version=entry.version, keep=BEGUN_FOR)
        if isinstance(reply, Swapped):
            return True


async def _store(session: Session, plan: Plan, lease: Fencing, data: bytes) -> None:
    reply = await _replaced(session, plan, data, plan.keep, lease)
    if isinstance(reply, Moved):
        if reply.why == "fence":
            raise overtaken(plan.called, lease, reply.entry.fence)
        raise Conflict(
            f"{plan.called} has a result already, stored while this one was worked out: ask for"
            " that one.",
            name=plan.key,
            version=reply.entry.version,
        )


async def _replaced(
    session: Session, plan: Plan, data: bytes | None, keep: int | None, lease: Fencing
) -> Swapped | Moved:
    return await replace(session, "once", plan.key, data, if_version=0, keep=keep, under=lease)


def _opened(session: Session, plan: Plan, data: bytes) -> Stored:
    mark, digest, body = data[:1], data[1 : 1 + DIGEST_SIZE], data[1 + DIGEST_SIZE :]
    if mark not in (RESULT, FAILURE):
        raise unreadable(session.backend)
    if digest != plan.digest:
        raise Conflict(
            f"{plan.called} was used with another payload: one key stands for one request. Use a"
            " new key for a new request, or find out which of the two is wrong.",
            name=plan.key,
        )
    if session.hub.curious:
        session.hub.tell(events.Repeated(plan.key))
    found = unpacked(body, session.backend)
    if mark == FAILURE:
        kind, text = found["kind"], found["text"]
        raise FailedBefore(
            f"{plan.called} was tried before and failed: {printable(f'{kind}: {text}')}. Use"
            " forget() to have it tried again, or another key.",
            name=plan.key,
            kind=kind,
            text=text,
        )
    return Stored(found)


def _text(error: Exception) -> str:
    """Give the words of an error as text that can be stored, however odd they are."""
    try:
        said = str(error)[:TEXT_LIMIT]
    except Exception:  # noqa: BLE001 - it cannot even say what it is
        said = ""
    return said.encode(errors="backslashreplace").decode()
