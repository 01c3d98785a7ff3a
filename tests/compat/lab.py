"""One way to write a test for both twins: what the async one answers is awaited."""

import inspect
import threading
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import redis
import redis.asyncio

import holdfast
from holdfast.compat.redis_py import AsyncLock, Lock
from holdfast.compat.redis_py.line import PREFIX
from holdfast.testing.watching import eventually_async
from tests.servers.redis import RedisServer


class Lab:
    """A client of redis-py, sync or async, a name of its own, and the locks of our class on it."""

    def __init__(self, server: RedisServer, kind: str, *, decoded: bool = False) -> None:
        self.server = server
        self.kind = kind
        self.decoded = decoded
        self.name = f"key:{uuid.uuid4().hex}"
        self.lock_class: Any = Lock if kind == "sync" else AsyncLock
        self.client = self.new_client()

    def new_client(self, **options: Any) -> Any:
        """Make another client of the same kind, with a pool of its own."""
        made = redis.Redis if self.kind == "sync" else redis.asyncio.Redis
        terms = {"port": self.server.port, "decode_responses": self.decoded} | options
        return made(host="127.0.0.1", **terms)

    def lock(self, client: Any = None, **options: Any) -> Any:
        """Make a lock of our class, the way users do."""
        return (client or self.client).lock(self.name, lock_class=self.lock_class, **options)

    def their_lock(self, **options: Any) -> Any:
        """Make a lock of redis-py's own class on the same name."""
        return self.client.lock(self.name, **options)

    def text(self, token: bytes) -> object:
        """Show a token the way the client shows values."""
        return token.decode() if self.decoded else token

    def ask(self, *words: str | float | bytes) -> Any:
        """Ask the server, past every client."""
        return self.server.ask(*words)

    def line(self) -> holdfast.LockInfo:
        """Look at the line of the lab's name."""
        url = self.server.url(quarantine=0)
        with holdfast.Client(url, prefix=PREFIX) as looking:
            return looking.show(self.name)

    async def close(self) -> None:
        """Let go of the client."""
        await done(self.client.close() if self.kind == "sync" else self.client.aclose())


class Waiter:
    """Somebody else who waits for the lab's lock, in a thread and with a pool of its own."""

    def __init__(self, lab: Lab, *, keep: bool = False, **options: Any) -> None:
        self._lab = lab
        self._keep = keep
        self._options = {"timeout": 20} | options
        self.got_at = 0.0
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def start(self) -> None:
        """Start waiting."""
        self._thread.start()

    async def in_line(self, place: int = 1) -> "Waiter":
        """Start waiting, and return when it stands at that place."""
        self.start()
        await eventually_async(lambda: self._lab.line().waiters == place, 5, "a place in line")
        return self

    async def served(self, within: float = 10) -> float:
        """Wait until it has had the lock, and say at which time it got it."""
        await eventually_async(lambda: self.got_at and not self._thread.is_alive(), within)
        return self.got_at

    def _wait(self) -> None:
        with redis.Redis(host="127.0.0.1", port=self._lab.server.port) as mine:
            lock = mine.lock(self._lab.name, lock_class=Lock, **self._options)
            assert lock.acquire()
            self.got_at = time.monotonic()
            if not self._keep:
                lock.release()


async def done(answer: Any) -> Any:
    """Give an answer, awaiting it if need be."""
    return await answer if inspect.isawaitable(answer) else answer


@asynccontextmanager
async def entered(lock: Any) -> AsyncIterator[Any]:
    """Enter a lock by whichever ``with`` it has."""
    if hasattr(lock, "__aenter__"):
        async with lock as inside:
            yield inside
    else:
        with lock as inside:
            yield inside
