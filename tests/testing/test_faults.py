"""Faults on demand, in real time: each is met through the public API, as a user's code meets it."""

import threading
from collections.abc import Iterator

import pytest

import holdfast
from holdfast import Holder, Misuse
from holdfast.rules.messages import Claim, Want
from holdfast.testing import Sandbox
from holdfast.testing.watching import eventually


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Give a sandbox in real time."""
    with Sandbox() as made:
        yield made


class TestLose:
    """``lose``: a lease is taken away, and its holder is told."""

    def test_check_raises_at_once_and_callbacks_have_been_called(self, sandbox: Sandbox) -> None:
        """When ``lose`` returns, the loss has been told as in production."""
        told: list[str] = []
        lost: list[holdfast.LockLost] = []
        client = sandbox.client()
        with pytest.raises(holdfast.LockLost), client.lock("x") as lease:  # noqa: PT012
            lease.on_lost(lambda: told.append(threading.current_thread().name))
            sandbox.faults.lose(lease, "an operator said so")
            assert [name.partition("-keeper")[0] for name in told] == ["holdfast"]
            assert (lease.held, lease.lost, lease.remaining) == (False, True, 0.0)
            try:
                lease.check()
            except holdfast.LockLost as error:
                lost.append(error)
        assert lost[0].reason == "broken by force: an operator said so"
        assert lost[0].token == lease.token

    def test_the_name_is_free_for_others(self, sandbox: Sandbox) -> None:
        """Whoever waits gets the name when its holder has lost it."""
        alice, bob = sandbox.client(), sandbox.client()
        mine = alice.lock("x", on_loss="flag").acquire()
        sandbox.faults.lose("x")
        with bob.lock("x", wait=0) as lease:
            assert lease.token > mine.token
        assert mine.lost
        mine.release()

    def test_a_thread_that_wants_to_be_stopped_is_stopped(self, sandbox: Sandbox) -> None:
        """``on_loss="stop"`` interrupts the body."""
        client = sandbox.client()
        with pytest.raises(holdfast.LockLost), client.lock("x", on_loss="stop"):  # noqa: PT012
            sandbox.faults.lose("x")
            threading.Event().wait(10)
            raise AssertionError("the body went on")

    def test_wait_lost_ends(self, sandbox: Sandbox) -> None:
        """Somebody who waits for the loss hears of it."""
        lease = sandbox.client().lock("x", on_loss="flag").acquire()
        heard: list[bool] = []
        thread = threading.Thread(target=lambda: heard.append(lease.wait_lost(10)))
        thread.start()
        sandbox.faults.lose(lease)
        thread.join(10)
        assert heard == [True]
        lease.release()

    def test_a_callback_may_lose_another(self, sandbox: Sandbox) -> None:
        """A callback on the keeper's own thread does not wait for that thread."""
        client = sandbox.client()
        first = client.lock("1", on_loss="flag").acquire()
        second = client.lock("2", on_loss="flag").acquire()
        first.on_lost(lambda: sandbox.faults.lose(second))
        sandbox.faults.lose(first)
        assert (first.lost, second.lost) == (True, True)

    def test_misuse_is_said(self, sandbox: Sandbox) -> None:
        """What cannot be lost is refused in words."""
        faults, client = sandbox.faults, sandbox.client()
        with pytest.raises(holdfast.Misuse, match="nobody holds 'x'"):
            faults.lose("x")
        with pytest.raises(holdfast.Misuse, match="takes a lease or a name"):
            faults.lose(7)  # type: ignore[arg-type]
        lease = client.lock("x").acquire()
        lease.release()
        with pytest.raises(holdfast.Misuse, match="over already"):
            faults.lose(lease)
        with holdfast.Client("memory://elsewhere") as other, other.lock("x") as foreign:
            with pytest.raises(holdfast.Misuse, match="not held in this sandbox"):
                faults.lose(foreign)
            assert foreign.held
        with faults.hold("x"), pytest.raises(holdfast.Misuse, match="released, not lost"):
            faults.lose("x")
        with client.lock("x") as mine, faults.unavailable():
            with pytest.raises(holdfast.Misuse, match="cut off"):
                faults.lose(mine)
            assert mine.held

    def test_a_name_under_several_prefixes_needs_the_lease(self, sandbox: Sandbox) -> None:
        """A name alone says which lease is meant only if there is one."""
        one, two = sandbox.client(prefix="one"), sandbox.client(prefix="two")
        with one.lock("x", on_loss="flag") as mine, two.lock("x") as yours:
            with pytest.raises(holdfast.Misuse, match="several prefixes"):
                sandbox.faults.lose("x")
            sandbox.faults.lose(mine)
            assert (mine.lost, yours.held) == (True, True)


