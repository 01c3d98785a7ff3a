"""Keeping to a shared rate: one question takes the permits, or reserves the next ones.

A reservation has a place in time, so waiting is sleeping: nobody asks again, and nobody who comes
later is served earlier. Given up halfway (cancelled, interrupted), it is given back if it is the
last one; if others came after it they were told to count on it, and it is lost (decision 0014).
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.durations import readable
from holdfast.errors import BackendUnavailable, Misuse, RateLimited
from holdfast.flows.explain import nonsense
from holdfast.flows.session import Session, ask_again, ask_until
from holdfast.observe import events
from holdfast.rules.bucket import OWED_LIMIT
from holdfast.rules.bucket_messages import GiveBack, Short, Take, Terms, Took
from holdfast.rules.messages import Refused
from holdfast.values import printable

LOOK_UP = 1.0
"""How often a sleeper looks at the clock: it goes on while the host sleeps, timers do not."""

PROMPTLY = 1.0
"""How long giving back holds up a caller that is being cancelled."""


class Permit(NamedTuple):
    """What a limiter said. True where the permits are the caller's.

    ``retry_after`` is when they would be there, if nobody else came first; 0 where they are.
    ``remaining`` more could be taken at that moment.
    """

    allowed: bool
    retry_after: float
    remaining: int

    def __bool__(self) -> bool:
        return self.allowed


class Limit(NamedTuple):
    """A rate, and the name under which it is shared."""

    name: str
    terms: Terms
    adopt: bool


async def try_take(session: Session, limit: Limit, permits: int) -> Permit:
    """Take permits if they are there."""
    if session.book.closing:
        session.refuse_if_closed()
    reply = await _ask(session, _take(session, limit, permits, 0))
    if isinstance(reply, Short):
        return _refused(session, limit, permits, reply)
    return Permit(True, 0.0, reply.remaining)  # by position: it is asked all the time


async def take(session: Session, limit: Limit, permits: int, wait: float | None) -> Permit:
    """Take permits, in the order of asking; ``RateLimited`` if that would take beyond ``wait``."""
    session.refuse_if_closed()
    longest = OWED_LIMIT if wait is None else int(wait * 1e6)
    request = _take(session, limit, permits, longest)
    try:
        reply = await _ask(session, request)
        if isinstance(reply, Took):
            if reply.ready_in:
                # From the arrival of the reply: here, unlike with a lease, later is the safe side.
                await _sleep_until(session, session.runtime.now() + reply.ready_in / 1e6)
            return Permit(True, 0.0, reply.remaining)
    except (BackendUnavailable, Misuse):  # nothing is known to be taken; unused is the safe side
        raise
    except BaseException:  # cancelled or interrupted, at whatever point: it will not be used
        await session.runtime.finish(_give_back(session, request))
        raise
    refusal = _refused(session, limit, permits, reply)
    waiting = f", longer than the wait of {readable(wait)}" if wait else ""
    raise RateLimited(
        f"{printable(limit.name)!r} is over its limit: {permits} would be there in"
        f" {readable(refusal.retry_after)}{waiting}. Try again then, or wait for longer.",
        name=limit.name,
        retry_after=refusal.retry_after,
    )


def _take(session: Session, limit: Limit, permits: int, longest: int) -> Take:
    name, terms, adopt = limit
    return Take("limiter", name, session.new_id(), permits, terms, longest, adopt)


async def _ask(session: Session, request: Take) -> Took | Short:
    by = session.runtime.now() + session.call_limit
    try:
        reply = await session.wire.ask(request, by)
    except BackendUnavailable as error:
        reply, _ = await ask_again(session, request, by, error)
    if isinstance(reply, (Took, Short)):  # most calls end here
        return reply
    match reply:
        case Refused():
            raise Misuse(
                f"the limiter {printable(request.name)!r} cannot be used like this: {reply.detail}."
                " Use the same rate and burst everywhere; to change them while it is in use, let"
                " the new ones take over with adopt=True."
            )
        case _:
            raise nonsense(session, reply)


async def _sleep_until(session: Session, ready_at: float) -> None:
    runtime = session.runtime
    bell = runtime.bell()
    while (now := runtime.now()) < ready_at:
        await bell.wait(min(ready_at, now + LOOK_UP))
        session.refuse_if_closed()


async def _give_back(session: Session, request: Take) -> None:
    by = session.runtime.now() + min(PROMPTLY, session.call_limit)
    try:
        await ask_until(session, GiveBack(request.space, request.name, request.take_id), by)
    except BackendUnavailable:
        return  # it stays taken: less than the rate is used, never more


def _refused(session: Session, limit: Limit, permits: int, reply: Short) -> Permit:
    retry_after = reply.retry_in / 1e6
    if session.hub.curious:
        session.hub.tell(events.Limited(limit.name, permits, retry_after))
    return Permit(allowed=False, retry_after=retry_after, remaining=reply.remaining)
