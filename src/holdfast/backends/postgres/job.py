"""One request of an async client, and who waits for its answer. Counterpart: ``line``."""

from __future__ import annotations

import asyncio

from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Reply, Request


class Job:
    """Belongs to one caller, who may have given up on it by the time it is answered."""

    __slots__ = ("answer", "deadline", "mended", "request", "sent")

    def __init__(self, request: Request, deadline: float, answer: asyncio.Future[Reply]) -> None:
        self.request = request
        self.deadline = deadline
        self.answer = answer
        self.sent = False
        self.mended = False  # it was sent again once, to a server that is whole again

    def settle(self, answer: Reply | BackendUnavailable) -> None:
        """Give the caller an answer, unless there is none any more or it has one."""
        if self.answer.done():
            return
        if isinstance(answer, BackendUnavailable):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)
