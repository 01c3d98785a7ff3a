"""A transaction that relies on a grant pins its row: the seat stays taken until that one ends.

Steps go on beside it: nobody waits for somebody else's transaction, neither the holder's own
renewals nor other holders of the same name.
"""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from holdfast.rules.messages import Busy, Ended, Granted, Item, Release, Renew, Renewed
from holdfast.testing.watching import eventually
from tests.backends.postgres.asker import Asker
from tests.servers.shared_postgres import shared_postgres

AT_ONCE = 2.0  # seconds; waiting for the other transaction would take for ever

PIN = """
SELECT seat FROM holdfast.seats
WHERE prefix = %s AND name = %s AND claim_id = %s AND ends_at > holdfast.clock()
FOR KEY SHARE
"""


@pytest.fixture
def asker() -> Iterator[Asker]:
    """Give a wire to a prefix of its own."""
    with Asker(shared_postgres().url(quarantine=0)) as one:
        yield one


@pytest.fixture
def theirs() -> Iterator[psycopg.Connection[Any]]:
    """Give the connection of somebody's own transaction."""
    with psycopg.connect(shared_postgres().url()) as connection:
        yield connection


def _pinned(theirs: psycopg.Connection[Any], asker: Asker, claim_id: str) -> bool:
    return theirs.execute(PIN, (asker.prefix, "x", claim_id)).fetchone() is not None


def test_renewals_go_on_beside_a_pin(asker: Asker, theirs: psycopg.Connection[Any]) -> None:
    """The holder is not delayed by its own transaction."""
    granted = asker.claim("x", "a" * 16)
    assert isinstance(granted, Granted)
    assert _pinned(theirs, asker, "a" * 16)
    for _ in range(5):
        reply = asker.ask(Renew("x", (Item("a" * 16, granted.token, 10.0),)))
        assert isinstance(reply, Renewed)
        assert isinstance(reply.answers[0], Granted)


def test_a_lease_that_is_given_back_while_pinned(
    asker: Asker, theirs: psycopg.Connection[Any]
) -> None:
    """The release is done at once, and the seat is free when the transaction ends."""
    asker.claim("x", "a" * 16)
    assert _pinned(theirs, asker, "a" * 16)
    began = time.monotonic()
    assert asker.ask(Release("x", "a" * 16))[:2] == ("a" * 16, "released")
    assert isinstance(asker.claim("x", "b" * 16), Busy)
    assert time.monotonic() - began < AT_ONCE
    again = asker.ask(Renew("x", (Item("a" * 16, 0, 10.0),)))
    assert isinstance(again, Renewed)
    assert isinstance(again.answers[0], Ended)
    theirs.commit()
    assert isinstance(asker.claim("x", "c" * 16), Granted)


def test_a_lease_that_ends_while_pinned(asker: Asker, theirs: psycopg.Connection[Any]) -> None:
    """Its claim is over, and nobody else gets the name before the transaction ends."""
    asker.claim("x", "a" * 16, ttl=0.3)
    assert _pinned(theirs, asker, "a" * 16)
    time.sleep(0.4)  # the lease has to end; nothing tells when
    assert not _pinned(theirs, asker, "a" * 16)
    assert isinstance(asker.claim("x", "b" * 16), Busy)
    theirs.rollback()
    assert isinstance(asker.claim("x", "c" * 16), Granted)


def test_a_waiter_gets_a_seat_that_was_let_go(
    asker: Asker, theirs: psycopg.Connection[Any]
) -> None:
    """Nobody is told of a commit; the next look finds the seat free."""
    asker.claim("x", "a" * 16)
    assert _pinned(theirs, asker, "a" * 16)
    asker.claim("x", "b" * 16, patience=30.0)
    asker.ask(Release("x", "a" * 16))
    renewal = Renew("x", (Item("b" * 16, 0, 10.0, 30.0),))

    def served() -> bool:
        reply = asker.ask(renewal)
        return isinstance(reply, Renewed) and isinstance(reply.answers[0], Granted)

    assert not served()
    theirs.commit()
    eventually(served, 8.0, "the waiter's turn")


def test_a_pin_does_not_hold_up_other_holders(
    asker: Asker, theirs: psycopg.Connection[Any]
) -> None:
    """Of a semaphore one seat is pinned; the others are taken and given back as ever."""
    for letter in "abc":
        assert isinstance(_one_of_three(asker, letter * 16), Granted)
    assert _pinned(theirs, asker, "a" * 16)
    asker.ask(Release("x", "a" * 16))
    began = time.monotonic()
    held = ["b" * 16, "c" * 16]
    for number in range(10):
        asker.ask(Release("x", held.pop(0)))
        held.append(f"{number:016}")
        assert isinstance(_one_of_three(asker, held[-1]), Granted)
        assert isinstance(_one_of_three(asker, "d" * 16), Busy)
    assert time.monotonic() - began < AT_ONCE
    theirs.commit()
    assert isinstance(_one_of_three(asker, "e" * 16), Granted)


def _one_of_three(asker: Asker, claim_id: str) -> object:
    return asker.claim("x", claim_id, kind="semaphore", capacity=3)


def test_who_comes_too_late_cannot_pin(asker: Asker, theirs: psycopg.Connection[Any]) -> None:
    """A grant that was taken away cannot be relied on any more."""
    asker.claim("x", "a" * 16)
    asker.ask(Release("x", "a" * 16))
    assert isinstance(asker.claim("x", "b" * 16), Granted)
    assert not _pinned(theirs, asker, "a" * 16)
    assert _pinned(theirs, asker, "b" * 16)
