"""How our users wait: in a fair line, told when it is their turn, and never for the line alone."""

import asyncio
import gc
import threading
import time
from functools import partial
from typing import Any

import pytest
import redis

from holdfast.compat.redis_py import Lock
from holdfast.testing.watching import eventually, eventually_async
from tests.compat.lab import Lab, done
from tests.servers.redis import RedisServer


def calls(server: RedisServer) -> dict[str, int]:
    """Count what the server was asked so far, command by command, without its own scripts' work."""
    stats = server.info("commandstats")
    return {
        name.removeprefix("cmdstat_"): int(line.split(",")[0].removeprefix("calls="))
        for name, line in stats.items()
        if name.startswith("cmdstat_")
    }


def _are_waiting(lab: Lab, count: int) -> bool:
    return lab.line().waiters == count


async def test_nobody_in_the_way_costs_two_round_trips(lab: Lab) -> None:
    """One for the line and one for the key, both to take and to give back; one each past it."""
    lock = lab.lock(timeout=5)
    for _ in range(2):
        await done(lock.acquire())
        await done(lock.release())
    for how, trips in (({}, 2), ({"blocking": False}, 1)):
        before = calls(lab.server)
        assert await done(lock.acquire(**how))
        taken = calls(lab.server)
        await done(lock.release())
        released = calls(lab.server)
        assert taken["evalsha"] - before["evalsha"] == trips
        assert released["evalsha"] - taken["evalsha"] == trips
        assert taken.get("eval", 0) == released.get("eval", 0) == before.get("eval", 0)


def test_threads_are_served_in_the_order_of_their_coming(server: RedisServer) -> None:
    """First come, first served, also through several pools."""
    lab = Lab(server, "sync")
    clients = [lab.new_client() for _ in range(3)]
    holder = lab.lock()
    holder.acquire()
    served: list[int] = []

    def work(number: int) -> None:
        lock = lab.lock(clients[number % 3])
        assert lock.acquire()
        served.append(number)
        lock.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(9)]
    for number, thread in enumerate(threads):
        thread.start()
        eventually(partial(_are_waiting, lab, number + 1), 5)
    holder.release()
    for thread in threads:
        thread.join()
    assert served == list(range(9))
    for client in (lab.client, *clients):
        client.close()


async def test_tasks_are_served_in_the_order_of_their_coming(server: RedisServer) -> None:
    """The same for tasks of one loop."""
    lab = Lab(server, "async")
    holder = lab.lock()
    await holder.acquire()
    served: list[int] = []

    async def work(number: int) -> None:
        async with lab.lock():
            served.append(number)

    tasks = []
    for number in range(9):
        tasks.append(asyncio.create_task(work(number)))
        await eventually_async(partial(_are_waiting, lab, number + 1), 5)
    await holder.release()
    await asyncio.gather(*tasks)
    assert served == list(range(9))
    await lab.close()


def test_waiting_costs_next_to_nothing(server: RedisServer) -> None:
    """Twenty who wait for a second ask about once; redis-py would ask two hundred times."""
    lab = Lab(server, "sync")
    holder = lab.lock()
    holder.acquire()
    done_by: list[float] = []

    def work() -> None:
        lock = lab.lock(sleep=30)
        assert lock.acquire()
        lock.release()
        done_by.append(time.monotonic())

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    eventually(lambda: lab.line().waiters == 20, 5)
    before = sum(calls(server).get(word, 0) for word in ("evalsha", "set", "get"))
    time.sleep(1.0)  # the second in question
    asked = sum(calls(server).get(word, 0) for word in ("evalsha", "set", "get")) - before
    assert asked <= 4
    released_at = time.monotonic()
    holder.release()
    for thread in threads:
        thread.join()
    assert max(done_by) - released_at < 5  # told, not found at the next try
    lab.client.close()


async def test_both_classes_exclude_each_other(lab: Lab) -> None:
    """A rolling deployment is safe: redis-py's holder keeps ours out, and the other way round."""
    theirs, ours = lab.their_lock(timeout=5), lab.lock(timeout=5, sleep=0.02)
    assert await done(theirs.acquire())
    assert await done(ours.acquire(blocking=False)) is False
    assert await done(ours.acquire(blocking_timeout=0.1)) is False
    await done(theirs.release())
    assert await done(ours.acquire())
    assert await done(theirs.acquire(blocking=False)) is False
    await done(ours.release())
    assert await done(theirs.acquire(blocking=False))
    await done(theirs.release())