class TestUnavailable:
    """``unavailable``: the backend cannot be reached."""

    def test_a_lost_request_has_done_nothing(self, sandbox: Sandbox) -> None:
        """``outcome="none"``: the error says that nothing happened, and nothing has."""
        client = sandbox.client(call_limit=0.05)
        with (
            sandbox.faults.unavailable(),
            pytest.raises(holdfast.BackendUnavailable, match="unavailable") as error,
        ):
            client.lock("x").acquire()
        assert error.value.outcome == "none"
        assert client.locks() == []

    def test_a_lost_reply_leaves_an_unknown_outcome(self, sandbox: Sandbox) -> None:
        """``outcome="unknown"``: the claim was granted, is withdrawn later, and blocks nobody."""
        client, other = sandbox.client(call_limit=0.05), sandbox.client()
        with sandbox.faults.unavailable(client, outcome="unknown"):
            with pytest.raises(holdfast.BackendUnavailable) as error:
                client.lock("x").acquire()
            assert error.value.outcome == "unknown"
        eventually(lambda: not other.locks(), what="the withdrawal of the claim")

    def test_what_does_not_look_passing_is_raised_at_once(self, sandbox: Sandbox) -> None:
        """``transient=False``: nobody tries again, however long ``call_limit`` is."""
        client = sandbox.client(call_limit="1h")
        with (
            sandbox.faults.unavailable(transient=False),
            pytest.raises(holdfast.BackendUnavailable) as error,
        ):
            client.lock("x").acquire()
        assert not error.value.transient

    def test_one_client_alone_is_cut_off(self, sandbox: Sandbox) -> None:
        """The others go on."""
        alone, other = sandbox.client(call_limit=0.05), sandbox.client()
        with sandbox.faults.unavailable(alone):
            with pytest.raises(holdfast.BackendUnavailable):
                alone.show("x")
            with other.lock("x"):
                assert other.lock("x").locked()
        assert not alone.lock("x").locked()

    def test_a_lease_is_lost_when_the_outage_is_longer(self, sandbox: Sandbox) -> None:
        """Renewals fail until the lease is over: lost on the holder's own clock."""
        client = sandbox.client()
        lease = client.lock("x", ttl=0.3, on_loss="flag").acquire()
        with sandbox.faults.unavailable():
            assert lease.wait_lost(5)
        with pytest.raises(holdfast.LockLost, match="without a confirmed renewal"):
            lease.check()
        lease.release()

    def test_outages_overlap(self, sandbox: Sandbox) -> None:
        """The backend is back when the last of them has ended; ending twice is harmless."""
        client = sandbox.client(call_limit=0.05)
        first, second = sandbox.faults.unavailable(), sandbox.faults.unavailable()
        first.end()
        first.end()
        assert (first.active, second.active) == (False, True)
        with pytest.raises(holdfast.BackendUnavailable):
            client.show("x")
        second.end()
        assert not client.show("x").held

    def test_a_hand_over_during_the_outage_is_found_out_afterwards(self) -> None:
        """A waiter hears no notice while it is cut off, and asks as soon as the backend is back."""
        with Sandbox(virtual_clock=True) as sandbox:
            client, clock = sandbox.client(), sandbox.clock
            rival = sandbox.faults.hold("x")
            got: list[holdfast.Lease] = []
            thread = threading.Thread(target=lambda: got.append(client.lock("x").acquire(wait=10)))
            thread.start()
            eventually(lambda: client.show("x").waiters == 1)
            with sandbox.faults.unavailable():
                rival.release()
                clock.advance(0)
                assert got == []
            clock.advance(0)
            thread.join(10)
            assert clock.elapsed == 0
            got[0].release()

    def test_misuse_is_said(self, sandbox: Sandbox) -> None:
        """An unknown outcome, and a client from elsewhere, are refused."""
        with pytest.raises(holdfast.Misuse, match="'none' or 'unknown'"):
            sandbox.faults.unavailable(outcome="maybe")  # type: ignore[arg-type]
        with holdfast.Client("memory://elsewhere") as other:
            with pytest.raises(holdfast.Misuse, match="not a client of this sandbox"):
                sandbox.faults.unavailable(other)
            with pytest.raises(holdfast.Misuse, match="client of this sandbox"):
                sandbox.faults.delay(1, "x")  # type: ignore[arg-type]
        assert not sandbox.client().show("x").held


