"""Every ground there is, by the name that the command line and the tests know it by."""

from collections.abc import Callable

from tests.faults.ground import Ground
from tests.faults.grounds.cluster import ClusterGround
from tests.faults.grounds.cluster_replicas import ClusterReplicasGround
from tests.faults.grounds.postgres import PostgresGround
from tests.faults.grounds.redis import RedisGround
from tests.faults.grounds.sentinel import SentinelGround
from tests.faults.grounds.sqlite import SqliteGround

_EVERY: tuple[type[Ground], ...] = (
    SqliteGround,
    RedisGround,
    SentinelGround,
    ClusterGround,
    ClusterReplicasGround,
    PostgresGround,
)
GROUNDS: dict[str, Callable[[], Ground]] = {ground.name: ground for ground in _EVERY}
