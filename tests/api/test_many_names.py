"""``lock_all`` beyond the suite: as a decorator, dropped, and what it says of itself."""

import gc
from collections.abc import Iterator

import pytest

from holdfast import AsyncClient, Client, LockLost, Misuse
from holdfast.testing.watching import eventually


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client on a space of its own."""
    with Client("memory://many-names") as made:
        yield made
        assert made.locks() == []


def test_a_decorator_fills_in_every_name(client: Client) -> None:
    """Placeholders stand for arguments; names that come out equal are locked once."""
    seen: list[list[str]] = []

    @client.lock_all(["account:{source}", "account:{target}"])
    def transfer(source: int, target: int) -> int:
        seen.append([one.name for one in client.locks()])
        return source + target

    assert transfer(2, target=1) == 3
    assert transfer(4, 4) == 8
    assert seen == [["account:1", "account:2"], ["account:4"]]


@pytest.mark.anyio
async def test_an_async_decorator() -> None:
    """The twin takes coroutine functions."""
    async with AsyncClient("memory://many-names") as client:

        @client.lock_all(["a", "b"])
        async def work() -> int:
            return len(await client.locks())

        assert await work() == 2
        with pytest.raises(Misuse, match="not an async def"):
            client.lock_all(["a"])(lambda: None)  # type: ignore[arg-type,return-value]


def test_a_dropped_set_ends(client: Client) -> None:
    """A set that nobody refers to is given back, with a warning for each of its leases."""
    kept = [client.lock_all(["a", "b"]).acquire()]
    with pytest.warns(ResourceWarning, match="dropped without being released") as told:
        kept.clear()
    assert len(told) == 2
    eventually(lambda: not client.locks(), 8.0, "free names")


def test_one_lease_keeps_the_company(client: Client) -> None:
    """Whoever keeps only one of the leases still hears when another is lost."""
    leases = client.lock_all(["a", "b"]).acquire()
    kept, other = leases.leases["a"], leases.leases["b"]
    token = other.token
    del leases
    gc.collect()
    client.break_lock("b", token=token, reason="of the test")
    eventually(lambda: kept.lost, 8.0, "the loss of the other")
    for lease in (kept, other):
        with pytest.raises(LockLost):
            lease.release()
    eventually(lambda: not client.locks(), 8.0, "free names")


def test_a_set_that_was_released_in_part(client: Client) -> None:
    """It is not held any more, and not lost either; releasing it gives back the rest."""
    with client.lock_all(["a", "b"]).acquire() as leases:
        leases.leases["a"].release()
        assert (leases.held, leases.lost) == (False, False)
        with pytest.raises(LockLost, match="it was released"):
            leases.check()
        assert [one.name for one in client.locks()] == ["b"]


def test_what_it_says_of_itself(client: Client) -> None:
    """Neither the description nor the set shows a secret."""
    lock = client.lock_all(["b", "a", "b"])
    assert lock.names == ("b", "a")
    assert repr(lock) == "<LockAll ['b', 'a'] on memory>"
    with lock as leases:
        assert repr(leases) == "<LeaseSet ['b', 'a'] held>"
        assert leases.holder == client.holder
    assert repr(leases) == "<LeaseSet ['b', 'a'] released>"
    leases.release()