class TestDelay:
    """``delay``: each exchange takes its time."""

    def test_a_delay_beyond_the_limit_is_silence(self, sandbox: Sandbox) -> None:
        """The asker gives up, and cannot know what became of its request."""
        client = sandbox.client(call_limit=0.05)
        with sandbox.faults.delay("1h"), pytest.raises(holdfast.BackendUnavailable) as error:
            client.lock("x").acquire()
        assert error.value.outcome == "unknown"

    def test_a_reply_that_comes_too_late_was_still_an_answer(self, sandbox: Sandbox) -> None:
        """Half of the delay lies behind the backend: the request is carried out, the reply late."""
        client, other = sandbox.client(call_limit=0.15), sandbox.client()
        with (
            sandbox.faults.delay(0.2, client),
            pytest.raises(holdfast.BackendUnavailable) as error,
        ):
            client.lock("x", ttl=60).acquire()
        assert error.value.outcome == "unknown"
        eventually(lambda: not other.locks(), what="the withdrawal of the claim")

    def test_a_delay_must_be_one(self, sandbox: Sandbox) -> None:
        """Nothing is no delay."""
        with pytest.raises(holdfast.Misuse, match="longer than zero"):
            sandbox.faults.delay(0)


class TestHold:
    """``hold``: somebody else has it."""

    def test_who_comes_is_told_who_has_it(self, sandbox: Sandbox) -> None:
        """The error names the rival; released, the name is free."""
        client = sandbox.client()
        with sandbox.faults.hold("x", "the night shift") as rival:
            with pytest.raises(holdfast.LockBusy, match="the night shift") as busy:
                client.lock("x", wait=0).acquire()
            assert busy.value.holders[0].holder == rival.holder
            assert busy.value.holders[0].token == rival.token
            assert client.try_with_lock("x", lambda: 1) == holdfast.Outcome(executed=False)
        with client.lock("x", wait=0) as lease:
            assert lease.token > rival.token

    def test_it_ends_by_itself(self, sandbox: Sandbox) -> None:
        """``for_`` bounds it: a waiter gets the name then."""
        client = sandbox.client()
        sandbox.faults.hold("x", for_=0.1)
        with client.lock("x", wait=10):
            pass

    def test_misuse_is_said(self, sandbox: Sandbox) -> None:
        """What is taken cannot be held by somebody else too."""
        client = sandbox.client()
        with client.lock("x"), pytest.raises(holdfast.Misuse, match="'x' is not free"):
            sandbox.faults.hold("x")
        with pytest.raises(holdfast.Misuse, match="must not be empty"):
            sandbox.faults.hold("")
        with pytest.raises(holdfast.Misuse, match="for_"):
            sandbox.faults.hold("x", for_=0)

    def test_what_a_lock_would_take_is_held(self, sandbox: Sandbox) -> None:
        """Given the lock itself, its prefix and its terms are the rival's too."""
        client, other = sandbox.client(prefix="mine"), sandbox.client()
        with sandbox.faults.hold(client.lock("x"), "the other"):
            assert client.lock("x").try_acquire() is None
            assert not other.lock("x").locked()
        for wrong in (7, client):
            with pytest.raises(holdfast.Misuse, match="takes a name, or the lock"):
                sandbox.faults.hold(wrong)  # type: ignore[arg-type]
        with holdfast.Client("memory://elsewhere") as elsewhere:
            with pytest.raises(holdfast.Misuse, match="not of this sandbox"):
                sandbox.faults.hold(elsewhere.lock("x"))
            assert not elsewhere.lock("x").locked()

    def test_a_name_of_another_kind_is_not_held_as_a_lock(self, sandbox: Sandbox) -> None:
        """The rule's own refusal is passed on."""
        want = Want("semaphore", capacity=2, weight=1, ttl=60)
        claim = Claim("x", "id", want, Holder("client", "host", 1), "", 0.0)
        sandbox._ground.space.answer("holdfast", (claim,))
        with pytest.raises(holdfast.Misuse, match="in use as a semaphore"):
            sandbox.faults.hold("x")


