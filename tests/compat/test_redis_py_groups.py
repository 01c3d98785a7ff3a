"""The drop-ins on a cluster, behind sentinels, and over a Unix socket: the line is found there."""

import asyncio
import gc
import threading
import time
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.sentinel import Sentinel

from holdfast.compat.redis_py import AsyncLock, Lock
from holdfast.testing.watching import eventually, eventually_async
from tests.servers.cluster import RedisCluster
from tests.servers.ports import HOST
from tests.servers.redis import RedisServer
from tests.servers.sentinel import RedisSentinels


def hand_over(client: Any, another: Any, servers: list[RedisServer]) -> float:
    """Pass a lock from one thread to another; say how long it took."""
    holder = client.lock("job", lock_class=Lock)
    assert holder.acquire()
    got_at: list[float] = []

    def wait() -> None:
        with another.lock("job", lock_class=Lock, sleep=5):
            got_at.append(time.monotonic())

    waiting = threading.Thread(target=wait)
    waiting.start()
    eventually(lambda: _inboxes(servers) == 1, 5, "a waiter in line")
    released_at = time.monotonic()
    holder.release()
    waiting.join()
    return got_at[0] - released_at


async def hand_over_async(client: Any, another: Any, servers: list[RedisServer]) -> float:
    """Pass a lock from one task to another; say how long it took."""
    holder = client.lock("job", lock_class=AsyncLock)
    assert await holder.acquire()

    async def wait() -> float:
        async with another.lock("job", lock_class=AsyncLock, sleep=5):
            return time.monotonic()

    waiting = asyncio.create_task(wait())
    await eventually_async(lambda: _inboxes(servers) >= 1, 5, "a waiter in line")
    await asyncio.sleep(0.1)
    released_at = time.monotonic()
    await holder.release()
    return await waiting - released_at


def _guide(kind: Any, sentinels: list[tuple[str, int]]) -> Any:
    return kind(sentinels)  # it has no types of its own


def _inboxes(servers: list[RedisServer]) -> int:
    """Count the clients that hear notices: in sync that is whoever waits."""
    return len({name for one in servers for name in one.ask("PUBSUB", "CHANNELS", "*inbox*")})


def test_threads_on_a_cluster_and_behind_sentinels() -> None:
    """A waiter is told before it would try again, which it does every five seconds."""
    with RedisCluster() as cluster:
        port = cluster.nodes[0].port
        with redis.RedisCluster(HOST, port) as one, redis.RedisCluster(HOST, port) as two:
            assert hand_over(one, two, cluster.running) < 4.5
    with RedisSentinels() as group:
        doors = [(HOST, sentinel.port) for sentinel in group.sentinels]
        clients = [_guide(Sentinel, doors).master_for("mymaster") for _ in range(2)]
        assert hand_over(clients[0], clients[1], [group.master()]) < 4.5
        for client in clients:
            client.close()


async def test_tasks_on_a_cluster_and_behind_sentinels() -> None:
    """The same for tasks."""
    with RedisCluster() as cluster:
        clients = [redis.asyncio.RedisCluster(HOST, cluster.nodes[0].port) for _ in range(2)]
        await _hand_over_and_close(clients, cluster.running)
    with RedisSentinels() as group:
        doors = [(HOST, sentinel.port) for sentinel in group.sentinels]
        guides = [_guide(AsyncSentinel, doors) for _ in range(2)]
        clients = [guide.master_for("mymaster") for guide in guides]
        await _hand_over_and_close(clients, [group.master()])
        for guide in guides:
            for sentinel in guide.sentinels:
                await sentinel.aclose()


async def _hand_over_and_close(clients: list[Any], servers: list[RedisServer]) -> None:
    assert await hand_over_async(clients[0], clients[1], servers) < 4.5
    while clients:
        await clients.pop().aclose()
    gc.collect()  # the lines go with their clients, before the servers do
    await eventually_async(lambda: _inboxes(servers) == 0, 5, "the end of the lines")


def test_over_a_unix_socket(server: RedisServer) -> None:
    """The socket's path is read from the client."""
    with (
        redis.Redis(unix_socket_path=str(server.socket_path)) as one,
        redis.Redis(unix_socket_path=str(server.socket_path), db=1) as elsewhere,
        one.lock("unix", lock_class=Lock),
        elsewhere.lock("unix", lock_class=Lock, blocking_timeout=1),  # another database
    ):
        assert not one.lock("unix", lock_class=Lock).acquire(blocking_timeout=0.15)
