"""Where our users wait: a holdfast lock beside each key, held for as long as the key is.

Whoever has it is the next to try the key, and who stands behind is told when it passes on. It
decides nothing: where it cannot be had, or is lost, its owner tries the key without it. So no call
here raises, and a place ends by itself within ``LIFE`` unless somebody has just seen that its key
is still there (``watch``).
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from math import inf
from typing import Protocol
from unicodedata import category

from holdfast.compat.redis_py.key import Key
from holdfast.errors import BackendUnavailable, HoldfastError, LockBusy
from holdfast.flows.acquire import acquire
from holdfast.flows.order import Order
from holdfast.flows.session import Session, ask_until
from holdfast.observe.logs import logger
from holdfast.ports import Runtime
from holdfast.rules import lease as rule
from holdfast.rules.messages import Break, Granted, Item, Look, Release, Renew, Renewed, Seen, Want
from holdfast.runtimes.engine import Engine
from holdfast.values import NAME_LIMIT

PREFIX = "holdfast-redis-py"

LIFE = 10.0
"""How long a place lives at a time: so long a key that was deleted by hand can hold up the line."""

SHORTEST = 0.1
"""A place for a key that lives even shorter: it must be long enough to be granted."""

OUT_FOR = 10.0
"""For how long nobody asks for a place after the line was not to be had."""


class Watch(Protocol):
    """Whoever looks, now and then, whether the keys of some places are still there."""

    def add(self, place: Place) -> None:
        """Look after ``place`` from now on, for as long as anybody else refers to it."""
        ...

    def discard(self, place: Place) -> None:
        """Look after it no longer."""
        ...


class Place:
    """Where somebody who wants a key, or has it, stands: in the line, or beside it (no claim)."""

    __slots__ = ("__weakref__", "claim_id", "ends_at", "key", "line", "name", "number", "token")

    def __init__(self, key: Key, token: bytes, line: Line | None = None) -> None:
        self.key = key
        self.token = token
        self.line = line
        self.name = line_name(key.encoded(key.name))
        self.claim_id = ""
        self.number = 0
        self.ends_at = -inf  # on this host's clock; never later than the line itself thinks


class Line:
    """All lines of one server, for the users of one connection pool."""

    def __init__(self, engine: Engine, watch: Watch) -> None:
        self._engine = engine
        self._watch = watch
        self._out_until = -inf

    @property
    def runtime(self) -> Runtime:
        """Time, and waiting."""
        return self._session.runtime

    @property
    def _session(self) -> Session:
        return self._engine.session  # a forked child has another one

    async def join(self, place: Place, life: float, stop_at: float) -> None:
        """Wait until it is the turn of ``place``, until ``stop_at``, or until there is no line."""
        now = self.runtime.now()
        if now < self._out_until or now >= stop_at:
            return
        # Detached: the thread or task that takes it need not be the one that gives it back, may
        # stand in line twice, and its end is nobody's loss.
        want = Want("lock", 1, 1, span(life), mark(place.token), detached=True)
        wait = None if stop_at == inf else stop_at - now
        order = Order(place.name, want, wait, renew=False)
        try:
            state = await acquire(self._session, order, ("", 0))
        except LockBusy:
            return  # the key may be free all the same: the caller looks
        except HoldfastError as error:
            self._give_up(error)
            return
        place.claim_id, place.number, place.ends_at = state.claim_id, state.token, state.deadline

    async def keep(self, place: Place, life: float) -> None:
        """Let a place live for ``life`` from now; without a claim afterwards if it was lost."""
        if not place.claim_id:
            return
        session = self._session
        request = Renew(place.name, (Item(place.claim_id, place.number, span(life)),))
        try:
            by = session.runtime.now() + session.call_limit
            reply, asked_at = await ask_until(session, request, by)
        except BackendUnavailable as error:
            self._give_up(error)
            if session.runtime.now() >= place.ends_at:
                place.claim_id = ""
            return
        answer = reply.answers[0] if isinstance(reply, Renewed) else reply
        if isinstance(answer, Granted):
            place.ends_at = rule.deadline(asked_at, answer.remaining)
        else:
            place.claim_id = ""

    async def follow(self, place: Place, life: float) -> None:
        """Let a place live for as long as its key will, which is ``life`` from now."""
        if not place.claim_id:
            return
        left = place.ends_at - self.runtime.now()
        if life < left - SHORTEST:
            await self.leave(place)  # nothing shortens a place, and who is next polls till then
        elif life > LIFE:
            if left < LIFE / 2:  # else the first look comes in time
                await self.keep(place, life)
            self._watch.add(place)
        else:
            await self.keep(place, life)

    async def leave(self, place: Place) -> None:
        """Pass the line on. What the server does not confirm, the keeper says again."""
        claim_id, place.claim_id = place.claim_id, ""
        if not claim_id:
            return
        self._watch.discard(place)
        session = self._session
        request = Release(place.name, claim_id)
        now = session.runtime.now()
        until = max(place.ends_at, now) + rule.PATIENCE
        try:
            if now < self._out_until:
                session.leave(request, until)
            else:
                await ask_until(session, request, now + session.call_limit)
        except BackendUnavailable as error:
            self._give_up(error)
            session.leave(request, until)
        except BaseException:
            session.leave(request, until)
            raise

    async def pass_on(self, place: Place) -> None:
        """Pass the line on for a token that was taken elsewhere and released here."""
        session = self._session
        if session.runtime.now() < self._out_until:
            return
        try:
            by = session.runtime.now() + session.call_limit
            seen, _ = await ask_until(session, Look(place.name), by)
            holders = seen.locks[0].holders if isinstance(seen, Seen) else ()
            for held in holders:
                if held.metadata == mark(place.token):
                    reason = "its key was released by somebody else"
                    request = Break(place.name, held.token, reason, force=True)
                    await ask_until(session, request, by)
        except HoldfastError as error:
            self._give_up(error)

    def _give_up(self, error: HoldfastError) -> None:
        """Do without the line for a while: a server in trouble is not asked twice as often."""
        now = self.runtime.now()
        if now >= self._out_until:
            logger.warning(
                "no line for redis-py locks, so they are polled for %d s: %s", OUT_FOR, error
            )
        self._out_until = now + OUT_FOR


class NoLine(Line):
    """For a client whose server holdfast cannot find by itself: everybody tries the key."""

    def __init__(self) -> None:
        """Have nothing."""

    async def join(self, place: Place, life: float, stop_at: float) -> None:
        """Return at once."""

    async def pass_on(self, place: Place) -> None:
        """Return at once."""


def span(life: float) -> float:
    """Say how long a place lives whose key will live for ``life``."""
    return min(max(life, SHORTEST), LIFE)


def mark(token: bytes) -> str:
    """Give what everybody may see of a token: enough to know it again, not enough to use it."""
    return f'{{"for":"{sha256(token).hexdigest()[:16]}"}}'


def line_name(key: bytes) -> str:
    """Name the line of a key: like the key, unless holdfast has no such name."""
    with suppress(UnicodeDecodeError):
        name = key.decode()
        plain = name.isprintable() or not any(category(character) == "Cc" for character in name)
        if plain and 0 < len(key) <= NAME_LIMIT:
            return name
    return f"sha256:{sha256(key).hexdigest()}"
