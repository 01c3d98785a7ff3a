"""Names are shown while their slot is being moved: a node then refuses who names many keys."""

import secrets
from collections.abc import Iterator

import pytest

from holdfast import BackendUnavailable, clock
from holdfast.backends.redis.backend import connect
from holdfast.backends.redis.keys import KeyRing
from holdfast.rules.messages import Claim, Granted, Reply, Waiting, Want, Withdraw
from holdfast.runtimes.step import run
from holdfast.settings import address
from holdfast.testing.suite.backend import MODES, Mode
from holdfast.testing.suite.party import Party
from holdfast.values import Holder, LockInfo
from tests.backends.redis.stage import world_at
from tests.servers.cluster import RedisCluster
from tests.servers.ports import HOST
from tests.servers.redis import RedisServer

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

HOLDER = Holder("0123456789abcdef", "host", 1)
WANT = Want("lock", 1, 1, 60.0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    """Three masters."""
    with RedisCluster() as running:
        yield running


class Names:
    """One that is held, and one that somebody waits for as well; both for a minute, untended."""

    def __init__(self, cluster: RedisCluster, prefix: str) -> None:
        self._cluster = cluster
        self._ring = KeyRing(prefix)
        self.held, self.awaited = (f"{kind}-{secrets.token_hex(4)}" for kind in ("held", "awaited"))
        self._wire = connect(address(cluster.url(quarantine=0)), prefix).sync_wire(HOLDER)
        for name, number, answer in (
            (self.held, 0, Granted),
            (self.awaited, 0, Granted),
            (self.awaited, 1, Waiting),
        ):
            claim = Claim(name, f"{name}-{number}", WANT, HOLDER, "", 60.0)
            assert isinstance(self._ask(claim), answer)

    def _ask(self, request: Claim | Withdraw) -> Reply:
        return run(self._wire.ask(request, clock.now() + 10))

    def close(self) -> None:
        """Leave nothing behind."""
        for name, number in ((self.awaited, 1), (self.awaited, 0), (self.held, 0)):
            self._ask(Withdraw(name, f"{name}-{number}"))
        self._wire.close()

    def begin(self, name: str) -> RedisServer:
        """Begin to move the slot of a name; give the node that it is moved to."""
        slot = self._ring.of(name).slot
        owner = self._cluster.owner(slot)
        new = next(node for node in self._cluster.masters() if node is not owner)
        self._cluster.begin_move(slot, new)
        return new

    def carry(self, name: str, new: RedisServer, *suffixes: str) -> None:
        """Carry some of the keys of a name, or all of them."""
        slot = self._ring.of(name).slot
        if not suffixes:
            self._cluster.move_keys(slot, new)
            return
        record = self._ring.of(name).all[0].decode()
        keys = [record + suffix for suffix in suffixes]
        self._cluster.owner(slot).ask("MIGRATE", HOST, new.port, "", 0, 5000, "KEYS", *keys)

    def finish(self, name: str, new: RedisServer) -> None:
        """End the move."""
        self.carry(name, new)
        self._cluster.finish_move(self._ring.of(name).slot, new)

    async def are_shown(self, party: Party) -> bool:
        """Whether a listing shows both of them whole, and so does a look at each."""
        listed = await party.locks()
        looked_at = [await party.show(name) for name in sorted((self.held, self.awaited))]
        whole = [(self.awaited, 1, 1), (self.held, 1, 0)]
        return _counts(listed) == _counts(looked_at) == whole


def _counts(infos: list[LockInfo]) -> list[tuple[str, int, int]]:
    return [(one.name, len(one.holders), len(one.queue)) for one in infos]


@pytest.mark.parametrize("which", ["held", "awaited"])
async def test_names_are_shown_while_their_slot_moves(
    cluster: RedisCluster, mode: Mode, which: str
) -> None:
    """Before any key was carried, when all were, and when every node knows where the slot is."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        party = world.party(call_limit=3)
        names = Names(cluster, world.prefix)
        moving: str = getattr(names, which)
        new = names.begin(moving)
        assert await names.are_shown(party)
        names.carry(moving, new)
        assert await names.are_shown(party)
        names.finish(moving, new)
        assert await names.are_shown(party)
        names.close()


@pytest.mark.parametrize("first", [("",), (":queue",), (":queue", ":patience", ":waiters")])
async def test_half_a_name_is_not_shown(
    cluster: RedisCluster, mode: Mode, first: tuple[str, ...]
) -> None:
    """Who holds it may be on one node and who waits on the other: asked again, it is known."""
    async with world_at(cluster.url(quarantine=0), mode) as world:
        party = world.party(call_limit=1)
        names = Names(cluster, world.prefix)
        new = names.begin(names.awaited)
        names.carry(names.awaited, new, *first)
        with pytest.raises(
            BackendUnavailable, match="slot of the cluster is being moved"
        ) as refused:
            await party.locks()
        assert refused.value.transient
        names.finish(names.awaited, new)
        assert await names.are_shown(party)
        names.close()
