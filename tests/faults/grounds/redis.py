"""One server that writes everything down, behind a proxy, with a clock that can be set."""

import tempfile
import time
from pathlib import Path

from holdfast.testing.proxy.proxy import Proxy
from holdfast.testing.verify.torments import ON_THE_NETWORK, Scene, Torment
from holdfast.testing.watching import eventually
from tests.faults.clock import WallClock
from tests.faults.ground import QUARANTINE, SLOW_TTL, OneServer, quiet
from tests.faults.redis_faults import RedisFaults
from tests.servers.binaries import chosen
from tests.servers.redis import RedisServer


class RedisGround(OneServer):
    """One server: everything can be done to it."""

    name = "redis"

    def __init__(self, quarantine: str = QUARANTINE) -> None:
        self._quarantine = quarantine
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-clock-")
        self._clock: WallClock | None = None
        why_not = WallClock.why_not(chosen())
        if not why_not:
            self._clock = WallClock(Path(self._folder.name) / "clock")
        environment = self._clock.environment if self._clock else None
        self._server = RedisServer(durable=True, environment=environment)
        super().__init__(self._server, Proxy(self._server.address))
        if why_not:
            self.left_out.append(why_not)

    def close(self) -> None:
        """End both, and remove the clock."""
        super().close()
        self._folder.cleanup()

    def url(self) -> str:
        """Give the URL of the proxy."""
        return self._server.url(port=self.proxy.port, quarantine=self._quarantine)

    def torments(self) -> tuple[Torment, ...]:
        """List all that can happen to one server."""
        faults = RedisFaults(lambda _: self._server, alone=True)
        clocks = (self.clock_ahead, self.clock_back) if self._clock else ()
        return (*ON_THE_NETWORK, *faults.mild(), *faults.harsh(), *clocks)

    def clock_ahead(self, scene: Scene) -> None:
        """Set the server's clock forward: every lease ends too early, which is not promised for."""
        with scene.crew.fault("clock ahead", forgets="some"):
            self._turn(scene.dice.uniform(0.5, 5.0))
        quiet()

    def clock_back(self, scene: Scene) -> None:
        """Set the server's clock back: leases live longer, which only costs time.

        Nothing else happens until it has caught up: a clock that was set back *and* a memory that
        was lost are too much for tokens.
        """
        seconds = scene.dice.uniform(0.5, 2.0)
        with scene.crew.fault("clock back", stretch=seconds):
            self._turn(-seconds)
            time.sleep(seconds + SLOW_TTL)

    def _turn(self, seconds: float) -> None:
        assert self._clock is not None
        self._clock.turn(seconds)
        offset = self._clock.offset

        def has_turned() -> bool:
            now = float(".".join(part.rjust(6, "0") for part in self._server.ask("TIME")))
            return abs(now - time.time() - offset) < 0.2

        eventually(has_turned, 5, "the server's clock to turn")
