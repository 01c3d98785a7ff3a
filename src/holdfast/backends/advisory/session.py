"""One session of the server, used by whichever thread has its turn.

Locks belong to it, so it is not thrown away because one answer is late: the next to have a turn
reads that answer first, and whoever it was for has it settled then. It ends when the connection
does, and then everything that it holds is lost. Its desk is told of that exactly once.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from psycopg import OperationalError, pq
from psycopg.pq.abc import PGresult

from holdfast import clock
from holdfast.backends.advisory import faults
from holdfast.backends.postgres import faults as postgres_faults
from holdfast.backends.postgres.link import Link, value_of
from holdfast.backends.postgres.requests import Statement
from holdfast.errors import BackendUnavailable

if TYPE_CHECKING:
    from holdfast.backends.advisory.hold import Hold

Answer: TypeAlias = "list[Any] | BackendUnavailable"

Settle: TypeAlias = Callable[[Answer], None]
"""Takes an answer in, on whichever thread reads it; never raises."""


def ignore(_answer: Answer) -> None:
    """Take no notice: nobody's lock depends on this answer."""


class Session:
    """A connection, who has its turn, and what is still to be read on it."""

    def __init__(
        self,
        link: Link,
        pid: int,
        on_end: Callable[[Session, str], None],
        on_word: Callable[[str], None],
    ) -> None:
        self.link = link
        self.pid = pid
        self.holds: dict[str, Hold] = {}
        self.ended = ""  # why, once it has
        self._descriptor = link.descriptor
        self._mutex = threading.Lock()
        self._closing = False
        self._unread: Settle | None = None
        self._on_end = on_end
        self._on_word = on_word
        self._last_words = ""  # what the server said without being asked, before it hung up
        link.connection.notice_handler = self._note

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Have the session for oneself, with nothing left to read."""
        if not self._mutex.acquire(timeout=max(0.0, deadline - clock.now())):
            raise postgres_faults.unsent(self.link.shown)
        try:
            self._refuse_if_ended()
            if self._unread is not None:
                try:
                    self._read(deadline)
                except BackendUnavailable as error:  # an earlier answer is still to come
                    raise postgres_faults.unsent(self.link.shown) from error
                self._refuse_if_ended()
            yield
        finally:
            self._leave()

    def ask(self, statement: Statement, deadline: float, settle: Settle = ignore) -> list[Any]:
        """Say something and read the answer; in a turn. If it is late, ``settle`` gets it later."""
        self.begin(statement, settle)
        answer = self._read(deadline)
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    def begin(self, statement: Statement, settle: Settle) -> None:
        """Say something whose answer is read later; in a turn."""
        self._unread = settle  # first: interrupted here, the next finds that nothing was sent
        try:
            self.link.send(statement)
            self.link.connection.flush()
        except (BackendUnavailable, OperationalError) as error:
            self._end(str(error))
            raise postgres_faults.broken(self.link.shown, self.ended) from error

    def take_in(self) -> None:
        """Read what came, if nobody else does: an answer that is awaited, a word, the end."""
        if not self._mutex.acquire(timeout=0.05):
            return  # whoever has the turn reads it
        try:
            if self.is_over():
                return
            connection = self.link.connection
            try:
                connection.consume_input()
                if self._unread is not None and not connection.is_busy():
                    self._read(clock.now() + 1.0)
            except OperationalError as error:
                self._end(str(error))
            except BackendUnavailable:
                return  # it was settled, or the session has ended
            if self.is_over():
                return
            if connection.status == pq.ConnStatus.BAD:
                self._end("the server hung up")
            else:
                self.link.collect()
                self._pass_words_on()
        finally:
            self._leave()

    def close(self) -> None:
        """Hang up: the server frees what it held. Whoever has the turn does it when it is over."""
        self._closing = True
        if self._mutex.acquire(timeout=0.0):
            self._leave()

    def is_over(self) -> bool:
        """Whether it has ended, for whatever reason."""
        return bool(self.ended)

    def fileno(self) -> int:
        """Give the descriptor to be watched, -1 when there is none any more."""
        return -1 if self.ended else self.link.fileno()

    def disown(self) -> None:
        """In a forked child: give the descriptor up without a word to the server."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            os.dup2(nowhere, self._descriptor, inheritable=False)
        finally:
            os.close(nowhere)

    def _leave(self) -> None:
        """End a turn."""
        try:
            if self._closing and not self.ended:
                self._end("it was closed")
        finally:
            self._mutex.release()

    def _refuse_if_ended(self) -> None:
        if self.ended:
            error = postgres_faults.broken(self.link.shown, self.ended)
            error.outcome = "none"  # nothing was sent
            raise error

    def _read(self, deadline: float) -> Answer:
        """Wait for the answer and settle it; one that is late is raised, and left to the next."""
        shown = self.link.shown
        answer: Answer
        if not self.link.is_asked():
            answer = postgres_faults.unsent(shown)  # whoever wanted to ask was interrupted
        else:
            try:
                answer = json.loads(value_of(self.link.result(deadline), shown))
            except BackendUnavailable as error:
                answer = error
                if self.link.connection.status == pq.ConnStatus.BAD:
                    answer = postgres_faults.broken(shown, error.message)
                    self._end(error.message)
                elif self.link.is_asked():
                    raise
        if isinstance(answer, list) and answer[0] != self.pid:
            self._end(faults.another_session(self.pid, answer[0]))
            answer = faults.lasting(shown, self.ended)
        self._settle(answer)
        if not self.ended:
            self._pass_words_on()
        return answer

    def _settle(self, answer: Answer) -> None:
        settle, self._unread = self._unread, None
        if settle is not None:
            settle(answer)

    def _note(self, result: PGresult) -> None:
        severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) or b""
        if severity in {b"FATAL", b"PANIC"}:
            said = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
            self._last_words = said.decode(errors="replace")

    def _pass_words_on(self) -> None:
        heard, self.link.heard = self.link.heard, []
        for _, payload in heard:
            self._on_word(payload)

    def _end(self, reason: str) -> None:
        if self.ended:
            return
        lines = (self._last_words or reason).strip().splitlines()
        self.ended = lines[0] if lines else "no reason given"
        self.link.collect()
        self.link.close()
        self._settle(postgres_faults.broken(self.link.shown, self.ended))
        try:
            self._pass_words_on()  # why it was ended, perhaps
        finally:
            self._on_end(self, self.ended)
