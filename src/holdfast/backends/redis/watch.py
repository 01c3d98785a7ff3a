"""Keeps an eye on the sentinels: an old master may think for seconds that it still is one.

Its connections work, and it grants. So the keeper, while it has something to keep, asks a sentinel
once a second who the master is; whatever is asked after that goes to the new one. Sentinels tell
each other within two seconds, so after about three all clients agree.
"""

from __future__ import annotations

from itertools import cycle

from holdfast import clock
from holdfast.backends.redis.link import Link
from holdfast.backends.redis.target import Target
from holdfast.backends.redis.topology import Sentinels
from holdfast.errors import BackendUnavailable

EVERY = 1.0
PATIENCE = 0.3
"""A silent sentinel is left for the next one before it costs a lease its renewal."""


class SentinelWatch:
    """The keeper's own line to one of the sentinels."""

    def __init__(self, target: Target, sentinels: Sentinels) -> None:
        self._sentinels = sentinels
        self._turns = cycle(target.seeds)
        self._link: Link | None = None
        self._look_at = 0.0

    def look(self) -> float:
        """Ask, if it is time, and say when to ask again; who does not answer loses its turn."""
        now = clock.now()
        if now < self._look_at:
            return self._look_at
        self._look_at = now + EVERY
        try:
            if self._link is None:
                self._link = self._sentinels.call(next(self._turns), now + PATIENCE)
            self._sentinels.ask(self._link, clock.now() + PATIENCE)
        except BackendUnavailable:
            self.close()
        return self._look_at

    def close(self) -> None:
        """Hang up."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
