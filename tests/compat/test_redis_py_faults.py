"""What the key says holds, whatever becomes of replies, of callers and of the line."""

import asyncio
import logging
import time
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

import holdfast
from holdfast.compat.redis_py import Lock, key
from holdfast.compat.redis_py.line import PREFIX
from holdfast.compat.redis_py.lines import _loop_lines, _thread_lines
from holdfast.testing.watching import eventually_async
from tests.compat.lab import Lab, Waiter, done
from tests.servers.proxy import Proxy
from tests.servers.redis import RedisServer


@pytest.mark.parametrize("how", [{"blocking": False}, {}], ids=["at once", "in line"])
@pytest.mark.parametrize("life", [None, 5])
async def test_a_lost_reply_is_a_lock_all_the_same(
    lab: Lab, how: dict[str, Any], life: float | None
) -> None:
    """redis-py asks again, and finds the token that it has just put there."""
    warm = lab.lock()
    await done(warm.acquire())  # the server knows the scripts now
    await done(warm.release())
    with Proxy(lab.server.address) as proxy:
        client = lab.new_client(port=proxy.port, retry=_again(lab))
        proxy.drop_reply(key._TAKE.sha.encode())
        lock = lab.lock(client, timeout=life)
        assert await done(lock.acquire(**how))
        assert proxy.dropped_replies == 1
        assert await done(lock.owned())
        await done(lock.release())
        await done(client.close() if lab.kind == "sync" else client.aclose())


async def test_a_token_that_was_given_proves_nothing(lab: Lab) -> None:
    """Two who use the same token still exclude each other, so a lost reply is no lock."""
    first, second = lab.lock(), lab.lock()
    assert await done(first.acquire(token="job-7", blocking=False))
    assert await done(second.acquire(token="job-7", blocking=False)) is False
    assert await done(second.acquire(token="job-7", blocking_timeout=0.15)) is False
    await done(first.release())


async def test_a_server_that_forgot_the_scripts_is_told_again(lab: Lab) -> None:
    """``SCRIPT FLUSH`` at any moment costs a round trip."""
    lock = lab.lock(timeout=5)
    for call in (lock.acquire, lambda: lock.extend(5), lock.reacquire, lock.release):
        lab.ask("SCRIPT", "FLUSH")
        await done(call())
    assert await done(lock.locked()) is False


async def test_who_waits_in_line_outlives_a_restart() -> None:
    """The server is killed and comes back with its data; the waiter gets its turn."""
    with RedisServer(durable=True) as server:
        lab = Lab(server, "sync")
        holder = lab.lock(timeout=30)
        assert holder.acquire()
        waiter = await Waiter(lab).in_line()
        server.restart(killed=True)
        await eventually_async(lambda: lab.line().waiters == 1, 5, "its place again")
        lab.new_client().lock(lab.name, lock_class=Lock).do_release(holder.local.token)
        await waiter.served()
        lab.client.close()


