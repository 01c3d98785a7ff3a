"""``holdfast acquire``, ``renew``, ``release``: a lease without a process."""

import base64
import os
import signal

import pytest

from tests.cli.shell import Shell, until


def test_round_trip(shell: Shell) -> None:
    """One command takes, another renews, a third releases; in between others find it busy."""
    taken = shell.run("acquire", "deploy", "--ttl", "1m")
    handle = taken.stdout.strip()
    assert (taken.returncode, taken.stderr, len(taken.stdout.splitlines())) == (0, "", 1)
    assert shell.run("run", "deploy", "--no-wait", "--", "true").returncode == 75
    assert shell.run("renew", handle, "--ttl", "5m").returncode == 0
    assert (shell.client().show("deploy").expires_in or 0) > 200
    assert ", without a process\n" in shell.run("show", "deploy").stdout
    assert shell.run("release", handle).returncode == 0
    assert not shell.client().show("deploy").held


def test_the_handle_from_stdin(shell: Shell) -> None:
    """A dash reads the handle from stdin, where ps does not see it."""
    handle = shell.run("acquire", "deploy", "--ttl", "1m").stdout
    assert shell.run("renew", "-", stdin=handle).returncode == 0
    assert shell.run("release", "-", stdin=handle).returncode == 0
    assert not shell.client().show("deploy").held


def test_json(shell: Shell) -> None:
    """Every one of the three says what it did in JSON, too."""
    taken = shell.json("acquire", "deploy", "--ttl", "1m", "--label", "the release")
    assert taken == {
        "name": "deploy",
        "token": shell.client().show("deploy").token,
        "ttl": 60.0,
        "handle": taken["handle"],
    }
    renewed = shell.json("renew", taken["handle"])
    assert renewed["expires_in"] > 50
    assert renewed | {"expires_in": 0} == {
        "name": "deploy",
        "token": taken["token"],
        "expires_in": 0,
    }
    assert shell.json("show", "deploy")["holders"][0]["label"] == "the release"
    assert shell.json("release", taken["handle"]) == {
        "name": "deploy",
        "token": taken["token"],
        "released": True,
    }


def test_a_lease_that_is_over(shell: Shell) -> None:
    """Renewing what has ended, or was broken, is 70; releasing it twice is harmless."""
    handle = shell.run("acquire", "deploy", "--ttl", "1m").stdout.strip()
    assert shell.run("release", handle).returncode == 0
    assert shell.run("release", handle).returncode == 0
    done = shell.run("renew", handle)
    assert done.returncode == 70
    assert done.stderr.startswith("holdfast: the lease on 'deploy' (token ")
    assert handle not in done.stderr


def test_a_broken_lease(shell: Shell) -> None:
    """A broken lease cannot be renewed, and passes on when it is released."""
    client = shell.client()
    handle = shell.run("acquire", "deploy", "--ttl", "1m").stdout.strip()
    client.break_lock("deploy", token=client.show("deploy").token, reason="an emergency")
    done = shell.run("renew", handle)
    assert done.returncode == 70
    assert "an emergency" in done.stderr
    assert shell.run("release", handle).returncode == 0
    assert not client.show("deploy").held


def test_a_short_ttl_ends_by_itself(shell: Shell) -> None:
    """Nothing renews it: after its ttl it is free."""
    handle = shell.run("acquire", "deploy", "--ttl", "300ms").stdout.strip()
    client = shell.client()
    until(lambda: not client.show("deploy").held)
    assert shell.run("renew", handle).returncode == 70


def damaged(cells: str) -> str:
    """Write something else in the form of a handle."""
    return "hf1-" + base64.urlsafe_b64encode(cells.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "hf1-",
        "hf1-AAAA",
        "",
        damaged('["n",1e999,10,"abc"]'),
        damaged('["n",1,Infinity,"abc"]'),
        damaged('["n",1,10,"\\ud800"]'),
        damaged("[" * 5000),
    ],
    ids=range(8),
)
def test_not_a_handle(shell: Shell, text: str) -> None:
    """What is not a handle is wrong usage, told without a traceback."""
    for command in ("renew", "release"):
        done = shell.run(command, "--", text)
        assert done.returncode == 2
        assert done.stderr.startswith("holdfast: this is not a handle")


def test_busy(shell: Shell) -> None:
    """Busy is 75 here, too, and nothing is printed that could be taken for a handle."""
    with shell.client().lock("deploy"):
        done = shell.run("acquire", "deploy", "--no-wait")
    assert (done.returncode, done.stdout) == (75, "")
    assert "held by the test" in done.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_waiting(shell: Shell, signum: signal.Signals) -> None:
    """The claim is withdrawn, not left in the queue for somebody who is gone."""
    client = shell.client()
    with client.lock("deploy"):
        waiting = shell.start("acquire", "deploy")
        until(lambda: client.show("deploy").waiters == 1)
        waiting.send_signal(signum)
        assert waiting.wait() == 128 + signum
        assert client.show("deploy").waiters == 0
    assert waiting.communicate() == ("", "")


def test_nobody_reads_the_handle(shell: Shell) -> None:
    """A handle that could not be printed is released: nobody else could do it."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = shell.start("acquire", "deploy", "--ttl", "1h", stdout=write_end)
    os.close(write_end)
    assert process.wait() == 128 + signal.SIGPIPE
    assert not shell.client().show("deploy").held
