"""One claim of this client: on which session it holds or waits, and until when it counts."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias

from holdfast.rules.messages import Claim
from holdfast.values import Tenure

if TYPE_CHECKING:
    from holdfast.backends.advisory.session import Session

State: TypeAlias = Literal["idle", "asking", "waiting", "granted"]
"""``idle``: no session knows of it just now; it asks again when its client does."""


class Hold:
    """What became of one claim so far. Changed by whoever has the turn on its session."""

    __slots__ = (
        "asked_at",
        "broken",
        "claim",
        "ends_at",
        "granted_at",
        "holders",
        "leaving",
        "left",
        "number",
        "session",
        "state",
        "token",
        "ttl",
    )

    def __init__(self, claim: Claim, number: int) -> None:
        self.claim = claim
        self.number = number
        self.state: State = "idle"
        self.session: Session | None = None
        self.ttl = claim.want.ttl  # as the server shows it
        self.asked_at = 0.0
        self.token = 0
        self.granted_at = 0.0
        self.ends_at = inf  # not renewed by then, it is given back without a word from its owner
        self.broken = ""
        self.leaving = False  # nobody wants it any more
        self.left: tuple[int, float] | None = None  # the session it left unconfirmed, and when
        self.holders: tuple[Tenure, ...] = ()  # who was in the way when it was last seen

    @property
    def shared(self) -> bool:
        """Whether others may have it as well."""
        return self.claim.want.weight < self.claim.want.capacity

    @property
    def claim_id(self) -> str:
        """The claim's own id."""
        return self.claim.claim_id

    def got(self, session: Session, token: int, granted_at: float) -> None:
        """Be granted, on ``session``."""
        self.state, self.session = "granted", session
        self.token, self.granted_at = token, granted_at
        session.holds[self.claim_id] = self

    def let_go(self) -> None:
        """Have no session any more."""
        if self.session is not None:
            self.session.holds.pop(self.claim_id, None)
        self.state, self.session = "idle", None
