"""The lease ends under the command of ``holdfast run``: it is gone before that, code 70."""

import os
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from holdfast import clock
from tests.cli.shell import Shell, alive, lines, until

OBEDIENT = "trap 'echo told; exit 0' TERM; echo $$; while :; do sleep 0.01; done"
STUBBORN = "trap 'echo told' TERM; echo $$; while :; do sleep 0.01; done"


@pytest.mark.parametrize("script", [OBEDIENT, STUBBORN])
def test_broken(shell: Shell, script: str) -> None:
    """A holder that is told of `break` stops its command, within the grace, and lets go."""
    client = shell.client()
    wrapper = shell.start("run", "job", "--ttl", "6s", "--", "sh", "-c", script)
    output = lines(wrapper)
    command = int(next(output))
    told_at = time.monotonic()
    client.break_lock("job", token=client.show("job").token, reason="an \x1b[1memergency")
    assert next(output) == "told"
    assert wrapper.wait() == 70
    assert not alive(command)
    assert time.monotonic() - told_at < 4  # the grace, not the ttl
    assert not client.show("job").held  # given back, not lapsed
    assert wrapper.stderr is not None
    said = wrapper.stderr.read()
    assert "stopping the command: the lease on 'job'" in said
    assert r"an \x1b[1memergency" in said
    assert "\x1b" not in said


def test_broken_by_force(shell: Shell) -> None:
    """Somebody else may be in already, so there is no grace: the command is killed at once."""
    client = shell.client()
    wrapper = shell.start("run", "job", "--ttl", "1m", "--", "sh", "-c", STUBBORN)
    output = lines(wrapper)
    next(output)
    broken_at = time.monotonic()
    client.break_lock("job", token=client.show("job").token, reason="now", force=True)
    assert wrapper.wait() == 70
    assert list(output) == []
    assert time.monotonic() - broken_at < 10


@pytest.mark.parametrize("script", [OBEDIENT, STUBBORN])
def test_renewals_fail(shell: Shell, script: str) -> None:
    """When the backend does not let us renew, everything is gone while the lease still lives."""
    client = shell.client()
    wrapper = shell.start("run", "job", "--ttl", "5s", "--", "sh", "-c", script)
    output = lines(wrapper)
    command = int(next(output))
    with closing(sqlite3.connect(shell.folder / "locks.db", isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")  # others can read, nobody can write
        lease_ends_at = clock.now() + (client.show("job").expires_in or 0)
        assert next(output) == "told"
        until(lambda: not alive(command))
        assert clock.now() < lease_ends_at
        blocker.execute("ROLLBACK")
    assert wrapper.wait() == 70
    assert list(output) == []


def test_renewals_work_again(shell: Shell) -> None:
    """An outage that is short enough is ridden over."""
    client = shell.client()
    wrapper = shell.start(
        "run", "job", "--ttl", "6s", "--", "sh", "-c", "echo $$; read line", stdin=-1
    )
    next(lines(wrapper))
    with closing(sqlite3.connect(shell.folder / "locks.db", isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        until(lambda: (client.show("job").expires_in or 0) < 3.5)  # the renewal is overdue
        blocker.execute("ROLLBACK")
    until(lambda: (client.show("job").expires_in or 0) > 5)
    wrapper.communicate("\n")
    assert wrapper.returncode == 0


def test_a_paused_wrapper(shell: Shell) -> None:
    """Who wakes up after the lease is over kills at once: somebody else is in already."""
    client = shell.client()
    wrapper = shell.start("run", "job", "--ttl", "3s", "--", "sh", "-c", STUBBORN)
    output = lines(wrapper)
    command = int(next(output))
    token = client.show("job").token
    wrapper.send_signal(signal.SIGSTOP)
    with client.lock("job", wait="10s") as rival:
        assert rival.token > token
        wrapper.send_signal(signal.SIGCONT)
        assert wrapper.wait() == 70
        assert not alive(command)
        assert list(output) == []  # it was not even told
        assert client.show("job").token == rival.token


def test_a_command_that_ends_while_the_wrapper_is_paused(shell: Shell) -> None:
    """Nobody can know whether it ended in time, so success is not reported."""
    client = shell.client()
    os.mkfifo(shell.folder / "gate")
    wrapper = shell.start(
        "run", "job", "--ttl", "3s", "--", "sh", "-c", "echo $$; read line <gate; exit 0"
    )
    command = int(next(lines(wrapper)))
    wrapper.send_signal(signal.SIGSTOP)
    with client.lock("job", wait="10s"):
        (shell.folder / "gate").write_text("open\n", "utf-8")
        until(lambda: not alive(command))
        wrapper.send_signal(signal.SIGCONT)
        assert wrapper.wait() == 70
    assert wrapper.stderr is not None
    assert "lost" in wrapper.stderr.read()


@pytest.mark.parametrize("ttl, max_hold", [("30s", "6s"), ("6s", "9s")])
def test_max_hold(shell: Shell, ttl: str, max_hold: str) -> None:
    """A command that runs longer than --max-hold is stopped, and that is the reason given."""
    started_at = time.monotonic()
    limits = ("--ttl", ttl, "--max-hold", max_hold)
    wrapper = shell.start("run", "job", *limits, "--", "sh", "-c", OBEDIENT)
    output = lines(wrapper)
    next(output)
    assert next(output) == "told"
    assert wrapper.wait() == 70
    assert time.monotonic() - started_at > 1
    assert not shell.client().show("job").held
    assert wrapper.stderr is not None
    said = wrapper.stderr.read()
    assert said.startswith("holdfast: stopping the command: the lease on 'job'")
    assert ": --max-hold is over\n" in said
