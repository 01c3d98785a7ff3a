"""A real cluster of three masters, and of three replicas where a test wants to lose a master.

It is put together with plain ``CLUSTER`` commands and is ready when every node says so. A new node
of a cluster waits two seconds before it calls the cluster well, so that is what starting costs.
"""

from typing import Self

from holdfast.testing.watching import eventually
from tests.servers.binaries import Binary
from tests.servers.configuration import Setting
from tests.servers.ports import HOST
from tests.servers.redis import Option, RedisServer, query, start_all
from tests.servers.scope import Scoped
from tests.servers.topology import acquainted, is_well, members, own_slots, owner_port

SLOTS = 16_384


class RedisCluster(Scoped):
    """Three masters, with a replica each if asked for; ``with`` starts and removes them."""

    def __init__(
        self,
        *,
        replicas: bool = False,
        masters: int = 3,
        node_timeout: float = 1.5,
        binary: Binary | None = None,
        **settings: Setting,
    ) -> None:
        """``node_timeout`` is how long a node may be silent before the others give it up."""
        self._settings: dict[str, Setting] = {
            "cluster_node_timeout": round(node_timeout * 1000),
            "cluster_replica_validity_factor": 0,  # however old its data, a replica takes over
            **settings,
        }
        self._binary = binary
        self.first_masters = [self._node() for _ in range(masters)]
        self.first_replicas = [self._node() for _ in range(masters if replicas else 0)]

    def _node(self) -> RedisServer:
        return RedisServer(cluster=True, binary=self._binary, **self._settings)  # type: ignore[arg-type]

    @property
    def nodes(self) -> list[RedisServer]:
        """Every node, running or not."""
        return self.first_masters + self.first_replicas

    @property
    def running(self) -> list[RedisServer]:
        """The nodes that are up."""
        return [node for node in self.nodes if node.running]

    def url(self, **options: Option) -> str:
        """Give the URL that names every node."""
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"redis+cluster://{hosts}{query(options)}"

    def start(self) -> Self:
        """Start the nodes, give each master its share of the slots, and make them meet."""
        start_all(self.nodes)
        first, *others = self.nodes
        count = len(self.first_masters)
        for number, node in enumerate(self.first_masters):
            begin, end = (SLOTS * edge // count for edge in (number, number + 1))
            node.ask("CLUSTER", "ADDSLOTSRANGE", begin, end - 1)
        for epoch, node in enumerate(self.nodes, 1):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)  # so that they need not quarrel for it
        for node in others:
            first.ask("CLUSTER", "MEET", HOST, node.port)
        everybody = {self.identity(node) for node in self.nodes}
        eventually(lambda: all(set(acquainted(node)) == everybody for node in self.nodes))
        for master, replica in zip(self.first_masters, self.first_replicas, strict=False):
            replica.ask("CLUSTER", "REPLICATE", self.identity(master))
        self.wait_until_well()
        return self

    def wait_until_well(self, within: float = 10.0) -> None:
        """Wait until every running node calls the cluster well and has its replicas in step."""
        eventually(lambda: all(is_well(node) for node in self.running), within, "a well cluster")
        listed = len(self.running)
        eventually(lambda: all(members(node) == listed for node in self.running), within)

    def identity(self, node: RedisServer) -> str:
        """Give the name under which the others know a node."""
        name: str = node.ask("CLUSTER", "MYID")
        return name

    def slot_of(self, key: str) -> int:
        """Give the slot that a key belongs to."""
        slot: int = self.running[0].ask("CLUSTER", "KEYSLOT", key)
        return slot

    def owner(self, slot: int) -> RedisServer:
        """Give the master that owns a slot, by its own word."""
        found = [node for node in self.running if slot in own_slots(node)]
        assert len(found) == 1, f"slot {slot} is owned by {len(found)} running nodes"
        return found[0]

    def masters(self) -> list[RedisServer]:
        """Give the masters of now, by their own word."""
        return [node for node in self.running if node.ask("ROLE")[0] == "master"]

    def replica_of(self, master: RedisServer) -> RedisServer:
        """Give the running replica of a master."""
        for node in self.running:
            role = node.ask("ROLE")
            if role[0] == "slave" and role[2] == master.port:
                return node
        raise LookupError(f"the master on port {master.port} has no replica")

    def begin_move(self, slot: int, to: RedisServer) -> None:
        """Open a slot's move: from here on its owner answers ``ASK`` for keys it does not have."""
        owner = self.owner(slot)
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", self.identity(owner))
        owner.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", self.identity(to))

    def move_keys(self, slot: int, to: RedisServer) -> int:
        """Carry the keys of a slot whose move has begun to its next owner; say how many."""
        owner = self.owner(slot)
        moved = 0
        while keys := owner.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
            owner.ask("MIGRATE", HOST, to.port, "", 0, 5000, "KEYS", *keys)
            moved += len(keys)
        return moved

    def finish_move(self, slot: int, to: RedisServer) -> None:
        """Close a move: the slot is the new owner's, and every node knows it."""
        owner = self.owner(slot)
        rest = [node for node in self.masters() if node not in {to, owner}]
        for node in (to, owner, *rest):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", self.identity(to))
        eventually(lambda: all(owner_port(node, slot) == to.port for node in self.running))

    def move_slot(self, slot: int, to: RedisServer | None = None) -> RedisServer:
        """Move a slot with its keys to another master, and give that one."""
        there = to or next(node for node in self.masters() if node is not self.owner(slot))
        self.begin_move(slot, there)
        self.move_keys(slot, there)
        self.finish_move(slot, there)
        return there

    def kill_owner(self, slot: int, within: float = 15.0) -> RedisServer:
        """Kill the master of a slot and give its replica, once that is master and all is well."""
        master = self.owner(slot)
        heir = self.replica_of(master)
        master.kill()
        eventually(lambda: heir.ask("ROLE")[0] == "master", within, "the replica's promotion")
        eventually(lambda: all(owner_port(node, slot) == heir.port for node in self.running))
        eventually(lambda: all(is_well(node) for node in self.running), within, "a well cluster")
        return heir

    def close(self) -> None:
        """Kill every node and leave nothing behind."""
        for node in self.nodes:
            node.close()
