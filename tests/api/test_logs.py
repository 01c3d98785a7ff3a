"""The log: quiet when all is well, loud about loss, patient about waiting."""

import logging
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast import Client
from holdfast.flows import acquire
from holdfast.observe import events
from holdfast.observe.logs import held_by, log
from holdfast.values import Holder, Tenure

TENURE = Tenure(Holder("c0ffee", "there", 7, "nightly"), 3, 1, 0.0, 4.0)


@pytest.fixture
def url() -> str:
    """Give a space of its own."""
    return f"memory://{uuid4()}"


def test_nothing_is_logged_when_all_is_well(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Taking, renewing, being busy and giving back say nothing above DEBUG."""
    for where in (url, f"sqlite:///{tmp_path}/locks.db"):
        with Client(where) as client, client.lock("n", ttl=1), Client(where) as other:
            assert other.lock("n").try_acquire() is None
            other.locks()
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


def test_the_everyday_is_there_for_who_asks(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG each event is a line."""
    with caplog.at_level(logging.DEBUG, "holdfast"), Client(url) as client, client.lock("n"):
        pass
    said = [record.getMessage().partition("(")[0] for record in caplog.records]
    assert said == ["Claimed", "Granted", "Released"]


def test_a_loss_is_an_error(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The line names the lock, the token, how long it was held and why it was lost."""
    with Client(url) as client:
        lease = client.lock("n", on_loss="flag").acquire()
        client.break_lock("n", token=lease.token, reason="it hangs", force=True)
        assert lease.wait_lost(10)
        lease.release()
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.name == "holdfast"
    assert record.getMessage().startswith(f"lost n (token {lease.token}) after ")
    assert record.getMessage().endswith("it hangs")


def test_a_long_wait_is_a_warning(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line says how long, for what and who holds it."""
    monkeypatch.setattr(acquire, "LONG_WAIT", 0.02)
    with Client(url, holder="nightly") as holder:
        lease = holder.lock("n").acquire()

        def let_in(event: events.Event) -> None:
            if isinstance(event, events.Waited):
                lease.release()

        with Client(url, observers=(let_in,)) as waiter, waiter.lock("n", wait=10):
            pass
    record = caplog.records[0]
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith("waiting ")
    assert record.getMessage().endswith(f" for n, held by {holder.holder}")


@pytest.mark.parametrize(
    "event, level, said",
    [
        (
            events.RenewalUnknown("n", 7, 2.5, "no answer"),
            logging.WARNING,
            "could not renew n (token 7), 2.5 s left: no answer",
        ),
        (
            events.ReleaseFailed("n", 7, 1.0, "no answer"),
            logging.WARNING,
            "could not release n (token 7); it ends by itself: no answer",
        ),
        (
            events.Unrecorded("n", 7, "no answer"),
            logging.WARNING,
            "the lead of n (token 7) is not in its journal: no answer",
        ),
        (
            events.Broken("n", 7, "it hangs", forced=True),
            logging.WARNING,
            "broke n (token 7) by force: it hangs",
        ),
        (
            events.Lost("n", 7, 90.0, "max_hold is over"),
            logging.ERROR,
            "lost n (token 7) after 90.0 s: max_hold is over",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, tuple) else "",
)
def test_what_goes_wrong_is_said_in_words(
    event: events.Event, level: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each kind of trouble has a level and a sentence of its own."""
    log(event)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, said)]


@pytest.mark.parametrize(
    "event",
    [
        events.Lost("\x1b[31mn", 7, 1.0, "broken: \x1b[2J"),
        events.Broken("n\x1b[31m", 7, "\x1b[2J", forced=False),
        events.Waited("n", 1.0, (TENURE._replace(holder=Holder("c", "\x1b[2J", 1, "\x07")),)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_untrusted_text_is_escaped(event: events.Event, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that somebody else wrote reaches a terminal as a control character."""
    log(event)
    assert [record for record in caplog.records if not record.getMessage().isprintable()] == []


def test_holders_are_named_for_people() -> None:
    """One, several or none."""
    assert held_by(()) == "held by nobody right now"
    assert held_by((TENURE,)) == "held by nightly on there, pid 7 (client c0ffee)"
    assert held_by((TENURE, TENURE, TENURE)).endswith("(client c0ffee) and 2 more")
