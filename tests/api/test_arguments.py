"""Names, metadata, ttl and on_loss, checked at the edge."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, Misuse


@pytest.fixture
def client() -> Iterator[Client]:
    """Give a client in a space of its own."""
    with Client(f"memory://{uuid4()}") as made:
        yield made


@pytest.mark.parametrize(
    "name, said",
    [
        ("", "name must not be empty"),
        (5, "must be a string, not 5"),
        (None, "must be a string"),
        (b"n", "must be a string"),
        ("n" * 513, "512 bytes, this one has 513"),
        ("ä" * 257, "512 bytes, this one has 514"),
        ("a\nb", "control characters"),
        ("a\x00", "control characters"),
        ("\x1b[31m", "control characters"),
        ("a\x7f", "control characters"),
        ("\ud800", "not valid Unicode"),
    ],
)
def test_bad_names_are_refused(client: Client, name: Any, said: str) -> None:
    """What cannot be a name is ``Misuse`` when the lock is described, before anything is asked."""
    for take in (client.lock, client.show, lambda bad: client.break_lock(bad, token=1)):
        with pytest.raises(Misuse, match=said):
            take(name)


@pytest.mark.parametrize("name", ["n", "n" * 512, "ä" * 256, "a b", "💡", "a\u200bb", "{", "'"])
def test_good_names_are_taken(client: Client, name: str) -> None:
    """Any text of up to 512 bytes without control characters is a name."""
    with client.lock(name, wait=0) as lease:
        assert lease.name == client.show(name).name == name


def test_a_long_name_is_not_repeated_in_full(client: Client) -> None:
    """The error shows only the beginning of a name that is too long."""
    with pytest.raises(Misuse) as caught:
        client.lock("n" * 100_000)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("prefix", ["", "a\nb", 5])
def test_the_prefix_is_checked_like_a_name(prefix: Any) -> None:
    """A prefix is part of every name, so it follows the same rules."""
    with pytest.raises(Misuse, match="prefix"):
        Client("memory://", prefix=prefix)


@pytest.mark.parametrize("label", [5, "l" * 513])
def test_the_label_is_checked(label: Any) -> None:
    """A client's own label is text of at most 512 bytes."""
    with pytest.raises(Misuse, match="holder"):
        Client("memory://", holder=label)


def test_metadata_comes_back_as_it_went(client: Client) -> None:
    """JSON of every kind can be said about a lease, and is seen by others."""
    said: Any = {"job": "ü", "n": [1, 2.5, None, True], "deep": {"a": {}}}
    with client.lock("n", metadata=said) as lease:
        assert lease.metadata == said
        assert client.show("n").as_json()["holders"][0]["metadata"] == said  # type: ignore[index, call-overload]


def test_no_metadata_is_an_empty_mapping(client: Client) -> None:
    """A lease about which nothing was said has empty metadata."""
    with client.lock("n") as lease:
        assert lease.metadata == {}


def test_metadata_has_a_limit_in_bytes(client: Client) -> None:
    """4096 bytes of JSON are taken, one more is refused, counted as UTF-8."""
    frame = len('{"a":""}')
    client.lock("n", metadata={"a": "x" * (4096 - frame)})
    with pytest.raises(Misuse, match="4096 bytes as JSON, this has 4097"):
        client.lock("n", metadata={"a": "x" * (4097 - frame)})
    with pytest.raises(Misuse, match="4096 bytes"):
        client.lock("n", metadata={"a": "ä" * 2048})


@pytest.mark.parametrize(
    "metadata", [{"a": object()}, {"a": {1, 2}}, {"a": float("nan")}, {"a": b""}, {"a": "\ud800"}]
)
def test_metadata_must_be_json(client: Client, metadata: Any) -> None:
    """What JSON cannot say is refused when the lock is described."""
    with pytest.raises(Misuse, match="JSON can say"):
        client.lock("n", metadata=metadata)


