"""What all connections of one client share: where the server is, how statements are read.

No I/O and no threads here. Both wires send statements and pass every raw result through ``read``,
so a lost schema, a demoted server and the birth mark are dealt with once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from holdfast.backends.postgres import faults, replies
from holdfast.backends.postgres.requests import Post, Statement
from holdfast.backends.postgres.survey import Survey
from holdfast.backends.postgres.target import Target
from holdfast.errors import BackendUnavailable
from holdfast.rules.messages import Notice, Reply, Request

Answer: TypeAlias = "Reply | BackendUnavailable"

CHANNEL = "holdfast_"

_decoded = json.JSONDecoder().raw_decode  # json.loads without its guesses and looking for blanks


class Office:
    """One client's correspondence with its database."""

    def __init__(self, target: Target, prefix: str) -> None:
        self.target = target
        self.shown = target.shown
        self.prefix = prefix
        self.post = Post(target.schema, prefix, target.quarantine)
        self.survey = Survey(target.shown, push=target.wakeup != "tick")
        self.generation = 0  # connections of an earlier one lead to a server that is none any more
        self.prepares = True  # until somebody in between turns out to mix them up
        self.mark = 0  # the birth mark that replies carried last
        self.tell: Callable[[Notice], None] = lambda _notice: None
        self._said_quarantined = False

    def read(self, statement: Statement, raw: bytes) -> list[Answer]:
        """Read a raw reply: one answer per request."""
        if not statement.many:
            try:
                return [self.read_one(statement.requests[0], raw)]
            except BackendUnavailable as error:
                return [error]
        cells, _ = _decoded(raw.decode())
        if cells and cells[0][0] != self.mark:
            self.see(cells[0][0])
        answers: list[Answer] = []
        for request, one in zip(statement.requests, cells, strict=True):
            try:
                answers.append(replies.read(request, one))
            except BackendUnavailable as error:
                self._say_quarantined()
                answers.append(error)
        return answers

    def read_one(self, request: Request, raw: bytes) -> Reply:
        """Read the raw reply to a statement that carried one request."""
        cells, _ = _decoded(raw.decode())
        if cells[0] != self.mark:
            self.see(cells[0])
        try:
            return replies.read(request, cells)
        except BackendUnavailable:
            self._say_quarantined()
            raise

    def see(self, mark: int) -> None:
        """Another mark: this is another memory, and everything we hold is lost."""
        before, self.mark = self.mark, mark
        if before and before != mark:
            reason = (
                "the database has lost its data (another birth mark): somebody else may hold it"
            )
            self.tell(Notice("forgotten", "", "", "", 0, reason=reason))

    def may_be_mended(self, error: BackendUnavailable) -> bool:
        """Whether the statement should be sent again, on a connection that is greeted anew."""
        state = getattr(error, "state", "")
        if state in faults.DEMOTED or state in faults.MISSING:
            self.generation += 1  # so that nobody goes on without being greeted
        if state in faults.UNPREPARED:
            self.prepares = False
        return state in faults.MISSING or state in faults.UNPREPARED

    def _say_quarantined(self) -> None:
        if self._said_quarantined:
            return
        self._said_quarantined = True
        from holdfast.observe.logs import logger

        logger.warning(
            "%s had just started when holdfast's tables were made, so it may have forgotten who"
            " holds what: nothing is granted until it is %.0f s old (?quarantine=0 turns this off)",
            self.shown,
            self.target.quarantine,
        )


class Sorter:
    """Puts the answers to many statements back into the places of their requests."""

    def __init__(self, count: int) -> None:
        self._answers: list[Answer | None] = [None] * count

    def put(self, statement: Statement, answers: list[Answer]) -> None:
        """File the answers to one statement."""
        for place, answer in zip(statement.places, answers, strict=True):
            self._answers[place] = answer

    def fail(self, statement: Statement, error: BackendUnavailable) -> None:
        """File an error for everything that a statement carried."""
        self.put(statement, [error] * len(statement.places))

    def result(self) -> list[Answer]:
        """Give all answers, in the order of the requests."""
        return [answer for answer in self._answers if answer is not None]


def channel_of(client: str) -> str:
    """Name the channel on which a client hears notices."""
    return f"{CHANNEL}{client}"


def listening_words(channel: str) -> str:
    """Say what makes a session an inbox: the channel, and the sign that somebody is there."""
    return (
        f"LISTEN {channel}; SELECT pg_advisory_lock_shared("
        f"('x' || '{channel[-16:]}')::bit(64)::bigint)"
    )
