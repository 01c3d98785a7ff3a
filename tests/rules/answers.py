"""The promises of DESIGN section 5 about what the asker is told: the truth, and all of it.

The other half of ``promises``.
"""

from __future__ import annotations

from holdfast.rules.holding import Grant, Waiter
from holdfast.rules.messages import (
    Advance,
    Break,
    Broke,
    Busy,
    Claim,
    Ended,
    Granted,
    Item,
    Look,
    NotHeld,
    Refused,
    Release,
    Renew,
    Renewed,
    Seen,
    Waiting,
    Withdraw,
)
from holdfast.values import QUEUE_LIMIT, Place, Tenure
from tests.rules.ledger import Ledger, was_over
from tests.rules.scene import Moment, grants_of, typed, waiters_of

SHOWN = 8


def every_answer_is_true(moment: Moment, ledger: Ledger) -> None:
    """See that each request gets the answer that fits what became of it."""
    request, reply = moment.request, moment.reply
    match request:
        case Claim():
            _claim_is_answered(moment, ledger, request)
        case Advance() | Release() | Withdraw():
            assert typed(reply) == typed(_standing(moment, ledger, request.claim_id))
        case Renew():
            expected = tuple(_renewed(moment, ledger, item) for item in request.items)
            assert typed(reply) == typed(Renewed(expected))
        case Break():
            _break_is_answered(moment, request)
        case Look():
            _look_is_answered(moment)


def _claim_is_answered(moment: Moment, ledger: Ledger, claim: Claim) -> None:
    after, reply, want = moment.after, moment.reply, claim.want
    granted, waiting = grants_of(after), waiters_of(after)
    if claim.claim_id in granted or claim.claim_id in waiting or claim.claim_id in ledger.graves:
        assert typed(reply) == typed(_standing(moment, ledger, claim.claim_id))
        return
    why = None
    if want.weight > want.capacity:
        why = "weight"
    elif after.grants or after.queue:  # nothing came of the claim, so this is what it met
        if want.kind != after.kind:
            why = "kind"
        elif want.capacity != after.capacity:
            why = "capacity"
    if isinstance(reply, Refused):
        assert reply.why == (why or "queue_full")
        assert reply.why != "queue_full" or len(after.queue) == QUEUE_LIMIT
        return
    assert why is None
    assert typed(reply) == typed(Busy(_shown(moment), len(after.queue)))
    free = after.capacity - sum(grant.want.weight for grant in after.grants)
    living = any(waiter.inbox not in moment.closed for waiter in after.queue)
    assert claim.patience == 0
    assert living or want.weight > free


def _break_is_answered(moment: Moment, request: Break) -> None:
    for grant in moment.before.grants:
        if grant.token == request.token and not was_over(moment, grant):
            assert typed(moment.reply) == typed(Broke(_tenure(grant, moment.now, request.reason)))
            return
    assert typed(moment.reply) == typed(NotHeld(_shown(moment)))


def _look_is_answered(moment: Moment) -> None:
    assert isinstance(moment.reply, Seen)
    (info,) = moment.reply.locks
    record, now, gone = moment.before, moment.now, moment.gone
    assert (info.name, info.kind, info.capacity) == (record.name, record.kind, record.capacity)
    assert info.token == record.last_token
    assert info.holders == tuple(
        _tenure(grant, now, grant.broken)
        for grant in record.grants
        if grant.ends_at > now and (grant.want.detached or grant.holder.client not in gone)
    )
    assert info.queue == tuple(
        Place(holder=waiter.holder, weight=waiter.want.weight, since=waiter.joined_at)
        for waiter in record.queue
        if waiter.patience_until > now and waiter.holder.client not in gone
    )


def _renewed(moment: Moment, ledger: Ledger, item: Item) -> Granted | Waiting | Ended:
    grant = grants_of(moment.after).get(item.claim_id)
    if grant is not None and grant.broken:
        return Ended(item.claim_id, "broken", grant.broken, _shown(moment))
    if grant is not None and item.token not in {0, grant.token}:
        return Ended(item.claim_id, "unknown", "", _shown(moment))
    return _standing(moment, ledger, item.claim_id)


def _standing(moment: Moment, ledger: Ledger, claim_id: str) -> Granted | Waiting | Ended:
    """Say where a claim stands, from the record as it was left and from the observer's notes."""
    grant = grants_of(moment.after).get(claim_id)
    if grant is not None:
        remaining = grant.ends_at - moment.now
        return Granted(claim_id, grant.token, remaining, grant.granted_at, grant.slots)
    waiters = waiters_of(moment.after)
    if claim_id in waiters:
        position = list(waiters).index(claim_id)
        ahead = list(waiters.values())[:position]
        is_next = all(waiter.inbox in moment.closed for waiter in ahead)
        retry_in = _retry_in(moment, waiters[claim_id]) if is_next else None
        return Waiting(retry_in, _shown(moment))
    how = ledger.graves[claim_id][0] if claim_id in ledger.graves else "unknown"
    return Ended(claim_id, how, "", _shown(moment))


def _retry_in(moment: Moment, waiter: Waiter) -> float | None:
    """Find the first end after which, were nothing renewed, the waiter would fit."""
    grants, capacity = moment.after.grants, moment.after.capacity
    for end in sorted(grant.ends_at for grant in grants):
        left = sum(grant.want.weight for grant in grants if grant.ends_at > end)
        if capacity - left >= waiter.want.weight:
            return end - moment.now
    return None


def _shown(moment: Moment) -> tuple[Tenure, ...]:
    grants = moment.after.grants[:SHOWN]
    return tuple(_tenure(grant, moment.now, grant.broken) for grant in grants)


def _tenure(grant: Grant, now: float, broken: str) -> Tenure:
    return Tenure(
        holder=grant.holder,
        token=grant.token,
        weight=grant.want.weight,
        since=grant.granted_at,
        expires_in=grant.ends_at - now,
        metadata=grant.want.metadata,
        slots=grant.slots,
        broken=broken,
        detached=grant.want.detached,
    )


ANSWERS = (every_answer_is_true,)
