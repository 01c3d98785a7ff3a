"""In Cluster: how old the memory of each node is, asked before anything else.

No script reaches both a name and its node's mark there, so a client keeps the node's quarantine
itself: no connection is used before its node has said how old its memory is, and each letter tells
the node for how long it must not grant anything. What was found out belongs to the connection, not
to the address: another connection to it may lead to another process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults
from holdfast.backends.redis.keys import KeyRing
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.scripts import script
from holdfast.backends.redis.target import Target, Where
from holdfast.backends.redis.topology import ClusterMap, redirected

Questions = Generator[bytes, Any, float]
"""Gives commands, is sent their replies, and ends with the time until which nothing is granted."""

REDIRECTIONS = 2
"""A node from which so many slots have gone has most likely lost them all: see who has them."""

_UPTIME = re.compile(r"uptime_in_seconds:(\d+)")


class Births:
    """What one client knows of the memories of its cluster's nodes."""

    def __init__(
        self,
        target: Target,
        topology: ClusterMap,
        keys: KeyRing,
        young: Callable[[], None],
        forgotten: Callable[[], None],
    ) -> None:
        """``young`` is called when a node is in quarantine, ``forgotten`` when one is another."""
        self._target = target
        self._topology = topology
        self._keys = keys
        self._young = young
        self._forgotten = forgotten
        self._marks: dict[bytes, int] = {}

    def key(self, where: Where) -> bytes:
        """Give the key of a node's mark; empty while no slot of it is known."""
        slots = self._topology.slots_of(where)
        return self._keys.birth_on(slots) if slots else b""

    def questions(self, where: Where) -> Questions:
        """Ask a node until it has answered; one that cannot answer now is not to be used."""
        left: set[int] = set()  # slots that it had, as far as we knew
        while slots := self._topology.slots_of(where) - left:
            key = self._keys.birth_on(slots)
            quarantine = int(self._target.quarantine * 1e6)
            raw = yield command("EVAL", script("birth_only").body, 1, key, quarantine)
            if not isinstance(raw, Exception):
                mark, held_back = raw
                return self._held_until(held_back) if held_back > 0 else self._settled(key, mark)
            if str(raw).startswith("NOPERM"):
                break
            left.add(self._redirected(where, str(raw)))
            if len(left) > REDIRECTIONS:
                raise faults.refused(self._target.shown, "TRYAGAIN its slots have gone elsewhere")
        # No mark can be had (it has no slot yet, the map is being drawn anew, or this user may not
        # ask), so only its age can tell whether it may have forgotten something.
        raw = yield command("INFO", "server")
        if isinstance(raw, Exception):
            return 0.0  # the docs say what a user must be allowed for this
        found = _UPTIME.search(raw.decode() if isinstance(raw, bytes) else str(raw))
        age = int(found[1]) - 1 if found else 0  # whole seconds: it may be one second younger
        held_back = (self._target.quarantine - age) * 1e6
        return self._held_until(held_back) if held_back > 0 else 0.0

    def _redirected(self, where: Where, text: str) -> int:
        """Give the slot that has gone elsewhere; anything else that it says is a refusal."""
        sign = text.partition(" ")[0]
        if sign not in ("MOVED", "ASK"):
            raise faults.refused(self._target.shown, text)
        slot, owner = redirected(text, where)
        if sign == "MOVED":
            self._topology.moved(slot, owner)
        return slot

    def _held_until(self, held_back: float) -> float:
        self._young()
        return clock.now() + held_back / 1e6

    def _settled(self, key: bytes, mark: int) -> float:
        before = self._marks.get(key, mark)
        self._marks[key] = mark
        if before != mark:
            self._forgotten()
        return 0.0
