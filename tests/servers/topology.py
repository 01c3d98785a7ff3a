"""What one node of a cluster says about the cluster: every node has a view of its own."""

from collections.abc import Iterator
from itertools import chain

from tests.servers.redis import RedisServer


def acquainted(node: RedisServer) -> Iterator[str]:
    """Name the nodes that a node has shaken hands with."""
    for line in node.ask("CLUSTER", "NODES").splitlines():
        name, _, flags, _, _, _, _, link, *_ = line.split()
        if "handshake" not in flags and link == "connected":
            yield name


def _shards(node: RedisServer) -> Iterator[tuple[range, list[int]]]:
    """Give the ranges of slots as a node sees them, and the ports that serve each, master first."""
    for begin, end, *servers in node.ask("CLUSTER", "SLOTS"):
        yield range(begin, end + 1), [server[1] for server in servers]


def owner_port(node: RedisServer, slot: int) -> int:
    """Give the port of the master that a node would send a client to; 0 if it knows none."""
    return next((ports[0] for slots, ports in _shards(node) if slot in slots), 0)


def own_slots(node: RedisServer) -> set[int]:
    """Give the slots that a node calls its own."""
    return set(
        chain.from_iterable(slots for slots, ports in _shards(node) if ports[0] == node.port)
    )


def members(node: RedisServer) -> int:
    """Count the servers, masters and replicas, that a node lists for the slots."""
    return len({port for _, ports in _shards(node) for port in ports})


def is_well(node: RedisServer) -> bool:
    """Say whether a node calls the cluster well and, as a replica, is in step with its master."""
    role = node.ask("ROLE")
    in_step = role[0] == "master" or role[3] == "connected"
    return in_step and "cluster_state:ok" in node.ask("CLUSTER", "INFO")
