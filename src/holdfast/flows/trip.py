"""One call of ``acquire`` under way: who calls, and until when it may go on."""

from __future__ import annotations

from math import inf

from holdfast.values import Tenure

LONG_WAIT = 10.0
"""After how long a wait is worth a line in the log, and then again."""


class Trip:
    """Who calls, and how long it may take on the caller's clock."""

    __slots__ = (
        "answer_by", "behind", "curious", "give_up_at", "handed", "owner", "rested",
        "say_at", "started_at", "tries", "unsure",
    )  # fmt: skip

    def __init__(
        self,
        started_at: float,
        wait: float | None,
        call_limit: float,
        owner: object,
        *,
        curious: bool,
    ) -> None:
        self.owner = owner
        self.curious = curious  # whether the everyday events are wanted
        self.started_at = started_at
        self.give_up_at = inf if wait is None else started_at + wait
        self.answer_by = started_at + call_limit  # until the backend has answered once
        self.unsure = False  # whether an earlier claim may still be granted
        self.handed = False  # whether this claim was in line, or may have been
        self.behind: tuple[Tenure, ...] = ()  # who held it when we were last told so in line
        self.rested = False  # whether the last try was in vain, at a backend without a queue
        self.tries = 0  # how many such tries there were
        self.say_at = started_at + LONG_WAIT