@pytest.mark.parametrize("metadata", [[], "text", 5])
def test_metadata_must_be_a_mapping(client: Client, metadata: Any) -> None:
    """A list or a text is no metadata."""
    with pytest.raises(Misuse, match="must be a mapping"):
        client.lock("n", metadata=metadata)


def test_a_renewed_lease_needs_time_to_be_renewed(client: Client) -> None:
    """The least ttl of a renewed lease is the backend's; the error names it and the way out."""
    client.lock("n", ttl="100ms")
    with pytest.raises(Misuse, match="at least 100 ms, or renew=False"):
        client.lock("n", ttl="99ms")
    with pytest.raises(Misuse, match="at least 100 ms"):
        Client("memory://", ttl="99ms")


def test_an_unrenewed_lease_may_be_short(client: Client) -> None:
    """Without renewal 10 ms is the least."""
    client.lock("n", ttl="10ms", renew=False)
    with pytest.raises(Misuse, match="10 ms is the least"):
        client.lock("n", ttl="9ms", renew=False)


@pytest.mark.parametrize("what", ["ttl", "max_hold"])
@pytest.mark.parametrize("span", [0, -1, "soon", float("nan")])
def test_spans_of_a_lock_are_checked(client: Client, what: str, span: Any) -> None:
    """A bad span is ``Misuse`` that names its parameter."""
    with pytest.raises(Misuse, match=what):
        client.lock("n", **{what: span})


@pytest.mark.parametrize("wait", [-1, "later", float("inf"), True])
def test_wait_is_checked_wherever_it_is_given(client: Client, wait: Any) -> None:
    """On the lock, on ``acquire`` and on the client alike."""
    with pytest.raises(Misuse, match="wait"):
        client.lock("n", wait=wait)
    with pytest.raises(Misuse, match="wait"):
        client.lock("n").acquire(wait=wait)
    with pytest.raises(Misuse, match="wait"):
        Client("memory://", wait=wait)


@pytest.mark.parametrize("policy", ["raise", "stop", "flag"])
def test_on_loss_has_three_values(client: Client, policy: Any) -> None:
    """Each of the three is taken by both twins."""
    client.lock("n", on_loss=policy)
    AsyncClient("memory://").lock("n", on_loss=policy)


@pytest.mark.parametrize("policy", ["explode", "", None, "RAISE"])
def test_another_on_loss_names_the_three(client: Client, policy: Any) -> None:
    """Anything else is ``Misuse`` that lists what there is."""
    with pytest.raises(Misuse, match="'raise', 'stop' or 'flag'"):
        client.lock("n", on_loss=policy)


def test_call_limit_must_be_longer_than_zero() -> None:
    """A client that may never ask is refused."""
    with pytest.raises(Misuse, match="call_limit"):
        Client("memory://", call_limit=0)


@pytest.mark.parametrize("token", ["abc", None, True, 1.5, -1, 2**63, "1794780930897271"])
def test_a_token_is_a_number_that_was_given(client: Client, token: Any) -> None:
    """Anything else is refused before a backend could make of it what it likes."""
    with client.lock("x") as lease:
        with pytest.raises(Misuse, match="token must be a whole number that holdfast has given"):
            client.break_lock("x", token=token, force=True)
        lease.check()


@pytest.mark.parametrize("version", ["1", None, False, -1, 2**63])
def test_a_version_is_a_number_that_was_given(client: Client, version: Any) -> None:
    """The same for what a cell is compared with."""
    with pytest.raises(Misuse, match="if_version must be a whole number"):
        client.cell("x").swap(1, version)


def test_metadata_may_not_go_too_deep(client: Client) -> None:
    """Lists in lists in lists, beyond what Python can write, are refused in words."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Misuse, match="metadata must be something JSON can say"):
        client.lock("x", metadata={"deep": deep})


def test_a_limiter_has_a_rate_of_its_own(client: Client) -> None:
    """Ten a second, where none is given."""
    assert client.limiter("x").try_acquire().remaining == 9
