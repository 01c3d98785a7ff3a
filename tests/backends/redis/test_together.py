"""Several names in a cluster: one script where they share a slot, otherwise one by one."""

from itertools import count

import pytest

from holdfast import Client
from holdfast.backends.redis.keys import slot_of
from holdfast.backends.redis.office import Office
from holdfast.backends.redis.target import target_of
from holdfast.rules.many import ClaimAll, Together
from holdfast.rules.messages import Claim, Granted, Want
from holdfast.settings import address
from holdfast.values import Holder
from tests.backends.redis.differential_wire import Asker
from tests.conformance.redis_backends import REDIS_CLUSTER


def neighbours() -> tuple[str, str]:
    """Find two names that live in one slot."""
    by_slot: dict[int, str] = {}
    for number in count():
        name = f"n{number}"
        other = by_slot.setdefault(slot_of(name), name)
        if other != name:
            return other, name
    raise AssertionError("there are only so many slots")


def claim_all(*names: str) -> ClaimAll:
    """Claim these."""
    holder = Holder("client", "host", 1)
    want = Want("lock", 1, 1, 5.0)
    return ClaimAll(tuple(Claim(name, f"id of {name}", want, holder, "", 0.0) for name in names))


def test_only_one_slot_can_be_reached_by_one_script() -> None:
    """Outside of a cluster there is but one place."""
    cluster = Office(target_of(address("redis+cluster://localhost:7000")), "p")
    single = Office(target_of(address("redis://localhost:6379")), "p")
    assert not cluster.is_apart(claim_all(*neighbours()))
    assert cluster.is_apart(claim_all("a", "b"))
    assert not single.is_apart(claim_all("a", "b"))


@pytest.mark.timeout(60)  # a cluster of three has to come up first
def test_neighbours_are_taken_in_one_step(tmp_path: object) -> None:
    """On a real cluster the script is carried out by the node of their slot."""
    url = REDIS_CLUSTER.fresh(tmp_path)  # type: ignore[arg-type]  # it needs no folder
    with Asker(url) as asker:
        reply = asker.ask(claim_all(*neighbours()))  # type: ignore[arg-type]  # one more kind
        assert isinstance(reply, Together)
        assert all(isinstance(one, Granted) for one in reply.standings)
        with Client(url, prefix=asker.prefix) as client:
            assert {one.name for one in client.locks()} == set(neighbours())
            for name in neighbours():
                client.break_lock(name, token=client.show(name).token, force=True)
