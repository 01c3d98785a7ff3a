"""Random histories of a few names: what clients, the network and time can do to them on a server.

Like ``tests.rules.histories``, whose moves these are but for what a server adds: several names in
one letter, inboxes that are really open or closed, ids and texts as they are in production.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    Advance,
    Break,
    Claim,
    ClaimRequest,
    Item,
    Look,
    Release,
    Renew,
    Reply,
    Want,
    Withdraw,
)
from holdfast.values import Holder
from tests.backends.redis.differential_claims import claim_id_of
from tests.backends.redis.differential_moves import (
    CLIENTS,
    NAMES,
    REASONS,
    TTLS,
    History,
    Move,
)


class Stage(Protocol):
    """The rule and a real server side by side, whichever server that is."""

    now: float

    def inbox(self, client: str) -> str:
        """Name the inbox of a client."""
        ...

    def listen(self, inbox: str) -> None:
        """Open an inbox."""
        ...

    def leave(self, inbox: str) -> None:
        """Close an inbox."""
        ...

    def record(self, name: str) -> Record:
        """Give the rule's record of a name."""
        ...

    def doubtful(self, name: str) -> set[str]:
        """Name the ids about which the server may know more than the rule."""
        ...

    def ask(self, request: ClaimRequest) -> Reply:
        """Ask both one thing."""
        ...

    def ask_for_all(self, request: ClaimAll) -> None:
        """Ask both for several names in one step; nothing, where the server has no such step."""
        ...

    def ask_together(self, requests: Sequence[ClaimRequest]) -> None:
        """Ask both many things, in one exchange."""
        ...


@dataclass
class _Known:
    """What has been asked so far: the claims on each name, and every request."""

    claims: dict[str, list[Claim]] = field(default_factory=lambda: {name: [] for name in NAMES})
    asked: list[ClaimRequest] = field(default_factory=list)


def play(history: History, stage: Stage) -> None:
    """Live through ``history`` on both sides."""
    known = _Known()
    for client in range(CLIENTS - 1):
        stage.listen(stage.inbox(f"client{client}"))
    for move in history:
        stage.now += move.pause
        inbox = stage.inbox(f"client{move.client}")
        if move.verb == "shut":
            stage.leave(inbox)
        elif move.verb == "open":
            stage.listen(inbox)
        elif move.verb == "renew_all":
            stage.ask_together([_renewal(stage, move, known, name) for name in NAMES])
        elif move.verb in {"crowd", "flood"}:
            doubtful, many = stage.doubtful(move.name), _many(stage, move, known)
            stage.ask_together([one for one in many if not _ids(one) & doubtful])
        elif move.verb in {"claim_each", "release_each"}:
            stage.ask_together(_each(stage, move, known))
        elif move.verb == "together":
            _ask_for_all(stage, move, known)
        else:
            _ask(stage, known, _request(stage, move, known))


def _ask(stage: Stage, known: _Known, request: ClaimRequest) -> None:
    if _ids(request) & stage.doubtful(request.name):
        return
    claims = known.claims[request.name]
    if isinstance(request, Claim) and all(request.claim_id != one.claim_id for one in claims):
        claims.append(request)
    known.asked.append(request)
    stage.ask(request)


def _ask_for_all(stage: Stage, move: Move, known: _Known) -> None:
    """Claim two or three names at once: with new ids, or (a lost reply) with those of before."""
    claims: list[Claim] = []
    for name in NAMES[: 2 + move.which % 2]:
        one = replace(move, name=name, patience=0.0)
        before = known.claims[name]
        again = before[-1].claim_id if before and move.odd else ""
        claim = _claim(stage, one, again or claim_id_of(len(before)), before)
        if claim.claim_id in stage.doubtful(name):
            return
        if not again:
            before.append(claim)
        claims.append(claim)
    stage.ask_for_all(ClaimAll(tuple(claims)))


def _ids(request: ClaimRequest) -> set[str]:
    match request:
        case Claim() | Release() | Withdraw() | Advance():
            return {request.claim_id}
        case Renew():
            return {item.claim_id for item in request.items}
        case Break() | Look():
            return set()


def _request(stage: Stage, move: Move, known: _Known) -> ClaimRequest:
    match move.verb:
        case "repeat" if known.asked:
            return known.asked[-1 - move.which % len(known.asked)]
        case "renew":
            return _renewal(stage, move, known, move.name)
        case "break":
            tokens = [grant.token for grant in stage.record(move.name).grants] or [1]
            reason = REASONS[move.client % len(REASONS)]
            return Break(move.name, tokens[move.which % len(tokens)], reason, move.odd)
        case "look":
            return Look(move.name)
        case _:
            return _about_one(stage, move, known.claims[move.name])


