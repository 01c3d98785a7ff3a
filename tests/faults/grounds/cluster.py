"""Three masters that write everything down; the names are spread over them."""

import random
from typing import Self

from holdfast.testing.verify.torments import Scene, Torment
from tests.faults.ground import NAMES, PREFIX, QUARANTINE, Ground
from tests.faults.redis_faults import RedisFaults
from tests.servers.cluster import RedisCluster
from tests.servers.redis import RedisServer


class ClusterGround(Ground):
    """Three nodes: owners of names are killed, frozen and emptied, and their slots are moved."""

    name = "cluster"

    def __init__(self, cluster: RedisCluster | None = None) -> None:
        super().__init__()
        self._cluster = cluster or RedisCluster(appendonly="yes")

    def start(self) -> Self:
        """Start the nodes."""
        self._cluster.start()
        return self

    def close(self) -> None:
        """End the nodes."""
        self._cluster.close()

    def url(self) -> str:
        """Give the URL that names all nodes."""
        return self._cluster.url(quarantine=QUARANTINE)

    def torments(self) -> tuple[Torment, ...]:
        """List what can happen to the owner of a name, and to its slot."""
        faults = RedisFaults(self._owner, alone=False)
        every = (*faults.mild(), *faults.harsh())
        return (*(self._until_well(one) for one in every), self.slot_moved)

    def slot_moved(self, scene: Scene) -> None:
        """Move the slot of a name, with all it knows, to another node."""
        with scene.crew.fault("slot moved"):
            self._cluster.move_slot(self._slot(scene.dice))

    def _slot(self, dice: random.Random) -> int:
        return self._cluster.slot_of(f"{PREFIX}:{{{dice.choice(NAMES)}}}")

    def _owner(self, dice: random.Random) -> RedisServer:
        return self._cluster.owner(self._slot(dice))

    def _until_well(self, torment: Torment) -> Torment:
        """Let a fault count as on until all nodes call the cluster well again."""

        def tormented(scene: Scene) -> None:
            torment(scene)
            with scene.crew.fault("cluster recovering"):
                self._cluster.wait_until_well()

        tormented.__name__ = torment.__name__
        return tormented
