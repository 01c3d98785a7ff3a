"""Names of once keys and singletons are apart from those of locks, and one can see it."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from holdfast import Client, Misuse
from holdfast.observe import events
from holdfast.values import apart, called, origin


@pytest.fixture
def told() -> list[events.Event]:
    """Give what an observer was told."""
    return []


@pytest.fixture
def client(told: list[events.Event]) -> Iterator[Client]:
    """Give a client in a space of its own."""
    with Client(f"memory://{uuid4()}", observers=[told.append]) as client:
        yield client


def test_one_name_in_three_spaces(client: Client) -> None:
    """Lock, once key and singleton of one name are held at the same time, and listed as such."""
    with client.lock("x"), client.once("x") as visit:
        turn = client.singleton("x").turn()
        assert turn is not None
        with turn:
            listed = [(one.name, one.space) for one in client.locks()]
            assert listed == [("x", "lock"), ("x", "once"), ("x", "singleton")]
            assert [(one.name, one.space) for one in client.locks("x")] == listed
            assert client.locks("y") == []
            assert [one.as_json()["space"] for one in client.locks()] == [
                "lock",
                "once",
                "singleton",
            ]
        visit.give_up()
    assert not client.show("x", space="once").held
    with pytest.raises(Misuse, match="space"):
        client.show("x", space="attic")  # type: ignore[arg-type]


def test_events_name_the_key(client: Client, told: list[events.Event]) -> None:
    """An observer reads ``once('x')``, not the name under which the claim is kept."""
    client.once("x").run(lambda: 1)
    assert {event.name for event in told} == {"once('x')"}
    told.clear()
    client.once("x").run(lambda: 2)
    assert told == [events.Repeated("x")]


def test_no_name_of_a_lock_can_get_there(client: Client) -> None:
    """What begins the names of the other spaces is no part of a name."""
    with pytest.raises(Misuse, match="control characters"):
        client.lock(apart("once", "x"))


def test_names_are_shown_as_what_they_are() -> None:
    """There and back, and in words."""
    for space in ("lock", "once", "singleton"):
        assert origin(apart(space, "a:b")) == (space, "a:b")
    assert called("it's") == '"it\'s"'
    assert called(apart("once", "a\u202eb")) == "once('a\\\\u202eb')"
