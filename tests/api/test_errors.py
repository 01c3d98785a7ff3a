"""The error tree: bases, fields, pickling, and what LockBusy says."""

import os
import pickle
from uuid import uuid4

import pytest

import holdfast
from holdfast import (
    BackendUnavailable,
    Client,
    Conflict,
    FailedBefore,
    Holder,
    HoldfastError,
    LockBusy,
    LockLost,
    Misuse,
    RateLimited,
    Tenure,
    Unsupported,
)

TENURE = Tenure(Holder("c0ffee", "host", 42, "nightly"), 7, 1, 1_700_000_000.0, 4.2, '{"a":1}')

EXAMPLES = [
    HoldfastError("something"),
    LockBusy("busy", name="n", holders=(TENURE, TENURE), waited_for=1.5),
    LockLost("lost", name="n", token=7, reason="its deadline passed"),
    BackendUnavailable("away", backend="redis", outcome="unknown", transient=False),
    Unsupported("cannot"),
    Conflict("moved on", name="n", version=7),
    FailedBefore("failed", name="n", kind="ValueError", text="no such order"),
    RateLimited("slow down", name="n", retry_after=0.5),
    Misuse("wrong"),
]


def test_every_error_has_an_example_here() -> None:
    """A new public error must be added to the tests of this file."""
    public = {
        thing
        for name in holdfast.__all__
        if isinstance(thing := getattr(holdfast, name), type) and issubclass(thing, Exception)
    }
    assert public == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_one_root_catches_all(error: HoldfastError) -> None:
    """Everything that holdfast raises by design is a ``HoldfastError``."""
    assert isinstance(error, HoldfastError)
    assert str(error) == error.message


def test_busy_is_a_timeout_and_unavailable_a_connection_error() -> None:
    """Code that knows only the built-in errors catches the right ones, and no others."""
    kinds: list[type[BaseException]] = [type(error) for error in EXAMPLES]
    assert {kind for kind in kinds if TimeoutError in kind.__mro__} == {LockBusy}
    assert {kind for kind in kinds if ConnectionError in kind.__mro__} == {BackendUnavailable}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error: HoldfastError, protocol: int) -> None:
    """Type, message and every field come back, holders too."""
    again = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301 - our own bytes
    assert type(again) is type(error)
    assert (again.message, again.args, vars(again)) == (error.message, error.args, vars(error))


def test_fields_have_defaults() -> None:
    """An error made without fields still answers to all of them."""
    busy, lost, away = LockBusy("b"), LockLost("l"), BackendUnavailable("u")
    assert (busy.name, busy.holders, busy.waited_for) == ("", (), 0.0)
    assert (lost.name, lost.token, lost.reason) == ("", 0, "")
    assert (away.backend, away.outcome, away.transient) == ("", "none", True)
    assert (RateLimited("r").retry_after, Conflict("c").name) == (0.0, "")


def test_notes_survive_pickling() -> None:
    """What somebody added to an error on its way travels along."""
    error = LockBusy("busy", name="n")
    error.add_note("while starting")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert again.__notes__ == ["while starting"]


def test_busy_says_everything_a_person_asks() -> None:
    """Who holds it, where, since when, until when, with which token, how long it was waited for."""
    url = f"memory://{uuid4()}"
    with (
        Client(url, holder="nightly") as holder,
        Client(url) as waiter,
        holder.lock("n") as lease,
        pytest.raises(LockBusy) as caught,
    ):
        waiter.lock("n").acquire(wait=0.05)
    said = caught.value.message
    assert said.startswith("'n' is busy after waiting ")
    assert f"nightly on {holder.holder.host}, pid {os.getpid()}" in said
    assert f"with token {lease.token}" in said
    assert " since 20" in said
    assert " UTC" in said
    assert " more unless renewed" in said
    assert said.endswith("`client.show('n')` shows more.")
    assert caught.value.name == "n"
    assert [held.holder for held in caught.value.holders] == [holder.holder]
    assert caught.value.holders[0].token == lease.token
    assert caught.value.waited_for >= 0.05


def test_busy_with_wait_0_does_not_speak_of_waiting() -> None:
    """One try is not a wait."""
    url = f"memory://{uuid4()}"
    with (
        Client(url) as holder,
        Client(url) as other,
        holder.lock("n"),
        pytest.raises(LockBusy, match="'n' is busy: held by"),
    ):
        other.lock("n").acquire(wait=0)


def test_labels_are_escaped() -> None:
    """A label is untrusted text: what a terminal would obey is shown as an escape."""
    url = f"memory://{uuid4()}"
    with (
        Client(url, holder="\x1b[31mred") as holder,
        Client(url) as other,
        holder.lock("n"),
        pytest.raises(LockBusy) as caught,
    ):
        other.lock("n").acquire(wait=0)
    assert r"\x1b[31mred" in caught.value.message
    assert "\x1b" not in caught.value.message


def test_lost_says_what_to_do() -> None:
    """The loss names the lease, the token, the reason and the remedy."""
    with Client(f"memory://{uuid4()}") as client:
        lease = client.lock("n", on_loss="flag").acquire()
        client.break_lock("n", token=lease.token, reason="it hangs", force=True)
        with pytest.raises(LockLost, match="it hangs") as caught:
            lease.check()
        lease.release()
    assert (caught.value.name, caught.value.token) == ("n", lease.token)
    assert "Stop the work it protected; `client.show('n')`" in caught.value.message


def test_breaking_what_moved_on_is_a_conflict() -> None:
    """Another token than the held one breaks nothing, and says who holds it."""
    with Client(f"memory://{uuid4()}", holder="me") as client, client.lock("n") as lease:
        with pytest.raises(Conflict, match="held by me on") as caught:
            client.break_lock("n", token=lease.token - 1, reason="x")
        assert lease.held
    assert caught.value.name == "n"
