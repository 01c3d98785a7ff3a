"""Three masters with a replica each; a grant counts when the replica has it.

With ``replicas=1`` a fail-over forgets nothing that anybody relies on, so everything is promised;
only what was taken of a rate is not waited for.
"""

from holdfast.testing.verify.torments import Scene, Torment
from holdfast.testing.watching import eventually
from tests.faults.ground import QUARANTINE
from tests.faults.grounds.cluster import ClusterGround
from tests.faults.redis_faults import RedisFaults
from tests.servers.cluster import RedisCluster
from tests.servers.topology import owner_port


class ClusterReplicasGround(ClusterGround):
    """Six nodes: owners of names are killed and frozen until their replicas have taken over."""

    name = "cluster-replicas"

    def __init__(self) -> None:
        super().__init__(RedisCluster(replicas=True))

    def url(self) -> str:
        """Give the URL that names all nodes."""
        return self._cluster.url(quarantine=QUARANTINE, replicas=1)

    def torments(self) -> tuple[Torment, ...]:
        """List what makes a replica take over, and what does not."""
        faults = RedisFaults(self._owner, alone=False)
        mild = (faults.thrown_out, faults.scripts_forgotten)
        return (*map(self._until_well, mild), self.owner_killed, self.owner_frozen, self.slot_moved)

    def owner_killed(self, scene: Scene) -> None:
        """Kill the owner of a name; its replica takes over, and it comes back as a replica."""
        with scene.crew.fault("owner killed", loses="rates"):
            slot = self._slot(scene.dice)
            old = self._cluster.owner(slot)
            self._cluster.kill_owner(slot)
            old.restart()
            self._cluster.wait_until_well()

    def owner_frozen(self, scene: Scene) -> None:
        """Stop the owner of a name until its replica has taken over; it wakes up as its owner."""
        with scene.crew.fault("owner frozen", loses="rates"):
            slot = self._slot(scene.dice)
            old = self._cluster.owner(slot)
            heir = self._cluster.replica_of(old)
            old.pause()
            try:
                eventually(lambda: owner_port(heir, slot) == heir.port, 15, "the promotion")
            finally:
                old.resume()
            self._cluster.wait_until_well()