def test_a_mixed_crowd_never_overlaps(server: RedisServer) -> None:
    """Threads with either class count one by one, blocking or not."""
    lab = Lab(server, "sync")
    inside: list[int] = []
    overlaps: list[int] = []
    counted: list[int] = []

    def work(number: int) -> None:
        mine = lab.new_client()
        kind = Lock if number % 3 else redis.lock.Lock
        for _ in range(12):
            lock = mine.lock(lab.name, timeout=10, sleep=0.002, lock_class=kind)
            while not lock.acquire(blocking=number % 2 == 0, blocking_timeout=5):
                time.sleep(0.001)
            overlaps.extend(inside)
            inside.append(number)
            counted.append(number)
            inside.remove(number)
            lock.release()
        mine.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert overlaps == []
    assert len(counted) == 8 * 12
    lab.client.close()


async def test_only_the_first_in_line_polls_a_stranger(lab: Lab) -> None:
    """While redis-py's own class holds, one of ours tries the key, the others wait."""
    theirs = lab.their_lock()
    assert await done(theirs.acquire())
    got: list[int] = []

    def wait_in_thread(number: int) -> None:
        lock = Lab(lab.server, "sync")
        lock.name = lab.name
        ours = lock.lock(sleep=0.1)
        assert ours.acquire()
        got.append(number)
        ours.release()
        lock.client.close()

    threads = [threading.Thread(target=wait_in_thread, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(eventually, lambda: lab.line().waiters == 4, 5)
    before = calls(lab.server)["evalsha"]
    await asyncio.sleep(0.5)
    asked = calls(lab.server)["evalsha"] - before
    assert 1 <= asked <= 12  # five tries, a second's renewals; five pollers would make 25
    await done(theirs.release())
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert sorted(got) == list(range(5))


async def test_the_end_of_a_strangers_key_is_not_overslept(lab: Lab) -> None:
    """Whoever polls knows when the key ends by itself, however long its sleep is."""
    started_at = time.monotonic()
    assert lab.ask("SET", lab.name, "x", "PX", 300)
    lock = lab.lock(sleep=5)
    assert await done(lock.acquire())
    assert 0.2 < time.monotonic() - started_at < 3
    await done(lock.release())


async def test_the_same_thread_may_wait_for_itself(lab: Lab) -> None:
    """As in redis-py: until the first lock expires, or the wait is over."""
    assert await done(lab.lock(timeout=1.5).acquire())
    assert await done(lab.lock().acquire(blocking_timeout=0.15)) is False
    second = lab.lock(timeout=5)
    assert await done(second.acquire())
    await done(second.release())


@pytest.mark.parametrize("name", ["", "a b\n", b"\xff\xfe", "ü" * 300, memoryview(b"seen")])
async def test_any_key_has_a_line(lab: Lab, name: Any) -> None:
    """Also one that holdfast would not have as a name."""
    if lab.kind == "sync" and isinstance(name, memoryview):
        name = bytes(name)
    lock = lab.client.lock(name, lock_class=lab.lock_class)
    assert await done(lock.acquire())
    again = lab.client.lock(name, lock_class=lab.lock_class)
    assert await done(again.acquire(blocking_timeout=0.15)) is False
    await done(lock.release())
    assert await done(again.acquire())
    await done(again.release())


def keepers() -> set[str]:
    """Name the keepers that are at work."""
    return {thread.name for thread in threading.enumerate() if "holdfast-keeper" in thread.name}


def test_a_pool_has_one_line_and_takes_it_along(server: RedisServer) -> None:
    """Clients on one pool share it; when the pool is gone, so are its connections and threads."""
    lab = Lab(server, "sync")
    others = keepers()
    pool = lab.client.connection_pool
    other = redis.Redis(connection_pool=pool)
    for client in (lab.client, other):
        holder = client.lock(lab.name, lock_class=Lock)
        holder.acquire()
        assert not lab.lock(other).acquire(blocking_timeout=0.15)  # by now there is a keeper
        holder.release()
    (keeper,) = keepers() - others
    lab.client.close()
    del lab, pool, other, client, holder
    gc.collect()
    eventually(lambda: keeper not in keepers(), 5, "the keeper's end")
