"""What is known of each claim, put together from the entries that tell of it.

Rules read claims and never change them. A claim is forgotten here when its file ends or it is over;
rules that still need it keep it themselves.
"""

from __future__ import annotations

from holdfast.testing.history.form import GONE, Fields, HistoryError
from holdfast.testing.history.moment import SECOND
from holdfast.testing.history.verdict import Proof


class Claim:
    """One claim of one worker: asked for, perhaps granted, and over at last.

    A holder certainly believes from ``held_at``, taken after the call had returned, to
    ``believed_at``, taken before the last check that raised nothing. What lies beyond is not known:
    the process may have been paused in between.
    """

    __slots__ = (
        "asked",
        "asked_at",
        "believed_at",
        "capacity",
        "checked",
        "held",
        "held_at",
        "longest_ns",
        "lost",
        "max_hold_ns",
        "name",
        "number",
        "over",
        "pid",
        "queued",
        "queued_at",
        "renewed",
        "token",
        "wait",
        "weight",
        "worker",
    )

    def __init__(self, worker: str, pid: int, fields: Fields, asked: Proof) -> None:
        self.worker = worker
        self.pid = pid
        self.number: int = fields["n"]
        self.name: str = fields["name"]
        self.asked_at: int = fields["at"]
        self.asked = asked
        self.wait: float | None = fields["wait"]
        self.weight: int = fields.get("weight", 1)
        self.capacity: int = fields.get("capacity", 1)
        self.renewed: bool = fields.get("renew", True)
        max_hold: float | None = fields.get("max_hold")
        self.max_hold_ns = None if max_hold is None else round(max_hold * SECOND)
        self.longest_ns = round(fields["ttl"] * SECOND)  # the longest life it was ever asked for
        self.queued_at: int | None = None
        self.queued: Proof | None = None
        self.token = 0
        self.held_at = 0
        self.held: Proof | None = None
        self.believed_at = 0
        self.checked: Proof | None = None
        self.lost: Proof | None = None
        self.over = False

    @property
    def exclusive(self) -> bool:
        """Whether it leaves room for nobody."""
        return self.weight >= self.capacity

    def __str__(self) -> str:
        token = f" with token {self.token}" if self.token else ""
        return f"{self.worker}{token}"


class Event:
    """One entry, where it stands, and the claim that it is about."""

    __slots__ = ("at", "claim", "do", "fields", "left", "pid", "proof", "worker")

    def __init__(self, fields: Fields, worker: str, pid: int, proof: Proof) -> None:
        self.at: int = fields["at"]
        self.do: str = fields["do"]
        self.fields = fields
        self.worker = worker
        self.pid = pid
        self.proof = proof
        self.claim: Claim | None = None
        self.left: tuple[Claim, ...] = ()  # where a file ends: the claims that were not over

    def about(self) -> Claim:
        """Give the claim; only entries that name one are asked."""
        if self.claim is None:
            raise HistoryError(f"{self.proof}: {self.do} belongs to no claim")
        return self.claim


class Claims:
    """The claims of all workers that are not over yet."""

    def __init__(self) -> None:
        self._open: dict[str, dict[int, Claim]] = {}
        self.made = 0

    def take(self, event: Event) -> None:
        """Find the claim of an event and bring it up to date."""
        fields = event.fields
        number = fields.get("n")
        if event.do == "ask":
            event.claim = self._made(event)
        elif event.do == GONE:
            event.left = tuple(self._open.pop(event.worker, {}).values())
            for left in event.left:
                left.over = True
        elif number is not None and event.do not in _OF_OTHERS:
            claim = self._known(event, number)
            event.claim = claim
            _update(claim, event)
            if claim.over:
                del self._open[event.worker][number]

    def _made(self, event: Event) -> Claim:
        try:
            claim = Claim(event.worker, event.pid, event.fields, event.proof)
        except KeyError as error:
            raise HistoryError(f"{event.proof}: ask lacks {error}") from error
        mine = self._open.setdefault(event.worker, {})
        if claim.number in mine:
            raise HistoryError(f"{event.proof}: claim {claim.number} is asked for twice")
        mine[claim.number] = claim
        self.made += 1
        return claim

    def _known(self, event: Event, number: int) -> Claim:
        try:
            return self._open[event.worker][number]
        except KeyError:
            raise HistoryError(
                f"{event.proof}: {event.do} tells of claim {number}, which was not asked for"
            ) from None


_OF_OTHERS = frozenset({"landed", "inherited"})
"""Told by a resource or a child: the number is that of another file's claim."""

_OF_HOLDERS = frozenset({"checked", "extended", "refused", "lost", "left"})
"""Only for claims that are held; all others are for claims that are not, or not yet."""


def _update(claim: Claim, event: Event) -> None:
    if (event.do in _OF_HOLDERS) != bool(claim.held):
        raise HistoryError(f"{event.proof}: {event.do} cannot follow here")
    match event.do:
        case "checked":
            claim.believed_at, claim.checked = event.at, event.proof
        case "queued":
            claim.queued_at, claim.queued = event.at, event.proof
        case "held":
            claim.token, claim.held_at, claim.held = event.fields["token"], event.at, event.proof
        case "extended":
            claim.longest_ns = max(claim.longest_ns, round(event.fields["ttl"] * SECOND))
        case "lost":
            claim.lost = event.proof
        case "busy" | "failed" | "cancelled" | "left":
            claim.over = True
        case _:
            pass
