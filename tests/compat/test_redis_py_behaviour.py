"""What redis-py documents of its ``Lock`` holds for ours: sync and async, decoding or not."""

import asyncio
import logging
import time
from threading import Thread
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.exceptions import LockError, LockNotOwnedError, ResponseError

from holdfast.compat.redis_py import AsyncLock, Lock
from tests.compat.lab import Lab, done, entered

BOTH_WAYS = pytest.mark.parametrize("how", [{"blocking": False}, {}], ids=["at once", "in line"])


@BOTH_WAYS
async def test_the_key_holds_the_token(any_lab: Lab, how: dict[str, Any]) -> None:
    """Without a timeout the key stays until it is released."""
    lock = any_lab.lock()
    assert await done(lock.acquire(**how)) is True
    assert await done(any_lab.client.get(any_lab.name)) == any_lab.text(lock.local.token)
    assert isinstance(lock.local.token, bytes)
    assert await done(any_lab.client.ttl(any_lab.name)) == -1
    assert await done(lock.release()) is None
    assert await done(any_lab.client.get(any_lab.name)) is None
    assert lock.local.token is None


@BOTH_WAYS
@pytest.mark.parametrize("thread_local", [True, False])
@pytest.mark.parametrize("token", ["test", b"test"], ids=["text", "bytes"])
async def test_a_token_can_be_given(
    any_lab: Lab,
    how: dict[str, Any],
    token: str | bytes,
    *,
    thread_local: bool,
) -> None:
    """It is kept as the client encodes it."""
    lock = any_lab.lock(thread_local=thread_local)
    assert await done(lock.acquire(token=token, **how))
    assert await done(any_lab.client.get(any_lab.name)) == any_lab.text(b"test")
    assert lock.local.token == b"test"
    await done(lock.release())
    assert lock.local.token is None


async def test_tokens_are_as_unlike_each_other_as_ever(lab: Lab) -> None:
    """Each acquire has a token of its own: 32 characters that nobody guesses."""
    tokens = set()
    for _ in range(3):
        async with entered(lab.lock()) as lock:
            tokens.add(lock.local.token)
    assert {len(token) for token in tokens} == {32}
    assert len(tokens) == 3


async def test_locked_is_about_anybody(any_lab: Lab) -> None:
    """It says whether the key is there, whoever put it there."""
    lock, other = any_lab.lock(), any_lab.lock()
    assert await done(lock.locked()) is False
    await done(lock.acquire())
    assert await done(lock.locked()) is True
    assert await done(other.locked()) is True
    await done(lock.release())
    assert await done(other.locked()) is False


async def test_owned_is_about_this_lock(any_lab: Lab) -> None:
    """It compares tokens."""
    lock, other = any_lab.lock(), any_lab.lock()
    assert await done(lock.owned()) is False
    await done(lock.acquire())
    assert await done(lock.owned()) is True
    assert await done(other.owned()) is False
    await done(any_lab.client.set(any_lab.name, "a"))
    assert await done(lock.owned()) is False


async def test_locks_compete(any_lab: Lab) -> None:
    """One at a time, whoever it is."""
    one, two = any_lab.lock(), any_lab.lock()
    assert await done(one.acquire(blocking=False))
    assert await done(two.acquire(blocking=False)) is False
    await done(one.release())
    assert await done(two.acquire())
    assert await done(one.acquire(blocking_timeout=0.15)) is False
    await done(two.release())


@BOTH_WAYS
@pytest.mark.parametrize("life, longest", [(10, 10_000), (9.5, 9_500)])
async def test_a_timeout_is_the_life_of_the_key(
    any_lab: Lab, how: dict[str, Any], life: float, longest: int
) -> None:
    """Seconds, also as a float."""
    lock = any_lab.lock(timeout=life)
    assert await done(lock.acquire(**how))
    assert longest - 1500 < await done(any_lab.client.pttl(any_lab.name)) <= longest
    await done(lock.release())


