"""The truth: redis-py's own key, which holds the token of whoever has the lock.

Every question is one script, hence one round trip, and touches that one key only. It travels
through the user's own client, with no command that redis-py's lock would not use, and what that
raises is the user's to see. Nothing here knows of the line (``line``): the key alone decides.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from hashlib import sha1
from math import inf
from typing import Any, NamedTuple, TypeAlias

from redis.exceptions import NoScriptError, RedisError

Name: TypeAlias = str | bytes | memoryview

PROMPTLY = 1.0
"""How long taking a doubtful key back may hold up a task that is being cancelled."""


class _Script(NamedTuple):
    text: str
    sha: str


def _script(text: str) -> _Script:
    # The protocol's own name for a script, not a secret.
    return _Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


# A token that was made for this very call can be in the key only because an earlier copy of the
# call put it there, and its reply was lost: redis-py sends a command again when a connection
# breaks. A token that the user chose may be somebody else's too, so that proves nothing.
_TAKE = _script("""
local token, life, made_for_this_call = ARGV[1], ARGV[2], ARGV[3] == '1'
local taken
if life == '' then
    taken = redis.call('SET', KEYS[1], token, 'NX')
else
    taken = redis.call('SET', KEYS[1], token, 'NX', 'PX', life)
end
if taken then
    return false
end
if made_for_this_call and redis.pcall('GET', KEYS[1]) == token then
    if life ~= '' then
        redis.call('PEXPIRE', KEYS[1], life)
    end
    return false
end
return redis.call('PTTL', KEYS[1])
""")

_RELEASE = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
return redis.call('DEL', KEYS[1])
""")

_EXTEND = _script("""
local left = redis.call('PTTL', KEYS[1])
if left < 0 or redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return false
end
local life = tonumber(ARGV[2])
if ARGV[3] == '0' then
    life = life + left
end
redis.call('PEXPIRE', KEYS[1], life)
return life
""")

_REACQUIRE = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
""")

_LOOK = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return false
end
return redis.call('PTTL', KEYS[1])
""")


class Key:
    """One key on one server. How it is asked is up to the twins below."""

    __slots__ = ("_redis", "name")

    def __init__(self, redis: Any, name: Name) -> None:
        self._redis = redis
        self.name = name

    async def take(self, token: bytes, life: int | None, *, made_for_this_call: bool) -> float:
        """Put the token there for ``life`` milliseconds: 0 when it is there now.

        Otherwise say for how many seconds the key, in other hands, may stay as it is: ``inf`` if
        nothing ends it but its holder.
        """
        mine = "1" if made_for_this_call else ""
        left = await self._ask(_TAKE, token, "" if life is None else life, mine)
        return 0.0 if left is None else _span(left)

    async def release(self, token: bytes) -> bool:
        """Delete the key if it holds the token."""
        return bool(await self._ask(_RELEASE, token))

    async def extend(self, token: bytes, by: int, *, replace: bool) -> float | None:
        """Add milliseconds to the key's life, or replace it; give that, ``None`` if not ours."""
        life = await self._ask(_EXTEND, token, by, "1" if replace else "0")
        return None if life is None else life / 1000

    async def reacquire(self, token: bytes, life: int) -> bool:
        """Give the key a whole life again if it holds the token."""
        return bool(await self._ask(_REACQUIRE, token, life))

    async def look(self, token: bytes) -> float | None:
        """Say for how many seconds the key will hold the token; ``None`` if it does not."""
        left = await self._ask(_LOOK, token)
        return None if left is None else _span(left)

    async def undo(self, token: bytes) -> None:
        """Take the token out again, whether or not it is there, if the server answers."""
        with suppress(RedisError, OSError):
            await self.release(token)

    def encoded(self, text: str | bytes | memoryview) -> bytes:
        """Give the bytes that the user's client makes of a name or a token."""
        return bytes(self._redis.get_encoder().encode(text))

    async def _ask(self, script: _Script, *words: bytes | str | int) -> Any:
        raise NotImplementedError


class SyncKey(Key):
    """Asked on the caller's thread."""

    __slots__ = ()

    async def _ask(self, script: _Script, *words: bytes | str | int) -> Any:
        try:
            return self._redis.evalsha(script.sha, 1, self.name, *words)
        except NoScriptError:
            self._redis.script_load(script.text)
            return self._redis.evalsha(script.sha, 1, self.name, *words)


class AioKey(Key):
    """Asked by a task."""

    __slots__ = ()

    async def undo(self, token: bytes) -> None:
        """Like the sync one, for a second at most: somebody waits to be cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PROMPTLY):
                await super().undo(token)

    async def _ask(self, script: _Script, *words: bytes | str | int) -> Any:
        try:
            return await self._redis.evalsha(script.sha, 1, self.name, *words)
        except NoScriptError:
            await self._redis.script_load(script.text)
            return await self._redis.evalsha(script.sha, 1, self.name, *words)


def _span(milliseconds: int) -> float:
    """Read a ``PTTL``: -1 never ends; a key that is just gone may be asked for again at once."""
    return inf if milliseconds == -1 else max(milliseconds, 1) / 1000
