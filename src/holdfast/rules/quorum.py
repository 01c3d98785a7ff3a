"""What the votes of independent servers amount to: a lock, a renewal, an end, or nothing.

A request is a *story*: a generator that says whom to ask what (``Ask``) and whom to tell what
without waiting (``Tell``), is sent the answers there are, and returns the reply. So both wires and
the simulator follow the very same decisions. No clock, no I/O. Counterpart: ``voter``, which is one
server's part.

Why it is sound (decision 0025): two majorities share a voter, and a voter's vote has one owner at
a time; so two claims never hold majorities at once. A token that was returned stands on a majority,
so every later majority has a voter whose counter is at least that, and its next vote is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import NamedTuple, TypeAlias

from holdfast.errors import BackendUnavailable, Unsupported
from holdfast.rules import ballot
from holdfast.rules.ballot import Terms, Votes
from holdfast.rules.messages import (
    Break,
    Broke,
    Busy,
    Claim,
    Ended,
    Granted,
    Item,
    Later,
    Look,
    NotHeld,
    Refused,
    Release,
    Renew,
    Renewed,
    Reply,
    Request,
    Seen,
    Withdraw,
)
from holdfast.rules.quorum_messages import Answer, Undo, Unsettled, VoterRequest


class Ask(NamedTuple):
    """Ask these voters, and come back when ``enough`` is known, all have answered or time is up.

    What is enough stays enough, whatever comes after it; fewer than ``least`` answers never are.
    """

    requests: Mapping[int, VoterRequest]
    enough: Callable[[Votes], bool]
    least: int = 0

    def is_over(self, found: Votes) -> bool:
        """Whether nobody needs to hear more than these answers."""
        count = len(found)
        return count == len(self.requests) or (count >= self.least and self.enough(found))


class Tell(NamedTuple):
    """Tell these voters something, and do not wait for what they say."""

    requests: Mapping[int, VoterRequest]


Story: TypeAlias = Generator[Ask | Tell, dict[int, Answer], Reply]


def story(request: Request, terms: Terms, known: Mapping[str, Claim]) -> Story:
    """Give the story of a request; ``known`` are the claims behind the leases of this client."""
    match request:
        case Claim():
            return claim(request, terms)
        case Renew():
            return renew(request, terms, known)
        case Release() | Withdraw():
            return end(request, terms)
        case Break():
            return break_lock(request, terms)
        case Look():
            return look(request, terms)
        case _:
            raise Unsupported(
                f"{terms.shown}: a quorum keeps locks alone, no {type(request).__name__.lower()};"
                " memory, sqlite, redis and postgres can"
            )


def claim(request: Claim, terms: Terms) -> Story:
    """Hold the name by the votes of a majority, or take every vote back and say who has it."""
    need, spare = terms.need, terms.spare

    def decided(votes: Votes) -> bool:
        yes = sum(isinstance(vote, Granted) for vote in votes.values())
        return yes >= need or len(votes) - yes > spare

    votes = yield Ask(terms.everyone(request), decided, spare + 1)
    yes = _yes(votes)
    if len(yes) >= need:
        token = ballot.token(yes, terms)
        below = {node for node, vote in yes.items() if vote.token < token}
        if len(yes) - len(below) >= need:
            below = set()  # enough stand at it: who is below is brought up by the first renewal
        if below:
            # Before anybody hears of the token a majority has to stand at it, or a later majority
            # could give a smaller one. Whoever has lost the claim meanwhile does not count.
            item = Item(request.claim_id, token, request.want.ttl)
            bring_up = Renew(request.name, (item,))
            raised = yield Ask(
                dict.fromkeys(below, bring_up), lambda found: len(found) == len(below)
            )
            yes = {node: vote for node, vote in yes.items() if node not in below}
            yes |= _yes({node: _first(answer) for node, answer in raised.items()})
        if len(yes) >= need:
            astray = [node for node, vote in yes.items() if vote.token != token]
            if astray:  # who breaks it names its token: all of them are to know it by that
                item = Item(request.claim_id, token, request.want.ttl)
                yield Tell(dict.fromkeys(astray, Renew(request.name, (item,))))
            remaining = ballot.validity(yes, terms, request.want.ttl)
            since = min(vote.granted_at for vote in yes.values())
            return Granted(request.claim_id, token, remaining, since)
        raise ballot.unavailable(votes, terms, "unknown")
    return (yield from _not_granted(request, votes, terms))


def _not_granted(
    request: Claim, votes: Votes, terms: Terms
) -> Generator[Ask | Tell, dict[int, Answer], Reply]:
    """Say why not. Nothing is taken back while nobody else is in the way: the same is asked again.

    A try that met somebody else is over: its votes are taken back, so that no two of them block
    each other for a whole ttl, also where the vote has not been heard of (yet).
    """
    refused = next((vote for vote in votes.values() if isinstance(vote, Refused)), None)
    busy = {node: vote for node, vote in votes.items() if isinstance(vote, Busy)}
    ended = [vote for vote in votes.values() if isinstance(vote, Ended)]
    unready = len(_yes(votes)) + _count(votes, Unsettled) >= terms.need
    if refused is None and not busy and not ended and not unready:
        sure = all(_is_sure(votes.get(node)) for node in range(terms.nodes))
        raise ballot.unavailable(votes, terms, "none" if sure else "unknown")
    undo = Undo(request.name, request.claim_id)
    yield Tell({node: undo for node in range(terms.nodes) if node not in busy})
    if refused is not None:
        return refused
    if ended and not busy:
        return Ended(request.claim_id, ended[0].how, ended[0].reason)
    holders = ballot.holders(votes, terms)
    waiters = max((vote.waiters for vote in busy.values()), default=0)
    if holders and request.patience <= 0:
        return Busy(holders, waiters)
    return Later(
        holders,
        terms.retry_delay,
        terms.retry_max,
        terms.retry_jitter,
        told=ballot.told(votes, terms),
        unready=unready and not busy,
    )


def renew(request: Renew, terms: Terms, known: Mapping[str, Claim]) -> Story:
    """Keep leases alive on a majority; voters that have lost one are asked for their vote anew."""

    def decided(votes: Votes) -> bool:
        return all(
            _is_settled({node: _part(vote, at) for node, vote in votes.items()}, terms)
            for at in range(len(request.items))
        )

    votes = yield Ask(terms.everyone(request), decided, terms.spare + 1)
    answers: list[Granted | Ended] = []
    for at, item in enumerate(request.items):
        parts = {node: _part(vote, at) for node, vote in votes.items()}
        answer = _renewed(parts, item, terms)
        answers.append(answer)
        claimed = known.get(item.claim_id)
        lost = [node for node, part in parts.items() if _has_forgotten(part)]
        if isinstance(answer, Granted) and claimed is not None and lost:
            # Its vote does not count yet: it may go to somebody else before this arrives.
            again = claimed._replace(seen_token=item.token - 1, patience=0.0)
            yield Tell(dict.fromkeys(lost, again))
    return Renewed(tuple(answers))


def _renewed(parts: Votes, item: Item, terms: Terms) -> Granted | Ended:
    yes = _yes(parts)
    if len(yes) >= terms.need:
        since = min(vote.granted_at for vote in yes.values())
        remaining = ballot.validity(yes, terms, item.ttl)
        return Granted(item.claim_id, item.token, remaining, since)
    ended = [part for part in parts.values() if isinstance(part, Ended)]
    if len(ended) > terms.spare:
        told = next((one for one in ended if one.reason), ended[0])
        return Ended(item.claim_id, told.how, told.reason, told.holders)
    raise ballot.unavailable(parts, terms, "unknown")


def end(request: Release | Withdraw, terms: Terms) -> Story:
    """Give every vote back; it counts when a majority has heard of it."""

    def decided(votes: Votes) -> bool:
        return _count(votes, Ended) >= terms.need

    votes = yield Ask(terms.everyone(request), decided, terms.need)
    ended = [vote for vote in votes.values() if isinstance(vote, Ended)]
    if len(ended) < terms.need:
        raise ballot.unavailable(votes, terms, "unknown")
    if isinstance(request, Withdraw):
        told = next((vote for vote in ended if vote.holders), ended[0])
        return Ended(request.claim_id, "withdrawn", "", told.holders)
    lost = [vote for vote in ended if vote.how != "released"]
    if len(lost) >= terms.need:  # a majority did not have it any more
        return Ended(request.claim_id, lost[0].how, lost[0].reason, lost[0].holders)
    return Ended(request.claim_id, "released")


def break_lock(request: Break, terms: Terms) -> Story:
    """Mark a majority of its votes, or take them away."""

    def decided(votes: Votes) -> bool:
        return _count(votes, Broke) >= terms.need or _count(votes, NotHeld) > terms.spare

    votes = yield Ask(terms.everyone(request), decided)
    broke = [vote for vote in votes.values() if isinstance(vote, Broke)]
    if len(broke) >= terms.need:
        return broke[0]
    if not broke and _count(votes, NotHeld) > terms.spare:
        return NotHeld(ballot.holders(votes, terms))
    raise ballot.unavailable(votes, terms, "unknown")  # of a minority it may have been taken away


def look(request: Look, terms: Terms) -> Story:
    """Show who holds a majority, and what each voter says."""
    votes = yield Ask(terms.everyone(request), lambda found: len(found) == terms.nodes)
    seen = {node: vote.locks[0] for node, vote in votes.items() if isinstance(vote, Seen)}
    if len(seen) < terms.need:
        raise ballot.unavailable(votes, terms, "none")
    return Seen((ballot.merged(request.name, seen, votes, terms),))


def _yes(votes: Votes) -> dict[int, Granted]:
    return {node: vote for node, vote in votes.items() if isinstance(vote, Granted)}


def _count(votes: Votes, kind: type) -> int:
    return sum(1 for vote in votes.values() if isinstance(vote, kind))


def _first(answer: Answer) -> Answer:
    return _part(answer, 0)


def _part(answer: Answer, at: int) -> Answer:
    """Give what a voter said of one item of a renewal."""
    if isinstance(answer, Renewed):
        return answer.answers[at]
    return answer


def _is_settled(parts: Votes, terms: Terms) -> bool:
    yes = len(_yes(parts))
    return yes >= terms.need or len(parts) - yes > terms.spare


def _has_forgotten(part: Answer) -> bool:
    return isinstance(part, Ended) and part.how == "unknown"


def _is_sure(vote: Answer | None) -> bool:
    """Whether a voter certainly did nothing: it said so, or it was never reached."""
    if isinstance(vote, BackendUnavailable):
        return vote.outcome == "none"
    return vote is not None and not isinstance(vote, Granted)