async def test_a_timeout_of_nothing_is_none(lab: Lab) -> None:
    """0 is no expiry, and so short that no millisecond is left is refused by the server."""
    lock = lab.lock(timeout=0)
    assert await done(lock.acquire())
    assert lab.ask("PTTL", lab.name) == -1
    with pytest.raises(LockNotOwnedError):
        await done(lock.extend(1))
    await done(lock.release())
    with pytest.raises(ResponseError, match="expire"):
        await done(lab.lock(timeout=0.0001).acquire())


async def test_an_expired_lock_passes_on(any_lab: Lab) -> None:
    """Who waits gets it when the timeout is over, and the first holder is told at its release."""
    first, second = any_lab.lock(timeout=0.3), any_lab.lock(timeout=5)
    started_at = time.monotonic()
    assert await done(first.acquire())
    assert await done(second.acquire())
    assert 0.3 < time.monotonic() - started_at < 5
    with pytest.raises(LockNotOwnedError):
        await done(first.release())
    assert await done(second.owned())
    await done(second.release())


async def test_a_blocking_timeout_is_kept(any_lab: Lab) -> None:
    """It gives up when the next try would come too late, and never later."""
    assert await done(any_lab.lock().acquire(blocking=False))
    wait, sleep = 0.4, 0.05
    started_at = time.monotonic()
    assert await done(any_lab.lock(sleep=sleep, blocking_timeout=wait).acquire()) is False
    assert wait - sleep < time.monotonic() - started_at < wait + 4


async def test_a_blocking_timeout_is_kept_in_line(any_lab: Lab) -> None:
    """The same behind a holder that stands in line itself."""
    holder = any_lab.lock()
    assert await done(holder.acquire())
    started_at = time.monotonic()
    assert await done(any_lab.lock().acquire(blocking_timeout=0.3)) is False
    assert 0.25 < time.monotonic() - started_at < 5
    await done(holder.release())


@pytest.mark.parametrize("how", [{"blocking": False}, {}], ids=["at once", "in line"])
@pytest.mark.parametrize(
    "terms", [{"sleep": 60, "blocking_timeout": 5}, {"blocking_timeout": 0}, {"blocking": False}]
)
async def test_who_has_no_second_try_returns_at_once(
    lab: Lab, how: dict[str, Any], terms: dict[str, Any]
) -> None:
    """A sleep longer than the whole wait leaves one try, as does not waiting at all."""
    holder = lab.lock()
    assert await done(holder.acquire(**how))
    started_at = time.monotonic()
    assert await done(lab.lock(**terms).acquire()) is False
    assert time.monotonic() - started_at < 4
    await done(holder.release())


async def test_what_a_call_says_goes_before_what_the_lock_says(lab: Lab) -> None:
    """``blocking`` and ``blocking_timeout`` of the call replace those of the lock."""
    assert await done(lab.lock().acquire(blocking=False))
    patient = lab.lock(blocking=False)
    started_at = time.monotonic()
    assert await done(patient.acquire(blocking=True, blocking_timeout=0.3)) is False
    assert time.monotonic() - started_at > 0.15
    started_at = time.monotonic()
    assert await done(lab.lock(blocking_timeout=30).acquire(blocking=False)) is False
    assert time.monotonic() - started_at < 5


def test_sleep_can_be_given_to_the_call(server: Any) -> None:
    """The sync twin takes it first, as redis-py's does."""
    lab = Lab(server, "sync")
    started_at = time.monotonic()
    assert lab.client.set(lab.name, "x", px=250)
    assert lab.lock(sleep=60).acquire(0.02, True, 5) is True
    assert 0.15 < time.monotonic() - started_at < 5
    lab.client.close()


