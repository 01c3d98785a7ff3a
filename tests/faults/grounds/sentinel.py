"""A master, its replica and three sentinels; a grant counts when the replica has it.

With ``replicas=1`` a fail-over forgets nothing that anybody relies on, so everything is promised;
only what was taken of a rate is not waited for.
"""

from typing import Self

from holdfast.testing.verify.torments import SHORT, Scene, Torment
from holdfast.testing.watching import eventually
from tests.faults.ground import QUARANTINE, Ground
from tests.faults.redis_faults import RedisFaults, has_mark
from tests.servers.sentinel import RedisSentinels


class SentinelGround(Ground):
    """Five servers: the master is killed, frozen and relieved."""

    name = "sentinel"

    def __init__(self) -> None:
        super().__init__()
        self._servers = RedisSentinels()

    def start(self) -> Self:
        """Start all five."""
        self._servers.start()
        return self

    def close(self) -> None:
        """End all five."""
        self._servers.close()

    def url(self) -> str:
        """Give the URL of the sentinels."""
        return self._servers.url(quarantine=QUARANTINE, replicas=1)

    def torments(self) -> tuple[Torment, ...]:
        """List what can happen to masters, and to those who watch them."""
        faults = RedisFaults(lambda _: self._servers.master(), alone=True)
        mild = (faults.thrown_out, faults.scripts_forgotten, faults.flushed)
        changes = (self.master_killed, self.master_relieved, self.master_frozen)
        others = (self.master_emptied, self.replica_frozen, self.sentinel_frozen)
        return (*mild, *changes, *others)

    def master_killed(self, scene: Scene) -> None:
        """Kill the master; the replica takes over, and the old one comes back as its replica."""
        with scene.crew.fault("master killed", loses="rates"):
            self._servers.fail_over()
            self._servers.bring_back()

    def master_relieved(self, scene: Scene) -> None:
        """Order a fail-over, as an operator would."""
        with scene.crew.fault("master relieved", loses="rates"):
            self._servers.fail_over(by_killing=False)
            self._servers.wait_until_well()

    def master_frozen(self, scene: Scene) -> None:
        """Stop the master until another has taken over; it wakes up believing to be one."""
        with scene.crew.fault("master frozen", loses="rates"):
            old, new = self._servers.master(), self._servers.replica()
            old.pause()
            try:
                self._servers.wait_for_master(new)
            finally:
                old.resume()
            self._servers.wait_until_well()

    def master_emptied(self, scene: Scene) -> None:
        """Restart the master, which forgets everything; its replica copies that and takes over."""
        with scene.crew.fault("empty master relieved", loses="records"):
            self._servers.master().restart()
            self._servers.wait_until_well()
            self._servers.fail_over(by_killing=False)
            self._servers.wait_until_well()
            eventually(lambda: has_mark(self._servers.master()), 20, "the end of the quarantine")

    def replica_frozen(self, scene: Scene) -> None:
        """Stop the replica for a while: nobody confirms anything."""
        with scene.crew.fault("replica frozen"):
            replica = self._servers.replica()
            replica.pause()
            try:
                scene.wait(SHORT)
            finally:
                replica.resume()
            self._servers.wait_until_well()

    def sentinel_frozen(self, scene: Scene) -> None:
        """Stop one of the sentinels for a while."""
        with scene.crew.fault("sentinel frozen"):
            sentinel = scene.dice.choice(self._servers.sentinels)
            sentinel.pause()
            try:
                scene.wait(SHORT)
            finally:
                sentinel.resume()
            self._servers.wait_until_well()