def _about_one(stage: Stage, move: Move, claims: list[Claim]) -> ClaimRequest:
    ids = [claim.claim_id for claim in claims]
    name, record, new = move.name, stage.record(move.name), claim_id_of(len(ids))
    waiting = [waiter.claim_id for waiter in record.queue]
    match move.verb:
        case "release":
            return Release(name, _pick(move, [grant.claim_id for grant in record.grants], ids))
        case "advance":
            return Advance(name, _pick(move, waiting, ids))
        case "withdraw":  # at times before its claim is heard of: the next one is called this
            return Withdraw(name, new if move.odd else _pick(move, waiting, ids))
        case "again" if ids:
            return _claim(stage, move, _pick(move, waiting, ids), claims)
        case _:
            return _claim(stage, move, new)


def _many(stage: Stage, move: Move, known: _Known) -> list[ClaimRequest]:
    """Let many join at once, or be withdrawn before they were heard of."""
    claims = known.claims[move.name]
    first = len(claims)
    count = 20 if move.verb == "crowd" or not move.odd else 70  # twice that is cut back
    for number in range(first, first + count):
        one = replace(move, client=number % CLIENTS)
        claims.append(_claim(stage, one, claim_id_of(number)))
    if move.verb == "crowd":
        return [*claims[first:]]
    return [Withdraw(move.name, one.claim_id) for one in claims[first:]]


def _each(stage: Stage, move: Move, known: _Known) -> list[ClaimRequest]:
    """Let one client claim every name alike (one of them twice), or give back one lease on each."""
    requests: list[ClaimRequest] = []
    for name in (*NAMES, NAMES[0]):
        one = replace(move, name=name, which=move.which - move.which % 2)
        claims, ids = known.claims[name], [claim.claim_id for claim in known.claims[name]]
        if move.verb == "release_each":
            held = [grant.claim_id for grant in stage.record(name).grants]
            request: ClaimRequest = Release(name, _pick(one, held, ids))
        else:
            request = _claim(stage, one, claim_id_of(len(ids)))
            claims.append(request)
        if not _ids(request) & stage.doubtful(name):
            requests.append(request)
    return requests


def _pick(move: Move, likely: list[str], ids: list[str]) -> str:
    """Choose mostly among those for whom the request is meant, at times among all there were."""
    choice = ids if move.odd or not likely else likely
    return choice[-1 - move.which % len(choice)] if choice else claim_id_of(-1)


def _claim(stage: Stage, move: Move, claim_id: str, before: Sequence[Claim] = ()) -> Claim:
    """Claim, or ask again, with other words at times; what a claim had seen stays what it was."""
    kind, capacity, weight = move.shape
    want = Want(
        kind=kind,
        capacity=capacity,
        weight=weight,
        ttl=move.ttl,
        metadata=f'"{claim_id} ☃"' if move.which % 2 else "",
        detached=move.odd,
    )
    client = f"client{move.client}"
    inbox = "" if move.which == 10 else stage.inbox(client) + "?" * (move.which == 9)
    seen = _seen(stage, move)
    for claim in before:
        if claim.claim_id == claim_id:
            seen = claim.seen_token
    holder = Holder(client, "höst", move.client, 'a "label"' if move.odd else "")
    return Claim(move.name, claim_id, want, holder, inbox, move.patience, seen)


def _seen(stage: Stage, move: Move) -> int:
    """Have seen nothing, the last token, or (of a server that has forgotten) more than that."""
    last = stage.record(move.name).last_token
    if move.which == 11:
        return max(last, round(stage.now * 1_000_000)) + 7
    return last if 5 < move.which < 9 else 0


def _renewal(stage: Stage, move: Move, known: _Known, name: str) -> Renew:
    """Renew one client's claims, or some of all, at times with tokens that are not their own."""
    record, claims = stage.record(name), known.claims[name]
    tokens = {grant.claim_id: grant.token for grant in record.grants}
    living = tokens.keys() | {waiter.claim_id for waiter in record.queue}
    client = f"client{move.client}"
    chosen = [
        claim.claim_id
        for claim in claims
        if (move.which > 8 or claim.holder.client == client)
        and (move.odd or claim.claim_id in living)
    ]
    if not chosen or 5 < move.which <= 8:
        chosen = [_pick(move, sorted(living), [claim.claim_id for claim in claims])]
    if move.odd and move.which % 3 == 0:  # named twice
        chosen += chosen
    forgotten = stage.doubtful(name)
    items = []
    for place, claim_id in enumerate(one for one in chosen if one not in forgotten):
        token = tokens.get(claim_id, 0)
        if move.odd:  # a waiter that was granted meanwhile, or somebody who is mistaken
            token = [0, max(0, token - 1), token, record.last_token][(move.which + place) % 4]
        patience = move.patience + place % 2
        items.append(Item(claim_id, token, TTLS[(move.client + place) % len(TTLS)], patience))
    return Renew(name, tuple(items) or (Item(claim_id_of(-2), 0, move.ttl, move.patience),))