async def test_it_is_a_context_manager(any_lab: Lab) -> None:
    """It gives the lock itself, and releases it."""
    async with entered(any_lab.lock(blocking_timeout=0.2)) as lock:
        assert await done(any_lab.client.get(any_lab.name)) == any_lab.text(lock.local.token)
    assert await done(any_lab.client.get(any_lab.name)) is None


async def test_a_context_manager_that_gets_nothing_raises(any_lab: Lab) -> None:
    """The words are redis-py's."""
    await done(any_lab.client.set(any_lab.name, "bar"))
    with pytest.raises(LockError, match="Unable to acquire lock within the time specified"):
        async with entered(any_lab.lock(blocking_timeout=0.12)):
            pytest.fail("the body ran without the lock")


async def test_a_release_error_can_be_a_log_line(
    any_lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """``raise_on_release_error`` decides about a lock that was lost or given back inside."""
    for lost in (True, False):
        for raises in (True, False):
            caplog.clear()
            lock = any_lab.lock(timeout=10, raise_on_release_error=raises)
            with caplog.at_level(logging.WARNING):
                try:
                    async with entered(lock):
                        if lost:
                            await done(any_lab.client.delete(any_lab.name))
                        else:
                            await done(lock.release())
                except LockError as error:
                    assert raises
                    assert isinstance(error, LockNotOwnedError) is lost  # noqa: PT017
                else:
                    assert not raises
                    assert "no longer owned" in caplog.text


async def test_releasing_what_is_not_locked_is_an_error(any_lab: Lab) -> None:
    """Never acquired, or released twice."""
    lock = any_lab.lock()
    with pytest.raises(LockError, match="Cannot release") as told:
        await done(lock.release())
    assert told.value.lock_name in (any_lab.name, None)
    await done(lock.acquire())
    await done(lock.release())
    with pytest.raises(LockError, match="Cannot release"):
        await done(lock.release())


@BOTH_WAYS
async def test_losing_a_lock_is_told_by_every_call(any_lab: Lab, how: dict[str, Any]) -> None:
    """Somebody else's value in the key is somebody else's lock; the token is cleared."""
    lock = any_lab.lock(timeout=10)
    assert await done(lock.acquire(**how))
    await done(any_lab.client.set(any_lab.name, "a"))
    with pytest.raises(LockNotOwnedError, match="Cannot extend a lock that's no longer owned"):
        await done(lock.extend(10))
    with pytest.raises(LockNotOwnedError, match="Cannot reacquire a lock that's no longer owned"):
        await done(lock.reacquire())
    with pytest.raises(LockNotOwnedError, match="Cannot release a lock that's no longer owned"):
        await done(lock.release())
    assert lock.local.token is None
    assert await done(any_lab.client.get(any_lab.name)) == any_lab.text(b"a")


def test_errors_name_the_lock(server: Any) -> None:
    """In sync, where redis-py does so."""
    lab = Lab(server, "sync")
    lock = lab.lock(timeout=10)
    for call in (lock.release, lambda: lock.extend(1), lock.reacquire):
        with pytest.raises(LockError) as told:
            call()
        assert told.value.lock_name == lab.name
    lock.acquire()
    lab.client.delete(lab.name)
    for call in (lambda: lock.extend(1), lock.reacquire, lock.release):
        with pytest.raises(LockNotOwnedError) as told:
            call()
        assert told.value.lock_name == lab.name
    lab.client.close()


@BOTH_WAYS
@pytest.mark.parametrize("more", [10, 10.0])
async def test_extending_adds(any_lab: Lab, how: dict[str, Any], more: float) -> None:
    """The new time comes on top of what is left."""
    lock = any_lab.lock(timeout=10)
    assert await done(lock.acquire(**how))
    assert await done(lock.extend(more)) is True
    assert 18_000 < await done(any_lab.client.pttl(any_lab.name)) <= 20_000
    await done(lock.release())


@BOTH_WAYS
async def test_extending_can_replace(any_lab: Lab, how: dict[str, Any]) -> None:
    """The new time stands instead of what is left, also when it is less."""
    lock = any_lab.lock(timeout=10)
    assert await done(lock.acquire(**how))
    assert await done(lock.extend(10.5, replace_ttl=True)) is True
    assert 10_000 < await done(any_lab.client.pttl(any_lab.name)) <= 10_500
    assert await done(lock.extend(2, True)) is True
    assert await done(any_lab.client.pttl(any_lab.name)) <= 2_000
    await done(lock.release())


@BOTH_WAYS
async def test_reacquiring_gives_a_whole_life_again(any_lab: Lab, how: dict[str, Any]) -> None:
    """Whatever became of the expiry meanwhile."""
    lock = any_lab.lock(timeout=10)
    assert await done(lock.acquire(**how))
    assert await done(any_lab.client.pexpire(any_lab.name, 5000))
    assert await done(lock.reacquire()) is True
    assert 8_000 < await done(any_lab.client.pttl(any_lab.name)) <= 10_000
    await done(lock.release())


async def test_prolonging_needs_a_lock_and_a_timeout(any_lab: Lab) -> None:
    """The words are redis-py's."""
    lock = any_lab.lock(timeout=10)
    with pytest.raises(LockError, match="Cannot extend an unlocked lock"):
        await done(lock.extend(10))
    with pytest.raises(LockError, match="Cannot reacquire an unlocked lock"):
        await done(lock.reacquire())
    lock = any_lab.lock()
    await done(lock.acquire())
    with pytest.raises(LockError, match="Cannot extend a lock with no timeout"):
        await done(lock.extend(10))
    with pytest.raises(LockError, match="Cannot reacquire a lock with no timeout"):
        await done(lock.reacquire())
    await done(lock.release())


async def test_a_token_is_seen_by_its_thread_alone(lab: Lab) -> None:
    """Unless ``thread_local=False``: then whoever has the lock object can release it."""
    for thread_local in (True, False):
        lock = lab.lock(thread_local=thread_local)
        await done(lock.acquire())
        seen: list[object] = []
        looking = Thread(
            target=lambda lock, seen: seen.append(getattr(lock.local, "token", None)),
            args=(lock, seen),
        )
        looking.start()
        looking.join()
        assert seen == [None if thread_local else lock.local.token]
        await done(lock.release())


def test_another_thread_can_release(server: Any) -> None:
    """With ``thread_local=False`` the line passes on, too."""
    lab = Lab(server, "sync")
    lock = lab.lock(thread_local=False)
    lock.acquire()
    releasing = Thread(target=lock.release)
    releasing.start()
    releasing.join()
    assert lab.lock().acquire(blocking_timeout=5)
    lab.client.close()


async def test_they_are_redis_pys_own_kind() -> None:
    """Subclasses with the same signature: annotations and ``isinstance`` go on working."""
    assert issubclass(Lock, redis.lock.Lock)
    assert issubclass(AsyncLock, redis.asyncio.lock.Lock)
    client = redis.Redis()
    made = Lock(client, "x", 1, 0.2, False, 3, False, False)
    facts = (made.name, made.timeout, made.sleep, made.blocking, made.blocking_timeout)
    assert facts == ("x", 1, 0.2, False, 3)
    assert (made.thread_local, made.raise_on_release_error) == (False, False)


async def test_a_cancelled_release_can_be_repeated(server: Any) -> None:
    """As in redis-py the token stays until the key is gone."""
    lab = Lab(server, "async")
    lock = lab.lock()
    await lock.acquire()
    releasing = asyncio.create_task(lock.release())
    await asyncio.sleep(0)
    releasing.cancel()
    await asyncio.wait((releasing,))  # redis-py may be done before it notices
    if lock.local.token is not None and await lock.owned():
        await lock.release()
    assert await lock.locked() is False
    assert await lab.lock().acquire(blocking_timeout=5)
    await lab.close()