class TestSkew:
    """``skew``: the backend's clock is wrong."""

    def test_a_jump_ends_leases_before_their_holders_know(self, sandbox: Sandbox) -> None:
        """Two believe at once: only their tokens tell them apart."""
        alice, bob = sandbox.client(), sandbox.client()
        mine = alice.lock("x", ttl=60, on_loss="flag").acquire()
        sandbox.faults.skew("2m")
        with bob.lock("x", wait=0) as yours:
            assert mine.held
            assert yours.token > mine.token
        mine.release()

    def test_a_clock_set_back_keeps_leases_alive(self, sandbox: Sandbox) -> None:
        """What ended long ago for its holder is not free yet for others."""
        alice, bob = sandbox.client(), sandbox.client()
        mine = alice.lock("x", ttl=0.05, renew=False, on_loss="flag").acquire()
        with sandbox.faults.skew("-1m"):
            assert mine.wait_lost(5)
            assert bob.lock("x").try_acquire() is None
        eventually(lambda: not bob.lock("x").locked(), what="the lease ended, on a right clock")
        mine.release()

    def test_misuse_is_said(self, sandbox: Sandbox) -> None:
        """A skew that is none, and rates that no clock has, are refused."""
        for wrong in (0, -1, "fast", float("inf"), float("nan"), True):
            with pytest.raises(holdfast.Misuse, match="rate"):
                sandbox.faults.skew(rate=wrong)  # type: ignore[arg-type]
        with pytest.raises(holdfast.Misuse, match="changes nothing"):
            sandbox.faults.skew()
        with pytest.raises(holdfast.Misuse, match="skew"):
            sandbox.faults.skew("-soon")


def test_clear_puts_everything_right(sandbox: Sandbox) -> None:
    """Faults and rivals end together."""
    client = sandbox.client(call_limit=0.05)
    faults = sandbox.faults
    begun = [faults.unavailable(), faults.delay("1h"), faults.skew("1h")]
    faults.hold("x")
    faults.clear()
    assert [fault.active for fault in begun] == [False, False, False]
    assert [repr(fault).endswith("ended>") for fault in begun] == [True, True, True]
    assert client.locks() == []


def test_several_names_are_not_held_as_one() -> None:
    """Only the first would be busy: that is refused in words."""
    with Sandbox() as sandbox, pytest.raises(Misuse, match="hold each of those"):
        sandbox.faults.hold(sandbox.client().lock_all(["a", "b"]))  # type: ignore[arg-type]
