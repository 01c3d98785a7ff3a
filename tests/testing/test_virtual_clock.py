"""The virtual clock in threads: what is due happens, in order, and nobody really waits for it."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

import pytest

import holdfast
from holdfast.observe.events import Event, Renewed
from holdfast.testing import Sandbox, VirtualClock
from holdfast.testing.watching import eventually


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Give a sandbox in virtual time."""
    with Sandbox(virtual_clock=True) as made:
        yield made


@pytest.fixture
def clock(sandbox: Sandbox) -> VirtualClock:
    """Give its clock."""
    return sandbox.clock


def started(work: Callable[[], object]) -> threading.Thread:
    """Start a thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def caught(work: Callable[[], object]) -> Exception | None:
    """Give what ``work`` raises."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return error
    return None


class TestLeases:
    """Renewed, lapsed, lost: all on the clock."""

    def test_ten_minutes_take_no_time(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A lease of ten minutes that nobody renews is over after them, to the margin."""
        lease = sandbox.client().lock("x", ttl="10m", renew=False, on_loss="flag").acquire()
        before = time.monotonic()
        clock.advance("9m 53s")
        assert lease.held
        clock.advance("2s")
        assert (lease.held, lease.lost) == (False, True)
        assert clock.elapsed == 595
        assert time.monotonic() - before < 10
        lease.release()

    def test_renewals_happen_when_they_are_due(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """In an hour a lease of nine seconds is renewed every three, by the keeper, in order."""
        at: list[float] = []

        def note(event: Event) -> None:
            if isinstance(event, Renewed):
                at.append(clock.elapsed)

        with sandbox.client(observers=[note]).lock("x", ttl=9) as lease:
            clock.advance("1h")
            assert lease.held
            assert len(at) == 1200
            assert at == pytest.approx([3 * (n + 1) for n in range(1200)], abs=0.001)
            assert lease.remaining == pytest.approx(9 - 0.095, abs=0.001)

    def test_remaining_moves_with_the_clock_alone(
        self, sandbox: Sandbox, clock: VirtualClock
    ) -> None:
        """Between two advances time stands still."""
        with sandbox.client().lock("x", ttl="1m") as lease:
            left = lease.remaining
            assert lease.remaining == left
            clock.advance(timedelta(seconds=5))
            assert lease.remaining == pytest.approx(left - 5)
            with pytest.raises(holdfast.LockLost, match=r"good for 54\.4 s more, not for 60\.0 s"):
                lease.check(at_least="1m")

    def test_a_loss_during_an_outage_is_told(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """Cut off for longer than its ttl the lease is lost, told before ``advance`` returns."""
        told: list[float] = []
        lease = sandbox.client().lock("x", ttl="10m", on_loss="flag").acquire()
        lease.on_lost(lambda: told.append(clock.elapsed))
        with sandbox.faults.unavailable():
            clock.advance("9m")
            assert lease.held
            clock.advance("2m")
        assert told == [pytest.approx(600 * 0.99 - 0.005)]
        assert lease.lost
        lease.release()

    def test_one_client_cut_off_and_another_takes_over(
        self, sandbox: Sandbox, clock: VirtualClock
    ) -> None:
        """The holder stops believing before the backend lets anyone else in."""
        alice, bob = sandbox.client(), sandbox.client()
        mine = alice.lock("x", ttl="1m", on_loss="flag").acquire()
        ended: list[float] = []
        mine.on_lost(lambda: ended.append(clock.elapsed))
        with sandbox.faults.unavailable(alice), bob.lock("x", wait="5m") as yours:
            assert ended
            assert ended[0] < clock.elapsed == pytest.approx(60, abs=0.01)
            assert yours.token > mine.token
        mine.release()

    def test_max_hold_ends_it(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A lease is given up loudly when ``max_hold`` is over."""
        client = sandbox.client()
        with client.lock("x", ttl=9, max_hold="1h", on_loss="flag") as lease:
            clock.advance("59m")
            lease.check()
            clock.advance("1m")
            with pytest.raises(holdfast.LockLost, match="max_hold"):
                lease.check()

    def test_extend_and_wait_lost(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """``extend`` counts from now; ``wait_lost`` lets the time pass that it waits for."""
        lease = sandbox.client().lock("x", ttl="1m", renew=False, on_loss="flag").acquire()
        clock.advance("30s")
        lease.extend("1h")
        assert lease.wait_lost("10m") is False
        assert clock.elapsed == 630
        assert lease.wait_lost() is True
        assert clock.elapsed == pytest.approx(30 + 3600 * 0.99 - 0.005)
        lease.release()

    def test_a_wrong_rate_on_the_backend_loses_the_lease(
        self, sandbox: Sandbox, clock: VirtualClock
    ) -> None:
        """A backend that counts four seconds for one ends leases before they are renewed."""
        lease = sandbox.client().lock("x", ttl=9, on_loss="flag").acquire()
        with sandbox.faults.skew(rate=2.5):
            clock.advance("1m")
            assert lease.held
        sandbox.faults.skew(rate=4)
        clock.advance("1m")
        with pytest.raises(holdfast.LockLost, match="lapsed"):
            lease.check()
        lease.release()


class TestTheTestItselfWaits:
    """Where the test's own thread waits in holdfast, time passes by itself."""

    def test_for_a_busy_lock(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """``wait`` ends when so much time has passed."""
        sandbox.faults.hold("x")
        with pytest.raises(holdfast.LockBusy, match="after waiting 5 min") as busy:
            sandbox.client().lock("x", wait="5m").acquire()
        assert clock.elapsed == busy.value.waited_for == 300

    def test_for_a_lock_that_is_let_go(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """The rival's time is over after two minutes, and the test has the lock then."""
        sandbox.faults.hold("x", for_="2m")
        with sandbox.client().lock("x", wait="5m") as lease:
            assert lease.held
            assert clock.elapsed == pytest.approx(120, abs=0.01)

    def test_for_a_backend_out_of_reach(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A call is repeated for ``call_limit``, with pauses that are the same in every run."""
        client = sandbox.client(call_limit="1m")
        with sandbox.faults.unavailable(), pytest.raises(holdfast.BackendUnavailable):
            client.lock("x").acquire()
        assert clock.elapsed == pytest.approx(59.445, abs=0.001)

    def test_for_a_slow_backend(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """Each exchange takes its delay; the lease counts from when it was asked for."""
        client = sandbox.client()
        with sandbox.faults.delay("2s"):
            lease = client.lock("x", ttl=10, renew=False).acquire()
            assert clock.elapsed == 2
            assert lease.remaining == pytest.approx(10 * 0.99 - 0.005 - 2)
            lease.release()
            assert clock.elapsed == 4

    def test_a_keeper_that_is_slow_does_not_lose_the_lease(
        self, sandbox: Sandbox, clock: VirtualClock
    ) -> None:
        """A renewal that takes two seconds is in time for a lease of ten."""
        with sandbox.client().lock("x", ttl=10) as lease, sandbox.faults.delay("2s"):
            clock.advance("10m")
            assert lease.held

    def test_closing_takes_no_time(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """Time does not pass for a keeper that is on its way out."""
        for _ in range(20):
            client = sandbox.client()
            with client.lock("x"):
                pass
            client.close()
        assert clock.elapsed == 0


class TestOtherThreads:
    """Time stands still for them, until the test moves it."""

    def test_a_wait_ends_on_the_second(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A thread that waits five minutes waits until five minutes have passed, not less."""
        client = sandbox.client()
        sandbox.faults.hold("x")
        outcome: list[Exception | None] = []
        lock = client.lock("x", wait="5m")
        thread = started(lambda: outcome.append(caught(lock.acquire)))
        eventually(lambda: client.show("x").waiters == 1)
        clock.advance("4m 59s")
        assert outcome == []
        clock.advance("1s")
        thread.join(10)
        assert isinstance(outcome[0], holdfast.LockBusy)
        assert outcome[0].waited_for == 300

    def test_a_crowd_is_served_in_order(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """Ten clients wait for ten minutes in line; each gets its turn when it comes."""
        served: list[tuple[int, float]] = []
        sandbox.faults.hold("x", for_="10m")
        onlooker = sandbox.client()

        def visit(number: int) -> None:
            with clients[number].lock("x", wait="2h", ttl=9):
                served.append((number, clock.elapsed))

        def in_line(number: int) -> bool:
            return onlooker.show("x").waiters == number

        clients = [sandbox.client() for _ in range(10)]
        threads = []
        for number in range(10):
            threads.append(started(partial(visit, number)))
            eventually(partial(in_line, number + 1))
        clock.advance("9m")
        assert served == []
        assert onlooker.show("x").waiters == 10
        clock.advance("2m")
        for thread in threads:
            thread.join(10)
        assert [number for number, _ in served] == list(range(10))
        assert served[0][1] == pytest.approx(600, abs=0.01)

    def test_retries_go_on(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A thread that cannot reach the backend tries again as time passes."""
        client = sandbox.client(call_limit="10m")
        outage = sandbox.faults.unavailable()
        got: list[holdfast.Lease] = []
        thread = started(lambda: got.append(client.lock("x").acquire()))
        eventually(lambda: clock.rest.asleep, what="a pause between two tries")
        clock.advance("5m")
        assert got == []
        outage.end()
        clock.advance("1s")
        thread.join(10)
        got[0].release()

    def test_standing_still_is_said(
        self, sandbox: Sandbox, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A thread that waits for a clock nobody moves leaves a line in the log."""
        monkeypatch.setattr("holdfast.testing.sandbox.virtual_clock.STUCK", 0.01)
        client = sandbox.client()
        rival = sandbox.faults.hold("x")
        thread = started(lambda: client.with_lock("x", lambda: None, wait="5m"))
        eventually(lambda: "waits for" in caplog.text, what="the line in the log")
        assert "virtual clock that stands still" in caplog.text
        rival.release()
        thread.join(10)
        assert not thread.is_alive()


class TestMisuse:
    """What cannot work is said."""

    def test_durations_are_checked(self, clock: VirtualClock) -> None:
        """Time does not go backwards, and spans are written as everywhere."""
        for wrong in (-1, "soon", None):
            with pytest.raises(holdfast.Misuse, match="advance"):
                clock.advance(wrong)  # type: ignore[arg-type]
        assert clock.elapsed == 0

    def test_a_callback_cannot_let_time_pass(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """It would wait for itself."""
        said: list[Exception | None] = []
        lease = sandbox.client().lock("x", on_loss="flag").acquire()
        lease.on_lost(lambda: said.append(caught(lambda: clock.advance("1s"))))
        sandbox.faults.lose(lease)
        assert isinstance(said[0], holdfast.Misuse)
        lease.release()

    def test_a_callback_that_blocks_is_named(
        self, sandbox: Sandbox, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """If a keeper does not come to rest, ``advance`` says so instead of hanging."""
        monkeypatch.setattr("holdfast.testing.sandbox.rest.LIMIT", 0.2)
        go_on = threading.Event()
        lease = sandbox.client(holder="slow one").lock("x", renew=False, on_loss="flag").acquire()
        lease.on_lost(lambda: go_on.wait(10))
        try:
            with pytest.raises(RuntimeError, match="the keeper of slow one"):
                clock.advance("1m")
        finally:
            go_on.set()
        lease.release()

    def test_a_sandbox_in_real_time_has_no_clock(self) -> None:
        """Asking for it says how to get one."""
        with Sandbox() as real, pytest.raises(holdfast.Misuse, match="virtual_clock=True"):
            _ = real.clock


def test_a_month_of_renewals(sandbox: Sandbox, clock: VirtualClock) -> None:
    """Long times are a matter of how much is due in them: a ttl of a day is renewed 90 times."""
    with sandbox.client().lock("x", ttl="1d") as lease:
        clock.advance("30d")
        assert lease.held


def test_a_body_is_stopped_in_the_middle_of_an_advance(
    sandbox: Sandbox, clock: VirtualClock
) -> None:
    """``on_loss="stop"``: the loss comes out of ``advance``, at its time, and the clock goes on."""
    for _ in range(20):
        client, began = sandbox.client(), clock.elapsed
        lock = client.lock("x", ttl="1m", on_loss="stop")
        with pytest.raises(holdfast.LockLost), lock, sandbox.faults.unavailable():
            clock.advance("1h")
        assert clock.elapsed - began == pytest.approx(60 * 0.99 - 0.005)
        clock.advance("1m")
        client.close()


class TestFamilies:
    """Cells, results, slots and rates live on the same clock."""

    def test_what_expires_is_gone(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A value after its life, a result after its time."""
        client = sandbox.client()
        cell, once = client.cell("x", expire="30m"), client.once("x", keep="1h")
        cell.swap("there", 0)
        assert once.run(lambda: 1) == once.run(lambda: 2) == 1
        clock.advance("31m")
        assert cell.get().value is None
        clock.advance("31m")
        assert once.run(lambda: 2) == 2

    def test_the_next_slot_and_the_next_permit(self, sandbox: Sandbox, clock: VirtualClock) -> None:
        """A day later the job runs again; an hour later there is a permit."""
        client = sandbox.client()
        daily, rare = client.singleton("x", per="1d"), client.limiter("x", "1/h")
        assert daily.run(lambda: 1).executed
        assert not daily.run(lambda: 1).executed
        assert rare.try_acquire()
        assert not rare.try_acquire()
        clock.advance("1h 1s")
        assert rare.try_acquire()
        clock.advance("24h")
        assert daily.run(lambda: 1).executed
