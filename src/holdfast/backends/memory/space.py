"""One named space of this process: records under a mutex, stepped by the rule itself."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.rules.claim import step, view
from holdfast.rules.holding import Record
from holdfast.rules.many import ClaimAll
from holdfast.rules.messages import (
    CLAIM_REQUESTS,
    ListNames,
    Notice,
    Reply,
    Request,
    Seen,
)
from holdfast.rules.together import step_all
from holdfast.rules.tombstones import KEPT_FOR

if TYPE_CHECKING:
    from holdfast.backends.memory.families import Families

Key = tuple[str, str]

SWEPT_AT_ONCE = 2
"""Each call forgets at most this many idle records: more than it can make, and never a pause."""


def _wall_microseconds() -> int:
    return time.time_ns() // 1000


class Space:
    """All names of one ``memory://`` address; tests bring clocks of their own."""

    def __init__(
        self,
        now: Callable[[], float] = clock.now,
        mint: Callable[[], int] = _wall_microseconds,
    ) -> None:
        self._now = now
        self._mint = mint
        self.inboxes: dict[str, Callable[[Notice], None]] = {}
        self._mutex = threading.Lock()
        self._records: dict[Key, Record] = {}
        self._touched: dict[Key, float] = {}  # in the order of their last use
        self._floor = 0
        self._families: Families | None = None

    def answer(self, prefix: str, requests: Sequence[Request]) -> list[Reply]:
        """Carry out the requests, then deliver the notices they caused."""
        notices: list[Notice] = []
        with self._mutex:
            now = self._now()
            replies = [self._answer(prefix, request, now, notices) for request in requests]
            self._forget_idle(now)
        for notice in notices:
            deliver = self.inboxes.get(notice.inbox)
            if deliver is not None:
                deliver(notice)
        return replies

    def _answer(self, prefix: str, request: Request, now: float, notices: list[Notice]) -> Reply:
        if not isinstance(request, CLAIM_REQUESTS):
            if isinstance(request, ListNames):
                return self._listed(prefix, request, now)
            if isinstance(request, ClaimAll):
                return self._together(prefix, request, now, notices)
            return self.families().answer(prefix, request, self._mint())
        key = (prefix, request.name)
        record = self._record(key)
        closed = self._closed(record)
        after, reply, told = step(record, request, now, self._mint(), closed)
        if after is not record:
            self._store(key, after, now)
            notices.extend(told)
        return reply

    def families(self) -> Families:
        """Give the records and buckets of this space; made when first asked for."""
        if self._families is None:
            from holdfast.backends.memory.families import Families  # locks alone do without

            self._families = Families()
        return self._families

    def _together(self, prefix: str, request: ClaimAll, now: float, notices: list[Notice]) -> Reply:
        records = {claim.name: self._record((prefix, claim.name)) for claim in request.claims}
        closed = {inbox for record in records.values() for inbox in self._closed(record)}
        after, reply, told = step_all(records, request, now, self._mint(), closed)
        for name, record in after.items():
            if record is not records[name]:
                self._store((prefix, name), record, now)
        notices.extend(told)
        return reply

    def _record(self, key: Key) -> Record:
        return self._records.get(key) or Record(key[1], last_token=self._floor)

    def _closed(self, record: Record) -> set[str]:
        return {waiter.inbox for waiter in record.queue} - self.inboxes.keys()

    def _store(self, key: Key, record: Record, now: float) -> None:
        self._records[key] = record
        self._touched.pop(key, None)
        self._touched[key] = now

    def _listed(self, prefix: str, request: ListNames, now: float) -> Seen:
        names = sorted(
            name
            for (space, name), record in self._records.items()
            if space == prefix and name.startswith(request.prefix) and not record.idle
        )
        later = [name for name in names if name > request.after][: request.limit]
        return Seen(tuple(view(self._records[prefix, name], now) for name in later))

    def _forget_idle(self, now: float) -> None:
        """Drop a few of the records that nobody has used since their tombstones ended.

        Their tokens are not forgotten: whatever starts anew starts above the highest of them.
        """
        for key in tuple(self._oldest(now)):
            record = self._records[key]
            del self._touched[key]
            if record.idle:
                self._floor = max(self._floor, record.last_token)
                del self._records[key]
            else:
                self._touched[key] = now  # looked at again when it comes round

    def _oldest(self, now: float) -> list[Key]:
        found: list[Key] = []
        for key, touched_at in self._touched.items():
            if touched_at > now - KEPT_FOR or len(found) == SWEPT_AT_ONCE:
                break
            found.append(key)
        return found


_spaces: dict[tuple[int, str], Space] = {}


def space(name: str) -> Space:
    """Give the process's one space of that name; a forked child starts with empty ones."""
    return _spaces.setdefault((os.getpid(), name), Space())
