"""A wait that is cancelled when its lock is granted already: the session would hold it unseen."""

import psycopg
import pytest

from holdfast import clock
from holdfast.backends.advisory.desk import Desk
from holdfast.backends.advisory.hold import Hold
from holdfast.backends.advisory.target import terms_of
from holdfast.rules.messages import Claim, Granted, Release, Waiting, Want
from holdfast.settings import address
from holdfast.testing.watching import eventually
from holdfast.values import Holder
from tests.backends.postgres.advisory.stage import LOCKS, ask, plain
from tests.conformance.advisory_backends import advisory_url

PREFIX = "late-cancel"
WANT = Want("lock", 1, 1, 30.0)
PIN = "SELECT FROM holdfast_advisory.claims WHERE pid = %s FOR UPDATE"


class Person:
    """A client without a keeper: nothing is read on its sessions but what the test lets it read."""

    def __init__(self, client: str) -> None:
        self.holder = Holder(client, "host", 1, "")
        self.desk = Desk(terms_of(address(advisory_url())), PREFIX, client, f"holdfast {client}")

    def claim(self, claim_id: str, patience: float) -> object:
        """Ask for the lock, with a claim of its own."""
        claim = Claim("x", claim_id, WANT, self.holder, "", patience, 0)
        return self.desk.answer(claim, clock.now() + 5)

    def release(self, claim_id: str) -> None:
        """Give it back."""
        self.desk.answer(Release("x", claim_id), clock.now() + 5)

    def hold(self, claim_id: str) -> Hold:
        """Give what the desk knows of a claim."""
        return self.desk.ledger.claims[claim_id]


def test_a_wait_that_is_cancelled_just_after_its_grant() -> None:
    """PostgreSQL keeps a session's lock when the statement fails: so that session is ended."""
    alice, bob = Person("a" * 16), Person("b" * 16)
    try:
        assert isinstance(alice.claim("a1", 0.0), Granted)
        assert isinstance(bob.claim("b1", 3.0), Waiting)
        hold = bob.hold("b1")
        session = hold.session
        assert session is not None
        with psycopg.connect(plain(advisory_url())) as pin:
            # What the waiting statement does once it has the lock is to write that down: not yet.
            pin.execute(PIN, (session.pid,))
            alice.release("a1")
            eventually(lambda: (session.pid, True) in ask(LOCKS), 10.0, "the grant")
            ask(f"SELECT pg_cancel_backend({session.pid})")

            def was_read() -> bool:
                session.take_in()
                return hold.state != "waiting"

            eventually(was_read, 10.0, "the last word of the session")
            assert hold.state == "idle"
            assert session.is_over()
            pin.rollback()
        eventually(lambda: ask(LOCKS) == [], 10.0, "nobody who holds it")
        assert isinstance(alice.claim("a2", 0.0), Granted)
    finally:
        alice.desk.close()
        bob.desk.close()


@pytest.fixture(autouse=True)
def _nobody_else() -> None:
    """Begin when the sessions of earlier tests are gone."""
    eventually(lambda: ask(LOCKS) == [], 10.0, "no lock of an earlier test")
