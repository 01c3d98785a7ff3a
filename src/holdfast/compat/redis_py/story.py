"""Taking, prolonging and giving back, told once for threads and tasks.

Stand in line; try the key; poll it only while somebody has it who is not in line. The key decides:
whatever becomes of the line, nobody holds without the key, and nobody waits for a line alone for
longer than a place in it lives. Counterparts: ``key`` (the truth), ``line`` (who tries next).
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from holdfast.compat.redis_py.key import Key
from holdfast.compat.redis_py.line import LIFE, Line, Place, span
from holdfast.ports import Runtime

BARELY = 0.001
"""How much later than the last moment of another's key it is tried again."""


class Terms(NamedTuple):
    """What one acquire asks for. ``life`` is in milliseconds, as the key has it."""

    token: bytes
    made_for_this_call: bool
    life: int | None
    sleep: float
    wait: float | None

    @property
    def one_try(self) -> bool:
        """Whether redis-py itself would not get round to a second try."""
        return self.wait is not None and self.sleep >= self.wait

    @property
    def lives_for(self) -> float:
        """How many seconds the key will live."""
        return inf if self.life is None else self.life / 1000


async def try_once(key: Key, runtime: Runtime, terms: Terms) -> Place | None:
    """Take the key if it is free: at once, past the line."""
    left = await _take(key, runtime, terms)
    return None if left else Place(key, terms.token)


async def wait_for(key: Key, line: Line, runtime: Runtime, terms: Terms) -> Place | None:
    """Take the key when it is our turn and nobody has it; ``None`` when the wait is over."""
    place = Place(key, terms.token, line)
    stop_at = inf if terms.wait is None else runtime.now() + terms.wait
    taken = False
    try:
        taken = await _take_in_turn(place, line, runtime, terms, stop_at)
    finally:
        if not taken:
            await runtime.finish(line.leave(place))
    return place if taken else None


async def release(
    key: Key, runtime: Runtime, token: bytes, place: Place | None, line: Line | None
) -> bool:
    """Delete the key, then pass the line on; ``False`` if the token was not in the key.

    ``line`` is given for a token that was not taken here: whoever took it stands in line for it.
    """
    # First the key: whoever is told by the line finds it free. If this raises, the place stays
    # with the token, for another try; it ends when the key is seen to be gone.
    released = await key.release(token)
    if place is not None and place.line is not None:
        await runtime.finish(place.line.leave(place))
    elif line is not None and released:
        await runtime.finish(line.pass_on(Place(key, token)))
    return released


async def _take_in_turn(
    place: Place, line: Line, runtime: Runtime, terms: Terms, stop_at: float
) -> bool:
    key = place.key
    polled = False
    while True:
        if not place.claim_id:  # at first, and when the place was lost while polling
            await line.join(place, terms.lives_for, stop_at)
        # Tried also when the wait in line was in vain: the line may be wrong, the key is not.
        left = await _take(key, runtime, terms)
        if not left:
            break
        polled = True
        pause = min(terms.sleep, left + BARELY)
        again_at = runtime.now() + pause
        if again_at > stop_at:
            return False
        await _pause(place, line, runtime, again_at, span(terms.lives_for))
    try:
        # The place is as old as the polling was long, and a long life is looked after.
        if polled or terms.lives_for > LIFE:
            await line.follow(place, terms.lives_for)
    except BaseException:
        await runtime.finish(key.undo(terms.token))  # ours beyond doubt, and nobody will know
        raise
    return True


async def _pause(place: Place, line: Line, runtime: Runtime, until: float, life: float) -> None:
    """Sleep without losing the place."""
    while (now := runtime.now()) < until:
        if place.claim_id and place.ends_at - now < life / 2:
            await line.keep(place, life)
        await runtime.sleep(min(until - now, life / 3))


async def _take(key: Key, runtime: Runtime, terms: Terms) -> float:
    """Try the key once; see ``Key.take``. A caller that was stopped leaves no key behind."""
    try:
        mine = terms.made_for_this_call
        return await key.take(terms.token, terms.life, made_for_this_call=mine)
    except Exception:  # the server's word, or its silence: the user's to see, as in redis-py
        raise
    except BaseException:
        # Cancelled or interrupted, and the reply may be under way. A token that the user chose may
        # be in the key for somebody else, so it stays.
        if terms.made_for_this_call:
            await runtime.finish(key.undo(terms.token))
        raise
