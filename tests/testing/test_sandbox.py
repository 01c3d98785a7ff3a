"""The sandbox as a plain object: its clients, its address, and what it says of leaks."""

import subprocess
import sys
import threading

import pytest

import holdfast
from holdfast import testing
from holdfast.testing import LeakedLease, Sandbox


def test_its_clients_meet_and_those_of_another_do_not() -> None:
    """Each sandbox is a backend of its own."""
    with Sandbox() as one, Sandbox() as other:
        with one.client().lock("x"):
            assert one.client().lock("x").try_acquire() is None
            with other.client().lock("x", wait=0) as lease:
                assert lease.held
        assert one.url != other.url


def test_clients_are_ordinary_ones() -> None:
    """They take the options of ``Client``, and are told apart from nothing."""
    with Sandbox() as sandbox:
        client = sandbox.client(ttl="1m", holder="me", prefix="mine")
        twin = sandbox.async_client(holder="twin")
        assert type(client) is holdfast.Client
        assert type(twin) is holdfast.AsyncClient
        assert (client.holder.label, twin.holder.label) == ("me", "twin")
        assert client.capabilities.backend == "memory"
        with client.lock("x") as lease:
            assert lease.remaining > 50


def test_a_url_leads_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that the tested program makes itself meets the others, and the faults."""
    with Sandbox() as sandbox:
        monkeypatch.setenv("HOLDFAST_URL", sandbox.url)
        with holdfast.Client(call_limit=0.05) as theirs:
            busy = pytest.raises(holdfast.LockBusy, match=r"client\.show")
            with sandbox.client().lock("x"), busy:
                theirs.lock("x", wait=0).acquire()
            with sandbox.faults.unavailable(theirs), pytest.raises(holdfast.BackendUnavailable):
                theirs.show("x")


def test_a_closed_sandbox_is_not_found_any_more() -> None:
    """Its address leads nowhere, and says so."""
    with Sandbox() as sandbox:
        client = sandbox.client()
    with pytest.raises(holdfast.Misuse, match=r"no sandbox .* is open"):
        holdfast.Client(sandbox.url)
    with pytest.raises(holdfast.Misuse, match="closed"):
        client.lock("x").acquire()
    sandbox.close()


@pytest.mark.parametrize("virtual_clock", [False, True])
def test_a_lease_that_is_left_behind_fails_the_test(*, virtual_clock: bool) -> None:
    """The error says which, and where it was taken; everything is closed all the same."""
    sandbox = Sandbox(virtual_clock=virtual_clock)
    lease = sandbox.client().lock("x").acquire()
    with pytest.raises(LeakedLease, match=r"'x', taken at .*test_sandbox\.py:\d+"):
        sandbox.close()
    assert not lease.held
    assert not [one for one in threading.enumerate() if lease.holder.client[:8] in one.name]


def test_a_client_of_the_program_that_nobody_closed_is_a_leak() -> None:
    """What the sandbox did not make itself is found on the backend."""
    sandbox = Sandbox()
    client = holdfast.Client(sandbox.url, holder="the program")
    lease = client.lock("x").acquire()
    with pytest.raises(LeakedLease, match="'x' by the program"):
        sandbox.close()
    lease.release()
    client.close()


def test_leaks_can_be_allowed() -> None:
    """For a test that means it."""
    with Sandbox() as sandbox:
        lease = sandbox.client().lock("x").acquire()
        sandbox.allow_leaks()
    assert not lease.held


def test_a_test_that_fails_anyway_is_not_told_of_leaks() -> None:
    """Its own error comes out."""
    with pytest.raises(KeyError), Sandbox() as sandbox:  # noqa: PT012
        lease = sandbox.client().lock("x").acquire()
        raise KeyError(lease)


def test_it_closes_what_is_still_cut_off() -> None:
    """Faults that nobody has ended are ended first, in both times."""
    for virtual_clock in (False, True):
        with Sandbox(virtual_clock=virtual_clock) as sandbox:
            client, twin = sandbox.client(call_limit=0.1), sandbox.async_client()
            lease = client.lock("x", ttl="1m").acquire()
            sandbox.faults.unavailable()
            sandbox.faults.hold("y")
            lease.release()
            assert repr(sandbox).endswith("time>")
        assert not twin.holder.label
    with pytest.raises(holdfast.Misuse, match="closed"):
        client.show("x")


def test_public_names_are_there() -> None:
    """Each name is found where it is announced, and nothing else is."""
    for name in testing.__all__:
        assert getattr(testing, name).__name__ == name
    with pytest.raises(AttributeError, match="nonsense"):
        _ = testing.nonsense  # type: ignore[attr-defined]


def test_the_plugin_is_light() -> None:
    """Loading the plugin loads nothing but holdfast itself: no loop, no database, no sandbox."""
    program = (
        "import sys, pytest, holdfast; before = {*sys.modules};"
        "import holdfast.testing.plugin; print(*sys.modules.keys() - before)"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert sorted(loaded) == ["holdfast.testing", "holdfast.testing.plugin"]
