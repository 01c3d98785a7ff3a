"""The one rule for who may hold a name. This file is the specification of holdfast.

A name has a capacity; a claim takes some of it: an exclusive claim all, a shared one one share, a
permit its weight. Two rules for this file: it decides everything, and it knows nothing else (no
clock, no I/O, no randomness). ``now`` is the backend's lease clock, ``mint`` its wall clock in
microseconds, for tokens and for people only. memory and sqlite run this code; servers run its
translation, and differential tests hold the two together. ``rules.desk`` has the moves.

Each step first drops what has ended, then hands over, then answers:

    a claim that is   claim            renew             release    withdraw   time or death
    ----------------  ---------------  ----------------  ---------  ---------  ----------------
    unknown           granted|waiting  (unknown)         (unknown)  ended      -
                      |busy|refused
    waiting           waiting          waiting           ended      ended      patience, gone: ended
    granted           granted          granted, longer   ended      ended      end, gone: ended
    marked broken     granted          (broken)          ended      ended      end, gone: ended
    ended             (ended)          (ended)           (ended)    (ended)    forgotten after 60 s

In parentheses: nothing changes, and the answer says which it was. A waiting claim becomes granted
in whichever step makes room for it, and its client is told by a notice.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from holdfast.rules.desk import Desk
from holdfast.rules.holding import Record
from holdfast.rules.messages import (
    Advance,
    Break,
    Broke,
    Busy,
    Claim,
    ClaimReply,
    ClaimRequest,
    Ended,
    Ending,
    Granted,
    Item,
    Look,
    NotHeld,
    Notice,
    Refused,
    Release,
    Renew,
    Renewed,
    Seen,
    Waiting,
    Withdraw,
)
from holdfast.values import QUEUE_LIMIT, LockInfo, Place


class Step(NamedTuple):
    """What one request made of a record. Notices leave only after the record is written."""

    record: Record
    reply: ClaimReply
    notices: tuple[Notice, ...]


def step(
    record: Record,
    request: ClaimRequest,
    now: float,
    mint: int,
    closed: Collection[str] = (),
    gone: Collection[str] = (),
) -> Step:
    """Answer one request on one name.

    ``closed`` are the inboxes known to be closed and ``gone`` the clients known to be dead; both
    were probed before, because a decision must not depend on what it causes.
    """
    if isinstance(request, Look):
        return Step(record, Seen((view(record, now, gone),)), ())
    desk = Desk(record, now, mint, closed)
    desk.sweep(gone)
    reply: ClaimReply
    match request:
        case Claim():
            desk.hand_over((request.claim_id,))
            reply = _claim(desk, request)
        case Renew():
            desk.hand_over(frozenset(item.claim_id for item in request.items))
            for item in request.items:
                _keep_alive(desk, item)
            reply = Renewed(tuple(_renewed(desk, item) for item in request.items))
        case Release() | Withdraw():
            reply = _end(desk, request)
        case Advance():
            desk.hand_over((request.claim_id,))
            reply = desk.standing(request.claim_id)
        case Break():
            reply = _break(desk, request)
    return Step(desk.record(), reply, tuple(desk.notices))


def view(record: Record, now: float, gone: Collection[str] = ()) -> LockInfo:
    """Show a record as it stands at ``now``, changing nothing."""
    desk = Desk(record, now, 0, ())
    desk.sweep(gone)
    return LockInfo(
        name=record.name,
        kind=record.kind,
        capacity=record.capacity,
        token=record.last_token,
        holders=tuple(desk.tenure(grant) for grant in desk.grants.values()),
        queue=tuple(
            Place(holder=waiter.holder, weight=waiter.want.weight, since=waiter.joined_at)
            for waiter in desk.queue.values()
        ),
    )


def _claim(desk: Desk, claim: Claim) -> ClaimReply:
    claim_id, want = claim.claim_id, claim.want
    if claim_id in desk.queue:  # asked again: it keeps the place it has
        desk.be_patient(claim_id, claim.patience, claim.seen_token)
    if desk.knows(claim_id):
        return desk.standing(claim_id)
    refusal = desk.refusal(want)
    if refusal is not None:
        return refusal
    if desk.has_room(want):
        return desk.grant(claim, want.ttl)
    if claim.patience <= 0:
        return Busy(desk.holders(), len(desk.queue))
    if len(desk.queue) >= QUEUE_LIMIT:
        return Refused("queue_full", f"{QUEUE_LIMIT} claims are waiting for it already")
    desk.enqueue(claim)
    return desk.standing(claim_id)


def _keep_alive(desk: Desk, item: Item) -> None:
    grant = desk.grants.get(item.claim_id)
    if grant is not None:
        if not grant.broken and item.token in (0, grant.token):
            desk.prolong(grant, item.ttl)
    elif item.claim_id in desk.queue:
        desk.be_patient(item.claim_id, item.patience)


def _renewed(desk: Desk, item: Item) -> Granted | Waiting | Ended:
    grant = desk.grants.get(item.claim_id)
    if grant is not None and grant.broken:
        return Ended(item.claim_id, "broken", grant.broken, desk.holders())
    if grant is not None and item.token not in (0, grant.token):
        return Ended(item.claim_id, "unknown", "", desk.holders())
    return desk.standing(item.claim_id)


def _end(desk: Desk, request: Release | Withdraw) -> Ended:
    claim_id = request.claim_id
    how: Ending = "withdrawn"
    if claim_id in desk.grants:
        del desk.grants[claim_id]
        how = "released" if isinstance(request, Release) else "withdrawn"
    elif claim_id in desk.queue:
        del desk.queue[claim_id]
    elif isinstance(request, Release) or desk.knows(claim_id):
        desk.hand_over()
        return desk.ended_as(claim_id)
    # An unknown claim that is withdrawn may still be under way: buried, it comes too late.
    desk.bury(claim_id, how)
    desk.hand_over()
    return Ended(claim_id, how, "", desk.holders())


def _break(desk: Desk, request: Break) -> ClaimReply:
    grant = next((one for one in desk.grants.values() if one.token == request.token), None)
    if grant is None:
        desk.hand_over()
        return NotHeld(desk.holders())
    marked = desk.mark_broken(grant, request.reason or "broken")
    if request.force:
        del desk.grants[grant.claim_id]
        desk.bury(grant.claim_id, "broken")
    desk.tell("forced" if request.force else "broken", marked)
    desk.hand_over()
    return Broke(desk.tenure(marked))
