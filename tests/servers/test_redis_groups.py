"""The cluster moves slots and promotes replicas, the sentinels fail over; both on real servers."""

import hiredis
import pytest

from tests.servers.cluster import SLOTS, RedisCluster
from tests.servers.sentinel import RedisSentinels


def test_a_cluster_moves_a_slot() -> None:
    """A slot goes to another master with its keys; in between its owner answers ASK."""
    with RedisCluster() as cluster:
        assert len({cluster.owner(slot).port for slot in (0, SLOTS // 2, SLOTS - 1)}) == 3
        slot = cluster.slot_of("a")
        owner = cluster.owner(slot)
        owner.ask("SET", "a", 1)
        there = next(node for node in cluster.masters() if node is not owner)
        cluster.begin_move(slot, there)
        with pytest.raises(hiredis.ReplyError, match=f"ASK {slot} .*:{there.port}"):
            owner.ask("GET", "{a}b")
        assert cluster.move_keys(slot, there) == 1
        cluster.finish_move(slot, there)
        assert cluster.owner(slot) is there
        assert there.ask("GET", "a") == "1"
        with pytest.raises(hiredis.ReplyError, match=f"MOVED {slot} .*:{there.port}"):
            owner.ask("GET", "a")
        assert cluster.move_slot(slot, owner) is owner
        assert owner.ask("GET", "a") == "1"
        assert cluster.url(x=1).startswith("redis+cluster://127.0.0.1:")


def test_a_cluster_promotes_a_replica() -> None:
    """When a master is killed its replica has the slots and the data; it comes back as replica."""
    with RedisCluster(replicas=True) as cluster:
        slot = cluster.slot_of("a")
        old = cluster.owner(slot)
        old.ask("SET", "a", 1)
        assert cluster.replica_of(old).port != old.port
        heir = cluster.kill_owner(slot)
        assert heir.ask("GET", "a") == "1"
        assert cluster.owner(slot) is heir
        old.restart()
        cluster.wait_until_well()
        assert cluster.replica_of(heir) is old


@pytest.mark.parametrize("by_killing", [True, False])
def test_sentinels_fail_over(*, by_killing: bool) -> None:
    """The replica becomes the master when that is killed, or when it is ordered."""
    with RedisSentinels(password="hush") as sentinels:
        old = sentinels.master()
        old.ask("SET", "a", 1)
        old.ask("WAIT", 1, 5000)
        new = sentinels.fail_over(by_killing=by_killing)
        assert new is not old
        assert new.ask("GET", "a") == "1"
        assert sentinels.master() is new
        assert sentinels.url().endswith("/mymaster/0")
        assert old.running is not by_killing
