"""Counting votes: how many are needed, which token they agree on, for how long they are good.

Pure arithmetic on the answers of voters; ``quorum`` tells the stories that need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Broke, Busy, Ended, Granted, NotHeld, Refused, Seen
from holdfast.rules.quorum_messages import Answer, Unsettled
from holdfast.values import LockInfo, Tenure

T = TypeVar("T")
Votes: TypeAlias = Mapping[int, Answer]

DRIFT = 0.01
SLACK = 0.002


class Terms(NamedTuple):
    """What a quorum has agreed on. ``names`` are its voters, as a person knows them."""

    names: tuple[str, ...]
    drift: float = DRIFT
    slack: float = SLACK
    retry_delay: float = 0.025
    retry_max: float = 0.5
    retry_jitter: float = 0.5
    shown: str = "redlock"

    @property
    def nodes(self) -> int:
        """How many voters there are."""
        return len(self.names)

    @property
    def need(self) -> int:
        """How many votes make a majority."""
        return len(self.names) // 2 + 1

    @property
    def spare(self) -> int:
        """How many votes may be missing: with one more there is no majority."""
        return len(self.names) - self.need

    def everyone(self, request: T) -> dict[int, T]:
        """Address a request to all voters."""
        return dict.fromkeys(range(len(self.names)), request)


def token(yes: Mapping[int, Granted], terms: Terms) -> int:
    """Give the smallest token at which a majority can stand: the largest of its lowest votes.

    Any majority has a voter that knows the last token of the name, so the largest vote of a
    majority is larger than that; those of further voters do not matter.
    """
    return sorted(vote.token for vote in yes.values())[terms.need - 1]


def validity(yes: Mapping[int, Granted], terms: Terms, ttl: float) -> float:
    """Say how long the majority that lives longest still has its votes, counted from the question.

    The flow counts it from before the first question of the call, so whatever the call took, a
    second round included, is taken off there.
    """
    lives = sorted((vote.remaining for vote in yes.values()), reverse=True)
    return lives[terms.need - 1] - (ttl * terms.drift + terms.slack)


def holders(votes: Votes, terms: Terms) -> tuple[Tenure, ...]:
    """Give who has, or may have, a majority by what voters say; nobody if the votes are split."""
    named = [vote for vote in votes.values() if isinstance(vote, (Busy, NotHeld))]
    found = [tenure for vote in named for tenure in vote.holders]
    counted = Counter(tenure.holder for tenure in found)
    if not counted:
        return ()
    holder, count = counted.most_common(1)[0]
    unheard = terms.nodes - sum(_is_heard(vote) for vote in votes.values())
    if count + unheard < terms.need:
        return ()
    return (max((one for one in found if one.holder == holder), key=_end),)


def _is_heard(vote: Answer) -> bool:
    return not isinstance(vote, (BackendUnavailable, Unsettled))


def merged(name: str, seen: Mapping[int, LockInfo], votes: Votes, terms: Terms) -> LockInfo:
    """Make one picture of what the voters show."""
    held = {node: NotHeld(info.holders) for node, info in seen.items()}
    counted = Counter(tenure.holder for vote in held.values() for tenure in vote.holders)
    full = tuple(
        sorted(
            (one for one in (vote.holders[0] for vote in held.values() if vote.holders)
             if counted[one.holder] >= terms.need),
            key=_end,
        )
    )  # fmt: skip
    queue = max((info.queue for info in seen.values()), key=len)
    # A majority lives as long as the last of its votes that it cannot do without.
    tenure = full[len(full) - terms.need :][:1]
    top = max(seen.values(), key=lambda info: info.token)
    return LockInfo(name, top.kind, 1, top.token, tenure, queue, votes=told(votes, terms))


def told(votes: Votes, terms: Terms) -> tuple[str, ...]:
    """Say for a person what each voter answered."""
    return tuple(f"{name}: {_said(votes.get(node))}" for node, name in enumerate(terms.names))


def unavailable(votes: Votes, terms: Terms, outcome: str) -> BackendUnavailable:
    """Say that too few voters could be asked."""
    yes = sum(1 for vote in votes.values() if isinstance(vote, (Granted, Ended, Seen, Broke)))
    faults = [vote for vote in votes.values() if isinstance(vote, BackendUnavailable)]
    # Asking again is of no use only where none of those in the way could ever answer otherwise.
    lasting = bool(faults) and sum(not fault.transient for fault in faults) > terms.spare
    return BackendUnavailable(
        f"{terms.shown}: {yes} of {terms.nodes} servers could be counted on and {terms.need} are"
        f" needed. {'; '.join(told(votes, terms))}",
        backend="redlock",
        outcome=outcome,
        transient=not lasting,
    )


def _said(vote: Answer | None) -> str:
    words = "no answer yet"
    match vote:
        case BackendUnavailable():
            words = vote.message.partition(": ")[2] or vote.message
        case Granted():
            words = f"yes, with token {vote.token}"
        case Busy() | NotHeld():
            words = "; ".join(map(_held_by, vote.holders)) or "free"
        case Seen():
            words = "; ".join(map(_held_by, vote.locks[0].holders)) or "free"
        case Ended():
            words = f"ended ({vote.how})"
        case Broke():
            words = f"broken, token {vote.tenure.token}"
        case Refused():
            words = vote.detail
        case Unsettled():
            words = "it has restarted and does not vote yet"
        case _:
            pass  # nobody shows the votes of other questions
    return words


def _held_by(tenure: Tenure) -> str:
    return f"held by {tenure.holder} with token {tenure.token}"


def _end(tenure: Tenure) -> float:
    return tenure.expires_in
