"""What an observer sees, and that its faults stay its own."""

import logging
from collections.abc import Callable, Iterator
from threading import Event as Flag
from typing import TypeVar
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, LockBusy
from holdfast.flows import acquire
from holdfast.observe import events

EventT = TypeVar("EventT", bound=events.Event)


class Diary:
    """An observer that keeps everything, and acts on the first event of a kind."""

    def __init__(self) -> None:
        self.pages: list[events.Event] = []
        self._plans: dict[type, Callable[[], object]] = {}

    def __call__(self, event: events.Event) -> None:
        """Keep the event."""
        self.pages.append(event)
        self._plans.pop(type(event), lambda: None)()

    def then(self, kind: type[object], action: Callable[[], object]) -> None:
        """Do this when an event of that kind comes, once."""
        self._plans[kind] = action

    def of(self, kind: type[EventT]) -> list[EventT]:
        """List the events of one kind."""
        return [page for page in self.pages if isinstance(page, kind)]

    def wait_for(self, kind: type[EventT]) -> EventT:
        """Give the first event of that kind, when it has come."""
        flag = Flag()
        self.then(kind, flag.set)
        if not self.of(kind):
            assert flag.wait(10), f"no {kind.__name__} came"
        return self.of(kind)[0]


@pytest.fixture
def url() -> str:
    """Give a space of its own."""
    return f"memory://{uuid4()}"


@pytest.fixture
def diary() -> Diary:
    """Give an empty diary."""
    return Diary()


@pytest.fixture
def client(url: str, diary: Diary) -> Iterator[Client]:
    """Give a client that writes a diary."""
    with Client(url, observers=(diary,)) as made:
        yield made


def test_a_plain_stay_is_claimed_granted_released(client: Client, diary: Diary) -> None:
    """Three events in order, with the token, how long was waited and how long it was held."""
    with client.lock("n", wait=5) as lease:
        pass
    claimed, granted, released = diary.pages
    assert claimed == events.Claimed("n", 5.0)
    assert isinstance(granted, events.Granted)
    assert (granted.name, granted.token) == ("n", lease.token)
    assert 0 <= granted.waited_for < 5
    assert isinstance(released, events.Released)
    assert (released.name, released.token) == ("n", lease.token)
    assert 0 <= released.held_for < 5


def test_busy_says_who_holds(client: Client, diary: Diary, url: str) -> None:
    """A claim that was given up tells how long it waited and for whom."""
    with Client(url) as holder, holder.lock("n"), pytest.raises(LockBusy):
        client.lock("n").acquire(wait="50ms")
    [busy] = diary.of(events.Busy)
    assert busy.waited_for >= 0.05
    assert [held.holder for held in busy.holders] == [holder.holder]
    assert diary.of(events.Granted) == []


def test_long_waits_are_told(
    client: Client, diary: Diary, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it waits, an event says for how long and for whom; the grant says how long in all."""
    monkeypatch.setattr(acquire, "LONG_WAIT", 0.02)
    with Client(url) as holder:
        lease = holder.lock("n").acquire()
        diary.then(events.Waited, lease.release)
        with client.lock("n", wait=10):
            pass
    waited, granted = diary.of(events.Waited)[0], diary.of(events.Granted)[0]
    assert 0.02 <= waited.waited_for <= granted.waited_for < 10
    assert [held.holder for held in waited.holders] == [holder.holder]


def test_renewals_are_told(client: Client, diary: Diary) -> None:
    """The keeper's renewals are events, with what is left."""
    with client.lock("n", ttl="1.5s") as lease:
        renewed = diary.wait_for(events.Renewed)
    assert renewed.token == lease.token
    assert 0 < renewed.remaining <= 1.5


def test_breaking_and_losing_are_told_on_both_sides(client: Client, diary: Diary, url: str) -> None:
    """Who breaks sees ``Broken``; who is broken sees ``Lost`` with the reason and the hold."""
    other_diary = Diary()
    with Client(url, observers=(other_diary,)) as other:
        lease = client.lock("n", on_loss="flag").acquire()
        other.break_lock("n", token=lease.token, reason="it hangs", force=True)
        lost = diary.wait_for(events.Lost)
        lease.release()
    assert other_diary.of(events.Broken) == [
        events.Broken("n", lease.token, "it hangs", forced=True)
    ]
    assert (lost.name, lost.token) == ("n", lease.token)
    assert "it hangs" in lost.reason
    assert lost.held_for >= 0
    assert diary.of(events.Released) == []


async def test_async_clients_tell_the_same(url: str, diary: Diary) -> None:
    """The async twin tells the same events in the same order."""
    async with AsyncClient(url, observers=(diary,)) as client, client.lock("n"):
        pass
    assert [type(page) for page in diary.pages] == [
        events.Claimed,
        events.Granted,
        events.Released,
    ]


def test_every_observer_is_told(url: str) -> None:
    """Several observers each see everything."""
    diaries = (Diary(), Diary())
    with Client(url, observers=diaries) as client, client.lock("n"):
        pass
    assert diaries[0].pages == diaries[1].pages
    assert len(diaries[0].pages) == 3


def test_a_raising_observer_is_logged_and_harmless(
    url: str, diary: Diary, caplog: pytest.LogCaptureFixture
) -> None:
    """Its error goes to the log with a traceback; the lock and the other observers do not care."""

    def clumsy(_event: events.Event) -> None:
        raise RuntimeError("observer's own fault")

    with Client(url, observers=(clumsy, diary)) as client, client.lock("n") as lease:
        assert lease.held
    assert len(diary.pages) == 3
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 3
    assert "clumsy" in errors[0].getMessage()
    assert "observer's own fault" in caplog.text