async def test_a_waiter_that_is_cancelled_leaves_the_line(server: RedisServer) -> None:
    """Nobody waits for it, and nothing of it is left."""
    lab = Lab(server, "async")
    holder = lab.lock()
    assert await holder.acquire()
    waiting = asyncio.create_task(lab.lock().acquire())
    await eventually_async(lambda: lab.line().waiters == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert lab.line().waiters == 0
    await holder.release()
    assert not lab.line().held
    await lab.close()


@pytest.mark.parametrize("how", [{"blocking": False}, {}], ids=["at once", "in line"])
async def test_a_caller_that_is_stopped_leaves_no_key(
    lab: Lab, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled or interrupted after the server has done it and before the reply is in."""
    kind: Any = key.SyncKey if lab.kind == "sync" else key.AioKey
    ask = kind._ask

    async def stopped(self: Any, script: Any, *words: Any) -> Any:
        answer = await ask(self, script, *words)
        if script is key._TAKE:
            raise KeyboardInterrupt if lab.kind == "sync" else asyncio.CancelledError
        return answer

    monkeypatch.setattr(kind, "_ask", stopped)
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        await done(lab.lock().acquire(**how))
    assert lab.ask("EXISTS", lab.name) == 0
    assert not lab.line().held


async def test_cancelling_is_not_held_up_by_a_silent_server(server: RedisServer) -> None:
    """The clean-up has a second."""
    lab = Lab(server, "async")
    with Proxy(server.address) as proxy:
        client = lab.new_client(port=proxy.port, retry=_again(lab))
        await client.ping()
        proxy.silence()
        taking = asyncio.create_task(lab.lock(client).acquire(blocking=False))
        await asyncio.sleep(0.1)
        started_at = time.monotonic()
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert time.monotonic() - started_at < 5
        await client.aclose()
    await lab.close()


async def test_without_a_line_the_key_is_polled(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """A user with no more rights than redis-py's lock needs is told so once, and works."""
    needs = "+evalsha +script|load +get +set +del +pttl +pexpire +hello +client +ping +info"
    rules = ["default on nopass ~* &* +@all", f"app on >hush ~key:* {needs}"]
    with RedisServer(user=rules) as server:
        inner = Lab(server, lab.kind)
        client = inner.new_client(username="app", password="hush")
        first, second = inner.lock(client, timeout=2), inner.lock(client, timeout=5)
        with caplog.at_level(logging.WARNING, "holdfast"):
            assert await done(first.acquire())
            assert await done(second.acquire(blocking_timeout=0.2)) is False
            assert await done(second.acquire())
            await done(second.release())
        said = [record for record in caplog.records if "no line" in record.getMessage()]
        assert len(said) == 1
        await done(client.close() if lab.kind == "sync" else client.aclose())
        await inner.close()


async def test_the_line_may_fail_at_any_moment(lab: Lab) -> None:
    """Every call works while the line's keys are out of reach, and the line comes back."""
    rules = ["default on nopass ~* &* +@all", "app on >hush ~* &* +@all"]
    with RedisServer(user=rules) as server:
        inner = Lab(server, lab.kind)
        client = inner.new_client(username="app", password="hush")
        lock, other = inner.lock(client, timeout=5), inner.lock(client, timeout=5)
        for call in (lambda: lock.extend(1), lock.reacquire, None):
            assert await done(lock.acquire())
            assert inner.line().held
            server.ask("ACL", "SETUSER", "app", "resetkeys", "~key:*")
            if call is not None:
                assert await done(call()) is True
            await done(lock.release())
            assert await done(other.acquire(blocking_timeout=5))
            await done(other.do_release(other.local.token))
            token = "from elsewhere"
            assert await done(other.do_acquire(token))
            await done(other.do_release(token))
            server.ask("ACL", "SETUSER", "app", "allkeys")
            lines = _thread_lines if lab.kind == "sync" else _loop_lines
            lines[client.connection_pool]._out_until = 0.0
            await eventually_async(lambda: not inner.line().held, 8, "the end of the place")
        await done(client.close() if lab.kind == "sync" else client.aclose())
        await inner.close()


async def test_a_place_lost_while_polling_is_taken_again(lab: Lab) -> None:
    """Whoever polls keeps its place, and stands in line anew when it was taken away."""
    assert lab.ask("SET", lab.name, "a stranger's")
    waiter = Waiter(lab, timeout=2, sleep=0.05)
    waiter.start()
    await eventually_async(lambda: lab.line().held)
    await asyncio.sleep(2.5)
    (first,) = lab.line().holders  # longer than it lives at a time
    with holdfast.Client(lab.server.url(quarantine=0), prefix=PREFIX) as operator:
        operator.break_lock(lab.name, token=first.token, force=True)
    await eventually_async(lambda: [place.token for place in lab.line().holders] > [first.token])
    lab.ask("DEL", lab.name)
    await waiter.served()


async def test_who_is_first_in_line_keeps_its_place_when_a_stranger_is_released(lab: Lab) -> None:
    """A token released elsewhere ends the place of that token only."""
    beside = lab.lock()
    assert await done(beside.acquire(blocking=False))
    waiter = Waiter(lab, timeout=5, sleep=0.05)
    waiter.start()
    await eventually_async(lambda: lab.line().held)
    (place,) = lab.line().holders
    await done(lab.lock().do_release(beside.local.token))
    assert await waiter.served()
    assert lab.line().token == place.token


class Wrapped:
    """A client that only looks like one of redis-py."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


async def test_a_client_of_an_unknown_kind_has_no_line(lab: Lab) -> None:
    """Nobody can tell where it leads, so its locks are polled."""
    client: Any = Wrapped(lab.client)
    lock = lab.lock_class(client, lab.name, timeout=0.3)
    assert await done(lock.acquire())
    second = lab.lock_class(client, lab.name, sleep=0.02)
    assert await done(second.acquire())
    await done(second.do_release(second.local.token))
    stranger = lab.lock_class(client, lab.name)
    with pytest.raises(redis.exceptions.LockNotOwnedError):
        await done(stranger.do_release("nobody's"))


def _again(lab: Lab) -> Any:
    """Ask again without a pause."""
    if lab.kind == "sync":
        return Retry(NoBackoff(), 3)
    return redis.asyncio.retry.Retry(NoBackoff(), 3)
