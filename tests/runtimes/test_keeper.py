"""The keeper's thread: it goes on after a fault of its own, and judges nobody by a standstill."""

import asyncio
import ctypes
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from holdfast import AsyncClient, Client, Lease
from holdfast.api.lease import _LeaseFace
from holdfast.errors import BackendUnavailable
from holdfast.observe.events import Event, Lost, Renewed
from holdfast.ports import Wire
from holdfast.rules.messages import Reply, Request
from holdfast.testing.watching import eventually


class Stumbling:
    """A wire that breaks once, with an error that nobody has foreseen."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.broke = False

    async def ask_all(
        self, requests: Sequence[Request], deadline: float
    ) -> list[Reply | BackendUnavailable]:
        """Break the first time."""
        if not self.broke:
            self.broke = True
            raise RuntimeError("not foreseen")
        return await self._wire.ask_all(requests, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


def test_a_keeper_that_stumbles_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A lease is renewed although the first try broke in a way that nobody has foreseen."""
    told: list[Event] = []
    with Client(f"memory://{uuid4()}", observers=[told.append]) as client:
        session = client._engine.keeper._session
        stumbling = session.wire = Stumbling(session.wire)
        lease = client.lock("x", ttl=3).acquire()
        eventually(lambda: any(isinstance(one, Renewed) for one in told), 5.0, "a renewal")
        assert stumbling.broke
        assert lease.held
        lease.release()
    assert "stumbled and goes on" in caplog.text


class Still:
    """Lets every thread of this process stand still while a lease is handed to its caller.

    As a full collection of a large heap does: nobody gets the interpreter's lock meanwhile.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened = 0
        made = _LeaseFace.__init__

        def make(face: _LeaseFace, *given: Any) -> None:
            self.happened += 1
            ctypes.PyDLL(None).usleep(1_500_000)
            made(face, *given)

        monkeypatch.setattr(_LeaseFace, "__init__", make)


def test_a_standstill_between_grant_and_lease_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The keeper, awake first, does not take the lease for one that nobody has: in a thread."""
    with Client(f"memory://{uuid4()}") as client:
        still = Still(monkeypatch)
        with client.lock("x") as lease:
            assert still.happened == 1
            lease.check()


def test_a_standstill_between_grant_and_lease_loses_nothing_in_a_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor in a task."""

    async def body() -> None:
        async with AsyncClient(f"memory://{uuid4()}") as client:
            still = Still(monkeypatch)
            async with client.lock("x") as lease:
                assert still.happened == 1
                lease.check()

    asyncio.run(body())


class Leave(BaseException):
    """What nobody foresees, as ``sys.exit()`` in a callback."""


def leave(*_: object) -> None:
    """Try to end the thread that calls."""
    raise Leave


@pytest.mark.parametrize("by", ["callback", "observer"])
def test_nobody_ends_the_keeper(by: str, caplog: pytest.LogCaptureFixture) -> None:
    """A callback or observer that leaves its thread costs no other lease, and others are told."""
    url = f"memory://{uuid4()}"

    def observe(event: Event) -> None:
        if by == "observer" and isinstance(event, Lost):
            leave()

    renewed: list[str] = []
    told: list[str] = []

    def see(event: Event) -> None:
        if isinstance(event, Renewed):
            renewed.append(event.name)

    with Client(url, ttl=6, observers=[see, observe]) as client, Client(url) as boss:
        one, two = client.lock("one", on_loss="flag").acquire(), client.lock("two").acquire()
        if by == "callback":
            one.on_lost(leave)
        one.on_lost(lambda: told.append("one"))
        boss.break_lock("one", token=one.token, reason="in the way", force=True)
        eventually(lambda: told == ["one"], 10, "the next callback to be called")
        before = len(renewed)
        eventually(lambda: len(renewed) > before, 10, "the other lease to be renewed")
        two.release()
        one.release()
    assert "Leave" in caplog.text


def test_a_lease_that_is_collected_late_leaves_its_successor_alone() -> None:
    """The thread that holds the name by now is still known as its owner."""
    with Client(f"memory://{uuid4()}") as client:
        client._engine.keeper.mind = lambda: None  # type: ignore[method-assign]  # it is late
        held = [client.lock("x", ttl=0.05, renew=False, on_loss="flag").acquire()]
        eventually(lambda: not held[0].held, 5, "its end")
        tries: list[Lease | None] = []

        def again() -> bool:
            tries.append(client.lock("x").try_acquire())
            return tries[-1] is not None

        eventually(again, 5, "the next lease")
        with pytest.warns(ResourceWarning, match="dropped without being released"):
            held.clear()
        with client.lock("x", reentrant=True, wait=0) as same:
            assert tries[-1] is not None
            assert same.token == tries[-1].token
        last = tries.pop()
        assert last is not None
        last.release()


def test_a_set_is_lost_as_a_whole_whatever_a_callback_does() -> None:
    """The others are lost, told and given back, also if the first callback leaves its thread."""
    url = f"memory://{uuid4()}"
    told: list[str] = []
    with Client(url) as client, Client(url) as boss:
        leases = client.lock_all(["a", "b", "c"], on_loss="flag").acquire()
        for name in ("a", "b", "c"):
            leases.leases[name].on_lost(leave)
            leases.leases[name].on_lost(lambda name=name: told.append(name))  # type: ignore[misc]
        token = leases.tokens["a"]
        boss.break_lock("a", token=token, reason="in the way", force=True)
        eventually(lambda: sorted(told) == ["a", "b", "c"], 10, "all of them to be told")
        for name in ("a", "b", "c"):
            with boss.lock(name, wait=10):
                pass
        leases.release()


def test_an_extension_during_a_renewal_is_not_taken_for_a_limit() -> None:
    """The renewal that was under way asked for less; it is renewed all the same."""
    with Client(f"memory://{uuid4()}", ttl=6) as client, client.lock("x") as lease:
        state = lease._state
        wire = client._engine.keeper._session.wire
        ask_all = wire.ask_all

        async def asked(requests: Sequence[Request], deadline: float) -> Any:
            replies = await ask_all(requests, deadline)
            if state.ttl == 6:
                lease.extend(60)  # while the answer is on its way back
            return replies

        wire.ask_all = asked  # type: ignore[method-assign]
        state.renew_at = 0.0
        client._engine.keeper.wake()
        eventually(lambda: state.ttl == 60, 10, "the renewal")
        eventually(lambda: state.renew_at > 0.0, 10, "the next one to be planned")
        assert not state.at_limit
        assert state.renew_at < state.deadline
