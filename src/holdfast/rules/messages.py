"""What is asked of a name, what is answered, and what is told to others: plain values.

Requests can be put in a list and sent together; a backend answers each on its own. Spans in
replies are relative (``remaining``, ``retry_in``): only the asker knows when it asked, so only the
asker can turn them into points in time without trusting two clocks to agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from holdfast.values import Holder, Kind, LockInfo, Tenure

if TYPE_CHECKING:  # who takes a lock does not pay for the classes of the others
    from holdfast.rules.bucket_messages import BucketReply, BucketRequest
    from holdfast.rules.many import Apart, ClaimAll, Together
    from holdfast.rules.record_messages import RecordReply, RecordRequest

Ending: TypeAlias = Literal["released", "withdrawn", "lapsed", "gone", "broken", "unknown"]
"""How a claim ended. ``gone``: its process died. ``unknown``: this record never heard of it."""

Refusal: TypeAlias = Literal[
    "kind", "capacity", "weight", "queue_full", "value", "keep", "permits", "terms"
]
"""Why something can never be right: the first four of a claim, then of a swap, then of a take."""


class Want(NamedTuple):
    """What a claim asks for, the same however often it is asked."""

    kind: Kind
    capacity: int
    weight: int
    ttl: float
    metadata: str = ""
    detached: bool = False


class Claim(NamedTuple):
    """Hold ``name``; join its queue for ``patience`` seconds, or do not wait at all (0).

    ``seen_token`` stays what it was however often the claim is asked: by that a backend may know
    a late copy from a new claim.
    """

    name: str
    claim_id: str
    want: Want
    holder: Holder
    inbox: str
    patience: float
    seen_token: int = 0


class Item(NamedTuple):
    """One claim in a renewal: a lease (with its token) or a waiter (token 0)."""

    claim_id: str
    token: int
    ttl: float
    patience: float = 0.0


class Renew(NamedTuple):
    """Keep these claims on ``name`` alive."""

    name: str
    items: tuple[Item, ...]


class Release(NamedTuple):
    """Give the lease back. ``awaited``: somebody is likely to wait for it; a hint for the wire."""

    name: str
    claim_id: str
    awaited: bool = False


class Withdraw(NamedTuple):
    """End the claim whatever became of it: unknown, waiting or granted."""

    name: str
    claim_id: str


class Advance(NamedTuple):
    """Move the queue on, and say where this claim stands now."""

    name: str
    claim_id: str


class Break(NamedTuple):
    """Take the grant with this token away: when its holder lets go, or at once (``force``)."""

    name: str
    token: int
    reason: str
    force: bool = False


class Look(NamedTuple):
    """Show one name."""

    name: str


class ListNames(NamedTuple):
    """Show every name in use that starts with ``prefix``, after ``after``, at most ``limit``."""

    prefix: str
    after: str = ""
    limit: int = 1000


class Granted(NamedTuple):
    """The claim holds, for ``remaining`` more seconds of the backend's clock."""

    claim_id: str
    token: int
    remaining: float
    granted_at: float
    slots: tuple[int, ...] = ()


class Waiting(NamedTuple):
    """The claim is in the queue; at its head, ``retry_in`` says when asking again may help."""

    retry_in: float | None
    holders: tuple[Tenure, ...]


class Busy(NamedTuple):
    """The claim would not wait and does not hold; these do."""

    holders: tuple[Tenure, ...]
    waiters: int


class Later(NamedTuple):
    """The claim does not hold and this backend keeps no queue: come again, with a new claim.

    After a pause that grows from ``first`` to ``longest`` and is spread by ``jitter``, or when the
    inbox is told that the name is free. ``told`` is what each of several servers said; ``unready``:
    nobody is in the way, but too many of them have just restarted.
    """

    holders: tuple[Tenure, ...]
    first: float
    longest: float
    jitter: float = 0.5
    told: tuple[str, ...] = ()
    unready: bool = False


class Ended(NamedTuple):
    """The claim is over, and how; ``holders`` are those who have the name now."""

    claim_id: str
    how: Ending
    reason: str = ""
    holders: tuple[Tenure, ...] = ()


class Refused(NamedTuple):
    """The claim can never be right as it is."""

    why: Refusal
    detail: str


class Renewed(NamedTuple):
    """One answer per item, in the items' order."""

    answers: tuple[Granted | Waiting | Ended, ...]


class Broke(NamedTuple):
    """The grant was marked, or taken away at once."""

    tenure: Tenure


class NotHeld(NamedTuple):
    """No living grant has that token; these are the ones there are."""

    holders: tuple[Tenure, ...]


class Seen(NamedTuple):
    """The names that were asked for, as they stood at one moment."""

    locks: tuple[LockInfo, ...]


class Notice(NamedTuple):
    """Told to one client's inbox after the write: a claim was granted, or a grant is broken.

    ``life`` is how long the grant lives from the moment it was made; ``forced``: it is gone. Four
    come from the client's own side of the wire: ``ended`` (what this grant stood on is gone) and,
    about all its claims, ``opened`` (the inbox is heard for the first time), ``missed`` (it was
    deaf for a while, and who waits may have been passed over) and ``forgotten`` (the backend has
    lost its memory). ``freed`` is told to those who came in vain, by a backend without a queue.
    """

    what: Literal["granted", "broken", "forced", "ended", "opened", "missed", "forgotten", "freed"]
    inbox: str
    name: str
    claim_id: str
    token: int
    life: float = 0.0
    granted_at: float = 0.0
    slots: tuple[int, ...] = ()
    reason: str = ""


ClaimRequest: TypeAlias = Claim | Renew | Release | Withdraw | Advance | Break | Look
"""What the rule for claims decides."""

OneReply: TypeAlias = (
    Granted | Waiting | Busy | Later | Ended | Refused | Renewed | Broke | NotHeld | Seen
)
"""What is answered to a request about one name."""

if TYPE_CHECKING:
    NameRequest: TypeAlias = ClaimRequest | RecordRequest | BucketRequest
    """A request about one name, to whichever of the three families."""

    Request: TypeAlias = NameRequest | ClaimAll | ListNames
    ClaimReply: TypeAlias = OneReply | Together | Apart
    Reply: TypeAlias = ClaimReply | RecordReply | BucketReply
else:  # nobody asks for the others at run time: their classes are made when somebody uses them
    NameRequest = ClaimRequest
    Request = ClaimRequest | ListNames
    ClaimReply = Reply = OneReply

CLAIM_REQUESTS = (Claim, Release, Renew, Advance, Withdraw, Break, Look)
"""The classes of ``ClaimRequest``, the most frequent first: so a backend tells families apart."""
