"""One call of ``acquire`` under way: who calls, and until when it may go on."""

from __future__ import annotations

from math import inf

from holdfast.values import Tenure

LONG_WAIT = 10.0
"""After how long a wait is worth a line in the log, and then again."""


class Trip:
    """Who calls, and how long it may take on the caller's clock."""

    # What is the same for every call at its beginning is set only when it changes.
    unsure = False  # whether an earlier claim may still be granted
    handed = False  # whether this claim was in line, or may have been
    behind: tuple[Tenure, ...] = ()  # who held it when we were last told so in line
    rested = False  # whether the last try was in vain, at a backend without a queue
    tries = 0  # how many such tries there were

    # By position, as LeaseState is.
    def __init__(
        self,
        started_at: float,
        wait: float | None,
        call_limit: float,
        owner: object,
        curious: bool,  # noqa: FBT001 - see above
    ) -> None:
        self.owner = owner
        self.curious = curious  # whether the everyday events are wanted
        self.started_at = started_at
        self.give_up_at = inf if wait is None else started_at + wait
        self.answer_by = started_at + call_limit  # until the backend has answered once
        self.say_at = started_at + LONG_WAIT

    def ask_by(self, limit: float) -> float:
        """Give until when a try may take that has this limit of its own.

        Who comes again to a backend without a queue may be answered after ``wait``: it was begun
        before.
        """
        return limit if self.tries or limit < self.answer_by else self.answer_by
