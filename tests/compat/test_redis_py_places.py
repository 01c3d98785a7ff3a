"""A place in line ends with its key: prolonged, shortened, deleted by hand, released elsewhere."""

import asyncio
import time

import pytest
import redis

from holdfast.compat.redis_py import key, watch
from holdfast.testing.watching import eventually_async
from tests.compat.lab import Lab, Waiter, done

SOON = 4.0
"""Well below what waiting for the end of a place would take."""


@pytest.mark.parametrize("life", [None, 3600])
async def test_a_key_deleted_by_hand_frees_the_lock(
    lab: Lab, life: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder lives on and never lets go; who waits gets the lock all the same."""
    monkeypatch.setattr(watch, "EVERY", 0.1)
    holder = lab.lock(timeout=life)
    assert await done(holder.acquire())
    waiter = await Waiter(lab).in_line()
    await asyncio.sleep(0.3)
    assert not waiter.got_at
    lab.ask("DEL", lab.name)
    deleted_at = time.monotonic()
    assert await waiter.served() - deleted_at < SOON
    assert holder.local.token


async def test_a_place_lives_on_with_its_key(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those behind a long holder are not called before it is over."""
    monkeypatch.setattr(watch, "EVERY", 0.05)
    holder = lab.lock()
    assert await done(holder.acquire())
    await asyncio.sleep(1.2)
    await eventually_async(lambda: (lab.line().expires_in or 0) > 9.5, 5.0, "all of ten")
    await done(holder.release())
    assert not lab.line().held


async def test_a_lock_that_is_forgotten_does_not_hold_up_the_line(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place ends by itself: then the first in line tries the key, as with redis-py."""
    monkeypatch.setattr(watch, "EVERY", 0.05)
    await done(lab.lock(timeout=30).acquire())
    await asyncio.sleep(0.2)
    (before,) = lab.line().holders
    await asyncio.sleep(0.3)
    (after,) = lab.line().holders
    assert after.expires_in < before.expires_in - 0.2


async def test_a_token_released_elsewhere_passes_the_line_on(lab: Lab) -> None:
    """Another process that was given the token: by ``do_release``, or put into ``local``."""
    for how in ("do_release", "local"):
        holder = lab.lock()
        assert await done(holder.acquire())
        waiter = await Waiter(lab).in_line()
        client = lab.new_client()
        elsewhere = lab.lock(client)
        if how == "do_release":
            await done(elsewhere.do_release(holder.local.token.decode()))
        else:
            elsewhere.local.token = holder.local.token
            await done(elsewhere.release())
        released_at = time.monotonic()
        assert await waiter.served() - released_at < SOON
        await done(client.close() if lab.kind == "sync" else client.aclose())


async def test_the_line_follows_an_extension(lab: Lab) -> None:
    """Who waits is not called before the key is over, and then at once."""
    holder = lab.lock(timeout=1.5)
    assert await done(holder.acquire())
    waiter = await Waiter(lab).in_line()
    assert await done(holder.extend(0.7))
    extending_at = time.monotonic()
    assert await done(holder.extend(3.5, replace_ttl=True))
    (place,) = lab.line().holders
    assert place.expires_in > 2.2
    assert 3.5 < await waiter.served() - extending_at < 3.5 + SOON


async def test_the_line_follows_a_long_extension(lab: Lab) -> None:
    """A short place becomes a long one at once, before anybody has looked."""
    holder = lab.lock(timeout=1)
    assert await done(holder.acquire())
    assert await done(holder.extend(60))
    (place,) = lab.line().holders
    assert place.expires_in > 9
    await done(holder.release())


async def test_the_line_follows_a_reacquire(lab: Lab) -> None:
    """A whole life again, for the place as well."""
    holder = lab.lock(timeout=8)
    assert await done(holder.acquire())
    await asyncio.sleep(1.5)
    assert await done(holder.reacquire())
    (place,) = lab.line().holders
    assert place.expires_in > 6.5
    await done(holder.release())


async def test_a_shortened_lock_does_not_hold_up_the_line(lab: Lab) -> None:
    """Nothing shortens a place, so it is given back."""
    holder = lab.lock(timeout=8)
    assert await done(holder.acquire())
    waiter = await Waiter(lab).in_line()
    shortening_at = time.monotonic()
    assert await done(holder.extend(0.4, replace_ttl=True))
    assert 0.4 < await waiter.served() - shortening_at < 0.4 + SOON


async def test_a_look_that_fails_changes_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place is neither prolonged nor given back on an error, and the next look may succeed."""
    monkeypatch.setattr(watch, "EVERY", 0.05)
    holder = lab.lock()
    assert await done(holder.acquire())
    failed: list[bytes] = []
    look = key.Key.look

    async def fail(_key: key.Key, token: bytes) -> float | None:
        failed.append(token)
        raise redis.exceptions.TimeoutError

    with monkeypatch.context() as troubled:
        troubled.setattr(key.Key, "look", fail)
        await eventually_async(lambda: len(failed) > 10)
        (place,) = lab.line().holders
        assert place.expires_in < 9.8
    assert key.Key.look is look
    await eventually_async(lambda: lab.line().holders[0].expires_in > 9.8)
    await done(holder.release())
