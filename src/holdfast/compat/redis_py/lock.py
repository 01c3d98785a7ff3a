"""The twins: redis-py's own classes, with another way to wait and to talk to the key.

They are subclasses, so that signatures, messages and what is not said here are those of the
redis-py that is installed, and ``isinstance`` goes on working. Each method is a story told in
``story``; ``local.place`` stands beside redis-py's ``local.token`` and is of the same thread.
"""

from __future__ import annotations

import os
from typing import Any, Literal

import redis.asyncio.lock
import redis.lock
from redis.exceptions import LockNotOwnedError

from holdfast.compat.redis_py import story
from holdfast.compat.redis_py.key import AioKey, Key, SyncKey
from holdfast.compat.redis_py.line import Place
from holdfast.compat.redis_py.lines import loop_line, thread_line
from holdfast.runtimes.aio import AioRuntime
from holdfast.runtimes.step import run
from holdfast.runtimes.sync import SyncRuntime

_THREADS = SyncRuntime()
_TASKS = AioRuntime()

NOT_OWNED = "Cannot {} a lock that's no longer owned"
"""redis-py's words: people look for them in their logs."""


class Lock(redis.lock.Lock):
    """redis-py's ``Lock`` with a fair line: ``client.lock(name, lock_class=Lock, …)``.

    The key, its token and its expiry are redis-py's own, so both classes exclude each other. Who
    waits stands in line and is told when its turn comes; only the first in line polls, and only
    while the key is held by somebody who is not in line. As with redis-py, a lock without
    ``timeout`` stays locked for ever if its holder dies, and nothing stops a holder whose
    ``timeout`` is over: ``holdfast.Client(client).lock(name)`` does both.
    """

    def register_scripts(self) -> None:
        """Register nothing: scripts are sent when the server asks for them."""

    def acquire(
        self,
        sleep: float | None = None,
        blocking: bool | None = None,  # noqa: FBT001 - redis-py's signature
        blocking_timeout: float | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` if that did not succeed within ``blocking_timeout``."""
        key = SyncKey(self.redis, self.name)
        terms = _terms(self, key, sleep, blocking, blocking_timeout, token)
        if terms.one_try:
            place = run(story.try_once(key, _THREADS, terms))
        else:
            place = run(story.wait_for(key, thread_line(self.redis), _THREADS, terms))
        if place is None:
            return False
        self.local.token, self.local.place = place.token, place
        return True

    def do_release(self, expected_token: str | bytes) -> None:
        """Give the lock back for whoever took it with this token, here or elsewhere."""
        key = SyncKey(self.redis, self.name)
        token = key.encoded(expected_token)
        place = _place(self, token)
        line = None if place else thread_line(self.redis)
        if not run(story.release(key, _THREADS, token, place, line)):
            raise LockNotOwnedError(NOT_OWNED.format("release"), lock_name=self.name)

    def do_extend(self, additional_time: float, replace_ttl: bool) -> Literal[True]:  # noqa: FBT001 - redis-py's signature
        """Add to the time that the lock may live, or replace it."""
        key = SyncKey(self.redis, self.name)
        token = key.encoded(self.local.token)
        by = int(additional_time * 1000)
        life = run(key.extend(token, by, replace=replace_ttl))
        if life is None:
            raise LockNotOwnedError(NOT_OWNED.format("extend"), lock_name=self.name)
        run(_follow(_place(self, token), life))
        return True

    def do_reacquire(self) -> Literal[True]:
        """Let the lock live for ``timeout`` from now."""
        key = SyncKey(self.redis, self.name)
        token = key.encoded(self.local.token)
        life = int((self.timeout or 0) * 1000)
        if not run(key.reacquire(token, life)):
            raise LockNotOwnedError(NOT_OWNED.format("reacquire"), lock_name=self.name)
        run(_follow(_place(self, token), life / 1000))
        return True


class AsyncLock(redis.asyncio.lock.Lock):
    """redis-py's asyncio ``Lock`` with a fair line: the twin of ``Lock``."""

    def register_scripts(self) -> None:
        """Register nothing: scripts are sent when the server asks for them."""

    async def acquire(
        self,
        blocking: bool | None = None,  # noqa: FBT001 - redis-py's signature
        blocking_timeout: float | None = None,
        token: str | bytes | None = None,
    ) -> bool:
        """Take the lock; ``False`` if that did not succeed within ``blocking_timeout``."""
        key = AioKey(self.redis, self.name)
        terms = _terms(self, key, None, blocking, blocking_timeout, token)
        if terms.one_try:
            place = await story.try_once(key, _TASKS, terms)
        else:
            place = await story.wait_for(key, await loop_line(self.redis), _TASKS, terms)
        if place is None:
            return False
        self.local.token, self.local.place = place.token, place
        return True

    async def do_release(self, expected_token: str | bytes) -> None:
        """Give the lock back for whoever took it with this token, here or elsewhere."""
        key = AioKey(self.redis, self.name)
        token = key.encoded(expected_token)
        place = _place(self, token)
        line = None if place else await loop_line(self.redis)
        if not await story.release(key, _TASKS, token, place, line):
            raise LockNotOwnedError(NOT_OWNED.format("release"))

    async def do_extend(self, additional_time: float, replace_ttl: bool) -> Literal[True]:  # noqa: FBT001 - redis-py's signature
        """Add to the time that the lock may live, or replace it."""
        key = AioKey(self.redis, self.name)
        token = key.encoded(self.local.token)
        by = int(additional_time * 1000)
        life = await key.extend(token, by, replace=replace_ttl)
        if life is None:
            raise LockNotOwnedError(NOT_OWNED.format("extend"))
        await _follow(_place(self, token), life)
        return True

    async def do_reacquire(self) -> Literal[True]:
        """Let the lock live for ``timeout`` from now."""
        key = AioKey(self.redis, self.name)
        token = key.encoded(self.local.token)
        life = int((self.timeout or 0) * 1000)
        if not await key.reacquire(token, life):
            raise LockNotOwnedError(NOT_OWNED.format("reacquire"))
        await _follow(_place(self, token), life / 1000)
        return True


def _terms(
    lock: Any,
    key: Key,
    sleep: float | None,
    blocking: bool | None,  # noqa: FBT001 - as it was given
    blocking_timeout: float | None,
    token: str | bytes | None,
) -> story.Terms:
    """Put together what a call says and what the lock was made with, as redis-py does."""
    if blocking is None:
        blocking = lock.blocking
    wait = lock.blocking_timeout if blocking_timeout is None else blocking_timeout
    return story.Terms(
        token=os.urandom(16).hex().encode() if token is None else key.encoded(token),
        made_for_this_call=token is None,
        life=int(lock.timeout * 1000) if lock.timeout else None,
        sleep=lock.sleep if sleep is None else sleep,
        wait=wait if blocking else 0,
    )


def _place(lock: Any, token: bytes) -> Place | None:
    """Give the place that was taken with ``token`` through this very lock, if it was."""
    place: Place | None = getattr(lock.local, "place", None)
    return place if place is not None and place.token == token else None


async def _follow(place: Place | None, life: float) -> None:
    if place is not None and place.line is not None:
        await place.line.follow(place, life)
