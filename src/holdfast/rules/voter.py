"""One voter of a quorum: who has its vote for a name, and with which token.

Two rules for this file: a vote is given to one claim at a time, and no clock is in a token. Pure,
as ``rules.claim`` is; ``backends/redlock/scripts`` is the same in Lua, and the simulator runs this.
Counterpart: ``quorum``, which makes a lock out of the votes.

    request           the claim has the vote       another has it       nobody has it
    claim             the same vote again          busy, and watched    given, with a new token
    renew             longer, token raised         ended                ended
    release           free again                   ended                buried: it may come late
    withdraw, undo    free again                   ended                buried: it may come late
    break (by token)  marked, or taken away        not held             not held

A voter that is not *settled* (it may have forgotten something) gives and prolongs nothing; it
still takes back. An id that ended here is never given the vote again. There is no queue: those who
came in vain are told when the name is free, the three who came first, and then they ask like
everybody.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.rules.holding import Grant
from holdfast.rules.messages import (
    Break,
    Broke,
    Busy,
    Claim,
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
    Withdraw,
)
from holdfast.rules.quorum_messages import (
    Admit,
    Stand,
    Stood,
    Undo,
    Unsettled,
    VoterReply,
    VoterRequest,
)
from holdfast.values import Holder, Kind, LockInfo, Place, Tenure

KEPT = 64
"""So many ended ids are remembered for each name."""

TOLD = 3
"""So many who wait are told that a name is free: one of them may be dead, all would be a herd."""

WATCHED = 16
"""So many are remembered who came in vain; the others come back by themselves."""


class Watcher(NamedTuple):
    """Somebody who came in vain and wants to be told."""

    claim_id: str
    inbox: str
    holder: Holder
    since: float
    until: float


class Slip(NamedTuple):
    """All that a voter knows of one name."""

    name: str
    last: int | None = None  # the last token; unknown for a name that is new here
    kind: Kind = "lock"
    grant: Grant | None = None
    watchers: tuple[Watcher, ...] = ()
    ended: tuple[tuple[str, Ending], ...] = ()


class Standing(NamedTuple):
    """All that a voter knows of itself. ``floor`` is what it was told when it was let in.

    ``blank_since``: when it was first asked how it stands and knew nothing.
    """

    settled: bool = False
    floor: int = 0
    highest: int = 0
    blank_since: float | None = None


NEW = Standing()


class Step(NamedTuple):
    """What a request made of it."""

    slip: Slip
    standing: Standing
    reply: VoterReply
    notices: tuple[Notice, ...] = ()


def step(slip: Slip, standing: Standing, request: VoterRequest, now: float, wall: int = 0) -> Step:
    """Answer one request. ``wall`` is shown to who asks how the voter stands, and goes nowhere."""
    if isinstance(request, (Stand, Admit)):
        return _stand(slip, standing, request, now, wall)
    if isinstance(request, Look):
        return Step(slip, standing, Seen((view(slip, now),)))
    slip = _swept(slip, now)
    match request:
        case Claim():
            return _claim(slip, standing, request, now)
        case Renew():
            return _renew(slip, standing, request, now)
        case Break():
            return _break(slip, standing, request, now)
        case Release() | Withdraw() | Undo():
            return _end(slip, standing, request, now)


def view(slip: Slip, now: float) -> LockInfo:
    """Show what a voter knows of a name."""
    slip = _swept(slip, now)
    return LockInfo(
        name=slip.name,
        kind=slip.kind,
        capacity=1,
        token=slip.last or 0,
        holders=_holders(slip, now),
        queue=tuple(Place(one.holder, 1, one.since) for one in slip.watchers),
    )


def _stand(slip: Slip, standing: Standing, request: Stand | Admit, now: float, wall: int) -> Step:
    if standing == NEW:
        standing = NEW._replace(blank_since=now)
    if isinstance(request, Admit) and not standing.settled:
        floor = max(standing.floor, request.floor)
        standing = Standing(settled=True, floor=floor, highest=max(standing.highest, floor))
    blank_for = None if standing.blank_since is None else now - standing.blank_since
    reply = Stood(standing.settled, standing.highest, wall, blank_for=blank_for)
    return Step(slip, standing, reply)


def _claim(slip: Slip, standing: Standing, claim: Claim, now: float) -> Step:
    if not standing.settled:
        return Step(slip, standing, Unsettled())
    how = _fate(slip, claim.claim_id)
    if how is not None:
        return Step(slip, standing, Ended(claim.claim_id, how, "", _holders(slip, now)))
    grant = slip.grant
    if grant is not None and grant.claim_id == claim.claim_id:
        return Step(slip, standing, _standing_of(grant, now))
    if grant is not None:
        if slip.kind != claim.want.kind:
            detail = f"it is in use as a {slip.kind}, not as a {claim.want.kind}"
            return Step(slip, standing, Refused("kind", detail))
        busy = Busy(_holders(slip, now), len(slip.watchers))
        return Step(_watched(slip, claim, now), standing, busy)
    known = standing.highest if slip.last is None else slip.last
    token = max(known, standing.floor, claim.seen_token) + 1
    want = claim.want
    given = Grant(
        claim.claim_id, want, claim.holder, claim.inbox, token, now + want.ttl, granted_at=now
    )
    watchers = _without(slip.watchers, claim)
    slip = slip._replace(last=token, kind=want.kind, grant=given, watchers=watchers)
    standing = standing._replace(highest=max(standing.highest, token))
    return Step(slip, standing, Granted(claim.claim_id, token, want.ttl, now))


def _standing_of(grant: Grant, now: float) -> Granted | Ended:
    if grant.broken:
        return Ended(grant.claim_id, "broken", grant.broken)
    return Granted(grant.claim_id, grant.token, grant.ends_at - now, grant.granted_at)


def _renew(slip: Slip, standing: Standing, request: Renew, now: float) -> Step:
    if not standing.settled:
        return Step(slip, standing, Unsettled())
    answers: list[Granted | Ended] = []
    for item in request.items:
        grant = slip.grant
        if grant is None or grant.claim_id != item.claim_id:
            how = _fate(slip, item.claim_id) or "unknown"
            answers.append(Ended(item.claim_id, how, "", _holders(slip, now)))
            continue
        if not grant.broken:
            slip, standing, grant = _prolonged(slip, standing, grant, item, now)
        answers.append(_standing_of(grant, now))
    return Step(slip, standing, Renewed(tuple(answers)))


def _prolonged(
    slip: Slip, standing: Standing, grant: Grant, item: Item, now: float
) -> tuple[Slip, Standing, Grant]:
    """Let it live on under the token that the quorum has agreed on; this never shortens."""
    token = item.token or grant.token
    grant = grant._replace(token=token, ends_at=max(grant.ends_at, now + item.ttl))
    slip = slip._replace(grant=grant, last=max(slip.last or 0, token))
    return slip, standing._replace(highest=max(standing.highest, token)), grant


def _end(slip: Slip, standing: Standing, request: Release | Withdraw | Undo, now: float) -> Step:
    claim_id = request.claim_id
    if slip.grant is not None and slip.grant.claim_id == claim_id:
        how: Ending = "released" if isinstance(request, Release) else "withdrawn"
        slip = _buried(slip._replace(grant=None), claim_id, how)
        if isinstance(request, Undo):
            return Step(slip, standing, Ended(claim_id, how))
        slip, notices = _freed(slip)
        return Step(slip, standing, Ended(claim_id, how), notices)
    kept = tuple(one for one in slip.watchers if one.claim_id != claim_id)
    if len(kept) < len(slip.watchers):
        slip = slip._replace(watchers=kept)
    known = _fate(slip, claim_id)
    if known is None:  # it may still be under way: buried, it comes too late
        slip = _buried(slip, claim_id, "withdrawn")
    return Step(slip, standing, Ended(claim_id, known or "withdrawn", "", _holders(slip, now)))


def _break(slip: Slip, standing: Standing, request: Break, now: float) -> Step:
    grant = slip.grant
    if grant is None or grant.token != request.token:
        return Step(slip, standing, NotHeld(_holders(slip, now)))
    grant = grant._replace(broken=request.reason or "broken")
    slip = slip._replace(grant=grant)
    told = Notice(
        "forced" if request.force else "broken",
        grant.inbox,
        slip.name,
        grant.claim_id,
        grant.token,
        reason=grant.broken,
    )
    reply = Broke(_tenure(grant, now))
    if not request.force:
        return Step(slip, standing, reply, (told,))
    slip, freed = _freed(_buried(slip._replace(grant=None), grant.claim_id, "broken"))
    return Step(slip, standing, reply, (told, *freed))


def _swept(slip: Slip, now: float) -> Slip:
    """Drop what has ended: the vote past its end, and those who wait no more."""
    if slip.grant is not None and slip.grant.ends_at <= now:
        slip = _buried(slip, slip.grant.claim_id, "lapsed")._replace(grant=None)
    if any(one.until <= now for one in slip.watchers):
        slip = slip._replace(watchers=tuple(one for one in slip.watchers if one.until > now))
    return slip


def _watched(slip: Slip, claim: Claim, now: float) -> Slip:
    """Remember who came in vain and would wait; a client that comes again keeps its place."""
    if claim.patience <= 0 or not claim.inbox:
        return slip
    since = next((one.since for one in slip.watchers if one.inbox == claim.inbox), now)
    fresh = Watcher(claim.claim_id, claim.inbox, claim.holder, since, now + claim.patience)
    others = _without(slip.watchers, claim)
    place = sum(1 for one in others if one.since <= since)
    watchers = (*others[:place], fresh, *others[place:])
    return slip._replace(watchers=watchers[:WATCHED])


def _without(watchers: tuple[Watcher, ...], claim: Claim) -> tuple[Watcher, ...]:
    if not watchers:
        return watchers
    return tuple(one for one in watchers if one.inbox != claim.inbox)


def _freed(slip: Slip) -> tuple[Slip, tuple[Notice, ...]]:
    """Tell the first few that the name is free. They stay remembered until they ask again."""
    told = slip.watchers[:TOLD]
    return slip, tuple(Notice("freed", one.inbox, slip.name, one.claim_id, 0) for one in told)


def _buried(slip: Slip, claim_id: str, how: Ending) -> Slip:
    return slip._replace(ended=(*slip.ended, (claim_id, how))[-KEPT:])


def _fate(slip: Slip, claim_id: str) -> Ending | None:
    return next((how for known, how in slip.ended if known == claim_id), None)


def _holders(slip: Slip, now: float) -> tuple[Tenure, ...]:
    return () if slip.grant is None else (_tenure(slip.grant, now),)


def _tenure(grant: Grant, now: float) -> Tenure:
    return Tenure(
        holder=grant.holder,
        token=grant.token,
        weight=1,
        since=grant.granted_at,
        expires_in=max(0.0, grant.ends_at - now),
        metadata=grant.want.metadata,
        broken=grant.broken,
        detached=grant.want.detached,
    )
