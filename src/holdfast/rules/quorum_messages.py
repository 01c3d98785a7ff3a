"""What one voter of a quorum is asked beyond claims, what it answers, and what the quorum answers.

Values only, as in ``messages``; the everyday requests (claim, renew, release, break, look) are the
same for a voter as for a backend. Loaded by those who use a quorum, and by nobody else.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import (
    Break,
    Claim,
    Look,
    OneReply,
    Release,
    Renew,
    Withdraw,
)


class Undo(NamedTuple):
    """Take back the vote for a try that has failed; nobody is told, since nothing was held."""

    name: str
    claim_id: str


class Stand(NamedTuple):
    """Say whether you may vote, and what you would need to know to be let in."""


class Admit(NamedTuple):
    """Vote from now on, and never give a token that is not larger than ``floor``."""

    floor: int


class Unsettled(NamedTuple):
    """This voter may have forgotten something: it does not vote before it is let in."""


class Stood(NamedTuple):
    """How a voter stands: whether it may vote, and the highest token it ever gave.

    ``wall`` is what its clock shows, in microseconds; ``remembers``: it is another process than the
    one that was let in, comes right after it as far as is known, and has kept everything;
    ``blank_for``: for how many seconds it has known that it knows nothing at all, which can happen
    to a process that goes on (``FLUSHALL``).
    """

    settled: bool
    highest: int
    wall: int
    remembers: bool = False
    blank_for: float | None = None


VoterRequest: TypeAlias = Claim | Renew | Release | Withdraw | Undo | Break | Look | Stand | Admit
VoterReply: TypeAlias = OneReply | Unsettled | Stood
Answer: TypeAlias = VoterReply | BackendUnavailable
