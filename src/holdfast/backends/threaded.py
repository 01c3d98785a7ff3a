"""A wire for tasks over a store that blocks: one thread of the client asks it, for all its tasks.

A commit may have to wait for another process, or for the disk; an event loop must not. Whatever the
tasks of a client ask while one question is under way goes to the store together, in the next.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from holdfast import clock
from holdfast.errors import BackendUnavailable
from holdfast.observe.hub import complain
from holdfast.rules.messages import Reply, Request

Answer = asyncio.Future[list[Reply | BackendUnavailable]]

Settled = tuple[Answer, list[Reply | BackendUnavailable]]

LATE = 0.05
"""How much later than the deadline an answer may come that is under way already."""

LARGEST_BATCH = 1000
"""Requests in one question: a longer one would hold others up."""


class Store(Protocol):
    """What blocks."""

    def answer(self, request: Request, deadline: float) -> Reply:
        """Carry out one request, or raise ``BackendUnavailable``."""
        ...

    def carry_out(
        self, requests: Sequence[Request], deadline: float
    ) -> Sequence[Reply | BackendUnavailable]:
        """Carry out many."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class Words(Protocol):
    """How a backend says what can go wrong on the way."""

    def closed(self) -> BackendUnavailable:
        """Say that nobody works here any more."""
        ...

    def late(self) -> BackendUnavailable:
        """Say that the answer did not come in time; it may still be carried out."""
        ...

    def unforeseen(self, error: Exception) -> BackendUnavailable:
        """Wrap what should not have happened; whether anything was changed is not known."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    requests: Sequence[Request]
    deadline: float
    loop: asyncio.AbstractEventLoop
    answer: Answer


class ThreadedWire:
    """Hands requests to the client's thread and awaits the answers."""

    def __init__(self, store: Store, words: Words, thread: str) -> None:
        self._store = store
        self._words = words
        self._thread_name = thread
        # Putting something in is safe in a finaliser too; ``None`` ends the thread.
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def ask(self, request: Request, deadline: float) -> Reply:
        """Carry out one request."""
        answer = (await self.ask_all((request,), deadline))[0]
        if isinstance(answer, BackendUnavailable):
            raise answer
        return answer

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Carry out many, together."""
        loop = asyncio.get_running_loop()
        answer = self._hand_in(requests, deadline, loop)
        # The thread may be held up by an earlier transaction for longer than this one can wait.
        timer = loop.call_later(
            max(0.0, deadline - clock.now()) + LATE, self._too_late, answer, requests
        )
        try:
            return await answer
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the thread when it has done what it was given."""
        self._closed = True
        if self._thread is None:
            self._store.close()
        else:
            self._jobs.put(None)

    def abandon(self) -> None:
        """Let the thread close what is open, if there is one."""
        self._closed = True
        self._jobs.put(None)

    def _hand_in(
        self, requests: Sequence[Request], deadline: float, loop: asyncio.AbstractEventLoop
    ) -> Answer:
        if self._closed:
            raise self._words.closed()
        answer: Answer = loop.create_future()
        self._jobs.put(_Job(requests, deadline, loop, answer))
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name=self._thread_name, daemon=True)
            self._thread.start()
        return answer

    def _work(self) -> None:
        while True:
            first = self._jobs.get()
            batch = self._gather(first)
            if batch:
                self._carry_out(batch)
            if first is None:
                self._store.close()
                return

    def _gather(self, job: _Job | None) -> list[_Job]:
        """Take along what has been asked meanwhile; what nobody waits for any more is not begun."""
        batch: list[_Job] = []
        size = 0
        while job is not None:
            if not job.answer.done():
                batch.append(job)
                size += len(job.requests)
            if size >= LARGEST_BATCH or self._jobs.empty():
                break
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)  # ended after this batch
        return batch

    def _carry_out(self, batch: list[_Job]) -> None:
        requests = [request for job in batch for request in job.requests]
        answers: list[Reply | BackendUnavailable]
        deadline = min(job.deadline for job in batch)
        try:
            if len(requests) == 1:
                answers = [self._store.answer(requests[0], deadline)]
            else:
                answers = [*self._store.carry_out(requests, deadline)]
        except BackendUnavailable as error:
            answers = [error] * len(requests)
        except Exception as error:  # noqa: BLE001 - the tasks that wait must hear of it
            complain("asking %d requests failed", len(requests))
            answers = [self._words.unforeseen(error)] * len(requests)
        settled: dict[asyncio.AbstractEventLoop, list[Settled]] = {}
        for job in batch:
            mine, answers = answers[: len(job.requests)], answers[len(job.requests) :]
            settled.setdefault(job.loop, []).append((job.answer, mine))
        for loop, results in settled.items():
            try:
                loop.call_soon_threadsafe(partial(_settle, results))
            except RuntimeError:  # the loop is closed: nobody waits for these answers
                continue

    def _too_late(self, answer: Answer, requests: Sequence[Request]) -> None:
        if not answer.done():
            answer.set_result([self._words.late()] * len(requests))


def _settle(results: list[Settled]) -> None:
    for answer, mine in results:
        if not answer.done():
            answer.set_result(mine)
