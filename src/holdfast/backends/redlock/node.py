"""One server of the quorum as a client sees it: who it is, and whether it answers.

Shared by all connections of the client. A server that does not answer is not asked on every call:
a *breaker* opens, and somebody looks in the background whether it is back. What it should have
been told meanwhile (votes to be given back) is kept for it, as long as it can matter. No I/O
here.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from holdfast import clock
from holdfast.backends.redis import faults as redis_faults
from holdfast.backends.redis.requests import command
from holdfast.backends.redis.survey import _info, _setting, _too_old
from holdfast.backends.redis.target import Target
from holdfast.backends.redlock.scripts import NAMES, script
from holdfast.rules import backoff
from holdfast.rules.messages import Release, Withdraw
from holdfast.rules.quorum_messages import Undo

KEPT_FOR = 60.0
KEPT = 1000
"""So much of what a server was not told is kept for it, for as long as an id is buried."""

LONGEST_PROBE = 2.0
LONGEST_PAUSE = 1.0
"""How often, at least, it is looked whether a silent server is back."""


class Self:
    """What a server says of itself on a connection. ``run`` names its process."""

    __slots__ = ("age", "durable", "policy", "run", "seen_at")

    def __init__(self, raw: list[Any], target: Target) -> None:
        info = _info(raw[0])
        version = info.get("redis_version", "")
        if _too_old(version):
            raise redis_faults.too_old(target.shown, version)
        if "run_id" not in info:
            raise redis_faults.refused(
                target.shown,
                "NOPERM whether it has restarted must be known: let this user call INFO",
            )
        for loaded in raw[2:]:
            if isinstance(loaded, Exception):
                raise redis_faults.refused(target.shown, str(loaded))
        self.run = info["run_id"].encode()
        self.age = int(info.get("uptime_in_seconds", "0")) - 1  # it counts whole seconds
        self.seen_at = clock.now()
        full = info.get("maxmemory", "0") != "0"
        self.policy = info.get("maxmemory_policy", "unknown") if full else "noeviction"
        self.durable = info.get("aof_enabled") == "1" and _setting(raw[1]) == "always"

    def age_now(self) -> float:
        """Say for how long its process has been up."""
        return self.age + clock.now() - self.seen_at


QUESTIONS = (
    command("INFO"),
    command("CONFIG", "GET", "appendfsync"),
    *(command("SCRIPT", "LOAD", script(name).body) for name in NAMES),
)
"""Asked on every new connection: it may lead to another process than the last."""


class Node:
    """One server."""

    def __init__(self, number: int, name: str, target: Target) -> None:
        self.number = number
        self.name = name
        self.target = target._replace(shown=name)
        self.where = target.seeds[0]
        self.self: Self | None = None
        self._untold: deque[tuple[Release | Withdraw | Undo, float]] = deque(maxlen=KEPT)
        self.failures = 0  # since it answered last
        self._probe_at = 0.0
        self._probed_until = 0.0  # somebody is looking; not a lock, which a fork could leave locked
        self.fault = ""  # why it is not asked; empty while it is

    def failed(self, why: str) -> None:
        """Open the breaker."""
        self.fault = why
        pause = backoff.pause(self.failures, 1.0, longest=LONGEST_PAUSE)
        self.failures += 1
        self._probe_at = clock.now() + pause

    def answered(self) -> None:
        """Close the breaker."""
        if self.fault:
            self.fault = ""
            self.failures = 0

    def begin_probe(self) -> bool:
        """Whether it is time to look if it is back; then one caller does, and says when done."""
        now = clock.now()
        if not self.fault or now < self._probe_at or now < self._probed_until:
            return False
        self._probed_until = now + LONGEST_PROBE
        return True

    def end_probe(self) -> None:
        """Say that the look is over."""
        self._probed_until = 0.0

    def remember(self, request: object) -> None:
        """Keep what could not be told, if it is worth it: only ends are."""
        if isinstance(request, (Release, Withdraw, Undo)):
            self._untold.append((request, clock.now() + KEPT_FOR))

    def take_untold(self) -> list[Release | Withdraw | Undo]:
        """Give what the server was not told and should be."""
        found: list[Release | Withdraw | Undo] = []
        now = clock.now()
        while self._untold:
            try:
                request, until = self._untold.popleft()
            except IndexError:  # another thread was quicker
                break
            if until > now:
                found.append(request)
        return found
