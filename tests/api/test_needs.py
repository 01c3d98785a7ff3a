"""What a backend cannot keep is refused when the object is built, naming those that can."""

from collections.abc import Callable, Iterator

import pytest

from holdfast import Client, Unsupported
from holdfast.backends.memory.backend import MemoryBackend

BARE = MemoryBackend.capabilities._replace(backend="bare", records=False, buckets=False)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Give a client of a backend that has locks alone."""
    monkeypatch.setattr(MemoryBackend, "capabilities", BARE)
    with Client("memory://needs") as client:
        yield client


@pytest.mark.parametrize(
    "describe",
    [
        lambda client: client.cell("x"),
        lambda client: client.once("x"),
        lambda client: client.limiter("x", "10/s"),
        lambda client: client.singleton("x", per="1h"),
    ],
    ids=["cell", "once", "limiter", "singleton with per"],
)
def test_it_is_refused_at_once(client: Client, describe: Callable[[Client], object]) -> None:
    """Nothing is asked of the backend before that is known."""
    with pytest.raises(Unsupported, match=r"bare cannot keep .*; memory, sqlite, redis"):
        describe(client)


def test_a_singleton_without_slots_needs_no_more_than_a_lock(client: Client) -> None:
    """One run at a time is a claim like any other."""
    assert client.singleton("x").run(lambda: "done").result == "done"
