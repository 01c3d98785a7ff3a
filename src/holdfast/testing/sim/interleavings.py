"""All interleavings of the rule for small worlds: every order in which letters can arrive.

Clients here are the simplest that keep to the contract: they claim, renew, give up, give back, and
believe from the moment a reply or notice reaches them, counted from when they asked. Letters and
notices wait until somebody picks them; one that is never picked is lost, and some are delivered
twice. Time passes in whole ticks. From the start every possible next move is tried; a situation
that was met before is not gone into again. In each, nobody may believe beyond the capacity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.rules import claim as rule
from holdfast.rules.holding import Record
from holdfast.rules.messages import (
    Claim,
    Granted,
    Item,
    NameRequest,
    Notice,
    Release,
    Renew,
    Renewed,
    Reply,
    Waiting,
    Want,
    Withdraw,
)
from holdfast.values import Holder

TTL = 2.0
PATIENCE = 2.0


class Party(NamedTuple):
    """One client: which claim it sees through, and what it believes."""

    claims: int = 0  # how many it has made so far
    name: str = ""  # what it asks for or has; empty: nothing
    asked_at: float = 0.0  # when it last asked and was answered "waiting", or first asked
    token: int = 0  # of what it holds; 0: nothing yet
    until: float = 0.0  # until when it believes
    seen: int = 0  # the largest token it has seen


class Letter(NamedTuple):
    """A request or an answer on its way."""

    client: int
    sent_at: float
    said: NameRequest | Reply | Notice
    again: bool = False  # it may arrive a second time


class Situation(NamedTuple):
    """Everything that matters for what can happen next."""

    now: float
    records: tuple[Record, ...]
    parties: tuple[Party, ...]
    letters: frozenset[Letter]


class Rules(NamedTuple):
    """How large a world is explored."""

    clients: int = 3
    names: tuple[str, ...] = ("a", "b")
    want: Want = Want("lock", 1, 1, TTL)
    claims: int = 2  # per client
    ticks: int = 4
    letters: int = 3  # under way at a time


class Breach(NamedTuple):
    """What went wrong, and the moves that led there."""

    text: str
    moves: tuple[str, ...]


def explore(rules: Rules, depth: int) -> tuple[int, Breach | None]:
    """Try every sequence of up to ``depth`` moves; say how many situations there are."""
    records = tuple(Record(name) for name in rules.names)
    start = Situation(0.0, records, (Party(),) * rules.clients, frozenset())
    met: dict[Situation, tuple[Situation, str] | None] = {start: None}
    frontier = [start]
    for _ in range(depth):
        following: list[Situation] = []
        for situation in frontier:
            for move, after in _moves(rules, situation):
                if after in met:
                    continue
                met[after] = (situation, move)
                text = _breach(rules, situation, after)
                if text:
                    return len(met), Breach(text, tuple(_way(met, after)))
                following.append(after)
        frontier = following
    return len(met), None


def _way(met: dict[Situation, tuple[Situation, str] | None], end: Situation) -> list[str]:
    moves: list[str] = []
    step = met[end]
    while step is not None:
        situation, move = step
        moves.append(f"{situation.now:g}: {move}")
        step = met[situation]
    return moves[::-1]


def _breach(rules: Rules, before: Situation, after: Situation) -> str:
    for name in rules.names:
        inside = [
            number
            for number, party in enumerate(after.parties)
            if party.name == name and party.token and after.now < party.until
        ]
        if len(inside) * rules.want.weight > rules.want.capacity:
            return f"clients {inside} believe that they hold {name!r}"
    for old, new in zip(before.records, after.records, strict=True):
        known = {grant.claim_id for grant in old.grants}
        fresh = [grant for grant in new.grants if grant.claim_id not in known]
        if any(grant.token <= old.last_token for grant in fresh):
            return f"a token of {new.name!r} did not grow"
        if sum(grant.want.weight for grant in new.grants) > new.capacity:
            return f"{new.name!r} is granted beyond its capacity"
    return ""


def _moves(rules: Rules, situation: Situation) -> Iterator[tuple[str, Situation]]:
    """Give everything that can happen next."""
    if situation.now < rules.ticks:
        yield "a tick", situation._replace(now=situation.now + 1)
    for number, party in enumerate(situation.parties):
        if len(situation.letters) < rules.letters:
            yield from _asks(rules, situation, number, party)
    for letter in situation.letters:
        rest = situation.letters - {letter}
        if isinstance(letter.said, (Claim, Renew, Release, Withdraw)):
            yield f"{letter.client}'s {_said(letter)} arrives", _arrive(situation, letter, rest)
            if letter.again:
                kept = rest | {letter._replace(again=False)}
                move = f"a copy of {letter.client}'s {_said(letter)} arrives"
                yield move, _arrive(situation, letter, kept)
        else:
            yield f"{letter.client} hears {_said(letter)}", _hear(situation, letter, rest)


def _asks(
    rules: Rules, situation: Situation, number: int, party: Party
) -> Iterator[tuple[str, Situation]]:
    """Give what one client can ask."""
    now = situation.now
    claim_id = f"{number}.{party.claims}"
    if not party.name:
        if party.claims < rules.claims and _in_turn(situation, number):
            begun = any(one.claims for one in situation.parties)
            for name in rules.names if begun else rules.names[:1]:
                claim_id = f"{number}.{party.claims + 1}"
                holder = Holder(str(number), "", 0)
                said = Claim(name, claim_id, rules.want, holder, str(number), PATIENCE, party.seen)
                asking = Party(party.claims + 1, name, now, seen=party.seen)
                yield f"{number} claims {name}", _send(situation, number, asking, said, again=True)
        return
    gone = Party(party.claims, seen=party.seen)
    if not party.token:
        said_no = Withdraw(party.name, claim_id)
        yield f"{number} gives up", _send(situation, number, gone, said_no)
        item = Item(claim_id, 0, TTL, PATIENCE)
        asking_again = Renew(party.name, (item,))
        yield f"{number} asks how it stands", _send(situation, number, party, asking_again)
    elif now < party.until:
        yield f"{number} gives back", _send(situation, number, gone, Release(party.name, claim_id))
        item = Item(claim_id, party.token, TTL)
        yield f"{number} renews", _send(situation, number, party, Renew(party.name, (item,)))
    else:
        lost = (*situation.parties[:number], gone, *situation.parties[number + 1 :])
        yield f"{number} notices its loss", situation._replace(parties=lost)


def _in_turn(situation: Situation, number: int) -> bool:
    """Whether a client may begin: they differ in nothing, so they may as well begin in order.

    For the same reason the first of all claims is on the first name.
    """
    return number == 0 or situation.parties[number - 1].claims > 0


def _send(
    situation: Situation, number: int, party: Party, said: NameRequest, *, again: bool = False
) -> Situation:
    letter = Letter(number, situation.now, said, again)
    parties = (*situation.parties[:number], party, *situation.parties[number + 1 :])
    return situation._replace(parties=parties, letters=situation.letters | {letter})


def _arrive(situation: Situation, letter: Letter, rest: frozenset[Letter]) -> Situation:
    request = letter.said
    if not isinstance(request, (Claim, Renew, Release, Withdraw)):
        raise TypeError(request)
    place = next(i for i, one in enumerate(situation.records) if one.name == request.name)
    after, reply, notices = rule.step(situation.records[place], request, situation.now, 0)
    told = {Letter(int(notice.inbox), situation.now, notice) for notice in notices}
    answer = {Letter(letter.client, letter.sent_at, reply)}
    records = (*situation.records[:place], after, *situation.records[place + 1 :])
    return situation._replace(records=records, letters=rest | answer | told)


def _hear(situation: Situation, letter: Letter, rest: frozenset[Letter]) -> Situation:
    party = situation.parties[letter.client]
    heard = _heard(party, f"{letter.client}.{party.claims}", letter)
    parties = (
        *situation.parties[: letter.client],
        heard,
        *situation.parties[letter.client + 1 :],
    )
    return situation._replace(parties=parties, letters=rest)


def _heard(party: Party, claim_id: str, letter: Letter) -> Party:
    """Say what a client makes of an answer or notice; of an old claim it makes nothing."""
    said = letter.said
    if isinstance(said, Renewed):
        said = said.answers[0]
    if isinstance(said, Notice):
        if said.claim_id != claim_id or not party.name or party.token or said.token <= party.seen:
            return party
        # Granted after the last "waiting" that it heard, hence after that question was sent.
        until = party.asked_at + said.life
        return party._replace(token=said.token, until=until, seen=said.token)
    if isinstance(said, Granted):
        if said.claim_id != claim_id or not party.name:
            return party
        until = max(party.until, letter.sent_at + said.remaining)
        return party._replace(token=said.token, until=until, seen=max(party.seen, said.token))
    if isinstance(said, Waiting) and not party.token and party.name:
        return party._replace(asked_at=max(party.asked_at, letter.sent_at))
    return party


def _said(letter: Letter) -> str:
    return type(letter.said).__name__
