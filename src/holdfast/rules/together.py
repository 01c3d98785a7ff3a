"""Several names at once, all or none: the rule of ``rules.claim`` over more than one record.

Each name is first moved on, as by every step. If then every claim holds already, or could be
granted at once, those that can be are granted; otherwise none is. None of them joins a queue: who
must wait waits for one name at a time, in the order of their bytes (``flows.many``). As pure as the
rule it is made of; whoever runs it must do so in one step that nothing can come between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from holdfast.rules.desk import Desk
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll, Together
from holdfast.rules.messages import Busy, Claim, Ended, Granted, Notice, Refused, Waiting

FREE = Busy((), 0)
"""Could have been had, and was not taken because another could not."""


class StepAll(NamedTuple):
    """What the request made of the records. Notices leave only after all of them are written."""

    records: dict[str, Record]
    reply: Together
    notices: tuple[Notice, ...]


def step_all(
    records: Mapping[str, Record],
    request: ClaimAll,
    now: float,
    mint: int,
    closed: Collection[str] = (),
    gone: Collection[str] = (),
) -> StepAll:
    """Grant every claim or none; ``records`` has one for each name."""
    desks: list[Desk] = []
    for claim in request.claims:
        desk = Desk(records[claim.name], now, mint, closed)
        desk.sweep(gone)
        desk.hand_over((claim.claim_id,))
        desks.append(desk)
    pairs = list(zip(desks, request.claims, strict=True))
    found = [_standing(desk, claim) for desk, claim in pairs]
    if all(one is None or isinstance(one, Granted) for one in found):
        standings = tuple(
            desk.grant(claim, claim.want.ttl) if one is None else one
            for (desk, claim), one in zip(pairs, found, strict=True)
        )
    else:
        standings = tuple(FREE if one is None else one for one in found)
    after = {claim.name: desk.record() for desk, claim in pairs}
    notices = tuple(notice for desk in desks for notice in desk.notices)
    return StepAll(after, Together(standings), notices)


def _standing(desk: Desk, claim: Claim) -> Granted | Waiting | Busy | Ended | Refused | None:
    """Say where the claim stands; ``None`` if it is new and can be granted."""
    if desk.knows(claim.claim_id):
        return desk.standing(claim.claim_id)
    refusal = desk.refusal(claim.want)
    if refusal is not None:
        return refusal
    return None if desk.has_room(claim.want) else Busy(desk.holders(), len(desk.queue))
